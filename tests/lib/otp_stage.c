/* SPDX-License-Identifier: ISC */
/* otp_stage.c - supd's core, fed with the same events as OTP's supervisors, answers in
 * the same words.
 *
 * One command a line on stdin, as in README; for each one line on stdout:
 * RESULT | TRACE | STATES.  Preset otp, no backoff; a child that is asked to end does at
 * once.
 */
#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "tests/lib/rig.h"

#define ACTORS_MAX 64
#define NAME_MAX_  16
#define WORDS_MAX  24
#define NO_ENTRY   2 /* ENOENT: the core knows no <errno.h> either */
#define TRACE_MAX  65536
#define TOKEN      7
#define FLOOR_MS   1000 /* no restart is waited for longer: OTP waits for none */

struct actor {
	char name[NAME_MAX_];
	char parent[NAME_MAX_];
	struct spec spec;
	struct ref ref;
};

/* The number of starts of an actor that fail. */
struct broken {
	char name[NAME_MAX_];
	int times;
};

struct stage {
	struct rig rig;
	struct actor actors[ACTORS_MAX];
	uint32_t n_actors;
	struct broken broken[ACTORS_MAX];
	uint32_t n_broken;
	struct strbuf trace;
	bool answered;
	enum reply_result result;
	bool gone; /* /user is */
};

/* The present actor of that name, or else a former actor. */
static struct actor *
actor_named(struct stage *stage, const char *name)
{
	struct actor *found = NULL;

	for (uint32_t i = 0; i < stage->n_actors; i++) {
		struct actor *actor = &stage->actors[i];

		if (strcmp(actor->name, name) != 0)
			continue;
		if (core_valid(stage->rig.core, actor->ref))
			return actor;
		found = actor;
	}
	return found;
}

static struct actor *
actor_of(struct stage *stage, struct ref ref)
{
	for (uint32_t i = 0; i < stage->n_actors; i++)
		if (ref_equal(stage->actors[i].ref, ref))
			return &stage->actors[i];
	return NULL;
}

static bool
is_there(const struct stage *stage, const struct actor *actor)
{
	return actor != NULL && core_valid(stage->rig.core, actor->ref);
}

static void
say(struct stage *stage, const char *what, const struct actor *actor)
{
	strbuf_addf(&stage->trace, " %s %s", what, actor->name);
}

/* The next N starts of this actor fail. */
static void
breaks(struct stage *stage, const char *name, int times)
{
	uint32_t i = 0;

	while (i < stage->n_broken && strcmp(stage->broken[i].name, name) != 0)
		i++;
	if (i == ACTORS_MAX)
		abort();
	if (i == stage->n_broken)
		stage->n_broken++;
	snprintf(stage->broken[i].name, sizeof(stage->broken[i].name), "%s", name);
	stage->broken[i].times = times;
}

/* Does this start fail? */
static bool
fails(struct stage *stage, const char *name)
{
	for (uint32_t i = 0; i < stage->n_broken; i++)
		if (strcmp(stage->broken[i].name, name) == 0 &&
		    stage->broken[i].times > 0)
			return stage->broken[i].times-- > 0;
	return false;
}

/* ---- the world ------------------------------------------------------------------- */

/* What comes of an action at once; false: nothing. */
static bool
answer(struct stage *stage, const struct action *action, struct event *ret)
{
	struct actor *actor = actor_of(stage, action->ref);

	*ret = (struct event){.ref = action->ref, .life = action->life, .code = -1};
	if (action->kind == ACTION_ADDED) {
		stage->actors[action->addition_id - 1].ref = action->ref;
	} else if (action->kind == ACTION_REPLY) {
		stage->answered = true;
		stage->result = action->result;
	} else if (action->kind == ACTION_EXIT) {
		stage->gone = true;
	} else if (action->kind == ACTION_STOP || action->kind == ACTION_KILL) {
		say(stage, "X", actor);
		ret->kind = EVENT_EXITED;
		ret->signal = SIGTERM;
		ret->gone = true;
		return true;
	} else if (action->kind == ACTION_SPAWN) {
		ret->kind = EVENT_SPAWNED;
		if (fails(stage, actor->name)) {
			ret->kind = EVENT_SPAWN_FAILED;
			ret->error = NO_ENTRY;
		}
		say(stage, ret->kind == EVENT_SPAWNED ? "S" : "F", actor);
		return true;
	}
	return false;
}

