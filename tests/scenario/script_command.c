/* SPDX-License-Identifier: ISC */
/* script_command.c - the statements of a story that give commands, and change the tree.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "tests/scenario/cast.h"
#include "tests/scenario/script.h"

/* start, stop [hold], restart [unasked], reset, kill, suspend, resume, wait FOR, delete
 * [stop], demand, idle */
bool
command_statement(struct stage *stage, struct player *player, const struct words *words)
{
	const char *verb = words->at[0];
	int kind = names_find(event_kind_names, EVENT_KIND_MAX, verb);
	const char *detail = words->n > 2 ? words->at[2] : "";
	struct event event = {.ref = player->ref};
	int wait_for;

	if (kind != EVENT_START && kind != EVENT_STOP && kind != EVENT_RESTART &&
	    kind != EVENT_RESET && kind != EVENT_KILL && kind != EVENT_WAIT &&
	    kind != EVENT_DELETE && kind != EVENT_SUSPEND && kind != EVENT_RESUME &&
	    kind != EVENT_DEMAND && kind != EVENT_IDLE)
		return false;
	event.kind = (enum event_kind)kind;
	event.hold = strcmp(detail, "hold") == 0;
	event.stop = strcmp(detail, "stop") == 0;
	if (kind == EVENT_WAIT) {
		wait_for = names_find(wait_for_names, WAIT_FOR_MAX, detail);
		if (wait_for < 0)
			stage_blame(stage, "wait for what?");
		event.wait_for = wait_for < 0 ? WAIT_READY : (enum wait_for)wait_for;
	}
	(void)stage_flush(stage);
	if (kind != EVENT_RESET && kind != EVENT_KILL && kind != EVENT_DEMAND &&
	    kind != EVENT_IDLE && strcmp(detail, "unasked") != 0)
		event.token = stage_token(stage, verb, player);
	stage_post(stage, &event);
	return true;
}

/* remove a | bounce a | update a WORD… | before a [b] */
bool
reload_statement(struct stage *stage, struct player *player, const struct words *words)
{
	struct core *core = stage->rig.core;
	const char *verb = words->at[0];
	const struct player *other;

	if (strcmp(verb, "remove") == 0) {
		core_remove(core, player->ref, stage->rig.now_ms);
	} else if (strcmp(verb, "bounce") == 0) {
		core_restart(core, player->ref, stage->rig.now_ms);
	} else if (strcmp(verb, "update") == 0) {
		for (uint32_t i = 2; i < words->n; i++)
			if (!cast_word(stage, player, words->at[i]))
				return true;
		rig_update(&stage->rig, player->ref, &player->spec);
	} else if (strcmp(verb, "before") == 0) {
		other = words->n > 2 ? stage_player(stage, words->at[2]) : NULL;
		core_place_before(core, player->ref,
		                  other == NULL ? REF_NONE : other->ref);
	} else {
		return false;
	}
	return true;
}

/* add PARENT NAME WORD… */
void
add_statement(struct stage *stage, const struct words *words)
{
	const struct player *parent =
	    words->n < 3 ? NULL : stage_player(stage, words->at[1]);
	struct player *player =
	    parent == NULL ? NULL : script_player(stage, words->at[2]);

	if (player == NULL) {
		stage_blame(stage, "add to whom, and what?");
		return;
	}
	script_describe(stage, player, words, 3);
	player->ref = rig_add(&stage->rig, parent->ref, REF_NONE, &player->spec);
}

/* Note the number of each addition: the core gives the reference. */
static void
expect_added(struct stage *stage, struct player *player, struct addition *addition,
             uint32_t parent)
{
	player->addition_id = stage->n_additions;
	player->addition_index = addition->n;
	addition->at[addition->n].spec = &player->spec;
	addition->at[addition->n].parent = parent;
	addition->at[addition->n++].incarnation = 1;
}

/* An actor that was `cast` has its behaviour already. */
static struct player *
grown_player(struct stage *stage, const char *name)
{
	struct player *player = stage_player(stage, name);

	if (player != NULL && player->ref.slot == REF_NONE.slot)
		return player;
	return script_player(stage, name);
}

/* grow PARENT NAME WORD… [: CHILD WORD…]…: at run time; the children are NAME's own. */
void
grow_statement(struct stage *stage, const struct words *words)
{
	const struct player *parent =
	    words->n < 3 ? NULL : stage_player(stage, words->at[1]);
	struct addition addition = {0};
	struct event event = {.kind = EVENT_ADD, .addition = &addition};
	uint32_t from = 2;

	if (parent == NULL) {
		stage_blame(stage, "add to whom, and what?");
		return;
	}
	event.ref = parent->ref;
	event.addition_id = ++stage->n_additions;
	while (from < words->n && addition.n < CORE_ADDED_MAX) {
		struct player *player = grown_player(stage, words->at[from]);
		struct words own = *words;
		uint32_t end = from;

		while (end < words->n && strcmp(words->at[end], ":") != 0)
			end++;
		own.n = end;
		if (player == NULL)
			return;
		script_describe(stage, player, &own, from + 1);
		expect_added(stage, player, &addition, 0);
		from = end + 1;
	}
	rig_make_room(&stage->rig, addition.n, addition.n * 256);
	rig_make_watches(&stage->rig, addition.n * STAGE_WATCHES_MAX);
	(void)stage_flush(stage);
	event.token = stage_token(stage, "add", stage_player(stage, words->at[2]));
	stage_post(stage, &event);
}

/* system NAME WORD…: a supervisor before /user, as supd's own is, and a worker in it. */
void
system_statement(struct stage *stage, const struct words *words)
{
	const struct core *core = stage->rig.core;
	struct player *top = script_player(stage, "/system");
	struct player *player =
	    words->n < 2 || top == NULL ? NULL : script_player(stage, words->at[1]);

	if (player == NULL) {
		stage_blame(stage, "who is in the system?");
		return;
	}
	cast_default(top, true);
	top->spec.policy.intensity.unlimited = true;
	top->ref = rig_add(&stage->rig, core_ref(core, CORE_ROOT),
	                   core_ref(core, CORE_USER), &top->spec);
	script_describe(stage, player, words, 2);
	player->ref = rig_add(&stage->rig, top->ref, REF_NONE, &player->spec);
}
