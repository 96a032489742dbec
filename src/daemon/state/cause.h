/* SPDX-License-Identifier: ISC */
/* cause.h - causes, rules and scopes in the words of the interface: for people and as
 * JSON.
 *
 * One place for them, used by the event stream, the control socket and the log.
 */
#ifndef DAEMON_CAUSE_H
#define DAEMON_CAUSE_H

#include "base/strbuf.h"
#include "conf/text/conf.h"
#include "core/core.h"
#include "os/spawn/spawn.h"

struct actors;

/* True for a failure, false for a normal or wanted end. */
bool cause_is_failure(const struct cause *cause);
void cause_key(struct strbuf *sb, const struct cause *cause);
const char *cause_about(const struct actors *actors, const struct cause *cause,
                        struct ref origin);
void cause_step(char ret[CAUSE_KEY_MAX], enum spawn_step step, int which);
void cause_text(struct strbuf *sb, const struct cause *cause, const char *about);
void cause_text_json(struct strbuf *sb, const struct cause *cause, const char *about);
void cause_json(struct strbuf *sb, const struct cause *cause, const char *about);
void rule_name(struct strbuf *sb, const struct conf *conf, enum preset preset,
               struct place place, enum decision_reason reason);
void rule_text(struct strbuf *sb, const struct conf *conf, enum preset preset,
               struct place place, enum decision_reason reason);

#endif