/* Until nothing moves any more: what is restarted for the fourth time within a second
 * is so after a while (DECISIONS 45). */
static void
settle(struct stage *stage)
{
	struct rig *rig = &stage->rig;

	rig_settle(rig);
	for (uint32_t n = 0; n < 100000 && rig->fault == NULL; n++) {
		size_t end = rig->n_log;

		for (; rig->answered < end; rig->answered++) {
			const struct action action = rig->log[rig->answered];
			struct event event;

			if (answer(stage, &action, &event))
				rig_post(rig, &event);
		}
		rig_settle(rig);
		if (rig->answered < rig->n_log)
			continue;
		if (core_deadline(rig->core) > rig->now_ms + FLOOR_MS)
			break;
		if (core_deadline(rig->core) > rig->now_ms)
			rig->now_ms = core_deadline(rig->core);
		rig_tick(rig);
	}
	rig_forget(rig);
}

/* ---- what is said of the tree ------------------------------------------------------ */

static const char *
state_of(const struct node_view *view)
{
	switch (view->state) {
	case STATE_STOPPED:
	case STATE_DONE:
	case STATE_FAILED:
		return "down";
	case STATE_RUNNING:
		return "up";
	case STATE_WAITING:
	case STATE_BACKOFF:
		return "restarting";
	case STATE_STARTING:
	case STATE_SUSPENDED:
	case STATE_STOPPING:
	case STATE_UNKILLABLE:
	case NODE_STATE_MAX:
		break;
	}
	return "moving";
}

static void
print_states(struct stage *stage)
{
	const struct core *core = stage->rig.core;
	struct ref user = core_ref(core, CORE_USER);
	struct node_view view;

	if (stage->gone || !core_valid(core, user) ||
	    rig_view(&stage->rig, user).state == STATE_STOPPED) {
		printf(" gone");
		return;
	}
	for (struct ref at = core_next(core, user, user); core_valid(core, at);
	     at = core_next(core, user, at)) {
		struct ref parent = core_parent(core, at);

		/* Below a supervisor that is down OTP has nothing at all. */
		if (rig_view(&stage->rig, parent).state != STATE_RUNNING)
			continue;
		view = rig_view(&stage->rig, at);
		printf(" %s %s", actor_of(stage, at)->name, state_of(&view));
	}
}

/* ---- commands ---------------------------------------------------------------------- */

struct words {
	char *at[WORDS_MAX];
	uint32_t n;
};

/* The words behind the fixed ones: `significant`, `auto=WHEN`. */
static void
take_options(struct spec *spec, const struct words *words, uint32_t from)
{
	for (uint32_t i = from; i < words->n; i++) {
		if (strcmp(words->at[i], "significant") == 0)
			spec->significant = true;
		else if (strncmp(words->at[i], "auto=", 5) == 0)
			spec->policy.auto_shutdown = (enum auto_shutdown)names_find(
			    auto_shutdown_names, AUTO_SHUTDOWN_MAX, words->at[i] + 5);
	}
}

static void
supervisor_spec(struct spec *spec, char *const *words)
{
	spec_default(spec, NODE_SUPERVISOR);
	spec->backoff.none = true;
	spec->policy.strategy =
	    (enum strategy)names_find(strategy_names, STRATEGY_MAX, words[0]);
	spec->policy.intensity.unlimited = false;
	spec->policy.intensity.restarts = (uint32_t)atoi(words[1]);
	spec->policy.intensity.within_ms = (uint64_t)atoi(words[2]) * 1000;
	spec->policy.decider = (struct decider){.preset = PRESET_OTP};
}

