/* SPDX-License-Identifier: ISC */
/* proctable.h - the table of the actors' processes: what is known of them, by slot.
 *
 * daemon/processes writes it.  The rooms that hear what a process says ask whose it is.
 */
#ifndef DAEMON_PROCTABLE_H
#define DAEMON_PROCTABLE_H

#include <sys/types.h>

#include "base/map.h"
#include "core/core.h"
#include "os/process/containment.h"
#include "os/process/reap.h"
#include "os/spawn/spawn.h"

/* In by_pid and in the epoll: not a slot, but the place of a task. */
#define PROCS_TASK UINT32_C(0x80000000)

/* How far stop_command has got with a life. */
enum stop_command {
	STOP_COMMAND_NOT_ASKED,
	STOP_COMMAND_ORDERED,
	STOP_COMMAND_ENDED,
	STOP_COMMAND_FAILED, /* stop_signal is sent instead */
} ONE_BYTE;

/*
 * How far the newest process is; only proc_enter() changes it.
 *
 *	NONE, GONE         the core orders one              one of the next two
 *	AFTER_PREDECESSOR  the predecessor is gone          UNDER_WAY
 *	UNDER_WAY          it is born, or the start failed  RUNS, NONE
 *	RUNS               the main process has ended       LEFT
 *	LEFT               nothing is left                  GONE
 *	NONE               it is left of a dead supd        RUNS (strays.c)
 *
 * `pid` is set when it RUNS, and only then; `end` is how when it is LEFT or GONE.
 */
enum proc_state {
	PROC_NONE, /* none was ordered yet, or the start failed, see `failed` */
	PROC_AFTER_PREDECESSOR, /* never two processes of one path */
	PROC_UNDER_WAY,         /* waits for a place, or is on its way to its program */
	PROC_RUNS,              /* the core was told of the start */
	PROC_LEFT, /* the main process ended; processes that it forked may be left */
	PROC_GONE,
} ONE_BYTE;

/* Was it asked to end? */
enum proc_stop {
	STOP_NOT_ASKED,
	STOP_ASKED,
	STOP_ASKED_LATE, /* after a death of supd: later than the core thinks */
} ONE_BYTE;

/* The process and its descendants are frozen; written by freezing.c. */
struct proc_freeze {
	bool is_wanted;
	bool is_pending; /* some process still moves, or still stands, against that */
	uint8_t n_scans; /* looks at the processes since that began */
	uint8_t n_idle_scans; /* how many of the last looks found no process moving */
};

/* What is left when the main process is reaped; written by gone.c. */
struct proc_rest {
	bool is_listed;      /* something may be left */
	bool is_news;        /* the core was not told of the end yet */
	uint32_t next, prev; /* in the list */
};

/* Why the start failed. */
struct proc_failure {
	int error; /* errno; 0: it has not failed */
	enum spawn_step step;
	int8_t which; /* as in struct spawn_result */
};

/* A child that was given up before its program, see os_spawn_urge(): it was killed, but
 * may stand in a system call for ever.  Until it is gone its actor is not started again.
 */
struct proc_hung {
	pid_t pid;      /* 0: there is none */
	uint64_t since; /* when the pid was seen, see proc_ticks() */
};

/* A process that supd started: of an actor, or of a task; held.c. */
struct spawned {
	struct containment containment;
	pid_t pid; /* 0: none, or reaped */
	int pidfd;
	bool adopted; /* another process is its parent, mostly the walker, and reaps it */
	bool killing;
};

/* The process of one actor. */
struct proc {
	struct ref ref;
	struct spawned child;
	uint64_t
	    main_start; /* of the main process that MAINPID= named, see proc_look() */
	uint64_t match_from[2]; /* see output_begun() */
	struct reap end;
	struct proc_hung hung;
	uint32_t life;
	uint32_t ready_life; /* the life that has said READY=1 */
	pid_t leader;        /* the process that `pid` replaced by MAINPID=; 0: none */
	struct proc_rest rest;
	struct proc_failure failed;
	struct proc_freeze freeze;
	enum proc_state state;
	enum proc_stop stop;
	enum stop_command stop_command;
	bool needs_comparison; /* its state is not compared with the core yet (adopt.c) */
	uint8_t reloads; /* reloads ordered and not ended yet: under way, and waiting */
};

struct proctable {
	struct proc *at; /* by slot */
	uint32_t cap;
	struct map by_pid; /* main processes, and tasks */
	const struct cgroup_root *cgroups;
};

/* An empty table; `cgroups` is borrowed.  NULL without memory. */
struct proctable *proctable_new(const struct cgroup_root *cgroups);
/* Processes and descriptors in the table stay as they are. */
void proctable_free(struct proctable *table);

/* Room for that many slots; -ENOMEM.  Called when a tree is configured. */
int proctable_reserve(struct proctable *table, uint32_t slots);

/* The process is so far from now on. */
void proc_enter(struct proc *proc, enum proc_state state);
/* True if the start was ordered, and the core was not told what became of it. */
bool proc_is_coming(const struct proc *proc);
/* True if the core waits for news of this life: the containment is open. */
bool proc_is_used(const struct proc *proc);
/* True if the main process has ended. */
bool proc_has_ended(const struct proc *proc);

/* The process of this life, until nothing is left of it; else NULL. */
struct proc *proc_of(const struct proctable *table, struct ref ref, uint32_t life);
/* The process with this main pid, or NULL. */
struct proc *proc_by_pid(const struct proctable *table, pid_t pid);
/* The process that the actor has now, until nothing is left of it; else NULL. */
struct proc *proc_now(const struct proctable *table, struct ref ref);

/* True if it is the actor's main process, or one in its containment.  The actor runs as
 * `uid`. */
bool proctable_contains(const struct proctable *table, struct ref ref, pid_t pid,
                        uid_t uid);
bool proctable_is_main(const struct proctable *table, struct ref ref, pid_t pid);
/* True if the core does not know yet what came of the start of the actor's process: what
 * the process says is to be told later. */
bool proctable_is_coming(const struct proctable *table, struct ref ref);
/* The life of the process that the actor has, or 0. */
uint32_t proctable_life(const struct proctable *table, struct ref ref);
/* 1 + how much was said on this stream before its process began; 0: not known. */
uint64_t proctable_match_from(const struct proctable *table, struct ref ref,
                              bool is_stderr);
/* True if its main process has ended, or begun to. */
bool proctable_is_ending(const struct proctable *table, struct ref ref);

/* The pid that the newest process of this actor has or had; 0: there was none. */
pid_t proctable_pid(const struct proctable *table, struct ref ref);
/* How the newest process of this actor ended, for the event stream; NULL: not known. */
const struct reap *proctable_last_end(const struct proctable *table, struct ref ref);
/* True if the main process of the actor has ended, and something of it is left. */
bool proctable_has_left(const struct proctable *table, struct ref ref);
/* The failing step of the newest spawn, such as "setgid"; "" if none failed. */
const char *proctable_failed_step(const struct proctable *table, struct ref ref);

#endif
