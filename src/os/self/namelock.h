/* SPDX-License-Identifier: ISC */
/* namelock.h - a lock on a directory that lasts when the directory is removed. */
#ifndef OS_SELF_NAMELOCK_H
#define OS_SELF_NAMELOCK_H

#include "base/err.h"

int name_lock(const char *dir, struct err *err);

#endif
