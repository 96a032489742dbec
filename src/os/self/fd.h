/* SPDX-License-Identifier: ISC */
/* fd.h - descriptors: standard ones open, high ones for ourselves, a bound on them. */
#ifndef OS_SELF_FD_H
#define OS_SELF_FD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/err.h"

/* supd's own descriptors live at or above this number, so that a spawn can arrange the
 * child's in the window below.  Once os_spawn_init() holds the window all new ones do;
 * what was opened before is raised.  One that stays below only makes spawning slower. */
#define FD_WINDOW 100

int fd_open_standard(void);
void fd_close_strangers(int first);
int fd_raise(int fd);
int fd_reopen(int fd, int flags);
int fd_limit(struct rlimit *ret);
int fd_raise_limit(uint64_t wanted, struct err *err);
uint64_t fd_raise_limit_up_to(uint64_t max);
void fd_close(int *fd);
int fd_memory(const char *name, const void *data, size_t len);
int fd_write_all(int fd, const void *data, size_t len);
int fd_lock(const char *dir, const char *name, struct err *err);
int fd_watch_directory(const char *path, struct err *err);
int fd_tell_removals(int directory_fd, bool is_above);
int fd_open_directory(int dir_fd, const char *name);
int fd_mkdir_parents(const char *path, mode_t mode);

#endif
