/* SPDX-License-Identifier: ISC */
/* recording.h - the ledger, and what the guardian puts down in it: of each slot, and of
 * supd as a whole.
 */
#ifndef DAEMON_RECORD_H
#define DAEMON_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "core/core.h"
#include "ledger/ledger.h"

struct recording {
	struct ledger *ledger; /* the state that survives us; the core lives in it */
	/* about supd as a whole: record_facts() puts them down */
	struct ledger_facts facts;
	/* what is put down of a slot; borrowed */
	const struct actors *actors;
	const struct proctable *proctable;
};

void record_slot(struct recording *recording, uint32_t slot);
/* The actor's process said READY=1: record that. false: said before, or there is no
 * process. */
bool record_ready(struct recording *recording, struct ref ref);
void record_facts(struct recording *recording);

#endif
