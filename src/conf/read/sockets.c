/* SPDX-License-Identifier: ISC */
/* sockets.c - sockets that supd opens for an actor, each address once. */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/cleanup.h"
#include "conf/read/keys.h"
#include "conf/read/read.h"
#include "conf/schema/schema_scan.h"
#include "conf/schema/schema_types.h"

#define RATE_DEFAULT 1000

/* Returns what is to be looked up when the socket is opened. */
static char *
keep_unknown(struct reader *reader, const struct yaml *name, const struct trail *trail,
             const char *text)
{
	return reader_report_unknown(reader, name, trail, text)
	           ? arena_dup(reader->keep, name->text)
	           : NULL;
}

static void
read_owner(struct reader *reader, const struct yaml *node, struct conf_socket *socket,
           const struct trail *trail)
{
	const struct yaml *user = node_get(node, "user");
	const struct yaml *group = node_get(node, "group");
	const struct user *found;
	struct err err;

	if (user != NULL) {
		struct trail below = {trail, "user", 0};

		found = users_find(reader->users, user->text, &err);
		if (found != NULL)
			socket->uid = found->uid;
		else
			socket->asked_user = keep_unknown(reader, user, &below, err.text);
	}
	if (group != NULL) {
		if (users_find_group(reader->users, group->text, &socket->gid, &err) < 0)
			socket->asked_group = keep_unknown(
			    reader, group, &(struct trail){trail, "group", 0}, err.text);
	}
}

/* Keys that such a socket cannot heed are not ignored silently. */
static void
check_keys(struct reader *reader, const struct yaml *node, enum socket_kind kind,
           const struct trail *trail)
{
	static const char *const of_files[] = {"mode", "user", "group"};
	const struct yaml *backlog = node_key(node, "backlog");

	for (size_t i = 0; socket_has_port(kind) && i < ARRAY_SIZE(of_files); i++) {
		const struct yaml *key = node_key(node, of_files[i]);
		struct trail below = {trail, of_files[i], 0};

		if (key != NULL)
			reader_error(reader, key, &below,
			             "`%s` is for unix sockets and fifos; a %s port has "
			             "none",
			             of_files[i], socket_kind_names[kind]);
	}
	if (backlog != NULL && !socket_accepts(kind)) {
		reader_error(
		    reader, backlog, &(struct trail){trail, "backlog", 0},
		    "`backlog` is for sockets that accept connections; a %s socket "
		    "has none",
		    socket_kind_names[kind]);
	}
}

/* `while_down`: a word, or a mapping with one of two keys. */
static void
read_while_down(struct reader *reader, const struct conf_actor *actor,
                const struct yaml *node, struct conf_socket *socket,
                const struct trail *up)
{
	const struct trail trail = {up, "while_down", 0};

	if (node->type == NODE_TEXT) {
		socket->while_down =
		    (enum while_down)read_value(&schema_while_down, node).word;
		return;
	}
	const struct yaml *reply = node_get(node, while_down_names[WHILE_DOWN_REPLY]);
	const struct yaml *handler = node_get(node, while_down_names[WHILE_DOWN_HANDLER]);
	if ((reply == NULL) == (handler == NULL)) {
		reader_error(reader, node, &trail,
		             "write one of `reply` and `handler`, not %s",
		             reply == NULL ? "none" : "both");
	} else if (handler != NULL) {
		socket->while_down = WHILE_DOWN_HANDLER;
		socket->handler_path = read_reference(reader, actor, handler->text);
	} else if (socket->kind == SOCKET_FIFO) {
		reader_error(reader, reply, &trail,
		             "a fifo cannot carry a reply; write `queue` or `refuse`");
	} else {
		socket->while_down = WHILE_DOWN_REPLY;
		socket->reply = arena_dup(reader->keep, reply->text);
	}
}

/* What is left out is the rate of what is not done. */
static void
check_rate(struct reader *reader, const struct yaml *node,
           const struct conf_socket *socket, const struct trail *up)
{
	const struct yaml *key = node_key(node, "rate");

	if (key != NULL && socket->while_down != WHILE_DOWN_REFUSE &&
	    socket->while_down != WHILE_DOWN_REPLY)
		reader_warn(reader, key, &(struct trail){up, "rate", 0},
		            "`rate` has no effect with `while_down: %s`: it is for "
		            "`refuse` and `reply`",
		            while_down_names[socket->while_down]);
}

