/* SPDX-License-Identifier: ISC */
/* before.h - the configuration that was in force before the last apply, for an undo. */
#ifndef DAEMON_BEFORE_H
#define DAEMON_BEFORE_H

#include <stdint.h>

#include "base/err.h"

struct reload;
struct shell;

int before_prepare(struct shell *shell, struct reload *ret, struct err *err);
int before_keep(struct shell *shell, const struct reload *reload, uint64_t id,
                int *ret_fd, struct err *err);
void before_cancel(struct shell *shell, uint64_t id, int take_fd);
void before_use(struct shell *shell, uint64_t id, int take_fd);
void before_replace(struct shell *shell, int take_fd);
void before_adopt(struct shell *shell);

#endif
