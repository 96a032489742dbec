/* SPDX-License-Identifier: ISC */
/* script.c - the lines of a story, carried out one after another. */
#include "config.h"

#include "tests/scenario/script.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/units.h"
#include "tests/scenario/cast.h"

static void
split(char *line, const char *separators, struct words *ret)
{
	char *save;

	ret->n = 0;
	for (char *word = strtok_r(line, separators, &save);
	     word != NULL && ret->n < SCRIPT_WORDS_MAX;
	     word = strtok_r(NULL, separators, &save))
		ret->at[ret->n++] = word;
}

struct player *
script_player(struct stage *stage, const char *name)
{
	struct player *player = &stage->players[stage->n_players];

	if (stage->n_players == STAGE_PLAYERS_MAX || strlen(name) >= STAGE_NAME_MAX) {
		stage_blame(stage, "too many actors, or too long a name");
		return NULL;
	}
	stage->n_players++;
	strcpy(player->name, name);
	player->ref = REF_NONE;
	return player;
}

/* An actor with a strategy is a supervisor; "supervisor" alone means one_for_one. */
static bool
is_supervisor(const struct words *words, uint32_t from)
{
	for (uint32_t i = from; i < words->n; i++)
		if (names_find(strategy_names, STRATEGY_MAX, words->at[i]) >= 0 ||
		    strcmp(words->at[i], "both") == 0)
			return true;
	return false;
}

void
script_describe(struct stage *stage, struct player *player, const struct words *words,
                uint32_t from)
{
	const bool supervisor = is_supervisor(words, from);

	cast_default(player, supervisor);
	for (uint32_t i = from; i < words->n; i++) {
		if (!supervisor && cast_is_for_supervisors(words->at[i]))
			stage_blame(stage, "%s has no children: \"%s\" is a supervisor's",
			            player->name, words->at[i]);
		if (!cast_word(stage, player, words->at[i]))
			return;
	}
}

static void
tree_begin(struct script *script, const struct words *words)
{
	struct stage *stage = &script->stage;
	struct player *user = script_player(stage, "/user");

	if (user == NULL)
		return;
	cast_default(user, true);
	user->spec.policy.intensity.unlimited = true;
	for (uint32_t i = 1; i < words->n; i++) {
		if (strncmp(words->at[i], "intensity=", 10) == 0)
			user->spec.policy.intensity.unlimited = false;
		if (!cast_word(stage, user, words->at[i]))
			return;
	}
	user->ref = rig_user(&stage->rig, &user->spec);
	script->parents[0] = 0;
	script->in_tree = true;
}

static void
tree_line(struct script *script, uint32_t blanks, const struct words *words)
{
	struct stage *stage = &script->stage;
	uint32_t depth = blanks / 2;
	struct player *player;

	if (depth == 0 || depth >= SPEC_DEPTH_MAX || blanks % 2 != 0) {
		stage_blame(stage, "two blanks a level, please");
		return;
	}
	player = script_player(stage, words->at[0]);
	if (player == NULL)
		return;
	script_describe(stage, player, words, 1);
	if (stage->fault[0] != '\0')
		return;
	player->ref = rig_add(&stage->rig, stage->players[script->parents[depth - 1]].ref,
	                      REF_NONE, &player->spec);
	script->parents[depth] = stage->n_players - 1;
}

/*
 * watchdog a [again] | watchdog_trigger a | watchdog_every a D | extend a D |
 * self_report a KEY [again] | paused a | continued a |
 * probed a good|bad|unknown [late]
 */
static bool
living_statement(struct stage *stage, const struct player *player,
                 const struct words *words, struct event *event)
{
	static const char *const probed_names[] = {"unknown", "bad", "good"};
	int kind = names_find(event_kind_names, EVENT_KIND_MAX, words->at[0]);
	const char *detail = words->n > 2 ? words->at[2] : "";

	if (kind < EVENT_WATCHDOG || kind > EVENT_PROBED)
		return false;
	event->kind = (enum event_kind)kind;
	stage->stamp += strcmp(words->at[words->n - 1], "again") != 0;
	event->stamp = stage->stamp;
	if (kind == EVENT_WATCHDOG_EVERY || kind == EVENT_EXTEND) {
		if (!cast_duration(detail, &event->period_ms))
			stage_blame(stage, "how long?");
	} else if (kind == EVENT_SELF_REPORT) {
		snprintf(event->key, sizeof(event->key), "%s", detail);
	} else if (kind == EVENT_PAUSED) {
		event->signal = SIGSTOP;
	} else if (kind == EVENT_PROBED) {
		event->code = names_find(probed_names, 3, detail) - 1;
		event->serial = player->probe_serial - (words->n > 3);
	}
	return true;
}

