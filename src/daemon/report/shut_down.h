/* SPDX-License-Identifier: ISC */
/* shut_down.h - the end of supd is decided. */
#ifndef DAEMON_SHUT_DOWN_H
#define DAEMON_SHUT_DOWN_H

#include "core/core.h"

struct reporter;

void shut_down(const struct reporter *reporter, enum event_kind kind);

#endif
