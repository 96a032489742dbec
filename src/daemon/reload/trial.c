/* SPDX-License-Identifier: ISC */
/* trial.c - a configuration on trial.
 *
 * Nothing that it starts, restarts or updates may fail meanwhile, and all of that must be
 * ready at the end; else the configuration before is in force again.
 *
 * A guardian that dies before the new configuration was handed over leaves no trial; from
 * then on, until its end is recorded, a successor goes on with the trial.
 */
#include "config.h"

#include "daemon/reload/trial.h"

#include <errno.h>
#include <ev.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/cleanup.h"
#include "base/strbuf.h"
#include "daemon/reload/before.h"
#include "daemon/reload/reload.h"
#include "daemon/state/actors.h"
#include "daemon/state/cause.h"
#include "daemon/state/engine.h"
#include "daemon/state/keeper.h"
#include "daemon/state/log.h"
#include "daemon/state/recording.h"
#include "helper/watchers.h"
#include "ledger/link.h"
#include "os/self/clock.h"
#include "os/self/fd.h"

#define KEY VAULT_KEY(VAULT_TRIAL, 0)

struct trial {
	struct reloader *reloader;
	int before_fd;    /* the configuration before, frozen; -1: there is no trial */
	struct ref *refs; /* of those that are observed */
	size_t n;
	size_t next;     /* those before it were fine */
	bool has_failed; /* `next` has, for this cause */
	struct cause cause;
	ev_timer timer;
	trial_fn *on_end;
	void *user;
};

/* True if there is a trial.  NULL is none. */
bool
trial_is_on(const struct trial *trial)
{
	return trial != NULL && trial->before_fd >= 0;
}

/* ---- what is observed -------------------------------------------------------------- */

/*
 * All that the plan starts, starts anew or updates in place, and what is below a
 * supervisor that starts anew, because that does so too; -errno.
 */
static int
collect(struct trial *trial, const struct conf_plan *plan)
{
	const struct reloader *reloader = trial->reloader;
	const struct conf *conf = reloader->actors->conf;
	CLEANUP_FREE enum change_kind *kinds = calloc(conf->n_actors, sizeof(*kinds));

	free(trial->refs);
	trial->n = trial->next = 0;
	trial->refs = calloc(conf->n_actors, sizeof(*trial->refs));
	if (trial->refs == NULL || kinds == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < plan->n; i++)
		if (plan->at[i].kind != CHANGE_REMOVED)
			kinds[plan->at[i].new_index] = plan->at[i].kind;
	for (uint32_t i = 0; i < conf->n_actors; i++) {
		const uint32_t above = conf->actors[i].parent;

		if (above != CONF_NONE && kinds[above] == CHANGE_RESTARTED)
			kinds[i] = CHANGE_RESTARTED;
		if (kinds[i] != CHANGE_UNCHANGED)
			trial->refs[trial->n++] =
			    actors_find_static(reloader->actors, conf->actors[i].path);
	}
	return 0;
}

enum verdict { VERDICT_FINE, VERDICT_WAIT, VERDICT_FAILED };

static enum verdict
judge(const struct trial *trial, struct ref ref, struct node_view *ret_view)
{
	const struct reloader *reloader = trial->reloader;
	const struct actor *actor = actors_get(reloader->actors, ref);

	/* A temporary actor that has ended is gone. */
	if (actor == NULL || !core_valid(reloader->engine->core, ref))
		return VERDICT_FINE;
	*ret_view = engine_view(reloader->engine, ref);
	if (ret_view->has_failure &&
	    ret_view->failure.at_ms > reloader->recording->facts.trial_since_ms)
		return VERDICT_FAILED;
	/* The process of the configuration before was not stopped yet. */
	if (actor->pid != 0 &&
	    actor->process_started_ms < reloader->recording->facts.trial_since_ms)
		return VERDICT_WAIT;
	/* The actor is not wanted, or its work is done. */
	return ret_view->ready || ret_view->state == STATE_DONE ||
	               ret_view->state == STATE_STOPPED || ret_view->state == STATE_FAILED
	           ? VERDICT_FINE
	           : VERDICT_WAIT;
}

/*
 * Look on from where it was waited last; at the end at all of them once more, because one
 * that was ready may have failed meanwhile.
 */
static enum verdict
judge_all(struct trial *trial, struct node_view *ret_view)
{
	enum verdict verdict = VERDICT_FINE;

	while (trial->next < trial->n && (verdict = judge(trial, trial->refs[trial->next],
	                                                  ret_view)) == VERDICT_FINE)
		trial->next++;
	for (size_t i = 0; verdict == VERDICT_FINE && i < trial->n; i++) {
		verdict = judge(trial, trial->refs[i], ret_view);
		if (verdict != VERDICT_FINE)
			trial->next = i;
	}
	return verdict;
}

