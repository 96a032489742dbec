/* SPDX-License-Identifier: ISC */
/* shell.h - the shell around the decision core: one running supd.
 *
 * State that all rooms of the daemon share.  The world becomes events (shell_post), the
 * core's actions become system calls (perform.c).  A function called from perform never
 * calls the core: it posts.
 */
#ifndef DAEMON_SHELL_H
#define DAEMON_SHELL_H

#include <ev.h>
#include <sys/resource.h>

#include "conf/text/conf.h"
#include "core/core.h"
#include "daemon/state/actors.h"
#include "daemon/state/events.h"
#include "ledger/ledger.h"
#include "os/process/containment.h"
#include "os/process/leftover.h"
#include "os/socket/closer.h"
#include "os/spawn/spawn.h"

struct additions;
struct control;
struct exits;
struct handover;
struct keeper;
struct sockets;
struct metrics;
struct messages;
struct post;
struct processes;
struct proctable;
struct supd_options;
struct system;
struct trial;

/* Owners of children in struct shell's `bounded`; sockets have the keys of the vault. */
enum { BOUNDED_USERS, BOUNDED_CONF };

/* Where this guardian comes from: what is known once it has started, and does not change
 * afterwards. */
struct origin {
	const struct supd_options *options;
	const char *conf_file; /* the configuration, where a call names no other file */
	const char *runtime_dir;
	/* supd's binary as it was started; the file there may be another now */
	const char *binary;
	char *control_path;   /* of the control socket; owned */
	char **environ;       /* as supd was started */
	struct rlimit nofile; /* as supd was started with: what actors inherit */
	char controllers[CGROUP_CONTROLLERS_MAX]; /* of the machine */
	pid_t walker_pid;
	/* pid and start of the walker, as in the environment of actors */
	char walker_mark[LEFTOVER_MARK_MAX];
	uint32_t crashes;   /* guardians that crashed or hung before this one, */
	uint64_t outage_ms; /* and how long no guardian was there, before it */
};

struct shell {
	struct ev_loop *loop;

	struct conf *conf; /* the effective configuration */
	struct origin origin;

	struct sockets *sockets; /* of actors, and what serves them */
	struct metrics *metrics;
	struct trial *trial;

	struct ledger_facts
	    facts;             /* about supd as a whole: record_facts() puts them down */
	struct ledger *ledger; /* the state that survives us; the core lives in it */
	struct core *core;
	struct post *post;           /* events on their way to the core */
	struct additions *additions; /* actors that the configuration does not have */
	struct actors actors;        /* what the shell knows of each slot of the core */
	struct events events;        /* the event stream */
	struct proctable *proctable; /* the processes of the actors */
	struct processes *processes; /* of the actors, and what serves them */
	struct messages *messages;   /* what the actors say */
	struct system *system;       /* supd's own actors */
	struct control *control;
	struct cgroup_root cgroups;
	struct spawner spawner;
	struct bounded closers; /* of what others have sent: notify.c */
	struct bounded bounded; /* what else is done in children */
	/* So many connections leave the actors their descriptors; 0: CONTROL_CONNS_MAX.
	 */
	uint32_t clients_max;

	struct keeper *keeper;
	struct exits *exits;       /* how its children ended */
	struct handover *handover; /* what it kept for us; NULL once we are settled */

	uint64_t now_ms;   /* one time for a whole turn */
	bool is_replaying; /* what is performed should have been some time ago */
	bool exiting;
	int32_t exit_status;    /* of supd; or … */
#define SHELL_EXIT_UPGRADE (-1) /* supd goes on with another binary */
};

/* Queue an event for the core; it is stepped at the end of this turn of the loop.  False
 * for a command that this turn has no room for; other events are always taken. */
bool shell_post(struct shell *shell, const struct event *event);

/* True if there is room for so many more events, besides urgent events. */
bool shell_has_room(const struct shell *shell, size_t n);

/*
 * The same, and the events are in the journal when this returns true: a new guardian
 * gives them to the core, and their sources may forget them. false: nothing was queued,
 * ask again in the next turn.  Not while actions are performed.
 */
bool shell_post_surely(struct shell *shell, const struct event *events, size_t n);

/* Have the walker keep a copy of this descriptor, for the next guardian. */
void shell_keep(struct shell *shell, uint64_t key, int fd);

/* What was kept under this key for us; the caller's now.  -1: nothing, or taken already.
 */
int shell_take(struct shell *shell, uint64_t key);

/* It need not be kept any longer. */
void shell_release(struct shell *shell, uint64_t key);

/* The path of an actor; of one that is gone already its last path, or "?". */
const char *shell_path(const struct shell *shell, struct ref ref);

/* The version of this supd. */
const char *shell_version(void);

/* The index of an actor in shell->conf, which one of supd's own is not in. */
uint32_t shell_index(const struct shell *shell, const struct actor *actor);

#endif
