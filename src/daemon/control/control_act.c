/* SPDX-License-Identifier: ISC */
/* control_act.c - methods that change something: they become events for the core. */
#include "config.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "base/names.h"
#include "base/units.h"
#include "daemon/control/handlers.h"
#include "daemon/processes/processes.h"
#include "daemon/processes/procs.h"
#include "daemon/report/report.h"
#include "daemon/report/shut_down.h"
#include "daemon/state/actors.h"
#include "daemon/state/engine.h"
#include "daemon/state/log.h"
#include "daemon/state/recording.h"
#include "daemon/state/system.h"
#include "os/process/proc.h"

/* ---- names ------------------------------------------------------------------------ */

/* Add the actors of one name; false: an error was replied. */
bool
call_resolve_name(struct conn *conn, const char *name, struct ref_list *list)
{
	return call_resolve_past(conn, name, list, NULL);
}

/*
 * As call_resolve_name(), but true as well if only an event knows the name: then the list
 * stays as it is, and `gone` is what resolve_gone() found; else its record is NULL.
 * Without `gone` only the tree counts.
 */
bool
call_resolve_past(struct conn *conn, const char *name, struct ref_list *list,
                  struct event_view *gone)
{
	struct candidates candidates;
	int r = resolve_name(conn->control->uses.reporter, name, list, &candidates);

	if (gone != NULL)
		*gone = (struct event_view){0};
	if (r == -ENOENT && gone != NULL &&
	    resolve_gone(conn->control->uses.reporter, name, gone))
		return true;
	if (r == -ENOMEM)
		reply_limit(conn, name, 0);
	else if (r < 0 && conn->call.method->access == ACCESS_CONTROL &&
	         conf_has_template(conn->control->uses.actors->conf, name))
		reply_error(
		    conn, CONTROL_INTERFACE ".InvalidState",
		    json_pack(
		        "{s:s,s:s,s:s}", "name", name, "state", "template", "message",
		        "this is a template: name an actor that uses the template"));
	else if (r < 0)
		reply_no_such_actor(conn, name, &candidates);
	return r > 0;
}

/* The actors of `names` in the order of the names; false: an error was replied. */
bool
call_resolve(struct conn *conn, struct ref_list *list)
{
	const json_t *names = param_get(conn, "names");

	if (json_array_size(names) == 0)
		return reply_invalid_parameter(conn, "names");
	if (!share_may_search(conn, names))
		return false;
	for (size_t i = 0; i < json_array_size(names); i++) {
		if (!call_resolve_name(conn, json_string_value(json_array_get(names, i)),
		                       list))
			return false;
	}
	return true;
}

/* The one actor that `name` means, or REF_NONE with `gone` as call_resolve_past() has it;
 * false: an error was replied. */
bool
call_resolve_one(struct conn *conn, struct ref *ret, struct event_view *gone)
{
	const struct control_uses *uses = &conn->control->uses;
	const char *name = param_string(conn, "name");
	struct candidates candidates = {.n = 0};
	struct ref_list *list = &conn->call.list;

	if (!call_resolve_past(conn, name, list, gone))
		return false;
	if (list->n > 1) {
		for (size_t i = 0; i < list->n && i < CANDIDATES_MAX; i++)
			candidates.at[candidates.n++] =
			    actors_path(uses->actors, list->at[i]);
		reply_no_such_actor(conn, name, &candidates);
		return false;
	}
	*ret = list->n > 0 ? list->at[0] : REF_NONE;
	return true;
}

/* ---- what is carried out is an event ---------------------------------------------- */

/* Add to an event the verb, and the caller's user, process and, unless gone, program. */
void
command_fields(struct conn *conn, const char *verb)
{
	struct events *events = conn->control->uses.events;
	struct caller *caller = &conn->caller;

	events_text(events, FIELD_VERB, verb);
	events_number(events, FIELD_UID, conn->peer.uid);
	events_number(events, FIELD_PID, conn->peer.pid);
	if (!caller->is_known && !proc_program(conn->peer.pid, caller->program))
		caller->program[0] = '\0';
	caller->is_known = true;
	if (caller->program[0] != '\0')
		events_text(events, FIELD_PROGRAM, caller->program);
}

