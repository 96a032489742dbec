/* SPDX-License-Identifier: ISC */
/* containment.h - everything that an actor's process forked, whatever it did to hide.
 *
 * With a delegated, writable cgroup v2 directory: a leaf of the actor's own.  Else its
 * session, its process group and every descendant or orphan that carries its mark
 * (SUPD_ID in the environment).
 */
#ifndef OS_CONTAINMENT_H
#define OS_CONTAINMENT_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* supd's own place in the cgroup tree; one a process. */
struct cgroup_root {
	char path[4096]; /* absolute path of supd's delegated directory; "" : none */
	int fd;          /* the actors' directory, or -1 */
	bool has_kill;   /* cgroup.kill exists */
};

/* The containment of one process of one actor. */
struct containment {
	bool is_cgroup;
	int cgroup_fd;      /* directory of the leaf, or -1 */
	int events_fd;      /* its cgroup.events, readable by poll(POLLPRI), or -1 */
	char leaf[300];     /* its name below the actors' directory */
	pid_t session;      /* the main process's pid: session and process group */
	char mark[64];      /* value of SUPD_ID */
};

int cgroup_root_open(struct cgroup_root *root, struct err *err);
void cgroup_root_close(struct cgroup_root *root);

int containment_open(struct containment *c, struct cgroup_root *root, const char *path,
		     const char *mark);
void containment_close(struct containment *c, struct cgroup_root *root);
void containment_born(struct containment *c, pid_t pid);
bool containment_is_empty(const struct containment *c);
int containment_signal(const struct containment *c, int signo);
int containment_kill(const struct containment *c, const struct cgroup_root *root);

/* Sweeps of /proc for the containments without a cgroup: one a turn, for all at once. */
struct proc_sweep;
struct proc_sweep *proc_sweep_new(void);
void proc_sweep_free(struct proc_sweep *sweep);
bool proc_sweep_is_empty(const struct proc_sweep *sweep, const struct containment *c);
int proc_sweep_signal(const struct proc_sweep *sweep, const struct containment *c,
		      int signo);

#endif