/* exit a 1 | signal a SEGV [core|oom] | gone a | left a | spawned a | ready a */
static bool
world_statement(struct stage *stage, struct player *player, const struct words *words)
{
	const char *verb = words->at[0];
	const char *detail = words->n > 2 ? words->at[2] : "";
	struct event event = {.ref = player->ref,
	                      .life = player->life,
	                      .code = -1,
	                      .gone = !player->lingers};

	if (strcmp(verb, "exit") == 0) {
		event.kind = EVENT_EXITED;
		event.code = atoi(detail);
	} else if (strcmp(verb, "signal") == 0) {
		event.kind = EVENT_EXITED;
		event.signal = signal_parse(detail);
		event.core = words->n > 3 && strcmp(words->at[3], "core") == 0;
		event.oom = words->n > 3 && strcmp(words->at[3], "oom") == 0;
	} else if (strcmp(verb, "gone") == 0) {
		event.kind = EVENT_GONE;
	} else if (strcmp(verb, "left") == 0) {
		event.kind = EVENT_LEFT;
		event.life = player->life =
		    rig_view(&stage->rig, player->ref).process.life + 1;
	} else if (strcmp(verb, "spawned") == 0) {
		event.kind = EVENT_SPAWNED;
	} else if (strcmp(verb, "ready") == 0) {
		event.kind = EVENT_READY;
	} else if (strcmp(verb, "backoff_reset") == 0) {
		event.kind = EVENT_BACKOFF_RESET;
	} else if (strcmp(verb, "stop_sent") == 0) {
		event.kind = EVENT_STOP_SENT;
	} else if (!living_statement(stage, player, words, &event)) {
		return false;
	}
	if (player->life == 0)
		stage_blame(stage, "%s has no process", player->name);
	else
		(void)stage_queue(stage, stage->rig.now_ms, &event, player);
	return true;
}

/* hook A HOOK|run fails [N] | broken E [N] | lasts D | hangs | works */
static bool
hook_behaves(struct player *player, const struct words *words)
{
	int hook = words->n < 4 ? -1 : names_find(hook_names, HOOK_MAX, words->at[2]);
	const char *how = words->n < 4 ? "" : words->at[3];
	struct behaviour *behaviour = &player->run;

	if (hook >= 0)
		behaviour = &player->hooks[hook];
	else if (words->n < 4 || strcmp(words->at[2], "run") != 0)
		return false;
	if (strcmp(how, "fails") == 0) {
		behaviour->code = 1;
		behaviour->error = 0;
		behaviour->times = words->n > 4 ? (uint32_t)atoi(words->at[4]) : FOREVER;
	} else if (strcmp(how, "broken") == 0 && words->n > 4) {
		behaviour->error = err_code(words->at[4]);
		behaviour->times = words->n > 5 ? (uint32_t)atoi(words->at[5]) : FOREVER;
	} else if (strcmp(how, "lasts") == 0 && words->n > 4) {
		return cast_duration(words->at[4], &behaviour->lasts_ms);
	} else if (strcmp(how, "hangs") == 0) {
		behaviour->lasts_ms = DURATION_INFINITE;
	} else if (strcmp(how, "works") == 0) {
		behaviour->times = 0;
		behaviour->lasts_ms = 0;
	} else {
		return false;
	}
	return true;
}

/* deaf, obeys, lingers, held, released, slow D, answers N, loops N, broken E [N], fixed
 */
static bool
behaviour_statement(struct player *player, const struct words *words)
{
	const char *verb = words->at[0];
	const char *detail = words->n > 2 ? words->at[2] : "";

	if (strcmp(verb, "deaf") == 0) {
		player->deaf = true;
	} else if (strcmp(verb, "undying") == 0) {
		player->deaf = true;
		player->undying = true;
	} else if (strcmp(verb, "obeys") == 0) {
		player->deaf = false;
		player->undying = false;
		player->slow_ms = 0;
	} else if (strcmp(verb, "lingers") == 0) {
		player->lingers = true;
	} else if (strcmp(verb, "held") == 0) {
		player->held = true;
	} else if (strcmp(verb, "released") == 0) {
		player->held = false;
	} else if (strcmp(verb, "slow") == 0) {
		return cast_duration(detail, &player->slow_ms);
	} else if (strcmp(verb, "answers") == 0) {
		player->answers = atoi(detail);
	} else if (strcmp(verb, "loops") == 0) {
		player->loops = atoi(detail);
	} else if (strcmp(verb, "broken") == 0) {
		player->broken = err_code(detail);
		player->broken_times =
		    words->n > 3 ? (uint32_t)atoi(words->at[3]) : FOREVER;
	} else if (strcmp(verb, "fixed") == 0) {
		player->broken = 0;
	} else if (strcmp(verb, "hook") == 0) {
		return hook_behaves(player, words);
	} else {
		return false;
	}
	return true;
}

