/* SPDX-License-Identifier: ISC */
/* shut_down.h - the end of supd is decided. */
#ifndef DAEMON_SHUT_DOWN_H
#define DAEMON_SHUT_DOWN_H

#include "core/core.h"

struct shell;

void shut_down(struct shell *shell, enum event_kind kind);

#endif
