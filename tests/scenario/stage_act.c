/* SPDX-License-Identifier: ISC */
/* stage_act.c - what the actors of a story do when the core asks for it. */
#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "tests/scenario/stage.h"

static const char *const reply_names[] = {
    [REPLY_DONE] = "done",
    [REPLY_FAILED] = "failed",
    [REPLY_INVALID_STATE] = "invalid",
    [REPLY_NO_SUCH_ACTOR] = "unknown",
    [REPLY_BUSY] = "busy",
    [REPLY_SUPERSEDED] = "superseded",
    [REPLY_LIMIT] = "limit",
};

static void
on_reply(struct stage *stage, const struct action *action)
{
	for (uint64_t i = 0; i < stage->n_tokens; i++) {
		char text[NOTE_MAX];

		if (stage->asked[i].token != action->token)
			continue;
		if (stage->asked[i].answered)
			stage_blame(stage, "second reply to %s", stage->asked[i].what);
		stage->asked[i].answered = true;
		snprintf(text, sizeof(text), "%s %s", stage->asked[i].what,
		         reply_names[action->result]);
		stage_note(stage, &stage->replies, text);
		return;
	}
	stage_blame(stage, "a reply to a token that nobody gave");
}

struct event
stage_end_of(const struct player *player, int code, int signo)
{
	return (struct event){.kind = EVENT_EXITED,
	                      .ref = player->ref,
	                      .life = player->life,
	                      .code = signo != 0 ? -1 : code,
	                      .signal = signo,
	                      .gone = !player->lingers};
}

static void
on_spawn(struct stage *stage, struct player *player, const struct action *action)
{
	struct event event = {.ref = action->ref, .life = action->life};

	if (player->life != 0)
		stage_blame(stage, "%s is spawned while its process is there",
		            player->name);
	player->life = action->life;
	player->stopping = false;
	player->frozen = false;
	player->main_dead = false;
	event.kind = EVENT_SPAWNED;
	if (player->held)
		return;
	if (player->broken != 0 && player->broken_times > 0) {
		if (player->broken_times != FOREVER)
			player->broken_times--;
		event.kind = EVENT_SPAWN_FAILED;
		event.error = player->broken;
	}
	(void)stage_queue(stage, stage->rig.now_ms, &event, player);
}

static void
on_end_wanted(struct stage *stage, struct player *player, const struct action *action)
{
	uint64_t at_ms = stage->rig.now_ms;
	struct event event;

	if (player->life == 0 || player->life != action->life) {
		stage_blame(stage, "a signal to %s, which has no such process",
		            player->name);
		return;
	}
	if (player->frozen)
		stage_blame(stage, "a signal to %s, which cannot hear it", player->name);
	player->stopping = true;
	if (action->kind == ACTION_KILL && player->undying) {
		return;
	} else if (action->kind == ACTION_KILL) {
		event = stage_end_of(player, -1, SIGKILL);
		event.gone = true;
		if (player->main_dead)
			event.kind = EVENT_GONE;
	} else if (player->deaf || player->main_dead) {
		return;
	} else {
		event = stage_end_of(player, player->answers,
		                     player->answers < 0 ? SIGTERM : 0);
		at_ms += player->slow_ms;
	}
	(void)stage_queue(stage, at_ms, &event, player);
}

/* The end of the process this time, or the error of its start. */
static void
behave(struct behaviour *behaviour, struct event *event)
{
	if (behaviour->times == 0)
		return;
	if (behaviour->times != FOREVER)
		behaviour->times--;
	event->error = behaviour->error;
	event->code = behaviour->error != 0 ? -1 : behaviour->code;
}

static void
on_hook(struct stage *stage, struct player *player, const struct action *action)
{
	struct event event = {
	    .kind = EVENT_HOOK_DONE, .ref = action->ref, .serial = action->serial};
	char text[NOTE_MAX];

	snprintf(text, sizeof(text), "%s %.20s %s", hook_names[action->call.hook],
	         player == NULL ? "?" : player->name,
	         hook_reason_names[action->call.reason]);
	stage_note(stage, &stage->acts, text);
	if (player == NULL || player->hook_serial != 0) {
		stage_blame(stage, "a hook of nobody, or a second one");
		return;
	}
	player->hook_serial = action->serial;
	behave(&player->hooks[action->call.hook], &event);
	if (player->hooks[action->call.hook].lasts_ms != DURATION_INFINITE)
		(void)stage_queue(
		    stage, stage->rig.now_ms + player->hooks[action->call.hook].lasts_ms,
		    &event, player);
}

static void
on_hook_kill(struct stage *stage, struct player *player, const struct action *action)
{
	const struct event event = {.kind = EVENT_HOOK_DONE,
	                            .ref = action->ref,
	                            .serial = action->serial,
	                            .code = -1,
	                            .signal = SIGKILL};

	stage_note_act(stage, "hook_kill", action->ref);
	if (player == NULL || player->hook_serial != action->serial)
		stage_blame(stage, "a hook is killed that does not run");
	else
		(void)stage_queue(stage, stage->rig.now_ms, &event, player);
}

static void
on_added(struct stage *stage, const struct action *action)
{
	for (uint32_t i = 0; i < stage->n_players; i++) {
		struct player *player = &stage->players[i];

		if (player->addition_id == action->addition_id &&
		    player->addition_index == action->addition_index)
			player->ref = action->ref;
	}
}

