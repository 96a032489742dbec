/* SPDX-License-Identifier: ISC */
/* procs_private.h - what the files about processes share.
 *
 *	procs.c   born, told, asked
 *	freezing.c  standing still
 *	ends.c    reaped, gone
 *	adopt.c   taken over from a guardian before us
 *	help.c    helped by commands of its own (tasks.h)
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
#include "daemon/processes/hung.h"
#include "daemon/processes/launch.h"
#include "daemon/processes/procs.h"
#include "os/process/containment.h"
#include "os/process/leftover.h"
#include "os/process/proc.h"
#include "os/process/reap.h"

#define PROCS_NONE UINT32_MAX
/* In by_pid and in the epoll: not a slot, but the place of a task. */
#define PROCS_TASK UINT32_C(0x80000000)

/* How far stop_command has got with a life. */
enum stop_command {
	STOP_COMMAND_NOT_ASKED,
	STOP_COMMAND_ORDERED,
	STOP_COMMAND_ENDED,
	STOP_COMMAND_FAILED, /* stop_signal is sent instead */
};

/* The process of one actor. */
struct proc {
	struct ref ref;
	uint32_t life;
	pid_t pid; /* 0: none, or reaped */
	int pidfd;
	bool used; /* the containment is open */
	bool stopping;
	bool killing;
	bool late;       /* was asked to end later than the core thinks */
	bool deferred;   /* waits for its elder: never two processes of one path */
	bool adopted;    /* the walker is the parent, and reaps the process */
	bool leftover;   /* the main process is reaped, something else may not be */
	bool fresh;      /* the core was not told of its end yet */
	bool uncompared; /* its state is not compared with the core yet (adopt.c) */
	bool frozen;     /* frozen, with all descendants */
	bool unsettled;  /* not all of it does yet what `frozen` says */
	uint8_t passes;  /* number of sweeps for that */
	/* … and the number of sweeps in a row without a moving process */
	uint8_t quiet;
	uint32_t told;       /* the life that has said READY=1 */
	pid_t leader;        /* the process that `pid` replaced by MAINPID=; 0: none */
	uint64_t main_start; /* … and its start, see proc_look() */
	uint64_t awaits[2];  /* see output_begun() */
	uint32_t next, prev; /* among the leftovers */
	struct containment containment;
	struct reap end;
	bool ended;
	enum spawn_step failed_step;
	int failed_which; /* as in struct spawn_result */
	int error;        /* errno of a start that failed */
	enum stop_command stop_command;
	uint8_t reloads; /* reloads ordered and not ended yet: under way, and waiting */
};

struct procs {
	struct shell *shell;
	struct proc *at; /* by slot */
	uint32_t cap;
	struct map by_pid;
	struct launcher launcher;
	struct hung hung; /* children that were given up and are not gone */
	int epoll_fd;
	ev_io death;
	ev_io cgroup;
	int child_fd; /* SIGCHLD; edges of it are in the epoll */
	ev_timer walk;
	ev_timer sweep;
	struct proc_sweep *sweeper;
	uint32_t leftovers;      /* first of the list */
	struct leftovers strays; /* that wait to be held: strays.c */
	uint32_t *unsettled;     /* slots, of cap */
	uint32_t n_unsettled;
	ev_timer again; /* look at these */
};

/* procs.c */
const struct proc *procs_at(const struct procs *procs, uint32_t slot);
struct proc *proc_of(const struct procs *procs, struct ref ref, uint32_t life);
struct proc *proc_by_pid(const struct procs *procs, pid_t pid);
void proc_post(struct procs *procs, const struct proc *proc, struct event event);
void proc_record(struct procs *procs, const struct proc *proc);
void proc_post_failed(struct procs *procs, const struct proc *proc);
int proc_signal(struct procs *procs, struct proc *proc, int signo);
int proc_signal_pid(struct procs *procs, const pid_t *pid, int pidfd, bool adopted,
                    int signo);
void procs_order_again(struct procs *procs, struct proc *proc);

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
bool foster_collect(struct procs *procs, const pid_t *pid, int *pidfd, struct reap *ret);

/* ends.c */
int ends_watch(struct procs *procs);
void ends_unwatch(struct procs *procs);
void ends_add(struct procs *procs, struct proc *proc, const struct reap *reap);
void ends_tell(struct procs *procs);
void ends_tell_stopped(struct procs *procs, const struct proc *proc, bool is_stopped,
                       int signo);
void ends_close(struct procs *procs, struct proc *proc);
bool ends_take_exit(struct procs *procs);
void ends_take_exits(struct procs *procs);
void ends_adopt(struct procs *procs, struct proc *proc, bool is_news);
void ends_drop(struct procs *procs, struct proc *proc);
void ends_let_go(const struct procs *procs, int *pidfd);
int ends_hold(struct procs *procs, pid_t pid, uint32_t who);
struct reap end_unknown(pid_t pid);

#endif