static void
one_statement(struct script *script, char *text)
{
	struct stage *stage = &script->stage;
	struct words words;
	struct player *player;

	split(text, " \t", &words);
	if (words.n == 0)
		return;
	if (strcmp(words.at[0], "add") == 0) {
		add_statement(stage, &words);
		return;
	}
	if (strcmp(words.at[0], "cast") == 0 && words.n > 1) {
		(void)script_player(stage, words.at[1]);
		return;
	}
	if (strcmp(words.at[0], "grow") == 0) {
		grow_statement(stage, &words);
		return;
	}
	if (strcmp(words.at[0], "system") == 0) {
		system_statement(stage, &words);
		return;
	}
	if (strcmp(words.at[0], "shutdown") == 0 || strcmp(words.at[0], "quit") == 0 ||
	    strcmp(words.at[0], "boot") == 0 || strcmp(words.at[0], "tick") == 0) {
		const struct event event = {
		    .kind = (enum event_kind)names_find(event_kind_names, EVENT_KIND_MAX,
		                                        words.at[0]),
		    .ref = REF_NONE};

		(void)stage_flush(stage);
		stage_post(stage, &event);
		return;
	}
	player = words.n > 1 ? stage_player(stage, words.at[1]) : NULL;
	if (player == NULL)
		stage_blame(stage, "\"%s\" whom?", words.at[0]);
	else if (!world_statement(stage, player, &words) &&
	         !behaviour_statement(player, &words) &&
	         !command_statement(stage, player, &words) &&
	         !reload_statement(stage, player, &words))
		stage_blame(stage, "no such statement: \"%s\"", words.at[0]);
}

/*
 * Things that are done, several at once between "&"; then the world runs on, or, after
 * "once", only this turn is ended.
 */
static void
statements(struct script *script, char *line)
{
	struct stage *stage = &script->stage;
	bool once = strncmp(line, "once ", 5) == 0;
	struct words parts;

	if (!expect_all_read(stage))
		return;
	split(once ? line + 5 : line, "&", &parts);
	for (uint32_t i = 0; i < parts.n && stage->fault[0] == '\0'; i++)
		one_statement(script, parts.at[i]);
	if (stage->fault[0] != '\0')
		return;
	if (once)
		stage_turn(stage);
	else
		stage_run(stage);
}

static void
time_statement(struct stage *stage, const struct words *words)
{
	uint64_t ms = 0;

	if (words->n < 2 || !cast_duration(words->at[1], &ms))
		stage_blame(stage, "how long?");
	else if (expect_all_read(stage))
		stage_advance(stage, strcmp(words->at[0], "at") == 0
		                         ? stage->start_ms + ms
		                         : stage->rig.now_ms + ms);
}

static void
hear_statement(struct stage *stage, const struct words *words)
{
	for (uint32_t i = 1; i < words->n; i++) {
		int found = names_find(report_names, REPORT_MAX, words->at[i]);

		if (strcmp(words->at[i], "told") == 0)
			stage->heard_told = true;
		else if (found < 0)
			stage_blame(stage, "nobody hears of \"%s\"", words->at[i]);
		else
			stage->heard |= 1U << found;
	}
}

/* One line of a story.  What is wrong with it is in the stage's `fault`. */
void
script_line(struct script *script, char *line)
{
	struct stage *stage = &script->stage;
	uint32_t blanks = (uint32_t)strspn(line, " ");
	char copy[512];
	struct words words;

	strncpy(copy, line, sizeof(copy) - 1);
	copy[sizeof(copy) - 1] = '\0';
	split(copy, " \t", &words);
	if (words.n == 0 || words.at[0][0] == '#')
		return;
	if (script->in_tree && blanks > 0) {
		tree_line(script, blanks, &words);
		return;
	}
	script->in_tree = false;
	if (strcmp(words.at[0], "tree") == 0) {
		tree_begin(script, &words);
	} else if (strcmp(words.at[0], "after") == 0 || strcmp(words.at[0], "at") == 0) {
		time_statement(stage, &words);
	} else if (strcmp(words.at[0], "hear") == 0) {
		hear_statement(stage, &words);
	} else if (!expect_statement(stage, &words)) {
		statements(script, line);
	}
}

/* The story is over: nothing may be left unread. */
void
script_end(struct script *script)
{
	(void)expect_all_read(&script->stage);
}
