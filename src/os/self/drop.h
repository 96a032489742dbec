/* SPDX-License-Identifier: ISC */
/* drop.h - a process of root's becomes one of the user that owns nothing. */
#ifndef OS_SELF_DROP_H
#define OS_SELF_DROP_H

#include <stdbool.h>
#include <sys/types.h>

/* The kernel's own numbers for that user and group. */
#define DROP_UID ((uid_t)65534)
#define DROP_GID ((gid_t)65534)

int os_drop_user(bool forks);

#endif
