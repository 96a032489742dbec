/* SPDX-License-Identifier: ISC */
/* waiting.h - the actors that an actor waits for before its start. */
#ifndef DAEMON_WAITING_H
#define DAEMON_WAITING_H

#include "base/strbuf.h"
#include "core/core.h"

struct reporter;

/* An array of paths, or null where the actor waits for nothing. */
void waiting_json(struct strbuf *sb, const struct reporter *reporter,
                  const struct node_view *view);

/* "/user/db to be ready, /user/job to complete"; false: the actor waits for nothing. */
bool waiting_text(struct strbuf *sb, const struct reporter *reporter,
                  const struct node_view *view);

/* True if the viewed actor waits for the actor of this path. */
bool waiting_has(const struct reporter *reporter, const struct node_view *view,
                 const char *path);

#endif
