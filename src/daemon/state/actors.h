/* SPDX-License-Identifier: ISC */
/* actors.h - what the daemon knows of an actor that the core does not: its names, its
 * configuration, and what is known of its process from outside.
 */
#ifndef DAEMON_ACTORS_H
#define DAEMON_ACTORS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/log_pace.h"
#include "base/map.h"
#include "conf/text/conf.h"
#include "core/core.h"

#define ACTOR_STATUS_MAX 256

/*
 * What is counted of an actor for its figures: failures by cause.  A guardian counts for
 * itself: after a crash of it the next begins at 0.
 */
struct tally {
	uint32_t failures[CAUSE_KIND_MAX];
};

struct actor {
	struct ref ref; /* REF_NONE: the slot is free */
	/* the previous actor of this path, if not gone yet, or REF_NONE */
	struct ref predecessor;
	struct ref successor;          /* the next actor of this path, or REF_NONE */
	char *path;                    /* owned */
	const struct conf_actor *conf; /* borrowed from the configuration it came with */
	/* number of that configuration, and the index in it */
	uint64_t conf_id;
	uint32_t conf_index;
	pid_t pid;                   /* 0: no process */
	struct grown *grown;         /* with which it was added at run time, or NULL */
	struct conf *conf_owner;     /* kept alive for actors that are being removed */
	uint64_t process_started_ms; /* when it was spawned, CLOCK_MONOTONIC */
	uint64_t reloading_us; /* it said RELOADING=1 then, and not READY=1 since; 0 */
	uint64_t dead_letters; /* clients that no process served */
	uint64_t failed_at_wall_us; /* of the last failure, 0: none */
	struct log_pace pace;       /* pace of log lines about its processes */
	char *status;               /* STATUS= of the process, or NULL */
	struct tally *tally;        /* of its failures; NULL: there were none */
	bool sigstopped;            /* by a signal that supd did not send */
	bool is_touched;            /* standin.c: is to be looked at */
	bool is_called;             /* standin.c: it is told already */
};

struct actors {
	struct actor *at; /* by slot */
	uint32_t cap;
	struct map by_path;
	uint64_t n_set;    /* how often a new actor came */
	struct conf *conf; /* the effective configuration, of most of them */
};

void actors_done(struct actors *actors);
int actors_reserve(struct actors *actors, uint32_t cap, uint32_t n_paths);
void actors_set(struct actors *actors, struct ref ref, char *take_path);
int actors_restore(struct actors *actors, struct ref ref, const char *path,
                   struct ref successor);
void actors_assign(struct actors *actors, struct ref ref, const struct conf *conf,
                   uint64_t conf_id, uint32_t index);
void actors_clear(struct actors *actors, struct ref ref);
bool actors_has_name(const struct actors *actors, struct ref ref);
uid_t actors_uid(const struct actor *actor);
struct actor *actors_get(const struct actors *actors, struct ref ref);
struct ref actors_find(const struct actors *actors, const char *path);
struct ref actors_find_static(const struct actors *actors, const char *path);

/* The path of an actor; of one that is gone already its last path, or "?". */
const char *actors_path(const struct actors *actors, struct ref ref);

/* The index of an actor in the effective configuration, which has none of supd's own. */
uint32_t actors_index(const struct actors *actors, const struct actor *actor);

#endif
