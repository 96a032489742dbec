/* SPDX-License-Identifier: ISC */
/* leftover.h - processes that a supd which died left behind. */
#ifndef OS_LEFTOVER_H
#define OS_LEFTOVER_H

#include <stddef.h>
#include <sys/types.h>

#define LEFTOVERS_SHOWN   32
#define LEFTOVER_PATH_MAX 256
#define LEFTOVER_MARK_MAX 40

/* One that cannot be killed. */
struct leftover {
	pid_t pid;
	char path[LEFTOVER_PATH_MAX]; /* path of the actor, from the environment, or "" */
};

struct leftovers {
	size_t n_killed;
	size_t
	    n_left; /* of these: some of them are shown, as many as there is room for */
	struct leftover left[LEFTOVERS_SHOWN];
};

void leftover_mark(pid_t walker, char ret[LEFTOVER_MARK_MAX]);
pid_t leftover_owner(const char *variable, const uid_t *uids, size_t n_uids,
                     pid_t walker);
int leftover_kill(const char *variable, const uid_t *uids, size_t n_uids,
                  struct leftovers *ret);
int leftover_kill_below(pid_t walker, size_t *ret_killed);

#endif
