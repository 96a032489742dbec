/* SPDX-License-Identifier: ISC */
/* control_grow.c - methods that make the tree larger and smaller: Add, Delete. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/names.h"
#include "daemon/control/handlers.h"
#include "daemon/reload/additions.h"
#include "daemon/reload/loading.h"
#include "daemon/reload/reload.h"
#include "daemon/report/config_errors.h"
#include "daemon/report/report.h"
#include "daemon/sockets/grown.h"
#include "daemon/state/actors.h"
#include "daemon/state/engine.h"
#include "daemon/state/events.h"
#include "daemon/state/keeper.h"
#include "daemon/state/options.h"
#include "daemon/state/recording.h"
#include "daemon/state/system.h"

/* ---- who is meant ----------------------------------------------------------------- */

/* InvalidState of an actor that need not exist. */
void
grow_reply_state(struct conn *conn, const char *name, const char *state,
                 const char *message)
{
	reply_error(
	    conn, CONTROL_INTERFACE ".InvalidState",
	    json_pack("{s:s,s:s,s:s}", "name", name, "state", state, "message", message));
}

/* True, and the error is replied, if supd is shutting down: then it adds and removes no
 * actor. */
bool
grow_refuses(struct conn *conn, const char *name)
{
	if (!conn->control->uses.recording->facts.shutting_down)
		return false;
	grow_reply_state(conn, name, "stopping", "supd is shutting down");
	return true;
}

/* The supervisor that a name without its last part means; false: an error was replied. */
static bool
find_supervisor(struct conn *conn, const char *name, struct ref *ret)
{
	const struct control_uses *uses = &conn->control->uses;
	const char *last = names_last(name);
	struct ref_list *list = &conn->call.list;

	if (last == name) {
		*ret = core_ref(uses->engine->core, CORE_USER);
		return true;
	}
	CLEANUP_FREE char *above = strndup(name, (size_t)(last - name) - 1);
	if (above == NULL)
		return reply_limit(conn, name, 0);
	if (!call_resolve_name(conn, above, list))
		return false;
	*ret = list->at[0];
	if (list->n == 1 && engine_view(uses->engine, *ret).kind != NODE_WORKER &&
	    !system_has(actors_get(uses->actors, *ret)))
		return true;
	reply_invalid_state(conn, *ret,
	                    list->n > 1 ? "more than one actor has that name"
	                                : "it is no supervisor");
	return false;
}

/* The path of a child of this name; the caller's; NULL without memory. */
char *
grow_path(const struct control_uses *uses, struct ref parent, const char *name)
{
	struct strbuf sb;

	strbuf_init(&sb, CONF_PATH_MAX + CONF_NAME_MAX + 2);
	strbuf_addf(&sb, "%s/%s", actors_path(uses->actors, parent), name);
	return strbuf_take(&sb);
}

/* True if the name is taken.  Then an error is replied (OTP's already_started and
 * _present). */
static bool
reply_if_taken(struct conn *conn, const char *path)
{
	const struct control_uses *uses = &conn->control->uses;
	struct ref ref = actors_find(uses->actors, path);
	bool is_up = true;

	if (core_valid(uses->engine->core, ref)) {
		const struct node_view view = engine_view(uses->engine, ref);
		is_up = view.state == STATE_STARTING || view.state == STATE_RUNNING ||
		        view.state == STATE_SUSPENDED;
	} else if (!additions_has_posted(uses->reloader->additions, path)) {
		return false;
	}
	reply_error(conn,
	            is_up ? CONTROL_INTERFACE ".AlreadyStarted"
	                  : CONTROL_INTERFACE ".AlreadyPresent",
	            json_pack("{s:s}", "name", path));
	return true;
}

/* Write the event of a command about a path that need not exist. */
void
grow_event(struct conn *conn, const char *path, const char *verb)
{
	events_begin(conn->control->uses.events,
	             &(const struct event_head){.kind = NOTICE_COMMAND, .path = path});
	command_fields(conn, verb);
	report_end(conn->control->uses.reporter, NULL, true);
}

/* ---- what is wrong, in the words of the interface --------------------------------- */

/* What became of an actor that was to be added. */
void
grow_reply_not_added(struct conn *conn, const struct target *target)
{
	const struct control_uses *uses = &conn->control->uses;
	const struct actor *above = actors_get(uses->actors, target->ref);

	if (target->result == REPLY_LIMIT && above != NULL)
		reply_limit(conn, above->path,
		            (int)above->conf->spec->core.policy.max_children);
	else if (target->result == REPLY_INVALID_STATE && above != NULL)
		reply_invalid_state(conn, target->ref,
		                    "nothing can be added below a supervisor that does "
		                    "not run");
	else
		reply_target_error(conn, target);
}

