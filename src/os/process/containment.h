/* SPDX-License-Identifier: ISC */
/* containment.h - everything that an actor's process forked, whatever it did to hide.
 *
 * With a writable cgroup v2 directory: a leaf of the actor's own.  Else its session, its
 * process group and every descendant or orphan that carries its mark (SUPD_ID in the
 * environment); these are found by a sweep of /proc, one a turn for all actors at once.
 *
 * The path that it is opened with has to outlive it.
 *
 * The way of a start: containment_prepare() before each os_spawn(), containment_begun()
 * after its clone, containment_born() after it.  The way of an end: peek at the main
 * process; reap it and containment_reaped(); if not containment_is_empty(),
 * containment_kill() and look again later (a watched leaf tells when; a sweep has to be
 * taken again).  The directory of a leaf stays as long as the actor.
 */
#ifndef OS_PROCESS_CONTAINMENT_H
#define OS_PROCESS_CONTAINMENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "os/cgroup/cgroup.h"
#include "os/process/proc.h"
#include "os/process/proc_sweep.h"

struct containment {
	uint64_t leader_start; /* a child of ours that was the main process; 0: none */
	const char *path;      /* its leaf is named after it; borrowed, NULL: none */
	struct proc_mark mark; /* SUPD_ID of the next life, or of the newest */
	pid_t session;         /* the main process: also its session and group; 0 */
	pid_t told; /* the main process, where that does not lead the session; else 0 */
	int events_fd; /* of cgroup.events, while it is watched or the leaf open; or -1 */
	int leaf_fd;   /* of its directory, from prepare to begun or longer, or -1 */
	bool is_cgroup;
	bool is_main_alive; /* started and not yet reaped */
	bool is_foreign;    /* its main process is not a child of ours */
	bool is_spent;      /* the leaf was killed, and cannot be born into */
	bool is_limited;    /* the leaf may have controllers: a fresh one for each life */
	bool is_frozen;     /* a process born into the leaf could not run */
	bool is_watched;    /* containment_watch() */
	bool is_kept;       /* the leaf stays open between two lives */
};

/* The name of a leaf below the directory of all actors. */
struct leaf_name {
	char text[CGROUP_LEAF_MAX];
};

void containment_init(struct containment *c);
int containment_open(struct containment *c, const struct cgroup_root *root,
                     const char *path, struct proc_mark mark);
int containment_open_limited(struct containment *c, struct cgroup_root *root,
                             const char *path, struct proc_mark mark);
void containment_adopt(struct containment *c, const struct cgroup_root *root,
                       const char *path, struct proc_mark mark);
void containment_adopt_limited(struct containment *c, const char *path);
int containment_close(struct containment *c, struct cgroup_root *root);
int containment_prepare(struct containment *c, struct cgroup_root *root,
                        int *ret_cgroup_fd);
int containment_prepare_again(struct containment *c, struct cgroup_root *root,
                              int *ret_cgroup_fd);
void containment_begun(struct containment *c, struct cgroup_root *root);
void containment_shut(struct containment *c, struct cgroup_root *root);
void containment_born(struct containment *c, pid_t pid);
void containment_told(struct containment *c, pid_t pid);
bool containment_is_empty(struct containment *c, const struct cgroup_root *root,
                          const struct proc_sweep *sweep);
int containment_signal(const struct containment *c, const struct cgroup_root *root,
                       struct proc_sweep *sweep, int signo);
int containment_kill(struct containment *c, const struct cgroup_root *root,
                     struct proc_sweep *sweep);
int containment_freeze(struct containment *c, const struct cgroup_root *root,
                       bool freeze);
int containment_stop(const struct containment *c, struct proc_sweep *sweep);
void containment_continue(const struct containment *c, struct proc_sweep *sweep);
bool containment_ran_out_of_memory(const struct containment *c,
                                   const struct cgroup_root *root);
bool containment_has(const struct containment *c, const struct cgroup_root *root,
                     pid_t pid, uid_t uid);
int containment_watch(struct containment *c, struct cgroup_root *root, uint64_t token);
void containment_unwatch(struct containment *c, struct cgroup_root *root);

/* The main process was reaped: from now on its pid may be anybody's. */
static inline void
containment_reaped(struct containment *c)
{
	c->is_main_alive = false;
	c->told = 0;
}

/* True if only a sweep can tell whether the containment is empty. */
static inline bool
containment_needs_sweep(const struct containment *c)
{
	return !c->is_cgroup;
}

/* The name of the leaf, which it must have: made anew, as it is seldom needed. */
static inline struct leaf_name
leaf_of(const struct containment *c)
{
	struct leaf_name name;

	if (c->is_limited)
		cgroup_leaf_name_limited(c->path, name.text);
	else
		cgroup_leaf_name(c->path, name.text);
	return name;
}

#endif
