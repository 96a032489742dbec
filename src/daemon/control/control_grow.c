/* SPDX-License-Identifier: ISC */
/* control_grow.c - methods that make the tree larger and smaller: Add, Delete, Scale. */
#include "config.h"

#include "daemon/reload/additions.h"
#include "daemon/control/control_private.h"
#include "daemon/state/glob.h"
#include "daemon/reload/loading.h"
#include "daemon/state/shell.h"
#include "daemon/state/system.h"
#include "daemon/report/config_errors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SCALE_MAX CONTROL_WAITERS_MAX

/* ---- who is meant ----------------------------------------------------------------- */

static enum node_state
state_of(const struct shell *shell, struct ref ref, struct node_view *ret)
{
	core_view(shell->core, ref, shell->now_ms, ret);
	return ret->state;
}

static void
reply_state(struct conn *conn, const char *name, const char *state, const char *message)
{
	reply_error(
	    conn, CONTROL_INTERFACE ".InvalidState",
	    json_pack("{s:s,s:s,s:s}", "name", name, "state", state, "message", message));
}

/* Nothing of this is done by a supd on its way out. */
static bool
refuses(struct conn *conn, const char *name)
{
	if (!conn->control->shell->shutting_down)
		return false;
	reply_state(conn, name, "stopping", "supd is shutting down");
	return true;
}

/* The supervisor that a name without its last part means; false: an error was replied. */
static bool
find_supervisor(struct conn *conn, const char *name, struct ref *ret)
{
	const struct shell *shell = conn->control->shell;
	const char *last = glob_last_name(name);
	struct ref_list *list = &conn->call.list;
	struct node_view view;
	bool found;
	char *above;

	if (last == name) {
		*ret = core_ref(shell->core, CORE_USER);
		return true;
	}
	above = strndup(name, (size_t)(last - name) - 1);
	if (above == NULL) {
		reply_limit(conn, name, 0);
		return false;
	}
	found = call_resolve_name(conn, above, list);
	free(above);
	if (!found)
		return false;
	*ret = list->at[0];
	(void)state_of(shell, *ret, &view);
	if (list->n == 1 && view.kind != NODE_WORKER &&
	    !system_has(actors_get(&shell->actors, *ret)))
		return true;
	reply_invalid_state(conn, *ret,
	                    list->n > 1 ? "more than one actor has that name"
	                                : "it is no supervisor");
	return false;
}

static char *
path_below(const struct shell *shell, struct ref parent, const char *name)
{
	struct strbuf sb;

	strbuf_init(&sb, CONF_PATH_MAX + CONF_NAME_MAX + 2);
	strbuf_addf(&sb, "%s/%s", shell_path(shell, parent), name);
	return strbuf_take(&sb);
}

/* Is the name taken?  Then an error is replied (OTP's already_started and _present). */
static bool
is_taken(struct conn *conn, const char *path)
{
	const struct shell *shell = conn->control->shell;
	struct ref ref = actors_find(&shell->actors, path);
	struct node_view view;
	bool is_up = true;

	if (core_valid(shell->core, ref)) {
		enum node_state state = state_of(shell, ref, &view);

		is_up = state == STATE_STARTING || state == STATE_RUNNING ||
		        state == STATE_SUSPENDED;
	} else if (!additions_has_posted(shell, path)) {
		return false;
	}
	reply_error(conn,
	            is_up ? CONTROL_INTERFACE ".AlreadyStarted"
	                  : CONTROL_INTERFACE ".AlreadyPresent",
	            json_pack("{s:s}", "name", path));
	return true;
}

static void
command_event_at(struct conn *conn, const char *path, const char *verb)
{
	struct events *events = &conn->control->shell->events;
	const struct event_head head = {.event = "command", .path = path};

	events_begin(events, &head);
	events_string(events, "verb", verb);
	events_number(events, "uid", conn->peer.uid);
	events_number(events, "pid", conn->peer.pid);
	events_end(events);
}

/* ---- what is wrong, in the words of the interface --------------------------------- */

/* What became of an actor that was to be added. */
static void
reply_not_added(struct conn *conn, const struct target *target)
{
	const struct shell *shell = conn->control->shell;
	const struct actor *above = actors_get(&shell->actors, target->ref);

	if (target->result == REPLY_LIMIT && above != NULL)
		reply_limit(conn, above->path, (int)above->conf->spec.max_children);
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
	const struct shell *shell = conn->control->shell;
	bool is_pending =
	    target->state == STATE_WAITING || target->state == STATE_BACKOFF;

	if (target->result != REPLY_INVALID_STATE)
		reply_target_error(conn, target);
	else
		reply_state(conn, shell_path(shell, target->ref),
		            is_pending ? "restarting" : "running",
		            "stop the actor first, then delete it");
}

