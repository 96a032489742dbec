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

void
stage_note(struct stage *stage, struct notes *notes, const char *text)
{
	if (notes->n == STAGE_NOTES_MAX) {
		stage_blame(stage, "too much happens");
		return;
	}
	snprintf(notes->at[notes->n++], NOTE_MAX, "%s", text);
}

void
stage_note_act(struct stage *stage, const char *what, struct ref ref)
{
	char name[STAGE_NAME_MAX];
	char text[NOTE_MAX];

	snprintf(text, sizeof(text), "%s %s", what, stage_name(stage, ref, name));
	stage_note(stage, &stage->acts, text);
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
			stage_note_act(stage, "x", event->ref);
	} else if (event->kind == EVENT_HOOK_DONE) {
		if (event->serial != player->hook_serial)
			return;
		player->hook_serial = 0;
	} else if (event->kind == EVENT_REACT_DONE) {
		player->run_serial = 0;
	} else if (event->kind == EVENT_SPAWN_FAILED) {
		player->life = 0;
	} else if (event->kind == EVENT_SPAWNED && player->loops >= 0) {
		const struct event end = stage_end_of(player, player->loops, 0);

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
	stage_perform(stage);
}

/* Run until nothing more happens at this instant. */
void
stage_run(struct stage *stage)
{
	(void)stage_flush(stage);
	for (uint32_t n = 0; n < STAGE_STEPS_MAX && stage->fault[0] == '\0'; n++) {
		rig_settle(&stage->rig);
		stage_perform(stage);
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