static void
read_socket(struct reader *reader, const struct conf_actor *actor,
            const struct node_pair *pair, struct conf_socket *socket,
            const struct trail *up)
{
	const struct yaml *name = pair->key, *node = pair->value;
	struct trail trail = {up, name->text, 0};
	const struct yaml *listen =
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
	    .handler = CONF_NONE,
	    .rate = RATE_DEFAULT,
	    .place = {name->file, name->line},
	    .column = name->column,
	};
	(void)address_parse(listen->text, &address, NULL);
	socket->kind = address.kind;
	socket->address = socket_has_port(address.kind)
	                      ? arena_dup(reader->keep, address.text)
	                      : read_socket_path(reader, listen, address.text, &trail);
	socket->port = address.port;
	if (node->type != NODE_MAP)
		return;
	read_table(reader, node, schema_socket.table, socket);
	check_keys(reader, node, socket->kind, &trail);
	if (!socket_has_port(socket->kind))
		read_owner(reader, node, socket, &trail);
	if (node_get(node, "while_down") != NULL)
		read_while_down(reader, actor, node_get(node, "while_down"), socket,
		                &trail);
	check_rate(reader, node, socket, &trail);
}

/* `sockets`, in the order of the file, which is that of the descriptors. */
void
read_sockets(struct reader *reader, const struct yaml *node, void *target,
             const struct trail *trail)
{
	const struct conf_actor *actor = target;
	struct conf_process *process = ((struct conf_actor *)target)->process;

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
		read_socket(reader, actor, &node->pairs[i], &process->sockets[i], trail);
}

/* ---- of all actors together ------------------------------------------------------ */

static void __attribute__((format(printf, 4, 5)))
refuse(struct reader *reader, const struct conf_actor *actor,
       const struct conf_socket *socket, const char *fmt, ...)
{
	struct spot spot = {reader->conf->files[socket->place.file], socket->place.line,
	                    socket->column};
	char message[512], key[256];
	CLEANUP(strbuf_done) struct strbuf path = STRBUF(65536);
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	(void)snprintf(key, sizeof(key), "sockets.%.200s", socket->name);
	conf_keys_path(reader->conf, actor, key, &path);
	reports_add(reader->reports, CONF_ERROR, &spot, strbuf_str(&path), message);
}

/* The owner of each address, and of each port on all addresses of a family. */
struct claims {
	struct reader *reader;
	struct map owners;
};

/*
 * The actor that has claimed `against`; CONF_NONE: no actor has, and then `wanted` is
 * claimed from now on, unless it was claimed before.
 */
static uint32_t
claim(struct claims *claims, uint32_t index, const char *wanted, const char *against)
{
	uint32_t owner;

	if (wanted == NULL || against == NULL)
		return CONF_NONE;
	if (map_get_name(&claims->owners, against, &owner))
		return owner;
	if (!map_get_name(&claims->owners, wanted, &owner) &&
	    map_put_name(&claims->owners, wanted, index) < 0)
		claims->reader->scratch->failed = true;
	return CONF_NONE;
}

/* A port is on all addresses of its family, or on one of them. */
static uint32_t
claim_port(struct claims *claims, uint32_t index, const struct conf_socket *socket,
           const char *address)
{
	const char *kind = socket_kind_names[socket->kind];
	const char *any = strchr(address, ':') != NULL ? "::" : "0.0.0.0";
	struct arena *scratch = claims->reader->scratch;
	const char *one = arena_printf(scratch, "%s %s %u", kind, address, socket->port);
	const char *all = arena_printf(scratch, "%s %s %u", kind, any, socket->port);
	const char *some =
	    arena_printf(scratch, "%s some %s %u", kind, any, socket->port);
	uint32_t owner;

	if (strcmp(address, any) == 0) {
		owner = claim(claims, index, some, some);
		return owner != CONF_NONE ? owner : claim(claims, index, all, all);
	}
	/* Other actors may have the port on other addresses, but none may have the port
	 * on all addresses. */
	owner = claim(claims, index, one, one);
	return owner != CONF_NONE ? owner : claim(claims, index, some, all);
}

