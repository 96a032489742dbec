/* SPDX-License-Identifier: ISC */
/* before.h - the configuration that was in force before the last apply, for an undo. */
#ifndef DAEMON_BEFORE_H
#define DAEMON_BEFORE_H

#include <stdint.h>

#include "base/err.h"

struct keeper;
struct reload;
struct reloader;

int before_prepare(const struct reloader *reloader, struct reload *ret, struct err *err);
int before_keep(struct reloader *reloader, const struct reload *reload, uint64_t id,
                int *ret_fd, struct err *err);
void before_cancel(struct reloader *reloader, uint64_t id, int take_fd);
void before_use(struct reloader *reloader, uint64_t id, int take_fd);
void before_replace(struct reloader *reloader, uint64_t id, int take_fd);
int before_take(struct keeper *keeper, uint64_t id);

#endif
