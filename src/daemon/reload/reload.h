/* SPDX-License-Identifier: ISC */
/* reload.h - from the configuration that runs to the one on disk, all or nothing. */
#ifndef DAEMON_RELOAD_H
#define DAEMON_RELOAD_H

#include "base/err.h"
#include "conf/text/conf.h"
#include "core/core.h"
#include "daemon/reload/follow.h"

/* The rooms that a reload reads from and changes; everything is borrowed. */
struct reloader {
	struct ev_loop *loop;
	const struct origin *origin;
	struct engine *engine; /* its core moves to a larger ledger */
	struct actors *actors;
	struct events *events;
	struct recording *recording;
	struct post *post;
	struct keeper *keeper;
	struct additions *additions;
	struct system *system;
	struct processes *processes;
	struct messages *messages;
	struct sockets *sockets;
	struct metrics *metrics;
	struct trial *trial;
	const struct reporter *reporter;
	struct bounded *bounded; /* children that read configurations */
	struct limits limits;
	/* Its own: */
	struct retired *retired;         /* not in force, but actors use them */
	int before_fd;                   /* in force before, packed; -1: none */
	struct conf_loading *for_hangup; /* that SIGHUP asked for, or NULL */
	bool hangup_again;               /* the signal has come again meanwhile */
};

/* A new configuration, and the plan of applying it. */
struct reload {
	const char *file;  /* where it is from, borrowed */
	bool rerun;        /* also actors that are done are started, if they change */
	bool keeps_before; /* what an undo leads to stays: for a trial */
	struct conf *conf; /* the new one, owned until applied */
	struct conf_plan plan;
	struct conf_reports reports; /* warnings, or the errors that prevent the reload */
	struct ledger *room;         /* for it, made beforehand; or NULL */
	/* The room has the core of this ledger_state(); 0: it has none. */
	uint64_t room_state;
};

/* Read this file, NULL: supd's own, and compare; changes nothing.  With `loading` that
 * was done already.  -EINVAL: reports say what is wrong. */
int reload_prepare(struct reloader *reloader, const char *file,
                   struct conf_loading *loading, struct reload *ret, struct err *err);

/* True if an actor that changes is started anew, and is not done with its work. */
bool reload_reruns(const struct reloader *reloader, const struct reload *reload,
                   const struct conf_change *change, struct ref ref);

/* Carry the reload out.  On an error (memory, a socket that cannot be opened) nothing
 * changed. */
int reload_apply(struct reloader *reloader, struct reload *reload, struct err *err);

/* Free what reload_prepare() filled; after reload_apply() too (conf is then not owned).
 */
void reload_done(struct reload *reload);

/* reload_now.c: SIGHUP */
void reload_now(struct reloader *reloader);
bool reload_is_reading(const struct reloader *reloader);
void reload_now_cancel(struct reloader *reloader);

/* The first configuration: build the tree and open its sockets, in a new ledger, made of
 * *room if that fits: it is NULL then. */
int reload_boot(struct reloader *reloader, struct conf *conf, uint64_t seed,
                struct ledger **room, struct err *err);
/* The boot is complete: hand the state over, for a successor. */
void reload_hand_over(struct reloader *reloader);

/* An actor is gone, of an earlier configuration or NULL. */
void reload_release(struct reloader *reloader, const struct conf *owner);
/* Free earlier configurations that have no actors any more, not in the turn that applied
 * another one: with thousands of actors that takes a while. */
void reload_on_turn(struct reloader *reloader);
void reload_free(struct reloader *reloader);

/* What comes, and what a ledger for it may be made of; borrowed. */
struct coming {
	const struct conf *conf;
	uint32_t n_added;     /* actors of it */
	uint64_t seed;        /* of a core, where there is none yet */
	struct ledger **room; /* NULL: there is none; the one that is used becomes NULL */
	uint64_t room_state;  /* as in struct reload */
};

/* An empty ledger, to be a room for what comes.  NULL and a sentence. */
struct ledger *reload_new_room(struct reloader *reloader, const struct coming *coming,
                               struct err *err);

/* A ledger with room for everything that is there and everything that comes: *room, if
 * that fits; the one in force stays as it is.  NULL and a sentence. */
struct ledger *reload_new_ledger(struct reloader *reloader, const struct coming *coming,
                                 struct err *err);

/* Room for so much more than there is (actors, rules and windows, watches);
 * where there is none the tree moves to a ledger that is twice as large.  -errno. */
int reload_make_room(struct reloader *reloader, const struct core_size *need,
                     struct err *err);

/* For an adoption: room for so many slots in every table; work in this ledger; a
 * configuration that is not in force but has actors (one user more). */
int reload_reserve(struct reloader *reloader, uint32_t slots, struct err *err);
void reload_use_ledger(struct reloader *reloader, struct ledger *ledger);
int reload_adopt_retired(struct reloader *reloader, uint64_t id, struct conf **ret,
                         struct err *err);

/* What the actors of this configuration need in a core: pool bytes, watches. */
uint64_t reload_pool_bytes(const struct conf *conf);
uint32_t reload_watches(const struct conf *conf);

#endif
