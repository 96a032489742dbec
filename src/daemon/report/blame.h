/* SPDX-License-Identifier: ISC */
/* blame.h - which line of the file asked for what could not be done. */
#ifndef DAEMON_BLAME_H
#define DAEMON_BLAME_H

#include <stdbool.h>

#include "base/strbuf.h"

struct actor;
struct reporter;

bool blame_step(struct strbuf *sb, const struct reporter *reporter,
                const struct actor *actor, const char *step);

#endif
