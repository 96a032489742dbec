/* SPDX-License-Identifier: ISC */
/* explain.h - the story of an actor's last failure: its cause, the rule that decided, the
 * actors concerned, and the outcome.
 *
 * Told from the event stream as long as it remembers, then from what the core remembers.
 */
#ifndef DAEMON_EXPLAIN_H
#define DAEMON_EXPLAIN_H

#include <jansson.h>

#include "base/strbuf.h"
#include "core/core.h"

/* Steps of a story; longer ones lose their middle, never their end. */
#define EXPLAIN_STEPS_MAX 40

struct shell;

/* An object of what Explain returns; the actor must be there. */
void explain_json(struct strbuf *out, const struct shell *shell, struct ref ref);

const char *explain_field(const json_t *event, const char *key);

/* What the event stream knows of the failure. */
struct explained {
	const json_t *failure; /* NULL: what the core remembers is told */
	const json_t *told;    /* the end of a watched actor, after that; or NULL */
	const json_t *const *chain;
	size_t n_chain;
};

/* explain_step.c: one event as a phrase. */
json_int_t explain_number(const json_t *event, const char *key);
const char *explain_cause(const json_t *event);
const char *explain_overruled_by(const char *rule, const char *reason);
void explain_add_duration(struct strbuf *sb, json_int_t ms);
void explain_step(struct strbuf *sb, const json_t *event);

/* explain_now.c: how the actor is now. */
void explain_now(struct strbuf *sb, const struct shell *shell, struct ref ref);

/* explain_text.c: the whole story in sentences. */
void explain_text(struct strbuf *sb, const struct shell *shell, struct ref ref,
                  const struct explained *explained);

#endif
