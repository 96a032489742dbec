/* SPDX-License-Identifier: ISC */
/* record.h - what the shell knows of a slot, put down in the ledger. */
#ifndef DAEMON_RECORD_H
#define DAEMON_RECORD_H

#include <stdint.h>

struct shell;

void record_slot(struct shell *shell, uint32_t slot);
void record_facts(struct shell *shell);

#endif
