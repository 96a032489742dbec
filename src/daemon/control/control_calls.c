/* SPDX-License-Identifier: ISC */
/* control_calls.c - the table of methods; from a message to its handler. */
#include "config.h"

#include <string.h>

#include "daemon/control/control_private.h"
#include "daemon/state/shell.h"

/* clang-format off */
static const struct param no_params[] = {{.name = NULL}};
static const struct param interface_params[] = {
	{"interface", PARAM_STRING, true}, {.name = NULL},
};
static const struct param status_params[] = {
	{"names", PARAM_NAMES, false}, {"resources", PARAM_BOOL, false},
	{"details", PARAM_BOOL, false}, {.name = NULL},
};
static const struct param start_params[] = {
	{"names", PARAM_NAMES, true}, {"wait", PARAM_BOOL, false},
	{"timeout_ms", PARAM_INT, false}, {"token", PARAM_STRING, false}, {.name = NULL},
};
static const struct param stop_params[] = {
	{"names", PARAM_NAMES, true}, {"hold", PARAM_BOOL, false},
	{"wait", PARAM_BOOL, false}, {"timeout_ms", PARAM_INT, false},
	{"token", PARAM_STRING, false}, {.name = NULL},
};
static const struct param names_once_params[] = {
	{"names", PARAM_NAMES, true}, {"token", PARAM_STRING, false}, {.name = NULL},
};
static const struct param name_params[] = {{"name", PARAM_NAME, true}, {.name = NULL}};
static const struct param name_once_params[] = {
	{"name", PARAM_NAME, true}, {"token", PARAM_STRING, false}, {.name = NULL},
};
static const struct param signal_params[] = {
	{"name", PARAM_NAME, true}, {"signal", PARAM_STRING, true},
	{"token", PARAM_STRING, false}, {.name = NULL},
};
static const struct param wait_params[] = {
	{"name", PARAM_NAME, true}, {"for", PARAM_STRING, true},
	{"timeout_ms", PARAM_INT, false}, {"incarnation", PARAM_INT, false}, {.name = NULL},
};
static const struct param watch_params[] = {
	{"names", PARAM_NAMES, true}, {"since", PARAM_INTS, false}, {.name = NULL},
};
static const struct param events_params[] = {
	{"pattern", PARAM_NAME, false}, {"since", PARAM_INT, false},
	{"follow", PARAM_BOOL, false}, {.name = NULL},
};
static const struct param logs_params[] = {
	{"names", PARAM_NAMES, true}, {"lines", PARAM_INT, false},
	{"since", PARAM_STRING, false}, {"follow", PARAM_BOOL, false}, {.name = NULL},
};
static const struct param simulate_params[] = {
	{"name", PARAM_NAME, false}, {"cause", PARAM_STRING, false},
	{"times", PARAM_INT, false}, {.name = NULL},
};
static const struct param add_params[] = {
	{"name", PARAM_NAME, true}, {"use", PARAM_STRING, false},
	{"with", PARAM_TEXTS, false}, {"command", PARAM_STRINGS, false},
	{"token", PARAM_STRING, false}, {.name = NULL},
};
static const struct param scale_params[] = {
	{"name", PARAM_NAME, true}, {"replicas", PARAM_INT, true},
	{"token", PARAM_STRING, false}, {.name = NULL},
};
static const struct param diff_params[] = {
	{"file", PARAM_STRING, false}, {"rerun", PARAM_BOOL, false},
	{"undo", PARAM_BOOL, false}, {.name = NULL},
};
static const struct param apply_params[] = {
	{"rollback_ms", PARAM_INT, false}, {"commit_when_ready", PARAM_BOOL, false},
	{"file", PARAM_STRING, false}, {"rerun", PARAM_BOOL, false},
	{"undo", PARAM_BOOL, false}, {.name = NULL},
};

static const struct method service_methods[] = {
	{"GetInfo", ACCESS_EVERYBODY, false, no_params, handle_get_info},
	{"GetInterfaceDescription", ACCESS_EVERYBODY, false, interface_params,
	 handle_get_interface_description},
	{.name = NULL},
};

