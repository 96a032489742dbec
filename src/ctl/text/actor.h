/* SPDX-License-Identifier: ISC */
/* actor.h - the Actor of io.supd.Control, as one reply has it, and its words for people.
 *
 * A view's spans point into the reply: they live as long as that.
 */
#ifndef CTL_ACTOR_H
#define CTL_ACTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "ctl/wire/ctl.h"
#include "ctl/wire/scan.h"

struct cause_view {
	bool is_there;
	struct span kind, text;
};

struct failure_view {
	bool is_there;
	struct span origin, directive, rule, at;
	struct cause_view cause;
};

struct details_view {
	bool is_there;
	struct span command; /* an array */
	struct span file;
	int64_t line;
	struct span sockets; /* an array */
	struct span log;
};

struct exit_view {
	bool is_there;
	struct cause_view cause;
	struct span at;
	int64_t killed_after_ms; /* -1: it stopped by itself */
};

struct backoff_view {
	bool is_there;
	int64_t failures, delay_ms;
	int64_t due_in_ms; /* -1: no start is waiting for it */
};

struct resources_view {
	bool is_there;
	int64_t memory_bytes; /* -1: not known, as for the others */
	int64_t cpu_usec, processes, descriptors, read_bytes;
	int64_t write_bytes;
};

/* The restarts that count now; of the bounds -1: none. */
struct restarts_view {
	int64_t n, limit, within_ms;
};

/* What did not arrive. */
struct missed_view {
	int64_t dead_letters;
	struct span blocked; /* why its log files cannot be written; NULL: they are */
	int64_t lost;        /* bytes of output dropped meanwhile */
};

struct actor_view {
	struct span raw; /* the whole object */
	struct span path, kind, state;
	int64_t pid; /* 0: none */
	int64_t incarnation, generation;
	bool ready, held;
	int64_t suspended;
	bool sigstopped;
	bool degraded; /* an actor below it failed */
	bool healthy;
	struct span health; /* of its check: good or bad; NULL: it has none */
	struct span since;
	int64_t uptime_ms; /* -1: not running */
	int64_t restarts;
	struct span raw_restarts_by;
	struct restarts_view window;
	struct span strategy, restart, description;
	struct missed_view missed;
	struct span status, raw_waits_for;
	struct backoff_view backoff;
	struct failure_view failure;
	struct exit_view last_exit;
	struct resources_view resources;
	struct details_view details;
};

/* The room for all paths that a single pattern can match. */
#define PATHS_BYTES_MAX (64 * 1024 * 1024)

/* How much is asked about each actor: what a line of a list is made of; all of it; and
 * also what it takes of the machine, with the details of those that are named. */
enum actors_depth { ACTORS_BRIEF, ACTORS_WHOLE, ACTORS_WITH_RESOURCES };

typedef void (*on_actor)(void *user, const struct actor_view *actor);

bool actor_read(struct scan *scan, struct actor_view *ret);
int actors_each(struct ctl *ctl, const struct call *call, const struct reply *reply,
                on_actor visit, void *user);
int actors_status(struct ctl *ctl, const char *name, enum actors_depth depth,
                  on_actor visit, void *user);

int actors_named(struct ctl *ctl, char **names, uint32_t n, on_actor visit, void *user);
int actors_act(struct ctl *ctl, char **names, uint32_t n,
               int (*act)(struct ctl *ctl, const char *name));

bool actor_is_supervisor(const struct actor_view *actor);
bool actor_is_within(struct span path, const char *top);
bool actor_is_unwell(const struct actor_view *actor);
struct span actor_state(const struct actor_view *actor);
struct span actor_name(const struct actor_view *actor);
enum colour actor_state_colour(struct span state);
void actor_print_window(struct strbuf *sb, const struct actor_view *actor);
void actor_print_remark(struct strbuf *sb, const struct actor_view *actor);
bool actor_waits(const struct actor_view *actor);
void actor_note_path(void *user, const struct actor_view *actor);
void actor_print_waits_for(struct strbuf *sb, const struct actor_view *actor);

#endif
