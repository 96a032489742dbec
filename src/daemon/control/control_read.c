/* SPDX-License-Identifier: ISC */
/* control_read.c - methods that only look: Status, Explain, Ping, and introspection. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "daemon/control/handlers.h"
#include "daemon/processes/procs.h"
#include "daemon/report/explain.h"
#include "daemon/report/view.h"
#include "daemon/state/engine.h"
#include "daemon/state/options.h"
#include "daemon/state/recording.h"
#include "os/self/clock.h"

/* The actors of some names, or all; in one reply, or with `more` one in each, in brief
 * several. */
void
handle_status(struct conn *conn)
{
	struct served_call *call = &conn->call;

	call->wanted = param_bool(conn, "resources", false) ? VIEW_RESOURCES : 0;
	call->wanted |= param_bool(conn, "details", false) ? VIEW_DETAILS : 0;
	call->wanted |= param_bool(conn, "brief", false) ? VIEW_BRIEF : 0;
	if (param_get(conn, "names") == NULL) {
		if (resolve_all(conn->control->uses.engine->core, &call->list) < 0) {
			reply_limit(conn, call->method->name, 0);
			return;
		}
	} else if (!call_resolve(conn, &call->list)) {
		return;
	}
	/* Else each actor's would go through what all others have used. */
	if ((call->wanted & VIEW_RESOURCES) != 0 && call->list.n > 1)
		procs_add_up(conn->control->uses.procs);
	if (call->message.more)
		list_begin(conn);
	else
		reply_actors(conn);
}

/* The story of the last failure, also of an actor that is gone. */
void
handle_explain(struct conn *conn)
{
	struct event_view gone;
	struct ref ref;

	if (!call_resolve_one(conn, &ref, &gone))
		return;
	explain_json(reply_begin(conn), conn->control->uses.reporter, ref, &gone);
	reply_end(conn, false);
}

/* Is anybody there, and who? */
void
handle_ping(struct conn *conn)
{
	const struct control_uses *uses = &conn->control->uses;
	struct strbuf *out = reply_begin(conn);

	strbuf_addf(out,
	            "{\"version\":\"%s\",\"pid\":%d,\"walker_pid\":%d,"
	            "\"uptime_ms\":%" PRIu64 ",\"config\":",
	            PACKAGE_VERSION, (int)getpid(), (int)uses->origin->walker_pid,
	            clock_mono_ms() - uses->recording->facts.started_ms);
	view_conf_file(out, uses->origin->conf_file);
	strbuf_addc(out, '}');
	reply_end(conn, false);
}

/* org.varlink.service: vendor, product, version and interfaces. */
void
handle_get_info(struct conn *conn)
{
	strbuf_adds(reply_begin(conn),
	            "{\"vendor\":\"supd\",\"product\":\"supd\",\"version\":"
	            "\"" PACKAGE_VERSION "\",\"url\":\"" PACKAGE_URL
	            "\",\"interfaces\":[\"" SERVICE_INTERFACE "\",\"" CONTROL_INTERFACE
	            "\"]}");
	reply_end(conn, false);
}

/* org.varlink.service: the text of an interface. */
void
handle_get_interface_description(struct conn *conn)
{
	const char *name = param_string(conn, "interface");
	const char *text = NULL;

	if (strcmp(name, CONTROL_INTERFACE) == 0)
		text = varlink_control_description;
	else if (strcmp(name, SERVICE_INTERFACE) == 0)
		text = varlink_service_description;
	if (text == NULL) {
		reply_error(conn, SERVICE_INTERFACE ".InterfaceNotFound",
		            json_pack("{s:s}", "interface", name));
		return;
	}
	struct strbuf *out = reply_begin(conn);
	strbuf_adds(out, "{\"description\":");
	strbuf_add_json(out, text);
	strbuf_addc(out, '}');
	reply_end(conn, false);
}