/* ---- more of them ----------------------------------------------------------------- */

/* True if an actor, or replicas, of this path exist. */
static bool
is_somebody(const struct shell *shell, const struct conf *added, const char *path)
{
	const struct ref ref = actors_find(&shell->actors, path);

	return core_valid(shell->core, ref) || conf_find(added, path) != CONF_NONE ||
	       conf_has_replicas(shell->conf, path);
}

/* Check that each needed actor exists; -ENOENT with a sentence. */
static int
check_needs(const struct shell *shell, const struct conf *added, struct err *err)
{
	for (uint32_t i = 0; i < added->n_actors; i++) {
		const struct conf_actor *actor = &added->actors[i];

		for (uint32_t k = 0; k < actor->spec.n_needs; k++) {
			if (is_somebody(shell, added, actor->needs[k].path))
				continue;
			err_set(err, 0, "%s needs %s, and there is no such actor",
			        actor->path, actor->needs[k].path);
			return -ENOENT;
		}
	}
	return 0;
}

/* Compose an actor and have it ready for the core; NULL: an error was replied. */
static struct grown *
prepare(struct conn *conn, struct ref parent, const struct conf_addition *addition)
{
	struct shell *shell = conn->control->shell;
	struct conf_reports reports;
	struct grown *grown = NULL;
	struct conf *conf;
	struct err err = {0};

	conf = loading_add(shell, addition, &reports, &err);
	if (conf != NULL && check_needs(shell, conf, &err) == 0)
		grown = additions_prepare(shell, conf, parent, &err);
	if (grown == NULL && conf != NULL && (err.code == EDQUOT || err.code == ENOMEM))
		reply_limit(conn, addition->name, CONF_ACTORS_MAX);
	else if (grown == NULL)
		reply_error(conn, CONTROL_INTERFACE ".ConfigInvalid",
		            config_errors_json(&reports, shell->conf_file, err.text));
	conf_reports_done(&reports);
	conf_free(conf);
	return grown;
}

static void
post_addition(struct conn *conn, size_t target, struct ref parent,
              const struct grown *grown)
{
	const struct event event = {
	    .kind = EVENT_ADD, .ref = parent, .addition_id = grown->id};

	wait_post(conn, target, &event);
	conn->call.targets[target].path = strdup(grown->conf->actors[0].path);
}

/* The names and values of `with` in a row that ends with NULL; they are the call's. */
static const char **
list_with(struct conn *conn)
{
	json_t *with = (json_t *)(uintptr_t)param_object(conn, "with");
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
	const json_t *command = param_array(conn, "command");
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
	struct call *call = &conn->call;

	ref_list_done(&call->list);
	if (call_resolve_name(conn, call->base_path, &call->list))
		reply_actor(conn);
}

static void
add_one(struct conn *conn, struct ref parent, const char *name)
{
	struct shell *shell = conn->control->shell;
	char *path = path_below(shell, parent, name);
	const char **with = list_with(conn);
	char **command = list_command(conn);
	struct grown *grown;

	conn->call.base_path = path;
	if (path == NULL || with == NULL || command == NULL) {
		reply_limit(conn, name, 0);
	} else if (!token_resumes(conn, reply_added, reply_not_added) &&
	           !is_taken(conn, path) && wait_prepare(conn, 1)) {
		const struct conf_addition addition = {
		    .parent = shell_path(shell, parent),
		    .name = name,
		    .use = param_string(conn, "use"),
		    .with = with,
		    .command = command[0] != NULL ? command : NULL,
		};

		grown = prepare(conn, parent, &addition);
		if (grown != NULL) {
			conn->call.finish = reply_added;
			conn->call.fail = reply_not_added;
			conn->call.state = CALL_TARGETS;
			token_keep(conn);
			command_event_at(conn, path, "add");
			post_addition(conn, 0, parent, grown);
		}
	}
	free(command);
	free(with);
}

/* OTP's start_child: one more actor, from a template or a bare command. */
void
handle_add(struct conn *conn)
{
	const char *name = param_string(conn, "name");
	const char *use = param_string(conn, "use");
	bool has_command = json_array_size(param_array(conn, "command")) > 0;
	struct ref parent;

	if (*glob_last_name(name) == '\0')
		reply_invalid_parameter(conn, "name");
	else if ((use != NULL) == has_command)
		reply_invalid_parameter(conn, use != NULL ? "command" : "use");
	else if (use == NULL && json_object_size(param_object(conn, "with")) > 0)
		reply_invalid_parameter(conn, "with");
	else if (!refuses(conn, name) && find_supervisor(conn, name, &parent))
		add_one(conn, parent, glob_last_name(name));
}