/* The command of a watch: it behaves as is said of the hook `run`. */
static void
on_run(struct stage *stage, struct player *player, const struct action *action)
{
	struct event event = {
	    .kind = EVENT_REACT_DONE, .ref = action->ref, .serial = action->serial};
	struct behaviour *run = &player->run;

	if (player->run_serial != 0)
		stage_blame(stage, "%s runs two commands", player->name);
	player->run_serial = action->serial;
	behave(run, &event);
	if (run->lasts_ms != DURATION_INFINITE)
		(void)stage_queue(stage, stage->rig.now_ms + run->lasts_ms, &event,
		                  player);
}

/* The reaction to the end of a watched actor: "signal a SIGHUP", "run a b". */
static void
on_reaction(struct stage *stage, struct player *player, const struct action *action)
{
	char name[STAGE_NAME_MAX];
	char text[NOTE_MAX];

	if (player == NULL) {
		stage_blame(stage, "an end is told to nobody");
		return;
	}
	if (action->kind == ACTION_REACT) {
		snprintf(text, sizeof(text), "run %s %s",
		         stage_name(stage, action->ref, name),
		         player->watched[action->death.watch - 1]);
		on_run(stage, player, action);
	} else {
		snprintf(text, sizeof(text), "signal %s %s",
		         stage_name(stage, action->ref, name),
		         signal_name(action->signal));
		if (player->life == 0 || player->life != action->life)
			stage_blame(stage, "a signal to nobody");
	}
	stage_note(stage, &stage->acts, text);
}

static void
on_freeze(struct stage *stage, struct player *player, const struct action *action)
{
	bool freeze = action->kind == ACTION_FREEZE;

	if (player == NULL || player->life == 0 || player->life != action->life)
		stage_blame(stage, "a freeze or thaw of nobody");
	else if (player->frozen == freeze)
		stage_blame(stage, "%s is frozen or thawed again", player->name);
	else
		player->frozen = freeze;
}

static void
on_process(struct stage *stage, struct player *player, const struct action *action)
{
	if (player == NULL)
		stage_blame(stage, "an action for an actor nobody knows");
	else if (action->kind == ACTION_PROBE)
		player->probe_serial = action->serial;
	else if (action->kind == ACTION_SPAWN)
		on_spawn(stage, player, action);
	else if (action->kind == ACTION_STOP || action->kind == ACTION_KILL)
		on_end_wanted(stage, player, action);
}

static void
on_report(struct stage *stage, const struct action *action)
{
	bool is_told = action->report == REPORT_TERMINATED && action->death.watch != 0;

	if (is_told ? !stage->heard_told : (stage->heard >> action->report & 1) == 0)
		return;
	if (stage->n_reports == STAGE_NOTES_MAX)
		stage_blame(stage, "too many reports");
	else
		stage->reports[stage->n_reports++] = *action;
}

static void
on_removed(struct stage *stage, const struct player *player, const struct action *action)
{
	stage_note_act(stage, "removed", action->ref);
	if (player != NULL && player->life != 0)
		stage_blame(stage, "%s is removed while its process is there",
		            player->name);
}

static const char *const letters[ACTION_KIND_MAX] = {
    [ACTION_SPAWN] = "S",    [ACTION_STOP] = "t",        [ACTION_KILL] = "K",
    [ACTION_CONTINUE] = "c", [ACTION_PROBE] = "p",       [ACTION_FREEZE] = "freeze",
    [ACTION_THAW] = "thaw",  [ACTION_LISTEN] = "listen",
};

static void
on_action(struct stage *stage, const struct action *action)
{
	struct player *player = stage_player_of(stage, action->ref);
	char text[NOTE_MAX];

	switch (action->kind) {
	case ACTION_SPAWN:
	case ACTION_STOP:
	case ACTION_KILL:
	case ACTION_CONTINUE:
	case ACTION_PROBE:
		stage_note_act(stage,
		               action->watchdog_expired ? "b" : letters[action->kind],
		               action->ref);
		on_process(stage, player, action);
		break;
	case ACTION_ADDED:
		on_added(stage, action);
		break;
	case ACTION_FREEZE:
	case ACTION_THAW:
		stage_note_act(stage, letters[action->kind], action->ref);
		on_freeze(stage, player, action);
		break;
	case ACTION_LISTEN:
		stage_note_act(stage, letters[action->kind], action->ref);
		break;
	case ACTION_REMOVED:
		on_removed(stage, player, action);
		break;
	case ACTION_REPLY:
		on_reply(stage, action);
		break;
	case ACTION_EXIT:
		snprintf(text, sizeof(text), "exit %d", action->status);
		stage_note(stage, &stage->acts, text);
		break;
	case ACTION_SIGNAL:
	case ACTION_REACT:
		on_reaction(stage, player, action);
		break;
	case ACTION_REPORT:
		on_report(stage, action);
		break;
	case ACTION_CLEAR:
		stage_note_act(stage, action->is_final ? "forget" : "clear", action->ref);
		break;
	case ACTION_HOOK:
	case ACTION_HOOK_KILL:
		(action->kind == ACTION_HOOK ? on_hook : on_hook_kill)(stage, player,
		                                                       action);
		break;
	case ACTION_KIND_MAX:
		stage_blame(stage, "an action of no kind");
		break;
	}
}

void
stage_perform(struct stage *stage)
{
	while (stage->taken < stage->rig.n_log) {
		const struct action action = stage->rig.log[stage->taken++];

		on_action(stage, &action);
	}
	rig_forget(&stage->rig);
	stage->taken = 0;
	if (stage->rig.fault != NULL)
		stage_blame(stage, "%s", stage->rig.fault);
}
