/* SPDX-License-Identifier: ISC */
/* fsuser.h - have the rights of another user at the file system, for a moment. */
#ifndef OS_SELF_FSUSER_H
#define OS_SELF_FSUSER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

int fsuser_become(uid_t uid, gid_t gid, const gid_t *groups, size_t n_groups);
int fsuser_search(void);
void fsuser_return(void);
bool fsuser_exists(uid_t uid);

#endif