static void
begin_command_event(struct conn *conn, struct ref ref, const char *verb)
{
	const struct control_uses *uses = &conn->control->uses;
	struct event_head head = {.kind = NOTICE_COMMAND, .path = "/"};

	if (!ref_is_none(ref)) {
		const struct node_view view = engine_view(uses->engine, ref);
		head.path = actors_path(uses->actors, ref);
		head.incarnation = view.run.incarnation;
		head.generation = view.run.generation;
	}
	events_begin(uses->events, &head);
	command_fields(conn, verb);
}

/* Write the event of a command: the client, the verb and the actor; REF_NONE: supd as a
 * whole. */
void
command_event(struct conn *conn, struct ref ref, const char *verb)
{
	begin_command_event(conn, ref, verb);
	report_end(conn->control->uses.reporter, NULL, true);
}

/* ---- start, stop, restart, reset, fail -------------------------------------------- */

/* A command, and what is waited for when it is repeated. */
struct command {
	const char *verb;
	enum event_kind kind;
	enum wait_for goal;
	bool hold;
};

/* A stop ends the retries of an actor after a failed start in a group restart: siblings
 * that wait for it stay down, and no other message says so (OTP O-36, scenario 89). */
static void
warn_of_waiting(const struct control_uses *uses, struct ref ref)
{
	const struct node_view view = engine_view(uses->engine, ref);

	if (view.state != STATE_BACKOFF)
		return;
	CORE_FOREACH_CHILD (at, uses->engine->core, view.parent) {
		if (engine_view(uses->engine, at).state == STATE_WAITING)
			log_line(LOG_LEVEL_WARNING,
			         "%s: stays down: its start waited for %s, which was "
			         "stopped; start it, or restart their supervisor",
			         actors_path(uses->actors, at),
			         actors_path(uses->actors, ref));
	}
}

/* Post it for all actors of the list, or, repeated while the first call waits, wait as
 * that does; the call then waits for the answers. */
static void
carry_out(struct conn *conn, const struct command *command, enum token_state state)
{
	struct served_call *call = &conn->call;

	for (size_t i = 0; i < call->list.n; i++) {
		const struct event event = {
		    .kind = state == TOKEN_NEW ? command->kind : EVENT_WAIT,
		    .ref = call->list.at[i],
		    .hold = command->hold,
		    .wait_for = command->goal,
		};

		if (state == TOKEN_NEW)
			command_event(conn, event.ref, command->verb);
		if (state == TOKEN_NEW && command->kind == EVENT_STOP)
			warn_of_waiting(&conn->control->uses, event.ref);
		wait_post(conn, i, &event);
	}
	call->state = CALL_TARGETS;
}

/* True if a supervisor of the list, above the actor and down, starts the actor. */
static bool
comes_with_another(const struct engine *engine, const struct ref_list *list,
                   struct ref ref)
{
	struct node_view view = engine_view(engine, ref);
	uint32_t index;

	while (!ref_is_none(view.parent)) {
		view = engine_view(engine, view.parent);
		if (map_get(&list->slots, view.ref.slot, &index) &&
		    view.state != STATE_RUNNING && view.state != STATE_STARTING)
			return true;
	}
	return false;
}

/* Start the supervisors of the list that are down, rather than what is below them. */
static void
leave_to_supervisors(const struct engine *engine, struct ref_list *list)
{
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++)
		if (!comes_with_another(engine, list, list->at[i]))
			list->at[n++] = list->at[i];
	list->n = n;
}

/* True, and the reply says why, if the command cannot be carried out. */
static bool
refuses(struct conn *conn, enum event_kind kind)
{
	const struct control_uses *uses = &conn->control->uses;
	const struct ref_list *list = &conn->call.list;

	for (size_t i = 0; i < list->n && (kind == EVENT_STOP || kind == EVENT_SUSPEND);
	     i++)
		if (system_has(actors_get(uses->actors, list->at[i]))) {
			reply_invalid_state(
			    conn, list->at[i],
			    "the actor is part of supd itself: restart the actor");
			return true;
		}
	if ((kind != EVENT_START && kind != EVENT_RESTART) ||
	    !uses->recording->facts.shutting_down)
		return false;
	reply_invalid_state(conn, list->at[0], "supd is shutting down");
	return true;
}