static void
claim_address(struct claims *claims, uint32_t index, const struct conf_socket *socket)
{
	const struct conf *conf = claims->reader->conf;
	const bool has_port = socket_has_port(socket->kind);
	const bool is_six = has_port && strchr(socket->address, ':') != NULL;
	char port[8] = "";
	uint32_t owner;

	/* Port 0 is another one each time. */
	if (has_port && socket->port == 0)
		return;
	if (has_port)
		(void)snprintf(port, sizeof(port), ":%u", socket->port);
	if (!has_port) {
		/* A path is a single file, whatever the kind of socket. */
		owner = claim(claims, index, socket->address, socket->address);
	} else if (socket->address[0] != '\0') {
		owner = claim_port(claims, index, socket, socket->address);
	} else {
		owner = claim_port(claims, index, socket, "0.0.0.0");
		if (owner == CONF_NONE)
			owner = claim_port(claims, index, socket, "::");
	}
	if (owner != CONF_NONE)
		refuse(claims->reader, &conf->actors[index], socket,
		       "`%s:%s%.200s%s%s` is taken by `%.200s`",
		       socket_kind_names[socket->kind], is_six ? "[" : "",
		       socket->address[0] != '\0' ? socket->address : "*",
		       is_six ? "]" : "", port, conf->actors[owner].path);
}

/* True if `above` is a supervisor of the actor. */
static bool
is_above(const struct conf *conf, uint32_t above, uint32_t actor)
{
	while (actor != CONF_NONE && actor != above)
		actor = conf->actors[actor].parent;
	return actor == above;
}

static bool
hands_over(const struct conf_process *process)
{
	for (size_t i = 0; i < process->n_sockets; i++)
		if (process->sockets[i].while_down == WHILE_DOWN_HANDLER)
			return true;
	return false;
}

/* A handler runs only while a socket needs handling: it starts on demand. */
static void
find_handler(struct reader *reader, uint32_t index, struct conf_socket *socket,
             uint32_t *n_handled)
{
	struct conf *conf = reader->conf;
	const struct conf_actor *actor = &conf->actors[index];
	uint32_t found = conf_find(conf, socket->handler_path);
	struct conf_actor *handler = found == CONF_NONE ? NULL : &conf->actors[found];
	char key[256];

	if (handler == NULL) {
		(void)snprintf(key, sizeof(key), "sockets.%.200s", socket->name);
		keys_refuse_stranger(reader, actor, key, socket->handler_path);
	} else if (found == index || is_above(conf, index, found)) {
		refuse(reader, actor, socket,
		       "`%.200s` is down itself when `%.200s` is; name another actor",
		       handler->path, actor->path);
	} else if (handler->spec->core.kind == NODE_SUPERVISOR) {
		refuse(reader, actor, socket,
		       "`%.200s` is a supervisor, and has no process that could serve "
		       "clients",
		       handler->path);
	} else if (hands_over(handler->process)) {
		refuse(reader, actor, socket,
		       "`%.200s` has a handler itself; name an actor without a handler",
		       handler->path);
	} else if (handler->process->n_sockets + ++n_handled[found] > CONF_SOCKETS_MAX) {
		refuse(reader, actor, socket,
		       "`%.200s` would have more than %d sockets, with those of the "
		       "actors for which it is the `handler`",
		       handler->path, CONF_SOCKETS_MAX);
	} else {
		socket->handler = found;
		handler->spec->core.on_demand = true;
	}
}

static void
check_demand(struct reader *reader, const struct conf_actor *actor)
{
	const struct lint lint = keys_lint(reader);

	if (actor->spec->core.on_demand && actor->process->n_sockets == 0)
		keys_report(
		    &lint, CONF_ERROR, actor, "start_on",
		    "`start_on: connect` needs `sockets`: a client of one of them "
		    "starts the actor");
}

/*
 * Two sockets cannot listen at one address: a certain failure of the start is an error of
 * the file.  Replicas that share an address are the usual case.  Handlers are looked up
 * here, too.
 */
void
sockets_check(struct reader *reader)
{
	struct conf *conf = reader->conf;
	uint32_t *n_handled =
	    arena_alloc(reader->scratch, conf->n_actors, sizeof(*n_handled));
	struct claims claims = {.reader = reader};

	if (n_handled == NULL)
		return;
	for (uint32_t i = 0; i < conf->n_actors; i++) {
		const struct conf_process *process = conf->actors[i].process;

		check_demand(reader, &conf->actors[i]);
		for (size_t j = 0; j < process->n_sockets; j++)
			if (process->sockets[j].address != NULL)
				claim_address(&claims, i, &process->sockets[j]);
	}
	for (uint32_t i = 0; i < conf->n_actors; i++) {
		struct conf_process *process = conf->actors[i].process;

		for (size_t j = 0; j < process->n_sockets; j++)
			if (process->sockets[j].handler_path != NULL)
				find_handler(reader, i, &process->sockets[j], n_handled);
	}
	map_done(&claims.owners);
}
