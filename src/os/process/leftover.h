/* SPDX-License-Identifier: ISC */
/* leftover.h - processes that a supd which died left behind. */
#ifndef OS_PROCESS_LEFTOVER_H
#define OS_PROCESS_LEFTOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define LEFTOVERS_MAX     1024
#define LEFTOVER_PATH_MAX 256
#define LEFTOVER_MARK_MAX 40

/* How many processes are left out before a search is given up. */
#define LEFTOVER_SILENT_MAX 16

/* The processes to look for: with this variable in their environment
 * ("SUPD_SOCKET=/run/supd/control.sock"), of these users; none: of any user. */
struct leftover_hunt {
	const char *variable;
	const uid_t *uids;
	size_t n_uids;
	/* NULL; or leftover_kill_below() kills only what has a mark (SUPD_ID), and
	 * another one than this, or hangs in an exec so that its mark cannot be known. */
	const char *spared_mark;
	/* Called again and again while it takes time; or NULL. */
	void (*beat)(void *arg);
	void *arg;
};

/* A process that SIGKILL does not end. */
struct leftover {
	pid_t pid;
	uid_t uid;
	uint64_t start;               /* as proc_look() has it */
	char path[LEFTOVER_PATH_MAX]; /* path of the actor, from the environment, or "" */
};

struct leftovers {
	size_t n_killed; /* those that are left included */
	size_t n_left;   /* LEFTOVERS_MAX of these at most are in the list */
	size_t n;
	struct leftover *left;
	pid_t silent[LEFTOVER_SILENT_MAX]; /* could not be looked at: n_silent of them */
	size_t n_silent;
};

void leftover_mark(pid_t walker, char ret[LEFTOVER_MARK_MAX]);
struct leftover_search *leftover_begin(const struct leftover_hunt *of, pid_t walker);
pid_t leftover_owner_end(struct leftover_search *take_search, bool *ret_none);
int leftover_kill(const struct leftover_hunt *of, struct leftovers *ret);
bool leftovers_add(struct leftovers *list, const struct leftover *left);
bool leftovers_take(struct leftovers *list, const char *path, struct leftover *ret);
void leftovers_done(struct leftovers *found);
int leftover_kill_below(const struct leftover_hunt *of, pid_t walker, const pid_t *left,
                        size_t n_left, size_t *ret_killed);

#endif