static void
reply_not_deleted(struct conn *conn, const struct target *target)
{
	const struct control_uses *uses = &conn->control->uses;
	bool is_pending =
	    target->state == STATE_WAITING || target->state == STATE_BACKOFF;

	if (target->result != REPLY_INVALID_STATE)
		reply_target_error(conn, target);
	else
		grow_reply_state(conn, actors_path(uses->actors, target->ref),
		                 is_pending ? "restarting" : "running",
		                 "stop the actor first, then delete it");
}

/* ---- more of them ----------------------------------------------------------------- */

/* True if an actor, or replicas, of this path exist. */
static bool
exists_somewhere(const struct control_uses *uses, const struct conf *added,
                 const char *path)
{
	return core_valid(uses->engine->core, actors_find(uses->actors, path)) ||
	       conf_find(added, path) != CONF_NONE ||
	       conf_has_replicas(uses->actors->conf, path);
}

/* Check that each needed actor exists; -ENOENT with a sentence. */
static int
check_needs(const struct control_uses *uses, const struct conf *added, struct err *err)
{
	for (uint32_t i = 0; i < added->n_actors; i++) {
		const struct conf_actor *actor = &added->actors[i];

		for (uint32_t k = 0; k < actor->spec->core.n_needs; k++) {
			if (!exists_somewhere(uses, added, actor->spec->needs[k].path))
				return err_say(err, -ENOENT,
				               "%s needs %s, and there is no such actor",
				               actor->path, actor->spec->needs[k].path);
		}
	}
	return 0;
}

/* What was to be added is not ready: say why. */
static void
reply_not_prepared(struct conn *conn, const char *name, bool has_conf,
                   const struct conf_reports *reports, const struct err *err)
{
	const char *file = conn->control->uses.origin->conf_file;

	if (has_conf && (err->code == EDQUOT || err->code == ENOMEM))
		reply_limit(conn, name, CONF_ACTORS_MAX);
	else
		reply_error(conn, CONTROL_INTERFACE ".ConfigInvalid",
		            config_errors_json(reports, file, err->text));
}

/* Compose an actor and have it ready for the core; NULL: an error was replied. */
static struct grown *
grow_prepare(struct conn *conn, struct ref parent, const struct conf_addition *addition)
{
	const struct control_uses *uses = &conn->control->uses;
	CLEANUP(conf_reports_done) struct conf_reports reports;
	struct grown *grown = NULL;
	struct err err = {0};

	CLEANUP(conf_drop)
	struct conf *conf = loading_add(uses->reloader, addition, &reports, &err);
	if (conf != NULL && check_needs(uses, conf, &err) == 0)
		grown = additions_prepare(uses->reloader, conf, parent, &err);
	if (grown == NULL)
		reply_not_prepared(conn, addition->name, conf != NULL, &reports, &err);
	return grown;
}

/* Replicas that are being made ready, one after the other. */
struct replica_growth {
	const struct control_uses *uses;
	struct ref parent;
	struct grown **grown;
	uint32_t n; /* so many are ready */
	bool has_failed;
	struct err err; /* … and why */
};

static bool
take_replica(void *user, uint32_t i, const struct conf *conf)
{
	struct replica_growth *growth = user;
	struct grown *grown = NULL;

	if (check_needs(growth->uses, conf, &growth->err) == 0)
		grown = additions_prepare(growth->uses->reloader, conf, growth->parent,
		                          &growth->err);
	growth->has_failed = grown == NULL;
	if (growth->has_failed)
		return false;
	growth->grown[i] = grown;
	growth->n++;
	/* Thousands of them take a while. */
	keeper_beat(growth->uses->keeper);
	return true;
}

/* The same for these replicas; false: an error was replied. */
bool
grow_prepare_replicas(struct conn *conn, struct ref parent,
                      const struct conf_replicas *replicas, struct grown **ret_grown)
{
	struct replica_growth growth = {
	    .uses = &conn->control->uses, .parent = parent, .grown = ret_grown};
	CLEANUP(conf_reports_done) struct conf_reports reports;
	struct err err = {0};

	loading_add_replicas(growth.uses->reloader, replicas,
	                     &(const struct conf_taker){take_replica, &growth}, &reports,
	                     &err);
	if (growth.n < replicas->n)
		reply_not_prepared(conn, replicas->addition->name, growth.has_failed,
		                   &reports, growth.has_failed ? &growth.err : &err);
	return growth.n == replicas->n;
}

