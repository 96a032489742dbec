/* SPDX-License-Identifier: ISC */
/* owner.h - what owns the rooms of a guardian, for the loop alone: each room has what it
 * uses of the others since it was opened (rooms.c).
 *
 * The world becomes events (post.h), the core's actions become system calls (perform.c).
 * A function called from perform never calls the core: it posts.
 */
#ifndef DAEMON_OWNER_H
#define DAEMON_OWNER_H

#include <ev.h>

#include "conf/text/conf.h"
#include "core/core.h"
#include "daemon/state/actors.h"
#include "daemon/state/engine.h"
#include "daemon/state/events.h"
#include "daemon/state/options.h"
#include "daemon/state/post.h"
#include "daemon/state/recording.h"
#include "os/process/containment.h"
#include "os/socket/closer.h"
#include "os/spawn/spawn.h"

struct supd {
	struct ev_loop *loop;

	struct origin origin;

	struct sockets *sockets; /* mailboxes of actors, helper processes */
	struct metrics *metrics;
	struct trial *trial;

	struct engine engine;        /* the core, and the time */
	struct recording recording;  /* the state that survives us */
	struct post *post;           /* events on their way to the core */
	struct additions *additions; /* actors that the configuration does not have */
	struct actors actors;        /* what is known of each slot of the core */
	struct events events;        /* the event stream */
	struct proctable *proctable; /* the processes of the actors */
	struct processes *processes; /* their ends, hooks and probes */
	struct reloader *reloader;   /* another configuration */
	struct reporter *reporter;   /* what happened, in words */
	struct messages *messages;   /* what the actors say */
	struct system *system;       /* supd's own actors */
	struct control *control;
	struct cgroup_root cgroups;
	struct spawner spawner;
	struct upgrader *upgrader; /* with what another binary is looked at */
	struct launcher *launcher; /* with what processes are started */
	struct control_file *control_file;
	struct bounded closers; /* children that close foreign descriptors: notify.c */
	struct bounded bounded; /* what else is done in children */
	struct keeper *keeper;  /* what the walker keeps for us */
	struct exits *exits;    /* how its children ended */
};

#endif
