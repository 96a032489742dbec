/* SPDX-License-Identifier: ISC */
/* recording.h - what the shell knows of a slot, put down in the ledger. */
#ifndef DAEMON_RECORD_H
#define DAEMON_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "core/core.h"

struct shell;

void record_slot(struct shell *shell, uint32_t slot);
/* The actor's process said READY=1: record that. false: said before, or there is no
 * process. */
bool record_ready(struct shell *shell, struct ref ref);
void record_facts(struct shell *shell);

#endif
