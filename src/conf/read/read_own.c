/* SPDX-License-Identifier: ISC */
/* read_own.c - supd's own keys. */
#include "config.h"

#include "base/assert.h"
#include "conf/read/read.h"
#include "conf/schema/schema_scan.h"
#include "conf/schema/schema_types.h"

static const struct schema_type listen_address = {
    .name = "metrics_listen",
    .allowed = "tcp:ADDRESS:PORT or unix:PATH",
    .scan = scan_address,
    .pattern = "^tcp:.*:[0-9]+$|^unix:/",
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
read_metrics(struct reader *reader, const struct node *node, void *target,
             const struct trail *trail)
{
	const struct node *listen = node_get(node, "listen");
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
	conf->metrics_address = arena_dup(reader->keep, address.text);
	conf->metrics_port = address.port;
}
