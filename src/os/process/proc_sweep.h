/* SPDX-License-Identifier: ISC */
/* proc_sweep.h - find processes by descent: a sweep of /proc for what a dead parent left.
 *
 * Whatever an actor forked has a living forefather that is a main process, or an orphan
 * and so a child of the subreaper above us.  An orphan is recognised by the mark in its
 * environment (SUPD_ID) or by its session, of which its process group is a part.  What
 * gets rid of both escapes.
 *
 * Taking a sweep costs one look at each child of the subreaper, and a few system calls
 * for each orphan and its descendants: so the subreaper is to have few other children.
 * Memory is kept from one sweep to the next.
 */
#ifndef OS_PROCESS_PROC_SWEEP_H
#define OS_PROCESS_PROC_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/map.h"

#define PROC_SWEEP_MAX 65536
#define PROC_LEFT_MAX  8

struct proc_sweep *proc_sweep_new(pid_t subreaper);
void proc_sweep_follow(struct proc_sweep *sweep, pid_t subreaper);
void proc_sweep_include_left(struct proc_sweep *sweep, const pid_t *left, size_t n);
void proc_sweep_free(struct proc_sweep *sweep);
int proc_sweep_take(struct proc_sweep *sweep, const struct map *known);
int proc_sweep_add_tree(struct proc_sweep *sweep, pid_t main_pid, const char *mark);
bool proc_sweep_has(const struct proc_sweep *sweep, pid_t session, const char *mark);
int proc_sweep_signal(const struct proc_sweep *sweep, pid_t session, const char *mark,
                      int signo);
int proc_sweep_stop(const struct proc_sweep *sweep, pid_t session, const char *mark);
int proc_sweep_signal_all(const struct proc_sweep *sweep, pid_t spared_session,
                          int signo);
int proc_sweep_kill_marked(const struct proc_sweep *sweep, const char *own);

#endif
