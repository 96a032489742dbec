/* SPDX-License-Identifier: ISC */
/* control_simulate.c - Simulate: what the policy will do. */
#include "config.h"

#include <errno.h>

#include "base/cleanup.h"
#include "daemon/control/handlers.h"
#include "daemon/forecast/simulate.h"
#include "daemon/state/actors.h"
#include "daemon/state/engine.h"

static const char *
path_of(const void *user, struct ref ref)
{
	return actors_path(user, ref);
}

struct workers {
	struct ref at[SIMULATE_ACTORS_MAX];
	size_t n;
};

/* This actor, or all below it that have a process; false: too many. */
static bool
add_workers(const struct control_uses *uses, struct ref top, struct workers *workers)
{
	CORE_FOREACH (ref, uses->engine->core, top) {
		if (engine_view(uses->engine, ref).kind == NODE_SUPERVISOR)
			continue;
		if (workers->n == SIMULATE_ACTORS_MAX)
			return false;
		workers->at[workers->n++] = ref;
		/* For a supervisor with a process the question is about that process. */
		if (ref.slot == top.slot)
			break;
	}
	return true;
}

/* The workers that the question is about; false: an error was replied. */
static bool
select_workers(struct conn *conn, const char *name, struct workers *workers)
{
	const struct control_uses *uses = &conn->control->uses;
	struct ref_list *list = &conn->call.list;
	bool fits = true;

	if (name == NULL)
		fits =
		    add_workers(uses, core_ref(uses->engine->core, CORE_USER), workers);
	else if (!call_resolve_name(conn, name, list))
		return false;
	for (size_t i = 0; i < list->n && fits; i++)
		fits = add_workers(uses, list->at[i], workers);
	if (!fits)
		reply_limit(conn, name != NULL ? name : "/user", SIMULATE_ACTORS_MAX);
	return fits;
}

/* Why there are no steps. */
static void
reply_failure(struct conn *conn, struct ref ref, int r)
{
	if (r == -EINVAL)
		reply_invalid_state(conn, ref,
		                    "it cannot be started now: its supervisor is down, "
		                    "or it waits for another actor or a client");
	else if (r == -EOVERFLOW)
		reply_invalid_state(conn, ref, "there is no end in sight");
	else
		reply_limit(conn, actors_path(conn->control->uses.actors, ref),
		            SIMULATE_BYTES_MAX);
}

/* The parameters; false: an error was replied. */
static bool
read_question(struct conn *conn, struct simulation *ret)
{
	const char *cause = param_string(conn, "cause");
	int64_t times = param_int(conn, "times", SIMULATE_TIMES);

	if (times < 1 || times > SIMULATE_TIMES_MAX)
		return reply_invalid_parameter(conn, "times");
	if (!simulate_parse_cause(cause != NULL ? cause : "signal:KILL", &ret->cause))
		return reply_invalid_parameter(conn, "cause");
	ret->times = (uint32_t)times;
	return true;
}

/* One worker; false: an error was replied. */
static bool
add_worker(struct conn *conn, const struct simulation *simulation, struct ref ref,
           struct strbuf *steps, struct strbuf *summaries)
{
	struct node_view view;

	core_view(simulation->core, ref, simulation->now_ms, &view);
	if (!simulate_can_fail(&simulation->cause, view.ready_mode)) {
		reply_invalid_state(conn, ref,
		                    "it is ready as soon as it is executed: there is no "
		                    "start_timeout");
		return false;
	}
	int r = simulate(simulation, ref, steps, summaries);
	if (r < 0)
		reply_failure(conn, ref, r);
	return r == 0;
}

/* What the policy will do if it, or each worker in turn, keeps failing.  Nothing real is
 * touched: each question is put to a copy of the core. */
void
handle_simulate(struct conn *conn)
{
	const struct control_uses *uses = &conn->control->uses;
	struct simulation simulation = {
	    .core = uses->engine->core,
	    .conf = uses->actors->conf,
	    .now_ms = uses->engine->now_ms,
	    .path = path_of,
	    .user = uses->actors,
	    .json = true,
	};
	struct workers workers = {.n = 0};

	CLEANUP(strbuf_done) struct strbuf steps = STRBUF(SIMULATE_BYTES_MAX);
	CLEANUP(strbuf_done) struct strbuf summaries = STRBUF(SIMULATE_BYTES_MAX);
	bool good = read_question(conn, &simulation) &&
	            select_workers(conn, param_string(conn, "name"), &workers);
	simulation.is_part = workers.n > 1;
	for (size_t i = 0; good && i < workers.n; i++)
		good = add_worker(conn, &simulation, workers.at[i], &steps, &summaries);
	if (good) {
		strbuf_addf(reply_begin(conn), "{\"steps\":[%s],\"summaries\":[%s]}",
		            strbuf_str(&steps), strbuf_str(&summaries));
		reply_end(conn, false);
	}
}
