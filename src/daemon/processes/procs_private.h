/* SPDX-License-Identifier: ISC */
/* procs_private.h - what the files about processes share.
 *
 *	procs.c   ordered, told, asked
 *	births.c  on their way to their programs, born
 *	leaves.c  given a cgroup while they wait
 *	freezing.c  standing still
 *	held.c    held by a pidfd, put down, posted
 *	deaths.c  reaped
 *	ends.c    ended, as a child or as the walker tells; signalled
 *	gone.c    gone with all that they forked
 *	adopt.c   taken over from a guardian before us
 *	own_commands.c  stopped, reloaded by commands of its own (tasks.h)
 *	foster.c  children of a guardian that was left behind
 *	mainpid.c   another process takes its place (MAINPID=)
 *	strays.c  left of a supd that died, and not to be killed
 *
 * What is known of a process is put down in the ledger (procs_record) when it changes:
 * before a child is reaped, after it is born.
 */
#ifndef DAEMON_PROCS_PRIVATE_H
#define DAEMON_PROCS_PRIVATE_H

#include <ev.h>

#include "base/map.h"
#include "daemon/launch/launch.h"
#include "daemon/processes/processes.h"
#include "daemon/processes/procs.h"
#include "daemon/state/actors.h"
#include "daemon/state/proctable.h"
#include "ledger/ledger.h"
#include "os/process/containment.h"
#include "os/process/leftover.h"
#include "os/process/proc.h"
#include "os/process/reap.h"

#define PROCS_NONE UINT32_MAX

/* A start under way. */
struct birth {
	struct launch launch;
	struct spawn_place *start; /* NULL: this place is free */
	uint32_t owner;            /* a slot, or PROCS_TASK and the place of a task */
	pid_t pid;
	struct ledger *ledger; /* where its intent is */
	unsigned int waited_us;
	bool is_slow; /* no event comes any more: looked at in each turn */
};

/* How many starts are prepared at once. */
#define BIRTHS_PREPARED_MAX 16

struct birth_ways {
	/* These, BIRTHS_PREPARED_MAX at most, will begin next. */
	void (*prepare)(struct procs *procs, const uint32_t *owners, size_t n);
	/* Begin: the intent is put down first.  As launch_begin(). */
	int (*begin)(struct procs *procs, uint32_t owner, struct launching *launching);
	/* The start is over: 0, or -errno as of os_spawn() or of begin(). */
	void (*over)(struct procs *procs, uint32_t owner, int r,
	             const struct spawn_result *result);
};

struct births {
	const struct birth_ways *ways;
	struct birth at[LEDGER_SPAWNS];
	uint8_t order[LEDGER_SPAWNS]; /* places of those under way, the oldest first */
	unsigned int n;
	uint32_t *waiting; /* a ring: what was ordered and has no place yet */
	uint32_t first, n_waiting, cap;
	uint32_t n_prepared;    /* number of prepared starts; they head the ring */
	unsigned int pause_ms;  /* of the timer */
	struct ledger *dropped; /* to be freed at the end of the turn; or NULL */
	ev_timer timer;
};

/* Cgroups that a child makes for starts that wait. */
struct leaves {
	_Atomic(bool) *made; /* by slot, shared with the child; NULL: there is no child */
	uint32_t cap;
	int child; /* of bounded_start() */
};

/* How many ends are taken in at once. */
#define DEATHS_MAX 64

struct procs {
	struct processes *room;
	struct ev_loop *loop;
	struct actors *actors;
	struct cgroup_root *cgroups;
	pid_t walker_pid;
	struct exits *exits; /* of children of the walker */
	procs_helper_failed *on_helper_failed;
	void *helper_failed_data;
	struct proctable *table;
	struct births births;
	struct leaves leaves;
	int zombies[DEATHS_MAX]; /* pidfds of children with recorded ends */
	unsigned int n_zombies;
	int epoll_fd;
	ev_io death;
	ev_io cgroup;
	int child_fd; /* SIGCHLD; edges of it are in the epoll */
	ev_timer walk;
	ev_timer sweep;
	struct proc_sweep *sweeper;
	uint32_t leftovers; /* first of the list */
	bool is_unheard; /* an end was noted before what its process had said was taken */
	struct leftovers strays;  /* that wait to be held: strays.c */
	uint32_t *freeze_pending; /* slots, of cap */
	uint32_t n_freeze_pending;
	ev_timer again; /* look at these */
};

/* held.c */
void proc_post(struct procs *procs, const struct proc *proc, struct event event);
void proc_record(struct procs *procs, const struct proc *proc);
void proc_post_failed(struct procs *procs, const struct proc *proc);
int held_open(const struct procs *procs, pid_t pid, uint32_t owner);
int held_take(struct procs *procs, pid_t pid, uint32_t owner);
void held_let_go(const struct procs *procs, int *pidfd);
struct reap end_unknown(pid_t pid);
void child_ended(struct procs *procs, struct spawned *child);

/* own_commands.c */
void procs_order_again(struct procs *procs, struct proc *proc);
bool procs_ask_by_command(struct procs *procs, struct proc *proc,
                          const struct actor *actor);

/* births.c */
int births_init(struct procs *procs, const struct birth_ways *ways, struct err *err);
void births_done(struct procs *procs);
int births_reserve(struct births *births, uint32_t slots);
void births_order(struct procs *procs, uint32_t owner);
int births_adopt(struct procs *procs, uint8_t place, uint32_t owner);
void births_meet(struct procs *procs, pid_t pid);
void births_on_turn(struct procs *procs);

/* leaves.c */
void leaves_make(struct procs *procs);
bool leaves_take(struct procs *procs, uint32_t slot);
void leaves_end(struct procs *procs);

/* freezing.c */
void freezing_init(struct procs *procs);
void freezing_adopt(struct procs *procs, struct proc *proc, bool freeze);
void freezing_done(struct procs *procs);

/* mainpid.c */
bool mainpid_next(struct procs *procs, struct proc *proc);
bool mainpid_collect(struct procs *procs, struct proc *proc);
void mainpid_adopt(struct procs *procs);

/* foster.c */
void fosters_adopt(struct procs *procs);
bool foster_is(const struct procs *procs, pid_t pid);
bool child_end(struct procs *procs, struct spawned *child, struct reap *ret);

/* gone.c */
void gone_watch(struct procs *procs);
void gone_unwatch(struct procs *procs);
void gone_tell(struct procs *procs);
void gone_close(struct procs *procs, struct proc *proc);
void gone_adopt(struct procs *procs, struct proc *proc, bool is_news);

/* deaths.c */
int deaths_watch(struct procs *procs);
void deaths_unwatch(struct procs *procs);

/* ends.c */
void ends_expect_gone(struct procs *procs, struct proc *proc, bool is_news);
void ends_add(struct procs *procs, struct proc *proc, const struct reap *reap);
void ends_tell_stopped(struct procs *procs, const struct proc *proc, bool is_stopped,
                       int signo);
bool ends_stopped_or_continued(struct procs *procs, const struct reap *reap);
bool ends_take_exit(struct procs *procs);
void ends_take_exits(struct procs *procs);
int child_signal(struct procs *procs, const struct spawned *child, int signo);
void child_kill_all(struct procs *procs, struct spawned *child);

#endif
