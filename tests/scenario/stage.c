/* SPDX-License-Identifier: ISC */
/* stage.c - the world of a story: processes that behave as they were told. */
#include "config.h"

#include "tests/scenario/stage.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

#define STAGE_STEPS_MAX 20000

static const char *const reply_names[] = {
    [REPLY_DONE] = "done",
    [REPLY_FAILED] = "failed",
    [REPLY_INVALID_STATE] = "invalid",
    [REPLY_NO_SUCH_ACTOR] = "unknown",
    [REPLY_BUSY] = "busy",
    [REPLY_SUPERSEDED] = "superseded",
    [REPLY_LIMIT] = "limit",
};

/* What is always kept; a story must read all of these. */
#define HEARD_ALWAYS                                                            \
	(1U << REPORT_FAILURE | 1U << REPORT_GAVE_UP | 1U << REPORT_ESCALATED | \
	 1U << REPORT_KILLED_AFTER_TIMEOUT | 1U << REPORT_UNKILLABLE |          \
	 1U << REPORT_HOOK_FAILED)

void
stage_init(struct stage *stage)
{
	memset(stage, 0, sizeof(*stage));
	rig_init(&stage->rig, 8, 1);
	stage->start_ms = stage->rig.now_ms;
	stage->heard = HEARD_ALWAYS;
	stage->acts.at = calloc(STAGE_NOTES_MAX, sizeof(*stage->acts.at));
	stage->replies.at = calloc(STAGE_NOTES_MAX, sizeof(*stage->replies.at));
	stage->reports = calloc(STAGE_NOTES_MAX, sizeof(*stage->reports));
	if (stage->acts.at == NULL || stage->replies.at == NULL || stage->reports == NULL)
		abort();
}

void
stage_done(struct stage *stage)
{
	rig_done(&stage->rig);
	free(stage->acts.at);
	free(stage->replies.at);
	free(stage->reports);
}

/* Remember the first thing that went wrong. */
void
stage_blame(struct stage *stage, const char *fmt, ...)
{
	va_list ap;

	if (stage->fault[0] != '\0')
		return;
	va_start(ap, fmt);
	vsnprintf(stage->fault, sizeof(stage->fault), fmt, ap);
	va_end(ap);
}

static void
note(struct stage *stage, struct notes *notes, const char *text)
{
	if (notes->n == STAGE_NOTES_MAX) {
		stage_blame(stage, "too much happens");
		return;
	}
	snprintf(notes->at[notes->n++], NOTE_MAX, "%s", text);
}

static void
note_act(struct stage *stage, const char *what, struct ref ref)
{
	char name[STAGE_NAME_MAX];
	char text[NOTE_MAX];

	snprintf(text, sizeof(text), "%s %s", what, stage_name(stage, ref, name));
	note(stage, &stage->acts, text);
}

struct player *
stage_player(struct stage *stage, const char *name)
{
	for (uint32_t i = stage->n_players; i-- > 0;)
		if (strcmp(stage->players[i].name, name) == 0)
			return &stage->players[i];
	return NULL;
}

struct player *
stage_player_of(struct stage *stage, struct ref ref)
{
	for (uint32_t i = 0; i < stage->n_players; i++)
		if (ref_equal(stage->players[i].ref, ref))
			return &stage->players[i];
	return NULL;
}

const char *
stage_name(struct stage *stage, struct ref ref, char buf[STAGE_NAME_MAX])
{
	const struct player *player = stage_player_of(stage, ref);

	if (player != NULL)
		return player->name;
	if (ref.slot == CORE_ROOT)
		return "/";
	if (ref.slot == UINT32_MAX)
		return "none";
	snprintf(buf, STAGE_NAME_MAX, "#%u.%u", ref.slot, ref.tenant);
	return buf;
}

/* Let this event happen at a later time (or now, in the next turn). */
bool
stage_queue(struct stage *stage, uint64_t at_ms, const struct event *event,
            const struct player *player)
{
	struct pending *pending = &stage->pending[stage->n_pending];

	if (stage->n_pending == STAGE_PENDING_MAX) {
		stage_blame(stage, "too much is pending");
		return false;
	}
	stage->n_pending++;
	*pending = (struct pending){.at_ms = at_ms,
	                            .event = *event,
	                            .player = (uint32_t)(player - stage->players)};
	return true;
}

/* A token for a command; its reply is noted as "verb name result". */
uint64_t
stage_token(struct stage *stage, const char *verb, const struct player *player)
{
	if (stage->n_tokens == STAGE_PENDING_MAX) {
		stage_blame(stage, "too many commands");
		return 0;
	}
	snprintf(stage->asked[stage->n_tokens].what,
	         sizeof(stage->asked[stage->n_tokens].what), "%s %.20s", verb,
	         player->name);
	stage->asked[stage->n_tokens].token = 100 + stage->n_tokens;
	return 100 + stage->n_tokens++;
}

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
		note(stage, &stage->replies, text);
		return;
	}
	stage_blame(stage, "a reply to a token that nobody gave");
}

