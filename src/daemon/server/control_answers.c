/* SPDX-License-Identifier: ISC */
/* control_answers.c - answers that several methods give: errors, and actors. */
#include "config.h"

#include <string.h>

#include "base/cleanup.h"
#include "daemon/processes/unkillable_text.h"
#include "daemon/report/view.h"
#include "daemon/server/control_private.h"
#include "daemon/state/actors.h"
#include "daemon/state/cause.h"
#include "daemon/state/engine.h"
#include "daemon/state/post.h"
#include "daemon/state/recording.h"

/* ---- errors ------------------------------------------------------------------------ */

/* No actor has that name, or several have: these are the candidates. */
void
reply_no_such_actor(struct conn *conn, const char *name,
                    const struct candidates *candidates)
{
	json_t *paths = json_array();

	for (size_t i = 0; i < candidates->n; i++)
		(void)json_array_append_new(paths, json_string(candidates->at[i]));
	reply_error(conn, CONTROL_INTERFACE ".NoSuchActor",
	            json_pack("{s:s,s:o}", "name", name, "candidates", paths));
}

/* This parameter cannot be accepted: false. */
bool
reply_invalid_parameter(struct conn *conn, const char *name)
{
	reply_error(conn, SERVICE_INTERFACE ".InvalidParameter",
	            json_pack("{s:s}", "parameter", name));
	return false;
}

/* The state of an actor, in words; of an actor that is gone `stopped`. */
const char *
control_state_of(const struct engine *engine, struct ref ref)
{
	return node_state_names[core_valid(engine->core, ref)
	                            ? engine_view(engine, ref).state
	                            : STATE_STOPPED];
}

/* What was asked for is not possible in the state that the actor is in. */
void
reply_invalid_state(struct conn *conn, struct ref ref, const char *message)
{
	const struct control_uses *uses = &conn->control->uses;

	reply_error(conn, CONTROL_INTERFACE ".InvalidState",
	            json_pack("{s:s,s:s,s:s}", "name", actors_path(uses->actors, ref),
	                      "state", control_state_of(uses->engine, ref), "message",
	                      message));
}

/* There is more of something than supd has room for: false. */
bool
reply_limit(struct conn *conn, const char *name, int limit)
{
	reply_error(conn, CONTROL_INTERFACE ".LimitReached",
	            json_pack("{s:s,s:i}", "name", name, "limit", limit));
	return false;
}

/* The guardian died while it carried out the call: the outcome is not known. */
void
reply_outcome_unknown(struct conn *conn)
{
	reply_error(conn, CONTROL_INTERFACE ".OutcomeUnknown",
	            json_pack("{s:s}", "method", conn->call.method->name));
}

/* The name of the target; as the client gave it if no such actor exists. */
static const char *
name_of(const struct conn *conn, const struct target *target)
{
	return target->path != NULL
	           ? target->path
	           : actors_path(conn->control->uses.actors, target->ref);
}

/* The start of an actor failed; where it was part of a configuration on trial, the time
 * of the one that is in force again, else NULL. */
void
reply_start_failed(struct conn *conn, const char *name, const struct cause *cause,
                   struct ref origin, const char *rolled_back_to)
{
	struct strbuf *out = reply_begin_error(conn, CONTROL_INTERFACE ".StartFailed");

	strbuf_adds(out, "{\"name\":");
	strbuf_add_json(out, name);
	strbuf_adds(out, ",\"cause\":");
	cause_json(out, cause, cause_about(conn->control->uses.actors, cause, origin));
	if (rolled_back_to != NULL)
		strbuf_addf(out, ",\"rolled_back_to\":\"%s\"", rolled_back_to);
	strbuf_addc(out, '}');
	reply_end(conn, false);
}

/* True if the actor is to run by this call. */
static bool
wants_up(const struct conn *conn)
{
	return strcmp(conn->call.method->name, "Start") == 0 ||
	       strcmp(conn->call.method->name, "Restart") == 0;
}

