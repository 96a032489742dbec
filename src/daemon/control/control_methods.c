/* SPDX-License-Identifier: ISC */
/* control_methods.c - the tables of methods. */
#include "config.h"

#include "daemon/control/handlers.h"

/* clang-format off */
static const struct param no_params[] = {{.name = NULL}};
static const struct param interface_params[] = {
	{"interface", PARAM_STRING, true}, {.name = NULL},
};
static const struct param status_params[] = {
	{"names", PARAM_NAMES, false}, {"resources", PARAM_BOOL, false},
	{"details", PARAM_BOOL, false}, {"brief", PARAM_BOOL, false}, {.name = NULL},
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
	{"GetInfo", ACCESS_EVERYBODY, false, no_params, handle_get_info, AT_ONCE},
	{"GetInterfaceDescription", ACCESS_EVERYBODY, false, interface_params,
	 handle_get_interface_description, AT_ONCE},
	{.name = NULL},
};

/* All of the interface. */
static const struct method control_methods[] = {
	{"Status", ACCESS_OBSERVE, false, status_params, handle_status, AFTER_NEWS},
	{"Start", ACCESS_CONTROL, false, start_params, handle_start, AT_REST},
	{"Stop", ACCESS_CONTROL, false, stop_params, handle_stop, AT_REST},
	{"Restart", ACCESS_CONTROL, false, start_params, handle_restart, AT_REST},
	{"Suspend", ACCESS_CONTROL, false, names_once_params, handle_suspend, AT_REST},
	{"Resume", ACCESS_CONTROL, false, names_once_params, handle_resume, AT_REST},
	{"Reset", ACCESS_CONTROL, false, names_once_params, handle_reset, AT_REST},
	{"Signal", ACCESS_CONTROL, false, signal_params, handle_signal, AT_REST},
	{"Fail", ACCESS_CONTROL, false, name_once_params, handle_fail, AT_REST},
	{"Wait", ACCESS_CONTROL, false, wait_params, handle_wait, AT_REST},
	{"Watch", ACCESS_OBSERVE, true, watch_params, handle_watch, AT_REST},
	{"Events", ACCESS_OBSERVE, true, events_params, handle_events, AT_REST},
	{"Logs", ACCESS_OBSERVE, true, logs_params, handle_logs, AT_REST},
	{"Explain", ACCESS_OBSERVE, false, name_params, handle_explain, AT_REST},
	{"Simulate", ACCESS_OBSERVE, false, simulate_params, handle_simulate, AT_REST},
	{"Describe", ACCESS_CONTROL, false, name_params, handle_describe, AT_REST},
	{"Diff", ACCESS_CONTROL, false, diff_params, handle_diff, AT_REST},
	{"Apply", ACCESS_CONTROL, false, apply_params, handle_apply, AT_REST},
	{"Add", ACCESS_CONTROL, false, add_params, handle_add, AT_REST},
	{"Delete", ACCESS_CONTROL, false, name_once_params, handle_delete, AT_REST},
	{"Scale", ACCESS_CONTROL, false, scale_params, handle_scale, AT_REST},
	{"Metrics", ACCESS_OBSERVE, false, no_params, handle_metrics, AT_ONCE},
	{"Ping", ACCESS_OBSERVE, false, no_params, handle_ping, AT_ONCE},
	{"Upgrade", ACCESS_CONTROL, false, no_params, handle_upgrade, AT_REST},
	{"Shutdown", ACCESS_CONTROL, false, no_params, handle_shutdown, AT_REST},
	{.name = NULL},
};
/* clang-format on */

const struct interface control_interfaces[] = {
    {CONTROL_INTERFACE, control_methods},
    {SERVICE_INTERFACE, service_methods},
    {.name = NULL},
};
