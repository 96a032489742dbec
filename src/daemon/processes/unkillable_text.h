/* SPDX-License-Identifier: ISC */
/* unkillable_text.h - what SIGKILL did not end, in words. */
#ifndef DAEMON_UNKILLABLE_TEXT_H
#define DAEMON_UNKILLABLE_TEXT_H

#include "core/core.h"

struct actors;
struct engine;

void unkillable_text(struct strbuf *sb, const struct actors *actors, struct ref ref);
void unkillable_text_below(struct strbuf *sb, const struct engine *engine,
                           const struct actors *actors, struct ref top);
void unkillable_log_left(const struct engine *engine, const struct actors *actors);

#endif
