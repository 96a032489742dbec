/* SPDX-License-Identifier: ISC */
/* stage.h - the world of a story: actors that behave as they were told, a clock, and
 * three lists of what happened, each to be read in order.
 *
 * Unless told otherwise a process starts at once, is stopped at once by dying of TERM,
 * and leaves nothing behind.
 */
#ifndef TESTS_SCENARIO_STAGE_H
#define TESTS_SCENARIO_STAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/core.h"
#include "tests/lib/rig.h"

#define STAGE_PLAYERS_MAX 64
#define STAGE_PENDING_MAX 256
#define STAGE_NOTES_MAX   4096
#define STAGE_RULES_MAX   16
#define STAGE_WATCHES_MAX 8
#define STAGE_NAME_MAX    32
#define NOTE_MAX          64
#define FOREVER           UINT32_MAX

/* What a helper process does. */
struct behaviour {
	int code;       /* it exits with this */
	int error;      /* or the error of its start; 0: none */
	uint32_t times; /* so often, FOREVER; then with 0 */
	uint64_t lasts_ms;
};

struct player {
	char name[STAGE_NAME_MAX];
	struct ref ref;
	uint32_t depth;       /* indentation in the story */
	uint64_t addition_id; /* of a child that is added: its template and number */
	uint32_t addition_index;
	struct spec spec;
	struct rule decider[STAGE_RULES_MAX];
	struct rule on_failure[STAGE_RULES_MAX];
	struct watch_spec watches[STAGE_WATCHES_MAX];
	char watched[STAGE_WATCHES_MAX][STAGE_NAME_MAX]; /* their targets */
	struct need_spec needs[STAGE_WATCHES_MAX];
	char needed[STAGE_WATCHES_MAX][STAGE_NAME_MAX];

	uint32_t life; /* of the present process, 0: none */
	bool stopping; /* it was told to stop */
	bool frozen;
	bool main_dead; /* its end is under way */
	/* how it behaves */
	bool deaf;        /* does not react to a stop */
	bool undying;     /* … nor to a kill */
	bool held;        /* spawns are not acknowledged until told */
	bool lingers;     /* processes of the actor survive its main process */
	uint64_t slow_ms; /* takes so long to stop */
	int answers;      /* exit code in answer to a stop, -1: dies of the signal */
	int loops;  /* exits with this code as soon as it was started, -1: does not */
	int broken; /* errno of its spawns */
	uint32_t broken_times; /* how many more, FOREVER */

	uint32_t hook_serial;  /* of the hook that runs, 0: none */
	uint32_t run_serial;   /* of the command of a watch that runs */
	uint32_t probe_serial; /* of the newest question */
	struct behaviour hooks[HOOK_MAX];
	struct behaviour run; /* of all its commands of watches */
};

struct pending {
	uint64_t at_ms;
	struct event event;
	uint32_t player;
};

struct notes {
	char (*at)[NOTE_MAX];
	size_t n;
	size_t read; /* the story has seen so many */
};

struct stage {
	struct rig rig;
	struct player players[STAGE_PLAYERS_MAX];
	uint32_t n_players;
	struct pending pending[STAGE_PENDING_MAX];
	uint32_t n_pending;
	uint64_t start_ms;
	struct notes acts;      /* S a, t a, x a, K a, removed a, exit 70 */
	struct notes replies;   /* stop a done */
	struct action *reports; /* failures and the like, in order */
	size_t n_reports;
	size_t reports_read;
	uint32_t heard;  /* set of enum report that is kept */
	bool heard_told; /* and what is told to watchers */
	uint64_t n_tokens;
	uint64_t n_additions;
	struct {
		uint64_t token;
		char what[NOTE_MAX / 2];
		bool answered;
	} asked[STAGE_PENDING_MAX];
	uint64_t stamp; /* of the newest message */
	size_t taken;   /* how much of the rig's log was looked at */
	char fault[256];
};

void stage_init(struct stage *stage);
void stage_done(struct stage *stage);
struct player *stage_player(struct stage *stage, const char *name);
struct player *stage_player_of(struct stage *stage, struct ref ref);
void stage_post(struct stage *stage, const struct event *event);
bool stage_queue(struct stage *stage, uint64_t at_ms, const struct event *event,
                 const struct player *player);
uint64_t stage_token(struct stage *stage, const char *verb, const struct player *player);
bool stage_flush(struct stage *stage);
void stage_turn(struct stage *stage);
void stage_run(struct stage *stage);
void stage_advance(struct stage *stage, uint64_t to_ms);
void stage_blame(struct stage *stage, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
const char *stage_name(struct stage *stage, struct ref ref, char buf[STAGE_NAME_MAX]);

/* stage.c and stage_act.c: what the core asks for, and what is noted of it. */
void stage_note(struct stage *stage, struct notes *notes, const char *text);
void stage_note_act(struct stage *stage, const char *what, struct ref ref);
struct event stage_end_of(const struct player *player, int code, int signo);
void stage_perform(struct stage *stage);

#endif
