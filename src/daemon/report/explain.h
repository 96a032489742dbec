/* SPDX-License-Identifier: ISC */
/* explain.h - the story of an actor's last failure: its cause, the rule that decided, the
 * actors concerned, and the outcome.
 *
 * Told from the event stream as long as it remembers, then from what the core remembers.
 */
#ifndef DAEMON_EXPLAIN_H
#define DAEMON_EXPLAIN_H

#include <stdint.h>

#include "base/strbuf.h"
#include "core/core.h"
#include "daemon/state/events.h"

/* Steps of a story; longer ones lose their middle, never their end. */
#define EXPLAIN_STEPS_MAX 40

struct reporter;

/* An object of what Explain returns; of an actor that is gone `ref` is REF_NONE, and
 * `gone` its newest event. */
void explain_json(struct strbuf *out, const struct reporter *reporter, struct ref ref,
                  const struct event_view *gone);

/* What the event stream knows of the failure; record NULL: nothing. */
struct explained {
	struct event_view failure; /* record NULL: what the core remembers is told */
	struct event_view told;    /* the end of a watched actor, after that */
	struct event_view change;  /* the newest command, reload or normal end */
	struct event_view signal;  /* the command that sent the signal it died of */
	struct event_view gone;    /* the newest event of an actor that is gone */
	struct event_view chain[EXPLAIN_STEPS_MAX];
	size_t n_chain;
};

/* explain_step.c: an event in words. */
void explain_add_duration(struct strbuf *sb, int64_t ms);
bool explain_cause(struct strbuf *sb, const struct event_view *event);
bool explain_value(const void *user, struct strbuf *sb, const char *name);
void explain_step(struct strbuf *sb, const struct event_view *event);

/* explain_now.c: what is wrong below the actor, how it is now, or that it is gone. */
void explain_below(struct strbuf *sb, const struct reporter *reporter, struct ref top);
void explain_now(struct strbuf *sb, const struct reporter *reporter, struct ref ref);
void explain_gone(struct strbuf *sb, const struct event_view *last);

/* explain_change.c: what was done to the actor without a failure, and which wait for it.
 */
bool explain_is_above(const char *top, const char *path);
bool explain_is_change(const struct events *events, uint64_t seq,
                       const struct event_view *event, const char *path);
bool explain_is_end(const struct event_view *change);
void explain_change(struct strbuf *sb, const struct reporter *reporter, const char *me,
                    const struct event_view *event);
void explain_numbers(struct strbuf *sb, const struct reporter *reporter,
                     const struct cause *cause, const char *origin);
void explain_impact(struct strbuf *sb, const struct reporter *reporter, struct ref ref);

/* explain_text.c: the whole story in sentences. */
void explain_text(struct strbuf *sb, const struct reporter *reporter, struct ref ref,
                  const struct explained *explained);

#endif
