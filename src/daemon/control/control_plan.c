/* SPDX-License-Identifier: ISC */
/* control_plan.c - methods about the configuration: Describe, Diff, Apply. */
#include "config.h"

#include <errno.h>

#include "base/cleanup.h"
#include "daemon/control/handlers.h"
#include "daemon/reload/before.h"
#include "daemon/reload/loading.h"
#include "daemon/reload/plan_json.h"
#include "daemon/reload/reload.h"
#include "daemon/reload/trial.h"
#include "daemon/report/config_errors.h"
#include "daemon/report/describe.h"
#include "daemon/sockets/grown.h"
#include "daemon/state/actors.h"
#include "daemon/state/engine.h"
#include "daemon/state/options.h"
#include "daemon/state/recording.h"
#include "os/self/clock.h"

/* All that is wrong with the file; where the file is not the reason, one sentence. */
static void
reply_config_invalid(struct conn *conn, const struct reload *reload,
                     const struct err *err)
{
	reply_error(conn, CONTROL_INTERFACE ".ConfigInvalid",
	            config_errors_json(&reload->reports, reload->file, err->text));
}

static void
reply_plan(struct conn *conn, const char *plan)
{
	strbuf_adds(reply_begin(conn), plan);
	reply_end(conn, false);
}

/* The configuration was rolled back: the actor that caused it, and that all is as before.
 */
static void
reply_taken_back(struct conn *conn, const struct trial_result *result)
{
	char since[CLOCK_TEXT_MAX];

	(void)clock_format(result->since_wall_us, 3, since);
	if (result->has_failed)
		reply_start_failed(conn, result->path, &result->cause, result->ref,
		                   since);
	else
		reply_error(conn, CONTROL_INTERFACE ".Timeout",
		            json_pack("{s:s,s:s,s:s}", "name", result->path, "state",
		                      node_state_names[result->state], "rolled_back_to",
		                      since));
}

static void
forget_trial(struct conn *conn)
{
	trial_await(conn->control->uses.trial, NULL, NULL);
}

static void
on_trial_end(void *user, const struct trial_result *result)
{
	struct conn *conn = user;
	const struct control_uses *uses = &conn->control->uses;

	switch (result->end) {
	case TRIAL_KEPT:
		reply_plan(conn, conn->call.plan);
		break;
	case TRIAL_BACK:
		reply_taken_back(conn, result);
		break;
	case TRIAL_STUCK:
		reply_invalid_state(conn, result->ref,
		                    "it is not ready, and the configuration before "
		                    "could not be put back: the log says why");
		break;
	case TRIAL_LEFT:
		reply_invalid_state(conn, core_ref(uses->engine->core, CORE_USER),
		                    "supd is shutting down");
		break;
	}
	conn->call.state = CALL_FINISHED;
	conn->call.release = NULL;
	conn_run(conn);
}

/* Put it into force, for good or on trial; 0 or -errno with a sentence. */
static int
apply_it(struct conn *conn, struct reload *reload, uint64_t trial_ms, struct err *err)
{
	const struct control_uses *uses = &conn->control->uses;

	command_event(conn, REF_NONE, "apply");
	return trial_ms > 0
	           ? trial_apply(uses->trial, reload, trial_ms,
	                         param_bool(conn, "commit_when_ready", false), err)
	           : reload_apply(uses->reloader, reload, err);
}

/* The call begins again: it has the file read, or goes on with what was read. */
static void
begin_again(struct conn *conn)
{
	conn->call.state = CALL_HELD;
	conn->call.turn = 0;
	control_attend(conn);
}

static void
on_ready(void *user)
{
	begin_again(user);
}

/* Done with what was read, or never begun: the next call has its file read. */
static void
release_loading(struct conn *conn)
{
	struct conn *next;

	loading_end(conn->call.loading);
	conn->call.loading = NULL;
	conn->call.release = NULL;
	conn->call.state = CALL_FINISHED;
	TAILQ_FOREACH (next, &conn->control->conns, link) {
		if (next->call.state == CALL_LOADING) {
			begin_again(next);
			return;
		}
	}
}

static bool
is_one_loading(const struct control *control)
{
	const struct conn *conn;

	TAILQ_FOREACH (conn, &control->conns, link) {
		if (conn->call.loading != NULL)
			return true;
	}
	return false;
}