/* All of the interface. */
static const struct method control_methods[] = {
	{"Status", ACCESS_OBSERVE, false, status_params, handle_status},
	{"Start", ACCESS_CONTROL, false, start_params, handle_start},
	{"Stop", ACCESS_CONTROL, false, stop_params, handle_stop},
	{"Restart", ACCESS_CONTROL, false, start_params, handle_restart},
	{"Suspend", ACCESS_CONTROL, false, names_once_params, handle_suspend},
	{"Resume", ACCESS_CONTROL, false, names_once_params, handle_resume},
	{"Reset", ACCESS_CONTROL, false, names_once_params, handle_reset},
	{"Signal", ACCESS_CONTROL, false, signal_params, handle_signal},
	{"Fail", ACCESS_CONTROL, false, name_once_params, handle_fail},
	{"Wait", ACCESS_CONTROL, false, wait_params, handle_wait},
	{"Watch", ACCESS_OBSERVE, true, watch_params, handle_watch},
	{"Events", ACCESS_OBSERVE, true, events_params, handle_events},
	{"Logs", ACCESS_OBSERVE, true, logs_params, handle_logs},
	{"Explain", ACCESS_OBSERVE, false, name_params, handle_explain},
	{"Simulate", ACCESS_OBSERVE, false, simulate_params, handle_simulate},
	{"Describe", ACCESS_CONTROL, false, name_params, handle_describe},
	{"Diff", ACCESS_CONTROL, false, diff_params, handle_diff},
	{"Apply", ACCESS_CONTROL, false, apply_params, handle_apply},
	{"Add", ACCESS_CONTROL, false, add_params, handle_add},
	{"Delete", ACCESS_CONTROL, false, name_once_params, handle_delete},
	{"Scale", ACCESS_CONTROL, false, scale_params, handle_scale},
	{"Metrics", ACCESS_OBSERVE, false, no_params, handle_metrics},
	{"Ping", ACCESS_OBSERVE, false, no_params, handle_ping},
	{"Upgrade", ACCESS_CONTROL, false, no_params, handle_upgrade},
	{"Shutdown", ACCESS_CONTROL, false, no_params, handle_shutdown},
	{.name = NULL},
};
/* clang-format on */

static const struct method *
find(const struct method *methods, const char *name)
{
	while (methods->name != NULL && strcmp(methods->name, name) != 0)
		methods++;
	return methods->name != NULL ? methods : NULL;
}

/* Is the interface of a qualified name this one? */
static bool
is_interface(const char *name, size_t len, const char *interface)
{
	return strlen(interface) == len && strncmp(name, interface, len) == 0;
}

static void
reply_method_error(struct conn *conn, const char *error)
{
	reply_error(conn, error, json_pack("{s:s}", "method", conn->call.message.method));
}

/* The method of the call, or NULL, and the error is replied. */
static const struct method *
look_up(struct conn *conn)
{
	const char *name = conn->call.message.method;
	const char *dot = strrchr(name, '.');
	size_t len = dot != NULL ? (size_t)(dot - name) : 0;
	const struct method *method = NULL;

	if (dot == NULL) {
		reply_method_error(conn, SERVICE_INTERFACE ".MethodNotFound");
		return NULL;
	}
	if (is_interface(name, len, CONTROL_INTERFACE)) {
		method = find(control_methods, dot + 1);
	} else if (is_interface(name, len, SERVICE_INTERFACE)) {
		method = find(service_methods, dot + 1);
	} else {
		reply_error(conn, SERVICE_INTERFACE ".InterfaceNotFound",
		            json_pack("{s:s%}", "interface", name, len));
		return NULL;
	}
	if (method == NULL)
		reply_method_error(conn, SERVICE_INTERFACE ".MethodNotFound");
	return method;
}

/* The client may not do it; a group that may, and is set, is named. */
static void
refuse(struct conn *conn, enum access access)
{
	const struct conf *conf = conn->control->shell->conf;

	reply_error(
	    conn, SERVICE_INTERFACE ".PermissionDenied",
	    json_pack("{s:b, s:o*, s:o*}", "observing", access == ACCESS_OBSERVE,
	              "control",
	              conf->has_control_group ? json_integer(conf->control_gid) : NULL,
	              "observers",
	              conf->has_observers ? json_integer(conf->observers_gid) : NULL));
}

/*
 * Begin the call of a connection: to its handler, or an error.  Permission is checked
 * before anything that would tell what exists.
 */
void
call_dispatch(struct conn *conn)
{
	const struct method *method = look_up(conn);
	const struct varlink_call *message = &conn->call.message;
	const char *wrong;

	if (method == NULL)
		return;
	conn->call.method = method;
	conn->observes = !auth_allows(conn, ACCESS_CONTROL);
	if (!auth_allows(conn, method->access)) {
		refuse(conn, method->access);
		return;
	}
	if (message->upgrade) {
		reply_method_error(conn, SERVICE_INTERFACE ".MethodNotImplemented");
		return;
	}
	if (method->needs_more && !message->more) {
		reply_error(conn, SERVICE_INTERFACE ".ExpectedMore", NULL);
		return;
	}
	wrong = params_check(method->params, message->parameters);
	if (wrong != NULL)
		reply_invalid_parameter(conn, wrong);
	else
		method->handle(conn);
}