/* ---- one less --------------------------------------------------------------------- */

/* OTP's delete_child: an actor that is down, with its specification. */
void
handle_delete(struct conn *conn)
{
	const struct shell *shell = conn->control->shell;
	const char *name = param_string(conn, "name");
	struct ref_list *list = &conn->call.list;
	struct event event = {.kind = EVENT_DELETE};
	struct node_view view;

	/* Afterwards it is gone. */
	if (token_resumes(conn, reply_empty, reply_not_deleted) || refuses(conn, name) ||
	    !call_resolve_name(conn, name, list))
		return;
	if (list->n > 1) {
		reply_state(conn, name, "template",
		            "the name stands for several replicas: delete one of them, or scale");
		return;
	}
	event.ref = list->at[0];
	(void)state_of(shell, event.ref, &view);
	if (view.depth < 2 || system_has(actors_get(&shell->actors, event.ref))) {
		reply_invalid_state(conn, event.ref, "it is part of supd itself");
		return;
	}
	if (!wait_prepare(conn, 1))
		return;
	conn->call.finish = reply_empty;
	conn->call.fail = reply_not_deleted;
	conn->call.state = CALL_TARGETS;
	token_keep(conn);
	command_event(conn, event.ref, "delete");
	wait_post(conn, 0, &event);
}

/* ---- so many of them -------------------------------------------------------------- */

/* The replicas of a base name below a supervisor. */
struct replicas {
	struct ref parent;
	char *path;       /* of the base */
	const char *base; /* its last part */
	uint32_t wanted;
	bool *is_there; /* by number - 1, as far as they are wanted */
	struct ref
	    *surplus; /* in the order of their start: they go in the reverse of it */
	size_t n_surplus;
	size_t cap_surplus;
	uint32_t n_missing;
};

static void
replicas_done(struct replicas *replicas)
{
	free(replicas->path);
	free(replicas->is_there);
	free(replicas->surplus);
}

/* The number of this child among the replicas; 0: it is no replica of them. */
static uint32_t
number_of(const struct shell *shell, const struct replicas *replicas, struct ref ref)
{
	const struct actor *actor = actors_get(&shell->actors, ref);

	if (actor == NULL || actor->conf->base == NULL || actor->conf_owner != NULL ||
	    strcmp(actor->conf->base, replicas->base) != 0)
		return 0;
	return (uint32_t)strtoul(strrchr(actor->path, '@') + 1, NULL, 10);
}

static int
note_surplus(struct replicas *replicas, struct ref ref)
{
	if (replicas->n_surplus == replicas->cap_surplus) {
		size_t cap = replicas->cap_surplus == 0 ? 16 : 2 * replicas->cap_surplus;
		struct ref *larger =
		    reallocarray(replicas->surplus, cap, sizeof(*replicas->surplus));

		if (larger == NULL)
			return -ENOMEM;
		replicas->surplus = larger;
		replicas->cap_surplus = cap;
	}
	replicas->surplus[replicas->n_surplus++] = ref;
	return 0;
}

/* Count the existing replicas, and note those above the wanted number; -ENOMEM. */
static int
count_replicas(const struct shell *shell, struct replicas *replicas)
{
	struct ref ref = core_first_child(shell->core, replicas->parent);

	replicas->is_there = calloc(replicas->wanted + 1, sizeof(bool));
	if (replicas->is_there == NULL)
		return -ENOMEM;
	replicas->n_missing = replicas->wanted;
	for (; !ref_is_none(ref); ref = core_next_sibling(shell->core, ref)) {
		uint32_t number = number_of(shell, replicas, ref);
		struct node_view view;

		(void)state_of(shell, ref, &view);
		if (number == 0 || view.removing)
			continue;
		if (number > replicas->wanted) {
			if (note_surplus(replicas, ref) < 0)
				return -ENOMEM;
		} else {
			replicas->is_there[number - 1] = true;
			replicas->n_missing--;
		}
	}
	return 0;
}

/* The highest first. */
static void
reply_scaled(struct conn *conn)
{
	struct call *call = &conn->call;
	struct candidates candidates;

	ref_list_done(&call->list);
	/* None is left: that is an answer, too. */
	(void)resolve_name(conn->control->shell, call->base_path, &call->list,
	                   &candidates);
	reply_actors(conn);
}

