/* SPDX-License-Identifier: ISC */
/* read_own.c - supd's own keys. */
#include "config.h"

#include <string.h>

#include "base/assert.h"
#include "conf/read/read.h"
#include "conf/schema/schema_scan.h"
#include "conf/schema/schema_types.h"

static const struct schema_type listen_address = {
    .name = "metrics_listen",
    .allowed = "tcp:ADDRESS:PORT or unix:PATH",
    .scan = scan_address,
    .pattern = "^tcp:.*:[0-9]+$|^unix:.",
};
static const struct schema_key metrics_keys[] = {
    {"listen", &listen_address, NULL, "Where /metrics is served, by HTTP.", CONF_IN_PLACE,
     AT_NESTED, .read = NULL},
};
TABLE(metrics_table, metrics_keys, "listen");
const struct schema_type schema_metrics = {
    .name = "metrics",
    .allowed = "a mapping such as {listen: tcp:127.0.0.1:9464}",
    .table = &metrics_table,
    .where = AT_NESTED,
};

/* `metrics`: one address. */
void
read_metrics(struct reader *reader, const struct yaml *node, void *target,
             const struct trail *trail)
{
	const struct yaml *listen = node_get(node, "listen");
	const struct trail below = {trail, "listen", 0};
	struct conf *conf = target;
	struct address address = {0};

	if (listen == NULL)
		return;
	(void)address_parse(listen->text, &address, NULL);
	if (address.kind != SOCKET_TCP && address.kind != SOCKET_UNIX) {
		reader_error(reader, listen, &below, "`%.100s` is no stream; write %s",
		             listen->text, listen_address.allowed);
		return;
	}
	conf->has_metrics = true;
	conf->metrics_kind = address.kind;
	conf->metrics_address =
	    address.kind == SOCKET_UNIX
	        ? read_socket_path(reader, listen, address.text, &below)
	        : arena_dup(reader->keep, address.text);
	conf->metrics_port = address.port;
	conf->metrics_place = (struct place){listen->file, listen->line};
	conf->metrics_column = listen->column;
}

/* A group of `control`; false: there is none.  At boot supd does without an unknown one,
 * rather than let all actors wait for it. */
static bool
find_group(struct reader *reader, const struct yaml *group, gid_t *ret,
           const struct trail *trail)
{
	struct err err;

	if (group == NULL || users_find_group(reader->users, group->text, ret, &err) == 0)
		return group != NULL;
	if (reader->options->boot)
		reader_warn(
		    reader, group, trail,
		    "%s; its members are refused until `supctl apply` looks it up "
		    "again",
		    err.text);
	else
		reader_error(reader, group, trail, "%s", err.text);
	return false;
}

/* `control`: the control socket, its group and its observers. */
void
read_control(struct reader *reader, const struct yaml *node, void *target,
             const struct trail *trail)
{
	struct conf *conf = target;
	const struct yaml *group = node_get(node, "group");
	const struct yaml *observers = node_get(node, "observers");
	const struct yaml *mode = node_get(node, "mode");
	const struct yaml *socket = node_get(node, "socket");

	/* Peer credentials decide; the mode must not shut out observers. */
	conf->control_mode = observers != NULL ? 0666 : 0660;
	read_table(reader, node, schema_control.table, conf);
	if (socket != NULL)
		conf->control_socket = read_socket_path(
		    reader, socket, socket->text, &(struct trail){trail, "socket", 0});
	conf->has_control_group = find_group(reader, group, &conf->control_gid,
	                                     &(struct trail){trail, "group", 0});
	conf->has_observers = find_group(reader, observers, &conf->observers_gid,
	                                 &(struct trail){trail, "observers", 0});
	if (mode != NULL && observers != NULL && (conf->control_mode & 0002) == 0)
		reader_warn(
		    reader, mode, &(struct trail){trail, "mode", 0},
		    "\"%s\" shuts the `observers` out: without the right to write to the "
		    "socket they cannot connect; write \"0666\", since the credentials "
		    "of "
		    "each client decide what it may do",
		    mode->text);
}

/* `log`: where supd logs, and where the actors' files are. */
void
read_log(struct reader *reader, const struct yaml *node, void *target,
         const struct trail *trail UNUSED)
{
	read_table(reader, node, schema_log.table, target);
}
