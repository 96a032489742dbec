/* SPDX-License-Identifier: ISC */
/* shell.h - the shell around the decision core: one running supd.
 *
 * State that all rooms of the daemon share.  The world becomes events (post.h), the
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
#include "daemon/state/post.h"
#include "daemon/state/recording.h"
#include "os/process/containment.h"
#include "os/process/leftover.h"
#include "os/socket/closer.h"
#include "os/spawn/spawn.h"

struct additions;
struct control;
struct exits;
struct keeper;
struct messages;
struct metrics;
struct post;
struct processes;
struct proctable;
struct sockets;
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
	uint32_t crashes;   /* guardians before that crashed or hung, */
	uint64_t outage_ms; /* and how long no guardian was there, before it */
};

struct shell {
	struct ev_loop *loop;

	struct origin origin;

	struct sockets *sockets; /* mailboxes of actors, helper processes */
	struct metrics *metrics;
	struct trial *trial;

	struct engine engine;        /* the core, and the time */
	struct recording recording;  /* the state that survives us */
	struct post *post;           /* events on their way to the core */
	struct additions *additions; /* actors that the configuration does not have */
	struct actors actors;        /* what the shell knows of each slot of the core */
	struct events events;        /* the event stream */
	struct proctable *proctable; /* the processes of the actors */
	struct processes *processes; /* their ends, hooks and probes */
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

	struct keeper *keeper; /* what the walker keeps for us */
	struct exits *exits;   /* how its children ended */
};

#endif
