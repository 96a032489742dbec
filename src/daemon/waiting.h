/* SPDX-License-Identifier: ISC */
/* waiting.h - for whom an actor waits before it is started. */
#ifndef DAEMON_WAITING_H
#define DAEMON_WAITING_H

#include "base/strbuf.h"
#include "core/core.h"

struct shell;

/* An array of paths, or null where it waits for nobody. */
void waiting_json(struct strbuf *sb, const struct shell *shell,
                  const struct node_view *view);

/* "/user/db to be ready, /user/job to complete"; false: it waits for nobody. */
bool waiting_text(struct strbuf *sb, const struct shell *shell,
                  const struct node_view *view);

#endif
