/* SPDX-License-Identifier: ISC */
/* sockets.c - sockets that supd opens for an actor, each address once. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "conf/keys.h"
#include "conf/read.h"
#include "conf/scan.h"
#include "conf/schema_types.h"

static void
read_owner(struct reader *reader, const struct node *node, struct conf_socket *socket,
           const struct trail *trail)
{
	const struct node *user = node_get(node, "user");
	const struct node *group = node_get(node, "group");
	const struct user *found;
	struct err err;

	if (user != NULL) {
		struct trail below = {trail, "user", 0};

		found = users_find(reader->users, user->text, &err);
		if (found != NULL)
			socket->uid = found->uid;
		else
			reader_error(reader, user, &below, "%s", err.text);
	}
	if (group != NULL) {
		struct trail below = {trail, "group", 0};

		if (users_find_group(reader->users, group->text, &socket->gid, &err) < 0)
			reader_error(reader, group, &below, "%s", err.text);
	}
}

/* Keys that a tcp socket cannot heed are not ignored silently. */
static void
check_tcp_keys(struct reader *reader, const struct node *node, const struct trail *trail)
{
	static const char *const unix_only[] = {"mode", "user", "group"};

	for (size_t i = 0; i < ARRAY_SIZE(unix_only); i++) {
		const struct node *key = node_key(node, unix_only[i]);
		struct trail below = {trail, unix_only[i], 0};

		if (key != NULL)
			reader_error(reader, key, &below,
			             "`%s` is for unix sockets; a tcp port has none",
			             unix_only[i]);
	}
}

static void
read_socket(struct reader *reader, const struct node *name, const struct node *node,
            struct conf_socket *socket, const struct trail *up)
{
	struct trail trail = {up, name->text, 0};
	const struct node *listen =
	    node->type == NODE_MAP ? node_get(node, "listen") : node;
	struct address address = {0};

	if (listen == NULL)
		return;
	*socket = (struct conf_socket){
	    .name = arena_dup(reader->keep, name->text),
	    .backlog = 4096,
	    .mode = 0666,
	    .uid = (uid_t)-1,
	    .gid = (gid_t)-1,
	    .place = {name->file, name->line},
	    .column = name->column,
	};
	(void)address_parse(listen->text, &address, NULL);
	socket->kind = address.kind;
	socket->address = arena_dup(reader->keep, address.text);
	socket->port = address.port;
	if (node->type != NODE_MAP)
		return;
	read_table(reader, node, schema_socket.table, socket);
	if (socket->kind == SOCKET_TCP)
		check_tcp_keys(reader, node, &trail);
	else
		read_owner(reader, node, socket, &trail);
}

/* `sockets`, in the order of the file, which is that of the descriptors. */
void
read_sockets(struct reader *reader, const struct node *node, void *target,
             const struct trail *trail)
{
	struct conf_process *process = &((struct conf_actor *)target)->process;

	if (node->n > CONF_SOCKETS_MAX) {
		reader_error(reader, node, trail, "%zu sockets; an actor has at most %d",
		             node->n, CONF_SOCKETS_MAX);
		return;
	}
	process->sockets = arena_alloc(reader->keep, node->n, sizeof(*process->sockets));
	if (process->sockets == NULL)
		return;
	process->n_sockets = node->n;
	for (size_t i = 0; i < node->n; i++)
		read_socket(reader, node->pairs[i].key, node->pairs[i].value,
		            &process->sockets[i], trail);
}

/* ---- each address once --------------------------------------------------------- */

static void
refuse_address(struct reader *reader, const struct conf_actor *actor,
               const struct conf_socket *socket, const char *address,
               const struct conf_actor *owner)
{
	struct spot spot = {reader->conf->files[socket->place.file], socket->place.line,
	                    socket->column};
	char message[512];
	char key[256];
	struct strbuf path;

	(void)snprintf(message, sizeof(message), "`%.200s` is taken by `%.200s`", address,
	               owner->path);
	(void)snprintf(key, sizeof(key), "sockets.%.200s", socket->name);
	strbuf_init(&path, 65536);
	keys_path(reader->conf, actor, key, &path);
	reports_add(reader->reports, CONF_ERROR, &spot, strbuf_str(&path), message);
	strbuf_done(&path);
}

static void
claim_address(struct reader *reader, struct map *owners, uint32_t index,
              const struct conf_socket *socket)
{
	const struct conf_actor *actor = &reader->conf->actors[index];
	const char *address;
	uint32_t owner;

	/* Port 0 is another one each time. */
	if (socket->address == NULL || (socket->kind == SOCKET_TCP && socket->port == 0))
		return;
	if (socket->kind == SOCKET_TCP)
		address = arena_printf(reader->scratch, "tcp:%s:%u",
		                       socket->address[0] != '\0' ? socket->address : "*",
		                       socket->port);
	else
		address = arena_printf(reader->scratch, "unix:%s", socket->address);
	if (address == NULL)
		return;
	if (map_get_name(owners, address, &owner))
		refuse_address(reader, actor, socket, address,
		               &reader->conf->actors[owner]);
	else if (map_put_name(owners, address, index) < 0)
		reader->scratch->failed = true;
}

/*
 * Two sockets cannot listen at one address: what would fail at the start is an error of
 * the file.  Replicas that share an address are the usual case.
 */
void
sockets_check(struct reader *reader)
{
	struct map owners;

	map_init(&owners);
	for (uint32_t i = 0; i < reader->conf->n_actors; i++) {
		const struct conf_process *process = &reader->conf->actors[i].process;

		for (size_t j = 0; j < process->n_sockets; j++)
			claim_address(reader, &owners, i, &process->sockets[j]);
	}
	map_done(&owners);
}
