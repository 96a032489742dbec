/* SPDX-License-Identifier: ISC */
/* cgroup.h - supd's place in the cgroup v2 tree, and leaves below it.
 *
 *	<directory>/supd            supd itself, where the directory is its own
 *	<directory>/actors/a:b      a leaf for each actor
 *	<directory>/limited/a:b     instead, with controllers: for actors with limits
 *
 * The directory is supd's own cgroup where no other process lives in it (a delegated
 * unit, a container); else a new directory "supd-PID" below it, removed at the end.  The
 * directory is locked (flock) while its supd lives, so that another supd can tell
 * leftovers: by every copy of cgroup_root.fd, so a successor needs a copy.
 */
#ifndef OS_CGROUP_CGROUP_H
#define OS_CGROUP_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/err.h"

#define CGROUP_PATH_MAX 4096
#define CGROUP_LEAF_MAX 272
/* Names of controllers, parted by blanks. */
#define CGROUP_CONTROLLERS_MAX 256

struct cgroup_root {
	char path[CGROUP_PATH_MAX]; /* supd's directory; "": there is none */
	char name[CGROUP_PATH_MAX]; /* the same as /proc/PID/cgroup writes it */
	int fd;                     /* its directory of actors, locked, or -1 */
	int watch_fd;               /* readable when a watched leaf changed, or -1 */
	bool is_created;            /* path is "supd-PID", ours to remove */
	bool is_moved;              /* supd moved into path/supd */
	bool is_inner;              /* the parent had moved already: cgroup_enter() */
	bool has_limited;           /* there is a place for leaves with limits */
	uint64_t kept_max;          /* as many leaves may stay open between two lives */
	uint64_t n_kept;            /* … and do, each with its cgroup.events */
	char controllers[CGROUP_CONTROLLERS_MAX]; /* that leaves with limits have */
};

void cgroup_root_init(struct cgroup_root *root);
int cgroup_root_open(struct cgroup_root *root, struct err *err);
int cgroup_root_adopt(struct cgroup_root *root, int take_fd, struct err *err);
void cgroup_root_reopen(struct cgroup_root *root);
void cgroup_root_close(struct cgroup_root *root);
int cgroup_root_next(struct cgroup_root *root, uint64_t *ret_tokens, size_t max);

int cgroup_enter(char ret_path[CGROUP_PATH_MAX]);
void cgroup_leave(const char *path);

int cgroup_locate(FILE *mountinfo, FILE *self, char ret_path[CGROUP_PATH_MAX],
                  char ret_name[CGROUP_PATH_MAX]);
int cgroup_locate_top(FILE *mountinfo, char ret_path[CGROUP_PATH_MAX]);

int cgroup_machine_controllers(char ret[CGROUP_CONTROLLERS_MAX]);
int cgroup_root_limit(struct cgroup_root *root);
void cgroup_root_unlimit(const char *path);

void cgroup_leaf_name(const char *path, char ret_leaf[CGROUP_LEAF_MAX]);
void cgroup_leaf_name_limited(const char *path, char ret_leaf[CGROUP_LEAF_MAX]);
int cgroup_leaf_make(const struct cgroup_root *root, const char *leaf);
int cgroup_leaf_open(const struct cgroup_root *root, const char *leaf);
int cgroup_leaf_renew(const struct cgroup_root *root, const char *leaf);
int cgroup_leaf_remove(const struct cgroup_root *root, const char *leaf);
int cgroup_leaf_events(const struct cgroup_root *root, const char *leaf);
int cgroup_leaf_watch(struct cgroup_root *root, int events_fd, uint64_t token);
int cgroup_leaf_populated(const struct cgroup_root *root, const char *leaf,
                          int events_fd);
int cgroup_leaf_signal(const struct cgroup_root *root, const char *leaf, int signo);
int cgroup_leaf_freeze(const struct cgroup_root *root, const char *leaf, bool freeze);
int cgroup_leaf_kill(const struct cgroup_root *root, const char *leaf);
bool cgroup_leaf_has(const struct cgroup_root *root, const char *leaf, pid_t pid);
int cgroup_leaf_set(const struct cgroup_root *root, const char *leaf, const char *file,
                    const char *text);
int cgroup_leaf_number(const struct cgroup_root *root, const char *leaf, const char *file,
                       const char *key, uint64_t *ret);
int cgroup_leaf_each(const struct cgroup_root *root, const char *leaf,
                     int (*on_pid)(pid_t pid, void *arg), void *arg);

#endif