/* A call that was begun under a guardian before is not carried out again, whatever was
 * done with the actors since; they may be gone.  True: it is answered, or will be. */
static bool
resumes(struct conn *conn)
{
	const json_t *names = param_get(conn, "names");
	struct candidates candidates;

	if (!token_is_orphaned(conn))
		return false;
	for (size_t i = 0; i < json_array_size(names); i++)
		(void)resolve_name(conn->control->uses.reporter,
		                   json_string_value(json_array_get(names, i)),
		                   &conn->call.list, &candidates);
	return token_waits_again(conn, reply_actors);
}

static void
start_stop_restart(struct conn *conn, const char *verb, enum event_kind kind,
                   enum wait_for goal, bool hold)
{
	struct served_call *call = &conn->call;
	enum token_state state;

	if (resumes(conn) || !call_resolve(conn, &call->list) || refuses(conn, kind))
		return;
	if (kind == EVENT_START)
		leave_to_supervisors(conn->control->uses.engine, &call->list);
	if (!wait_prepare(conn, call->list.n) || !token_begin(conn, &state))
		return;
	call->finish = reply_actors;
	carry_out(conn, &(const struct command){verb, kind, goal, hold}, state);
	if (param_bool(conn, "wait", true) && !call->message.oneway) {
		wait_start_timer(conn);
	} else {
		/* Still after the core's turn: what it refuses is to be told. */
		call->state = CALL_NEXT_TURN;
		call->turn = conn->control->turn;
		control_attend(conn);
	}
}

/* Start what does not run; done when it is ready. */
void
handle_start(struct conn *conn)
{
	start_stop_restart(conn, "start", EVENT_START, WAIT_READY, false);
}

/* Stop; done when nothing of it is left. */
void
handle_stop(struct conn *conn)
{
	start_stop_restart(conn, "stop", EVENT_STOP, WAIT_STOPPED,
	                   param_bool(conn, "hold", false));
}

/* Stop and start again; done when it is ready again. */
void
handle_restart(struct conn *conn)
{
	start_stop_restart(conn, "restart", EVENT_RESTART, WAIT_READY, false);
}

/* What is done at once, and not again by a call that is repeated. */
static void
act_once(struct conn *conn, const char *verb, enum event_kind kind)
{
	struct served_call *call = &conn->call;

	if (!call_resolve(conn, &call->list) || token_resumes(conn, reply_actors, NULL) ||
	    refuses(conn, kind) || !wait_prepare(conn, call->list.n))
		return;
	token_keep(conn, KEEP_ALWAYS);
	call->finish = reply_actors;
	carry_out(conn, &(const struct command){verb, kind, WAIT_READY, false},
	          TOKEN_NEW);
}

/* Forget failures and counters; done at once. */
void
handle_reset(struct conn *conn)
{
	act_once(conn, "reset", EVENT_RESET);
}

/* Freeze the actors and all below them; done when they stand still. */
void
handle_suspend(struct conn *conn)
{
	act_once(conn, "suspend", EVENT_SUSPEND);
}

/* Take one suspension back. */
void
handle_resume(struct conn *conn)
{
	act_once(conn, "resume", EVENT_RESUME);
}

/* Akka's Kill: the actors of that name fail with cause `killed`. */
void
handle_fail(struct conn *conn)
{
	struct served_call *call = &conn->call;
	const char *name = param_string(conn, "name");

	/* The token first: since the call before the actor may be gone. */
	if (token_resumes(conn, reply_empty, NULL) ||
	    !call_resolve_name(conn, name, &call->list) ||
	    !wait_prepare(conn, call->list.n))
		return;
	token_keep(conn, KEEP_ALWAYS);
	call->finish = reply_empty;
	carry_out(conn, &(const struct command){"fail", EVENT_KILL, WAIT_READY, false},
	          TOKEN_NEW);
}

/* ---- signal, wait, shutdown ------------------------------------------------------- */