static bool
add_missing(struct conn *conn, const struct replicas *replicas, struct grown **grown)
{
	struct conf_addition addition = {
	    .parent = shell_path(conn->control->shell, replicas->parent),
	    .name = replicas->base,
	};
	uint32_t n = 0;

	for (uint32_t i = 0; i < replicas->wanted; i++) {
		if (replicas->is_there[i])
			continue;
		addition.replica = i + 1;
		grown[n] = prepare(conn, replicas->parent, &addition);
		if (grown[n++] == NULL)
			return false;
	}
	return true;
}

/* All of it is posted, or nothing. */
static void
scale(struct conn *conn, struct replicas *replicas)
{
	const size_t n = replicas->n_surplus + replicas->n_missing;
	struct grown **grown = calloc(replicas->n_missing + 1, sizeof(struct grown *));
	struct call *call = &conn->call;
	size_t target = 0;

	if (grown == NULL) {
		reply_limit(conn, replicas->base, 0);
	} else if (n == 0) {
		reply_scaled(conn);
	} else if (wait_prepare(conn, n) && add_missing(conn, replicas, grown)) {
		token_keep(conn);
		command_event_at(conn, replicas->path, "scale");
		for (size_t i = 0; i < replicas->n_surplus; i++) {
			const struct event event = {.kind = EVENT_DELETE,
			                            .ref = replicas->surplus[i],
			                            .stop = true};

			wait_post(conn, target++, &event);
		}
		for (uint32_t i = 0; i < replicas->n_missing; i++)
			post_addition(conn, target++, replicas->parent, grown[i]);
		call->finish = reply_scaled;
		call->fail = reply_not_added;
		call->state = CALL_TARGETS;
	}
	free(grown);
}

/* The path of the base that a name means; NULL: an error was replied. */
static char *
find_base(struct conn *conn, const char *name)
{
	const struct shell *shell = conn->control->shell;
	struct ref_list *list = &conn->call.list;
	const struct actor *actor;
	char *path = name[0] == '/'
	                 ? strdup(name)
	                 : path_below(shell, core_ref(shell->core, CORE_USER), name);

	/* As it is written, even if none is there. */
	if (path != NULL && conf_has_replicas(shell->conf, path))
		return path;
	free(path);
	if (!call_resolve_name(conn, name, list))
		return NULL;
	actor = actors_get(&shell->actors, list->at[0]);
	path = NULL;
	if (actor != NULL && actor->conf->base != NULL &&
	    strcmp(glob_last_name(name), actor->conf->base) == 0)
		path = path_below(shell, core_parent(shell->core, list->at[0]),
		                  actor->conf->base);
	if (path != NULL && conf_has_replicas(shell->conf, path))
		return path;
	free(path);
	reply_invalid_state(conn, list->at[0],
	                    "it has no `replicas` in the configuration");
	return NULL;
}

/* So many instances of an actor with `replicas`: the missing are added, or those with the
 * highest numbers stopped and deleted. */
void
handle_scale(struct conn *conn)
{
	struct shell *shell = conn->control->shell;
	const char *name = param_string(conn, "name");
	int64_t wanted = param_int(conn, "replicas", 0);
	struct replicas replicas = {.parent = REF_NONE};
	char *above;

	if (refuses(conn, name))
		return;
	replicas.path = find_base(conn, name);
	if (replicas.path == NULL)
		return;
	conn->call.base_path = strdup(replicas.path);
	if (conn->call.base_path == NULL) {
		reply_limit(conn, name, 0);
		replicas_done(&replicas);
		return;
	}
	if (token_resumes(conn, reply_scaled, reply_not_added)) {
		replicas_done(&replicas);
		return;
	}
	replicas.base = glob_last_name(replicas.path);
	above = strndup(replicas.path, (size_t)(replicas.base - replicas.path) - 1);
	if (above != NULL)
		replicas.parent = actors_find(&shell->actors, above);
	if (wanted > SCALE_MAX)
		reply_limit(conn, replicas.path, SCALE_MAX);
	else if (!core_valid(shell->core, replicas.parent))
		reply_state(conn, replicas.path, "stopped",
		            "its supervisor is not there");
	else {
		replicas.wanted = (uint32_t)wanted;
		if (count_replicas(shell, &replicas) < 0)
			reply_limit(conn, replicas.path, 0);
		else
			scale(conn, &replicas);
	}
	free(above);
	replicas_done(&replicas);
}