static struct event
end_of(const struct player *player, int code, int signo)
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
		event = end_of(player, -1, SIGKILL);
		event.gone = true;
		if (player->main_dead)
			event.kind = EVENT_GONE;
	} else if (player->deaf || player->main_dead) {
		return;
	} else {
		event =
		    end_of(player, player->answers, player->answers < 0 ? SIGTERM : 0);
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
	note(stage, &stage->acts, text);
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

	note_act(stage, "hook_kill", action->ref);
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
	note(stage, &stage->acts, text);
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
	note_act(stage, "removed", action->ref);
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
		note_act(stage, action->watchdog_expired ? "b" : letters[action->kind],
		         action->ref);
		on_process(stage, player, action);
		break;
	case ACTION_ADDED:
		on_added(stage, action);
		break;
	case ACTION_FREEZE:
	case ACTION_THAW:
		note_act(stage, letters[action->kind], action->ref);
		on_freeze(stage, player, action);
		break;
	case ACTION_LISTEN:
		note_act(stage, letters[action->kind], action->ref);
		break;
	case ACTION_REMOVED:
		on_removed(stage, player, action);
		break;
	case ACTION_REPLY:
		on_reply(stage, action);
		break;
	case ACTION_EXIT:
		snprintf(text, sizeof(text), "exit %d", action->status);
		note(stage, &stage->acts, text);
		break;
	case ACTION_SIGNAL:
	case ACTION_REACT:
		on_reaction(stage, player, action);
		break;
	case ACTION_REPORT:
		on_report(stage, action);
		break;
	case ACTION_CLEAR:
		note_act(stage, action->is_final ? "forget" : "clear", action->ref);
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

static void
perform(struct stage *stage)
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

/* The story (or the world) tells the core something; the turn is not over yet. */
void
stage_post(struct stage *stage, const struct event *event)
{
	rig_post(&stage->rig, event);
}

/* One event of the world: what it means for the player, then to the core. */
static void
deliver(struct stage *stage, const struct pending *pending)
{
	struct player *player = &stage->players[pending->player];
	const struct event *event = &pending->event;
	bool current = event->life == player->life && player->life != 0;

	if (event->kind == EVENT_EXITED || event->kind == EVENT_GONE) {
		if (!current)
			return;
		if (event->kind == EVENT_GONE || event->gone)
			player->life = 0;
		else
			player->main_dead = true;
		if (player->stopping && (event->gone || event->kind == EVENT_GONE))
			note_act(stage, "x", event->ref);
	} else if (event->kind == EVENT_HOOK_DONE) {
		if (event->serial != player->hook_serial)
			return;
		player->hook_serial = 0;
	} else if (event->kind == EVENT_REACT_DONE) {
		player->run_serial = 0;
	} else if (event->kind == EVENT_SPAWN_FAILED) {
		player->life = 0;
	} else if (event->kind == EVENT_SPAWNED && player->loops >= 0) {
		const struct event end = end_of(player, player->loops, 0);

		(void)stage_queue(stage, stage->rig.now_ms, &end, player);
	}
	stage_post(stage, event);
}

static int
earlier(struct stage *stage, const struct pending *a, const struct pending *b)
{
	const struct core *core = stage->rig.core;

	if (!core_valid(core, a->event.ref) || !core_valid(core, b->event.ref))
		return 0;
	return core_compare_order(core, a->event.ref, b->event.ref);
}

/* Post all that is due now, in start order.  False: nothing was due. */
bool
stage_flush(struct stage *stage)
{
	struct pending batch[STAGE_PENDING_MAX];
	uint32_t n = 0;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < stage->n_pending; i++) {
		const struct pending pending = stage->pending[i];
		uint32_t at = n;

		if (pending.at_ms > stage->rig.now_ms) {
			stage->pending[kept++] = pending;
			continue;
		}
		while (at > 0 && earlier(stage, &pending, &batch[at - 1]) < 0) {
			batch[at] = batch[at - 1];
			at--;
		}
		batch[at] = pending;
		n++;
	}
	stage->n_pending = kept;
	for (uint32_t i = 0; i < n; i++)
		deliver(stage, &batch[i]);
	return n > 0;
}

/* End this turn; its actions are left for later. */
void
stage_turn(struct stage *stage)
{
	(void)stage_flush(stage);
	rig_settle(&stage->rig);
	perform(stage);
}

/* Run until nothing more happens at this instant. */
void
stage_run(struct stage *stage)
{
	(void)stage_flush(stage);
	for (uint32_t n = 0; n < STAGE_STEPS_MAX && stage->fault[0] == '\0'; n++) {
		rig_settle(&stage->rig);
		perform(stage);
		if (stage_flush(stage))
			continue;
		if (core_deadline(stage->rig.core) > stage->rig.now_ms)
			return;
		rig_post(&stage->rig, &(struct event){.kind = EVENT_TICK});
	}
	stage_blame(stage, "the story never comes to rest");
}

/* Let time pass up to `to_ms`, with everything that happens on the way. */
void
stage_advance(struct stage *stage, uint64_t to_ms)
{
	while (stage->fault[0] == '\0') {
		uint64_t next_ms = core_deadline(stage->rig.core);

		for (uint32_t i = 0; i < stage->n_pending; i++)
			if (stage->pending[i].at_ms < next_ms)
				next_ms = stage->pending[i].at_ms;
		if (next_ms > to_ms)
			break;
		if (next_ms > stage->rig.now_ms)
			stage->rig.now_ms = next_ms;
		stage_run(stage);
	}
	stage->rig.now_ms = to_ms;
}
