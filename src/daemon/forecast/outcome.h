/* SPDX-License-Identifier: ISC */
/* outcome.h - what becomes of an actor that keeps failing, in a sentence. */
#ifndef DAEMON_OUTCOME_H
#define DAEMON_OUTCOME_H

#include "base/strbuf.h"
#include "core/core.h"
#include "daemon/forecast/simulate.h"

/* A delay lies between these. */
struct delay_bounds {
	uint64_t min_ms, max_ms;
};

struct outcome {
	struct ref worker;
	uint32_t failures;           /* of the worker */
	uint64_t last_ms;            /* the last of them */
	enum decision_reason reason; /* … and the reason of the decision */
	uint32_t gave_up; /* how often did a supervisor, the highest that did so at all */
	/* The restart that was decided highest in the tree, the newest of these. */
	struct ref restarted;
	uint32_t depth;
	struct delay_bounds bounds; /* of its delay */
	bool has_exit;
	int32_t status;
};

void outcome_init(struct outcome *outcome, struct ref worker);
void outcome_take(struct outcome *outcome, uint64_t at_ms, const struct core *core,
                  const struct action *action, const struct delay_bounds *bounds);
void outcome_describe(const struct outcome *outcome, const struct core *core,
                      const struct simulation *simulation, struct strbuf *sb);

#endif
