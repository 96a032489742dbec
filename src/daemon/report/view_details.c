/* SPDX-License-Identifier: ISC */
/* view_details.c - what the configuration says of an actor, in short, as a reader of its
 * state wants it beside that.
 */
#include "config.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "daemon/report/report.h"
#include "daemon/report/view.h"
#include "daemon/sockets/grown.h"
#include "daemon/state/actors.h"

static void
add_command(struct strbuf *sb, char *const *argv)
{
	if (argv == NULL) {
		strbuf_adds(sb, "null");
		return;
	}
	for (size_t i = 0; argv[i] != NULL; i++) {
		strbuf_addc(sb, i == 0 ? '[' : ',');
		strbuf_add_json(sb, argv[i]);
	}
	strbuf_addc(sb, ']');
}

/* Where the file says it: the line of its command, or the first of all its lines. */
static void
add_place(struct strbuf *sb, const struct conf *conf, const struct conf_actor *actor)
{
	const struct conf_key *found = NULL;

	for (size_t i = 0; i < actor->n_keys; i++) {
		const struct conf_key *key = &actor->keys[i];
		const bool is_command = strcmp(key->key, "command") == 0;

		if (key->file >= conf->n_files || (found != NULL && !is_command))
			continue;
		found = key;
		if (is_command)
			break;
	}
	if (found == NULL) {
		strbuf_adds(sb, "null,\"line\":null");
	} else {
		strbuf_add_json(sb, conf->files[found->file]);
		strbuf_addf(sb, ",\"line\":%u", (unsigned int)found->line);
	}
}

/* As the file writes it: "tcp:127.0.0.1:80", "unix:/run/api". */
static void
add_address(struct strbuf *sb, const struct conf_socket *socket)
{
	const bool is_inet = socket->kind == SOCKET_TCP || socket->kind == SOCKET_UDP;
	const bool is_v6 = is_inet && strchr(socket->address, ':') != NULL;
	char memory[512];
	struct strbuf text;

	strbuf_borrow(&text, memory, sizeof(memory));
	strbuf_addf(&text, "%s:%s%s%s", socket_kind_names[socket->kind], is_v6 ? "[" : "",
	            is_inet && socket->address[0] == '\0' ? "*" : socket->address,
	            is_v6 ? "]" : "");
	if (is_inet)
		strbuf_addf(&text, ":%u", (unsigned int)socket->port);
	strbuf_add_json(sb, strbuf_str(&text));
}

static void
add_sockets(struct strbuf *sb, const struct conf_process *process)
{
	strbuf_addc(sb, '[');
	for (size_t i = 0; i < process->n_sockets; i++) {
		strbuf_adds(sb, i == 0 ? "{\"name\":" : ",{\"name\":");
		strbuf_add_json(sb, process->sockets[i].name);
		strbuf_adds(sb, ",\"address\":");
		add_address(sb, &process->sockets[i]);
		strbuf_addc(sb, '}');
	}
	strbuf_addc(sb, ']');
}

static void
add_log(struct strbuf *sb, const struct conf *conf, const struct conf_actor *actor)
{
	const struct conf_output *output = &actor->process->output.out;
	char memory[4096 + 256];
	struct strbuf file;

	strbuf_borrow(&file, memory, sizeof(memory));
	if (output->kind == OUTPUT_LOG)
		strbuf_addf(&file, "%s%s.log", conf->log_directory, actor->path);
	else if (output->kind == OUTPUT_FILE)
		strbuf_adds(&file, output->file);
	if (actor->argv == NULL || file.len == 0)
		strbuf_adds(sb, "null");
	else
		strbuf_add_json(sb, strbuf_str(&file));
}

/* An object of type Details; null where nothing of the actor is configured. */
void
view_details_json(struct strbuf *sb, const struct reporter *reporter,
                  const struct actor *actor)
{
	if (actor == NULL || actor->conf == NULL) {
		strbuf_adds(sb, "null");
		return;
	}
	strbuf_adds(sb, "{\"command\":");
	add_command(sb, actor->conf->argv);
	strbuf_adds(sb, ",\"file\":");
	add_place(sb, conf_of_actor(reporter->actors, actor), actor->conf);
	strbuf_adds(sb, ",\"sockets\":");
	add_sockets(sb, actor->conf->process);
	strbuf_adds(sb, ",\"log\":");
	add_log(sb, reporter->actors->conf, actor->conf);
	strbuf_addc(sb, '}');
}

/* The path of the configuration file, from the root. */
void
view_conf_file(struct strbuf *sb, const char *conf_file)
{
	char path[2 * PATH_MAX] = "";

	if (conf_file[0] != '/' && getcwd(path, PATH_MAX) != NULL)
		(void)strcat(path, "/");
	(void)strncat(path, conf_file, PATH_MAX - 1);
	strbuf_add_json(sb, path);
}
