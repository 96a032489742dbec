/* SPDX-License-Identifier: ISC */
/* engine.h - the core as it is run: daemon/loop moves it on, the other rooms read it.
 */
#ifndef DAEMON_ENGINE_H
#define DAEMON_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/core.h"

struct engine {
	struct core *core;   /* it lives in the ledger, and moves with each checkpoint */
	uint64_t now_ms;     /* one time for a whole turn */
	bool is_replaying;   /* what is performed should have been some time ago */
	bool exiting;        /* this is the last turn */
	int32_t exit_status; /* of supd; or … */
#define EXIT_UPGRADE (-1)    /* supd goes on with another binary */
};

/* Set the time of this turn.  Events are dated to the end of their millisecond, and what
 * is due is due when its millisecond has begun: no delay is ever shorter than it should
 * be. */
void engine_set_time(struct engine *engine);

/* The state of an actor as the core knows it now. */
struct node_view engine_view(const struct engine *engine, struct ref ref);

#endif