/*
 * Have a child read the file, for one call at a time; the call begins again when the file
 * was read, and has it read once more if another configuration came into force meanwhile.
 * False: the file was read, or no child can be started.
 */
static bool
begin_loading(struct conn *conn, const char *file, enum loading_use use)
{
	const struct control_uses *uses = &conn->control->uses;

	if (conn->call.loading != NULL && loading_is_current(conn->call.loading))
		return false;
	loading_end(conn->call.loading);
	conn->call.loading = NULL;
	if (!is_one_loading(conn->control)) {
		if (file == NULL)
			file = uses->origin->conf_file;
		conn->call.loading =
		    loading_begin(uses->reloader, file, use, on_ready, conn);
		if (conn->call.loading == NULL)
			return false;
	}
	conn->call.state = CALL_LOADING;
	conn->call.release = release_loading;
	return true;
}

static void
diff_or_apply(struct conn *conn, bool apply, uint64_t trial_ms)
{
	const struct control_uses *uses = &conn->control->uses;
	const char *file = param_string(conn, "file");
	const bool undo = param_bool(conn, "undo", false);
	struct reload reload = {0};
	struct err err = {0};

	if (file != NULL && (file[0] != '/' || undo)) {
		reply_invalid_parameter(conn, "file");
		return;
	}
	if (!undo && begin_loading(conn, file, apply ? LOADING_APPLY : LOADING_DIFF))
		return;
	CLEANUP(strbuf_done) struct strbuf plan = STRBUF(VARLINK_REPLY_MAX);
	int r = undo ? before_prepare(uses->reloader, &reload, &err)
	             : reload_prepare(uses->reloader, file, conn->call.loading, &reload,
	                              &err);
	if (!undo)
		release_loading(conn);
	reload.rerun = param_bool(conn, "rerun", false);
	if (r == 0) {
		/* Before it is applied: the plan borrows from both configurations. */
		plan_json(&plan, uses->reloader, &reload);
		if (plan.failed)
			r = -ENOMEM;
		else if (apply)
			r = apply_it(conn, &reload, trial_ms, &err);
	}
	if (r == -ENODATA) {
		reply_invalid_state(conn, core_ref(uses->engine->core, CORE_USER),
		                    err.text);
	} else if (r < 0) {
		reply_config_invalid(conn, &reload, &err);
	} else if (apply && trial_is_on(uses->trial)) {
		conn->call.plan = strbuf_take(&plan);
		conn->call.state = CALL_TRIAL;
		conn->call.release = forget_trial;
		trial_await(uses->trial, on_trial_end, conn);
	} else {
		reply_plan(conn, strbuf_str(&plan));
	}
	reload_done(&reload);
}

/* What applying the file would do; changes nothing. */
void
handle_diff(struct conn *conn)
{
	diff_or_apply(conn, false, 0);
}

/*
 * From the configuration that runs to the one on disk, all or nothing.  With rollback_ms
 * it is on trial for so long: see trial_apply().
 */
void
handle_apply(struct conn *conn)
{
	const struct control_uses *uses = &conn->control->uses;
	const uint64_t trial_ms = (uint64_t)param_int(conn, "rollback_ms", 0);
	const char *why = NULL;

	if (trial_ms > TRIAL_MS_MAX) {
		reply_invalid_parameter(conn, "rollback_ms");
		return;
	}
	if (uses->recording->facts.shutting_down)
		why = "supd is shutting down";
	else if (trial_is_on(uses->trial))
		why = "a configuration is on trial: wait until the trial is over";
	if (why != NULL)
		reply_invalid_state(conn, core_ref(uses->engine->core, CORE_USER), why);
	else
		diff_or_apply(conn, true, trial_ms);
}

/* ---- Describe --------------------------------------------------------------------- */

void
handle_describe(struct conn *conn)
{
	const struct control_uses *uses = &conn->control->uses;
	struct ref ref;

	if (!call_resolve_one(conn, &ref, NULL))
		return;
	const struct actor *actor = actors_get(uses->actors, ref);
	if (actor == NULL || actor->conf == NULL)
		reply_invalid_state(conn, ref, "it is not configured any more");
	else
		reply_json(
		    conn, describe_json(conf_of_actor(uses->actors, actor), actor->conf));
}
