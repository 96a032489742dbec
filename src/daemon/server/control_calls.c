/* SPDX-License-Identifier: ISC */
/* control_calls.c - from a message to its handler. */
#include "config.h"

#include <string.h>

#include "daemon/server/control_private.h"
#include "daemon/state/actors.h"
#include "daemon/state/post.h"

static const struct method *
find_method(const struct method *methods, const char *name)
{
	while (methods->name != NULL && strcmp(methods->name, name) != 0)
		methods++;
	return methods->name != NULL ? methods : NULL;
}

/* True if the interface of a qualified name is this one. */
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
	const struct interface *interface = conn->control->interfaces;

	if (dot == NULL) {
		reply_method_error(conn, SERVICE_INTERFACE ".MethodNotFound");
		return NULL;
	}
	while (interface->name != NULL && !is_interface(name, len, interface->name))
		interface++;
	if (interface->name == NULL) {
		reply_error(conn, SERVICE_INTERFACE ".InterfaceNotFound",
		            json_pack("{s:s%}", "interface", name, len));
		return NULL;
	}
	const struct method *method = find_method(interface->methods, dot + 1);
	if (method == NULL)
		reply_method_error(conn, SERVICE_INTERFACE ".MethodNotFound");
	return method;
}

/* The client may not do it; a group that may, and is set, is named. */
static void
refuse(struct conn *conn, enum access access)
{
	const struct conf *conf = conn->control->uses.actors->conf;

	reply_error(
	    conn, SERVICE_INTERFACE ".PermissionDenied",
	    json_pack("{s:b, s:o*, s:o*}", "observing", access == ACCESS_OBSERVE,
	              "control",
	              conf->has_control_group ? json_integer(conf->control_gid) : NULL,
	              "observers",
	              conf->has_observers ? json_integer(conf->observers_gid) : NULL));
}

/*
 * True if the call has to wait for the end of a turn: of the one that is under way,
 * because it needs the core at rest; or, to say what is, of the next, because the core
 * was not told yet what has happened.  It waits once: something happens all the time.
 */
static bool
is_early(const struct conn *conn)
{
	const struct control_uses *uses = &conn->control->uses;
	const enum beginning begins = conn->call.method->begins;

	return post_is_stepping(uses->post)
	           ? begins == AT_REST
	           : begins == AFTER_NEWS && conn->call.turn == 0 &&
	                 uses->post->posted.n > 0;
}

/* Begin it after the turn. */
static void
hold(struct conn *conn)
{
	conn->call.state = CALL_HELD;
	conn->call.turn = conn->control->turn + 1;
	control_attend(conn);
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
	if (!auth_allows(conn, method->access))
		refuse(conn, method->access);
	else if (message->upgrade)
		reply_method_error(conn, SERVICE_INTERFACE ".MethodNotImplemented");
	else if (method->needs_more && !message->more)
		reply_error(conn, SERVICE_INTERFACE ".ExpectedMore", NULL);
	else if ((wrong = params_check(method->params, message->parameters)) != NULL)
		reply_invalid_parameter(conn, wrong);
	else if (is_early(conn))
		hold(conn);
	else
		method->handle(conn);
}