/* What is in the way of a command, and what to do about it. */
static void
reply_not_now(struct conn *conn, struct ref ref)
{
	const struct control_uses *uses = &conn->control->uses;
	struct node_view view = {.parent = REF_NONE, .state = STATE_STOPPED};

	CLEANUP(strbuf_done) struct strbuf why = STRBUF(65536);
	if (core_valid(uses->engine->core, ref))
		view = engine_view(uses->engine, ref);
	if (wants_up(conn) && view.held) {
		strbuf_adds(&why, "it is held down; 'start' releases the hold");
	} else if (wants_up(conn) && core_valid(uses->engine->core, view.parent)) {
		strbuf_addf(&why,
		            "its supervisor %s does not run; start the supervisor first",
		            actors_path(uses->actors, view.parent));
	} else {
		strbuf_adds(&why,
		            view.state == STATE_STOPPING
		                ? "it is being stopped already"
		                : "the actor has no process; start the actor first");
	}
	reply_invalid_state(conn, ref, strbuf_str(&why));
}

/* The actor was to end, or to start anew, and a process of it survives SIGKILL. */
static void
reply_unkillable(struct conn *conn, struct ref ref)
{
	const struct control_uses *uses = &conn->control->uses;

	CLEANUP(strbuf_done) struct strbuf why = STRBUF(65536);
	unkillable_text_below(&why, uses->engine, uses->actors, ref);
	strbuf_adds(&why, wants_up(conn) ? "; the actor is started when that is gone"
	                                 : "; supd goes on without it");
	reply_invalid_state(conn, ref, strbuf_str(&why));
}

/* Why the wanted state was not reached, in the words of the interface. */
void
reply_target_error(struct conn *conn, const struct target *target)
{
	const struct control_uses *uses = &conn->control->uses;

	switch (target->result) {
	case REPLY_FAILED:
		if (target->cause.kind == CAUSE_UNKILLABLE)
			reply_unkillable(conn, target->ref);
		else if (cause_is_failure(&target->cause))
			reply_start_failed(conn, name_of(conn, target), &target->cause,
			                   target->ref, NULL);
		else
			reply_invalid_state(conn, target->ref,
			                    "it ended, and what was waited for can no "
			                    "longer come");
		break;
	case REPLY_NO_SUCH_ACTOR:
		reply_error(
		    conn, CONTROL_INTERFACE ".NoSuchActor",
		    json_pack("{s:s,s:[]}", "name", name_of(conn, target), "candidates"));
		break;
	case REPLY_BUSY:
		reply_limit(conn, actors_path(uses->actors, target->ref), WAITERS_MAX);
		break;
	case REPLY_LIMIT:
		reply_limit(conn, actors_path(uses->actors, target->ref), 0);
		break;
	case REPLY_SUPERSEDED:
		reply_invalid_state(conn, target->ref,
		                    uses->recording->facts.shutting_down
		                        ? "supd shuts down"
		                        : "a later command wanted something else");
		break;
	case REPLY_INVALID_STATE:
	case REPLY_DONE:
		reply_not_now(conn, target->ref);
		break;
	}
}

/* ---- actors ------------------------------------------------------------------------ */

/* The reply of the acting methods: the actors as they are now. */
void
reply_actors(struct conn *conn)
{
	struct strbuf *out = reply_begin(conn);

	strbuf_adds(out, "{\"actors\":");
	view_actors_json(out, conn->control->uses.reporter, &conn->call.list,
	                 conn->call.wanted);
	strbuf_addc(out, '}');
	reply_end(conn, false);
}

/* The reply of methods about a single actor: its present state. */
void
reply_actor(struct conn *conn)
{
	const struct control_uses *uses = &conn->control->uses;
	struct ref ref = conn->call.list.at[0];

	if (!core_valid(uses->engine->core, ref)) {
		reply_target_error(conn, &(const struct target){
		                             .ref = ref, .result = REPLY_NO_SUCH_ACTOR});
		return;
	}
	struct view_clock clock = view_clock_now();
	struct strbuf *out = reply_begin(conn);
	strbuf_adds(out, "{\"actor\":");
	view_actor_json(out, uses->reporter, &clock, ref);
	strbuf_addc(out, '}');
	reply_end(conn, false);
}