static struct actor *
new_actor(struct stage *stage, const char *parent, const char *name)
{
	struct actor *actor = &stage->actors[stage->n_actors];

	if (stage->n_actors == ACTORS_MAX)
		abort();
	stage->n_actors++;
	memset(actor, 0, sizeof(*actor));
	snprintf(actor->name, sizeof(actor->name), "%s", name);
	snprintf(actor->parent, sizeof(actor->parent), "%s", parent);
	actor->ref = REF_NONE;
	return actor;
}

static void
describe(struct stage *stage, const struct words *words)
{
	bool supervisor = strcmp(words->at[0], "sup") == 0;
	struct actor *actor = new_actor(stage, words->at[1], words->at[2]);
	const struct actor *parent = actor_named(stage, words->at[1]);

	if (supervisor) {
		supervisor_spec(&actor->spec, words->at + 4);
		take_options(&actor->spec, words, 7);
	} else {
		spec_default(&actor->spec, NODE_WORKER);
		actor->spec.backoff.none = true;
		take_options(&actor->spec, words, 4);
	}
	actor->spec.restart = (enum restart_type)names_find(
	    restart_type_names, RESTART_TYPE_MAX, words->at[3]);
	actor->ref = rig_add(&stage->rig, parent->ref, REF_NONE, &actor->spec);
}

static void
new_tree(struct stage *stage, const struct words *words)
{
	struct actor *top;

	if (stage->rig.core != NULL)
		rig_done(&stage->rig);
	stage->n_actors = 0;
	stage->n_broken = 0;
	stage->gone = false;
	rig_init(&stage->rig, 8, 1);
	top = new_actor(stage, "", "top");
	supervisor_spec(&top->spec, words->at + 1);
	take_options(&top->spec, words, 4);
	top->ref = rig_user(&stage->rig, &top->spec);
}

static void
post(struct stage *stage, enum event_kind kind, struct ref ref)
{
	const struct event event = {.kind = kind, .ref = ref, .token = TOKEN};

	stage->answered = false;
	rig_post(&stage->rig, &event);
	settle(stage);
}

static const char *
reply(const struct stage *stage)
{
	return stage->answered && stage->result == REPLY_DONE ? "ok" : "error";
}

/* Several ends at once: found in this order. */
static void
die(struct stage *stage, const struct words *words)
{
	for (uint32_t i = 1; i + 1 < words->n; i += 2) {
		const struct actor *actor = actor_named(stage, words->at[i]);
		const char *reason = words->at[i + 1];
		struct event event = {.kind = EVENT_EXITED, .code = -1, .gone = true};
		struct node_view view;

		if (!is_there(stage, actor))
			continue;
		view = rig_view(&stage->rig, actor->ref);
		if (!view.process.main_alive)
			continue;
		event.ref = actor->ref;
		event.life = view.process.life;
		if (strcmp(reason, "shutdown") == 0)
			event.signal = SIGTERM;
		else
			event.code = strcmp(reason, "normal") == 0 ? 0 : 1;
		rig_post(&stage->rig, &event);
	}
	settle(stage);
}