/* Send it, with a note of what is about to be done before and of what is done after. */
static int
signal_one(struct conn *conn, struct ref ref, struct remembered *memory)
{
	const struct control_uses *uses = &conn->control->uses;
	const int signo = signal_parse(param_string(conn, "signal"));

	if (memory != NULL) {
		memory->n_tried = memory->n_done + 1;
		atomic_store(&memory->state, REMEMBERED_DONE);
	}
	int r = signo < 0 ? procs_reload(uses->procs, ref)
	                  : procs_signal(uses->procs, ref, signo);
	if (memory != NULL)
		memory->n_done = memory->n_tried;
	return r;
}

/* Signal all of the list, from where an earlier call with this token came to. */
static void
signal_list(struct conn *conn, struct remembered *memory)
{
	const struct ref_list *list = &conn->call.list;
	const char *text = param_string(conn, "signal");
	const int signo = signal_parse(text);

	for (size_t i = memory != NULL ? memory->n_done : 0; i < list->n; i++) {
		int r = signal_one(conn, list->at[i], memory);

		if (r < 0) {
			reply_invalid_state(conn, list->at[i],
			                    r == -ESRCH ? "it has no process"
			                                : strerror(-r));
			return;
		}
		begin_command_event(conn, list->at[i], "signal");
		events_text(conn->control->uses.events, FIELD_SIGNAL,
		            signo < 0 ? text : signal_name(signo));
		report_end(conn->control->uses.reporter, NULL, true);
	}
	reply_empty(conn);
}

/* Send a signal to the main processes of the actors of that name; "reload": have them
 * read their configuration again. */
void
handle_signal(struct conn *conn)
{
	const char *text = param_string(conn, "signal");
	bool replied;

	if (signal_parse(text) < 0 && strcmp(text, "reload") != 0) {
		reply_invalid_parameter(conn, "signal");
		return;
	}
	if (!call_resolve_name(conn, param_string(conn, "name"), &conn->call.list))
		return;
	struct remembered *memory = token_find(conn, &replied);
	if (replied)
		return;
	/* The guardian before died between the one note and the other. */
	if (memory != NULL && memory->n_tried > memory->n_done)
		reply_outcome_unknown(conn);
	else
		signal_list(conn, memory);
}

/* True, and the call is answered, if the incarnation that the caller knew is over: what
 * it waits for has come, or never will. */
static bool
answers_for_old_life(struct conn *conn, struct ref ref, enum wait_for wait_for)
{
	const struct control_uses *uses = &conn->control->uses;
	int64_t known = param_int(conn, "incarnation", -1);

	if (known < 0 || wait_for == WAIT_READY ||
	    known == (int64_t)engine_view(uses->engine, ref).run.incarnation)
		return false;
	if (wait_for == WAIT_STOPPED)
		reply_actor(conn);
	else
		reply_invalid_state(conn, ref, "another actor has that name now");
	return true;
}

/* Wait until an actor is ready, stopped, failed or done. */
void
handle_wait(struct conn *conn)
{
	int found =
	    names_find(wait_for_names, WAIT_TERMINATED, param_string(conn, "for"));
	struct event event = {.kind = EVENT_WAIT};

	if (found < 0) {
		reply_invalid_parameter(conn, "for");
		return;
	}
	event.wait_for = (enum wait_for)found;
	if (!call_resolve_one(conn, &event.ref, NULL) ||
	    answers_for_old_life(conn, event.ref, event.wait_for) ||
	    !wait_prepare(conn, 1))
		return;
	conn->call.finish = reply_actor;
	conn->call.state = CALL_TARGETS;
	wait_post(conn, 0, &event);
	wait_start_timer(conn);
}

/* Shut down in order.  The event is in the journal before the reply promises it, and the
 * reply is sent now: later no guardian may be left to send a reply. */
void
handle_shutdown(struct conn *conn)
{
	command_event(conn, REF_NONE, "shutdown");
	shut_down(conn->control->uses.reporter, EVENT_SHUTDOWN);
	reply_empty(conn);
	conn_flush(conn);
	conn->awaits_end = true;
}