/* Post the prepared addition; the call waits for it as its target of this number. */
void
grow_post(struct conn *conn, size_t target, struct ref parent, const struct grown *grown)
{
	wait_post(conn, target,
	          &(const struct event){
	              .kind = EVENT_ADD, .ref = parent, .addition_id = grown->id});
	conn->call.targets[target].path = strdup(grown->conf->actors[0].path);
}

/* The names and values of `with` in a row that ends with NULL; they are the call's. */
static const char **
list_with(struct conn *conn)
{
	json_t *with = (json_t *)(uintptr_t)param_get(conn, "with");
	const char **list = calloc(2 * json_object_size(with) + 1, sizeof(*list));
	const char *key;
	json_t *value;
	size_t n = 0;

	if (list == NULL)
		return NULL;
	json_object_foreach(with, key, value)
	{
		list[n++] = key;
		list[n++] = json_string_value(value);
	}
	return list;
}

static char **
list_command(struct conn *conn)
{
	const json_t *command = param_get(conn, "command");
	size_t n = json_array_size(command);
	char **list = calloc(n + 1, sizeof(*list));

	for (size_t i = 0; list != NULL && i < n; i++)
		list[i] =
		    (char *)(uintptr_t)json_string_value(json_array_get(command, i));
	return list;
}

static void
reply_added(struct conn *conn)
{
	struct served_call *call = &conn->call;

	ref_list_done(&call->list);
	if (call_resolve_name(conn, call->base_path, &call->list))
		reply_actor(conn);
}

static void
add_one(struct conn *conn, struct ref parent, const char *name)
{
	const struct control_uses *uses = &conn->control->uses;
	char *path = grow_path(uses, parent, name);
	CLEANUP_FREE const char **with = list_with(conn);
	CLEANUP_FREE char **command = list_command(conn);

	conn->call.base_path = path;
	if (path == NULL || with == NULL || command == NULL) {
		reply_limit(conn, name, 0);
	} else if (!token_resumes(conn, reply_added, grow_reply_not_added) &&
	           !reply_if_taken(conn, path) && wait_prepare(conn, 1)) {
		const struct conf_addition addition = {
		    .parent = actors_path(uses->actors, parent),
		    .name = name,
		    .use = param_string(conn, "use"),
		    .with = with,
		    .command = command[0] != NULL ? command : NULL,
		};

		struct grown *grown = grow_prepare(conn, parent, &addition);
		if (grown != NULL) {
			conn->call.finish = reply_added;
			conn->call.fail = grow_reply_not_added;
			conn->call.state = CALL_TARGETS;
			token_keep(conn, KEEP_ALWAYS);
			grow_event(conn, path, "add");
			grow_post(conn, 0, parent, grown);
		}
	}
}

/* OTP's start_child: one more actor, from a template or a bare command. */
void
handle_add(struct conn *conn)
{
	const char *name = param_string(conn, "name"), *use = param_string(conn, "use");
	bool has_command = json_array_size(param_get(conn, "command")) > 0;
	struct ref parent;

	if (*names_last(name) == '\0')
		reply_invalid_parameter(conn, "name");
	else if ((use != NULL) == has_command)
		reply_invalid_parameter(conn, use != NULL ? "command" : "use");
	else if (use == NULL && json_object_size(param_get(conn, "with")) > 0)
		reply_invalid_parameter(conn, "with");
	else if (!grow_refuses(conn, name) && find_supervisor(conn, name, &parent))
		add_one(conn, parent, names_last(name));
}

/* ---- one less --------------------------------------------------------------------- */

/* OTP's delete_child: an actor that is down, with its specification. */
void
handle_delete(struct conn *conn)
{
	const struct control_uses *uses = &conn->control->uses;
	const char *name = param_string(conn, "name");
	struct ref_list *list = &conn->call.list;
	struct event event = {.kind = EVENT_DELETE};

	/* The token first: the call before may have deleted the actor. */
	if (token_resumes(conn, reply_empty, reply_not_deleted) ||
	    grow_refuses(conn, name) || !call_resolve_name(conn, name, list))
		return;
	if (list->n > 1) {
		grow_reply_state(
		    conn, name, "template",
		    "the name stands for several replicas: delete one of them, or scale");
		return;
	}
	event.ref = list->at[0];
	if (engine_view(uses->engine, event.ref).depth < 2 ||
	    system_has(actors_get(uses->actors, event.ref))) {
		reply_invalid_state(conn, event.ref, "it is part of supd itself");
		return;
	}
	if (!wait_prepare(conn, 1))
		return;
	conn->call.finish = reply_empty;
	conn->call.fail = reply_not_deleted;
	conn->call.state = CALL_TARGETS;
	token_keep(conn, KEEP_ALWAYS);
	command_event(conn, event.ref, "delete");
	wait_post(conn, 0, &event);
}