/*
 * Something failed, for this cause: if it is observed the trial is over, at the end of
 * this turn.  A temporary actor can be seen here only, because its end makes it vanish.
 */
void
trial_on_failure(struct trial *trial, struct ref ref, const struct cause *cause)
{
	if (!trial_is_on(trial) || trial->has_failed)
		return;
	for (size_t i = 0; i < trial->n; i++) {
		if (memcmp(&trial->refs[i], &ref, sizeof(ref)) != 0)
			continue;
		trial->has_failed = true;
		trial->next = i;
		trial->cause = *cause;
		return;
	}
}

/* ---- its end ----------------------------------------------------------------------- */

/* End the trial; the callback comes last because it may start another. */
static void
finish_trial(struct trial *trial, const struct trial_result *result)
{
	trial_fn *on_end = trial->on_end;
	void *user = trial->user;

	ev_timer_stop(trial->reloader->loop, &trial->timer);
	keeper_release(trial->reloader->keeper, KEY);
	fd_close(&trial->before_fd);
	free(trial->refs);
	trial->refs = NULL;
	trial->n = trial->next = 0;
	trial->has_failed = false;
	trial_await(trial, NULL, NULL);
	if (on_end != NULL)
		on_end(user, result);
}

static int
apply_before(struct trial *trial, struct err *err)
{
	struct reloader *reloader = trial->reloader;
	struct reload reload = {.keeps_before = true};
	int r = -EBADMSG;

	reload.conf = conf_unpack(trial->before_fd, err);
	if (reload.conf != NULL)
		r = conf_plan_make(reloader->actors->conf, reload.conf, &reload.plan);
	/* The ledger that reload_apply() hands over says that the trial is over. */
	reloader->recording->facts.trial_until_ms = 0;
	if (r == 0)
		r = reload_apply(reloader, &reload, err);
	reload_done(&reload);
	return r;
}

/* What was tried is in force for good. */
static void
stay(struct trial *trial)
{
	before_replace(trial->reloader, trial->reloader->recording->facts.conf_id,
	               trial->before_fd);
	trial->before_fd = -1;
	trial->reloader->recording->facts.trial_until_ms = 0;
	record_facts(trial->reloader->recording);
}

static void
log_back(const struct trial *trial, const struct trial_result *result)
{
	char since[CLOCK_TEXT_MAX];

	CLEANUP(strbuf_done) struct strbuf why = STRBUF(1024);
	if (result->has_failed)
		cause_text(
		    &why, &result->cause,
		    cause_about(trial->reloader->actors, &result->cause, result->ref));
	else
		strbuf_adds(&why, "was not ready in time");
	log_line(LOG_LEVEL_WARNING, "%s %s: back to the configuration of %s",
	         result->path, strbuf_str(&why),
	         clock_format(result->since_wall_us, 3, since));
}

static void
take_back(struct trial *trial, struct trial_result *result, const struct node_view *view)
{
	struct reloader *reloader = trial->reloader;
	struct err err = {.text = "out of memory"};

	result->ref = trial->refs[trial->next];
	result->state = view->state;
	result->since_wall_us = reloader->recording->facts.before_wall_us;
	log_back(trial, result);
	result->end = TRIAL_BACK;
	if (apply_before(trial, &err) == 0) {
		/* It is in force for as long as it was. */
		reloader->recording->facts.conf_wall_us = result->since_wall_us;
		record_facts(reloader->recording);
		return;
	}
	result->end = TRIAL_STUCK;
	stay(trial);
	log_line(LOG_LEVEL_ERROR, "the configuration before cannot be put back: %s",
	         err.text);
}

static void
decide(struct trial *trial, bool is_over)
{
	struct reloader *reloader = trial->reloader;
	struct trial_result result = {.end = TRIAL_KEPT};
	struct node_view view = {.state = STATE_STOPPED};
	enum verdict verdict = VERDICT_FINE;
	CLEANUP_FREE char *path = NULL; /* told when the actor may be gone */

	if (reloader->recording->facts.shutting_down)
		result.end = TRIAL_LEFT;
	else if (trial->has_failed)
		verdict = VERDICT_FAILED;
	else
		verdict = judge_all(trial, &view);
	if (verdict != VERDICT_FAILED && !is_over &&
	    !reloader->recording->facts.shutting_down &&
	    (verdict == VERDICT_WAIT ||
	     (trial->n > 0 && !reloader->recording->facts.trial_ends_early)))
		return;
	if (verdict != VERDICT_FINE) {
		result.has_failed = verdict == VERDICT_FAILED;
		result.cause = trial->has_failed ? trial->cause : view.failure.cause;
		result.path = path =
		    strdup(actors_path(reloader->actors, trial->refs[trial->next]));
		if (path == NULL)
			result.path = "?";
		take_back(trial, &result, &view);
	} else {
		stay(trial);
	}
	finish_trial(trial, &result);
}