static const char *
add(struct stage *stage, const struct words *words)
{
	const struct actor *parent = actor_named(stage, words->at[1]);
	struct actor *actor = actor_named(stage, words->at[2]);
	struct addition addition = {.n = 1};
	struct event event = {.kind = EVENT_ADD, .token = TOKEN, .addition = &addition};

	if (is_there(stage, actor)) {
		struct node_view view = rig_view(&stage->rig, actor->ref);

		return strcmp(state_of(&view), "up") == 0 ? "already_started"
		                                          : "already_present";
	}
	actor = new_actor(stage, words->at[1], words->at[2]);
	spec_default(&actor->spec, NODE_WORKER);
	actor->spec.backoff.none = true;
	actor->spec.restart = (enum restart_type)names_find(
	    restart_type_names, RESTART_TYPE_MAX, words->at[3]);
	take_options(&actor->spec, words, 4);
	addition.at[0].spec = &actor->spec;
	addition.at[0].incarnation = 1;
	event.ref = parent->ref;
	event.addition_id = stage->n_actors;
	stage->answered = false;
	rig_make_room(&stage->rig, 1, core_spec_bytes(&actor->spec, &parent->spec));
	rig_post(&stage->rig, &event);
	settle(stage);
	return reply(stage);
}

static const char *
manage(struct stage *stage, const struct words *words)
{
	const char *verb = words->at[0];
	const struct actor *parent = actor_named(stage, words->at[1]);
	const struct actor *actor = actor_named(stage, words->at[2]);
	struct node_view view;

	if (stage->gone || !is_there(stage, parent) ||
	    rig_view(&stage->rig, parent->ref).state != STATE_RUNNING)
		return "nobody";
	if (strcmp(verb, "add") == 0)
		return add(stage, words);
	if (!is_there(stage, actor))
		return "not_found";
	view = rig_view(&stage->rig, actor->ref);
	if (strcmp(verb, "stop") == 0) {
		post(stage, EVENT_STOP, actor->ref);
		return reply(stage);
	}
	if (strcmp(state_of(&view), "up") == 0)
		return "running";
	if (strcmp(state_of(&view), "down") != 0)
		return "restarting";
	if (strcmp(verb, "start") == 0) {
		post(stage, EVENT_START, actor->ref);
		return reply(stage);
	}
	post(stage, EVENT_DELETE, actor->ref);
	return reply(stage);
}

static const char *
command(struct stage *stage, const struct words *words)
{
	const char *verb = words->at[0];

	if (strcmp(verb, "tree") == 0) {
		new_tree(stage, words);
	} else if (strcmp(verb, "sup") == 0 || strcmp(verb, "worker") == 0) {
		describe(stage, words);
	} else if (strcmp(verb, "boot") == 0) {
		post(stage, EVENT_BOOT, REF_NONE);
		return stage->gone ? "error" : "ok";
	} else if (strcmp(verb, "shutdown") == 0) {
		post(stage, EVENT_SHUTDOWN, REF_NONE);
	} else if (strcmp(verb, "broken") == 0) {
		breaks(stage, words->at[1], atoi(words->at[2]));
	} else if (strcmp(verb, "exit") == 0) {
		die(stage, words);
	} else if (strcmp(verb, "age") == 0) {
		(void)rig_advance(&stage->rig, stage->rig.now_ms +
		                                   (uint64_t)atoi(words->at[1]) * 1000);
	} else {
		return manage(stage, words);
	}
	return "ok";
}

int
main(void)
{
	struct stage *stage = calloc(1, sizeof(*stage));
	char line[512];

	if (stage == NULL)
		abort();
	strbuf_init(&stage->trace, TRACE_MAX);
	while (fgets(line, sizeof(line), stdin) != NULL) {
		struct words words = {.n = 0};
		char *save = NULL;

		for (char *word = strtok_r(line, " \n", &save);
		     word != NULL && words.n < WORDS_MAX;
		     word = strtok_r(NULL, " \n", &save))
			words.at[words.n++] = word;
		if (words.n == 0)
			continue;
		strbuf_clear(&stage->trace);
		printf("%s |", command(stage, &words));
		printf("%s |", strbuf_str(&stage->trace));
		print_states(stage);
		printf("\n");
		if (stage->rig.fault != NULL)
			printf("fault: %s\n", stage->rig.fault);
		fflush(stdout);
	}
	rig_done(&stage->rig);
	strbuf_done(&stage->trace);
	free(stage);
	return 0;
}
