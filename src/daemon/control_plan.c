/* SPDX-License-Identifier: ISC */
/* control_plan.c - methods about the configuration: Describe, Diff, Apply. */
#include "config.h"

#include "daemon/control_private.h"
#include "daemon/reload.h"
#include "daemon/shell.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Diff and Apply --------------------------------------------------------------- */

static json_t *
make_config_error(const char *file, const struct conf_report *report, const char *message)
{
	return json_pack("{s:s,s:i,s:i,s:s,s:s}", "file", file, "line",
	                 report != NULL ? (int)report->line : 0, "column",
	                 report != NULL ? (int)report->column : 0, "path",
	                 report != NULL && report->path != NULL ? report->path : "",
	                 "message", message);
}

json_t *
control_config_errors(const struct conf_reports *reports, const char *file,
                      const char *sentence)
{
	json_t *errors = json_array();

	for (size_t i = 0; i < reports->n; i++) {
		const struct conf_report *report = &reports->at[i];

		if (report->severity != CONF_ERROR)
			continue;
		(void)json_array_append_new(
		    errors, make_config_error(report->file != NULL ? report->file : file,
		                              report, report->message));
	}
	if (json_array_size(errors) == 0)
		(void)json_array_append_new(errors,
		                            make_config_error(file, NULL, sentence));
	return json_pack("{s:o}", "errors", errors);
}

/* All that is wrong with the file; where the file is not the reason, one sentence. */
static void
reply_config_invalid(struct conn *conn, const struct reload *reload,
                     const struct err *err)
{
	reply_error(conn, CONTROL_INTERFACE ".ConfigInvalid",
	            control_config_errors(&reload->reports,
	                                  conn->control->shell->conf_file, err->text));
}

static const char *
path_of_change(const struct shell *shell, const struct reload *reload,
               const struct conf_change *change)
{
	if (change->new_index != CONF_NONE)
		return reload->conf->actors[change->new_index].path;
	return shell->conf->actors[change->old_index].path;
}

static void
add_plan(struct strbuf *out, const struct shell *shell, const struct reload *reload)
{
	strbuf_adds(out, "{\"plan\":[");
	for (size_t i = 0; i < reload->plan.n; i++) {
		const struct conf_change *change = &reload->plan.at[i];

		strbuf_adds(out, i > 0 ? ",{\"path\":" : "{\"path\":");
		strbuf_add_json(out, path_of_change(shell, reload, change));
		strbuf_addf(out, ",\"change\":\"%s\",\"keys\":[",
		            change_names[change->kind]);
		for (size_t k = 0; k < change->n_keys; k++) {
			if (k > 0)
				strbuf_addc(out, ',');
			strbuf_add_json(out, change->keys[k]);
		}
		strbuf_adds(out, "]}");
	}
	strbuf_adds(out, "]}");
}

static void
reply_plan(struct conn *conn, const struct strbuf *plan)
{
	struct strbuf *out = reply_begin(conn);

	strbuf_add(out, strbuf_str(plan), plan->len);
	out->failed = out->failed || plan->failed;
	reply_end(conn, false);
}

static void
diff_or_apply(struct conn *conn, bool apply)
{
	struct shell *shell = conn->control->shell;
	struct reload reload = {0};
	struct err err = {0};
	struct strbuf plan;
	int r;

	strbuf_init(&plan, VARLINK_REPLY_MAX);
	r = reload_prepare(shell, &reload, &err);
	if (r == 0) {
		/* Before it is applied: the plan borrows from both configurations. */
		add_plan(&plan, shell, &reload);
		if (apply) {
			command_event(conn, REF_NONE, "apply");
			r = reload_apply(shell, &reload, &err);
		}
	}
	if (r == 0)
		reply_plan(conn, &plan);
	else
		reply_config_invalid(conn, &reload, &err);
	strbuf_done(&plan);
	reload_done(&reload);
}

/* What applying the file would do; changes nothing. */
void
handle_diff(struct conn *conn)
{
	diff_or_apply(conn, false);
}

/* From the configuration that runs to the one on disk, all or nothing. */
void
handle_apply(struct conn *conn)
{
	if (param_int(conn, "rollback_ms", -1) >= 0) {
		reply_error(conn, CONTROL_INTERFACE ".Unsupported",
		            json_pack("{s:s}", "what", "Apply with rollback_ms"));
		return;
	}
	if (conn->control->shell->shutting_down) {
		const struct shell *shell = conn->control->shell;

		reply_invalid_state(conn, core_ref(shell->core, CORE_USER),
		                    "supd is shutting down");
		return;
	}
	diff_or_apply(conn, true);
}

/* ---- Describe --------------------------------------------------------------------- */

/*
 * Set a dotted key in nested objects.  A part that is in use for a plain value already
 * (keys that users choose may have dots) keeps the rest of the key in one piece.
 */
static int
set_nested(json_t *object, const char *key, json_t *take_value)
{
	for (;;) {
		const char *dot = strchr(key, '.');
		char *part;
		json_t *inner;
		int r = 0;

		if (dot == NULL)
			return json_object_set_new(object, key, take_value);
		part = strndup(key, (size_t)(dot - key));
		inner = part != NULL ? json_object_get(object, part) : NULL;
		if (part != NULL && inner == NULL) {
			inner = json_object();
			r = json_object_set_new(object, part, inner);
		}
		free(part);
		if (r < 0 || !json_is_object(inner))
			return json_object_set_new(object, key, take_value);
		object = inner;
		key = dot + 1;
	}
}

static void
add_key(json_t *spec, json_t *origin, const struct conf *conf, const struct conf_key *key)
{
	json_t *value = json_loads(key->value, JSON_DECODE_ANY, NULL);

	if (value == NULL)
		value = json_string(key->value);
	(void)set_nested(spec, key->key, value);
	if (key->file >= conf->n_files)
		return;
	(void)json_array_append_new(origin, json_pack("{s:s,s:s,s:i}", "key", key->key,
	                                              "file", conf->files[key->file],
	                                              "line", (int)key->line));
}

/* The effective keys of an actor, and where those that are not defaults came from. */
void
handle_describe(struct conn *conn)
{
	const struct shell *shell = conn->control->shell;
	const struct actor *actor;
	const struct conf *conf;
	json_t *parameters;
	struct ref ref;

	if (!call_resolve_one(conn, &ref))
		return;
	actor = actors_get(&shell->actors, ref);
	if (actor == NULL || actor->conf == NULL) {
		reply_invalid_state(conn, ref, "it is not configured any more");
		return;
	}
	conf = shell_conf_of(shell, actor);
	parameters = json_pack("{s:{},s:[]}", "spec", "origin");
	for (size_t i = 0; parameters != NULL && i < actor->conf->n_keys; i++)
		add_key(json_object_get(parameters, "spec"),
		        json_object_get(parameters, "origin"), conf,
		        &actor->conf->keys[i]);
	reply_json(conn, parameters);
}