static void
arm(struct trial *trial)
{
	const uint64_t now_ms = clock_mono_ms();
	const uint64_t until_ms = trial->reloader->recording->facts.trial_until_ms;

	timer_begin(trial->reloader->loop, &trial->timer,
	            until_ms > now_ms ? (double)(until_ms - now_ms) / 1e3 : 0.);
}

/* Its time is over; the loop's idea of that may be early, by the length of a turn. */
static void
on_timer(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
	struct trial *trial = timer->data;

	if (clock_mono_ms() < trial->reloader->recording->facts.trial_until_ms)
		arm(trial);
	else
		decide(trial, true);
}

/* After each turn: has anything failed, or is everything ready? */
void
trial_on_turn(struct trial *trial)
{
	if (trial_is_on(trial))
		decide(trial, false);
}

/* ---- its beginning ----------------------------------------------------------------- */

/*
 * Put the configuration into force on trial: for so long nothing that it starts, restarts
 * or updates may fail, and all of that has to be ready at the end.  With ends_early the
 * trial is over as soon as it is.  Returns 0; or -errno with a sentence, and nothing has
 * changed.
 */
int
trial_apply(struct trial *trial, struct reload *reload, uint64_t ms, bool ends_early,
            struct err *err)
{
	struct reloader *reloader = trial->reloader;

	ASSERT(!trial_is_on(trial));
	if (!keeper_has_room(reloader->keeper, 0))
		return err_set(err, EMFILE,
		               "supd can keep no more descriptors over a crash");
	int r = conf_pack(reloader->actors->conf, err);
	if (r < 0)
		return r;
	trial->before_fd = fd_raise(r);
	keeper_keep(reloader->keeper, KEY, trial->before_fd);
	reloader->recording->facts.trial_since_ms = reloader->engine->now_ms;
	/* Not from when it was asked for: to read the configuration took its time. */
	reloader->recording->facts.trial_until_ms = clock_due_ms(ms);
	reloader->recording->facts.trial_ends_early = ends_early;
	reload->keeps_before = true;
	r = reload_apply(reloader, reload, err);
	if (r < 0) {
		reloader->recording->facts.trial_until_ms = 0;
		record_facts(reloader->recording);
		fd_close(&trial->before_fd);
	} else if (collect(trial, &reload->plan) == 0) {
		arm(trial);
		return 0;
	} else {
		/* The configuration is in force, and a trial cannot be held. */
		log_line(LOG_LEVEL_ERROR, "out of memory: applied without a trial");
		stay(trial);
	}
	keeper_release(reloader->keeper, KEY);
	return r;
}

/* Have its end told; NULL: no more, as the owner of the callback is gone. */
void
trial_await(struct trial *trial, trial_fn *on_end, void *user)
{
	trial->on_end = on_end;
	trial->user = user;
}

/* Go on with one that a guardian before us has begun. */
void
trial_adopt(struct trial *trial)
{
	struct reloader *reloader = trial->reloader;
	CLEANUP(conf_drop) struct conf *before = NULL;
	CLEANUP(conf_plan_done) struct conf_plan plan = {0};
	struct err err = {.text = "it was lost"};
	int r = -EBADMSG;

	if (reloader->recording->facts.trial_until_ms == 0)
		return;
	trial->before_fd = keeper_take(reloader->keeper, KEY);
	if (trial->before_fd >= 0)
		before = conf_unpack(trial->before_fd, &err);
	if (before != NULL)
		r = conf_plan_make(before, reloader->actors->conf, &plan);
	if (r == 0)
		r = collect(trial, &plan);
	if (r == 0) {
		arm(trial);
		return;
	}
	log_line(LOG_LEVEL_ERROR, "the configuration before: %s; what is in force stays",
	         err.text);
	reloader->recording->facts.trial_until_ms = 0;
	record_facts(reloader->recording);
	keeper_release(reloader->keeper, KEY);
	fd_close(&trial->before_fd);
}

/* NULL: out of memory. */
struct trial *
trial_new(struct reloader *reloader)
{
	struct trial *trial = calloc(1, sizeof(*trial));

	if (trial == NULL)
		return NULL;
	*trial =
	    (struct trial){.reloader = reloader, .before_fd = -1, .timer.data = trial};
	ev_timer_init(&trial->timer, on_timer, 0., 0.);
	return trial;
}

/* End without a verdict; NULL is fine. */
void
trial_free(struct trial *trial)
{
	if (trial == NULL)
		return;
	ev_timer_stop(trial->reloader->loop, &trial->timer);
	fd_close(&trial->before_fd);
	free(trial->refs);
	free(trial);
}
