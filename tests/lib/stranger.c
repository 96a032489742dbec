/* SPDX-License-Identifier: ISC */
/* stranger.c - the ledger of a supd that is of another version. */
#include "config.h"

#include "ledger/ledger.h"

#undef LEDGER_VERSION
#define LEDGER_VERSION 77

#include "../../src/ledger/ledger.c"
