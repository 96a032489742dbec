/* SPDX-License-Identifier: ISC */
/* show_details.c - what the configuration says of an actor, in its block. */
#include "config.h"

#include "base/assert.h"
#include "ctl/text/actor.h"
#include "ctl/text/show.h"

struct socket_view {
	struct span name, address;
};

/* A word of a command line; quoted where it has blanks or quotes, or is empty. */
static void
print_word(struct strbuf *sb, struct span word)
{
	bool is_plain = word.len > 0;

	for (size_t i = 0; i < word.len; i++)
		if (word.at[i] == ' ' || word.at[i] == '"' || word.at[i] == '\\')
			is_plain = false;
	strbuf_adds(sb, is_plain ? "" : "'");
	print_span(sb, word);
	strbuf_adds(sb, is_plain ? "" : "'");
}

static void
show_command(struct out *out, const struct details_view *details)
{
	const char *separator = "";
	struct scan scan;

	if (details->command.at == NULL || details->command.at[0] != '[')
		return;
	show_label(out, "command");
	scan_init(&scan, details->command);
	scan_array(&scan);
	while (scan_element(&scan)) {
		strbuf_adds(&out->buf, separator);
		print_word(&out->buf, scan_string(&scan));
		separator = " ";
	}
	strbuf_addc(&out->buf, '\n');
}

static void
show_sockets(struct out *out, struct span sockets)
{
	static const struct scan_field fields[] = {
	    SCAN_FIELD(SCAN_STRING, struct socket_view, name),
	    SCAN_FIELD(SCAN_STRING, struct socket_view, address),
	};
	const char *separator = "";
	struct scan scan;

	if (sockets.at == NULL || sockets.at[0] != '[')
		return;
	scan_init(&scan, sockets);
	scan_array(&scan);
	while (scan_element(&scan)) {
		struct socket_view socket = {{NULL, 0}, {NULL, 0}};

		scan_fields(&scan, fields, ARRAY_SIZE(fields), &socket);
		if (separator[0] == '\0')
			show_label(out, "sockets");
		strbuf_adds(&out->buf, separator);
		print_span(&out->buf, socket.name);
		strbuf_addc(&out->buf, ' ');
		print_span(&out->buf, socket.address);
		separator = ", ";
	}
	strbuf_adds(&out->buf, separator[0] != '\0' ? "\n" : "");
}

/* Command, file and line, sockets, health, log. */
void
show_details(struct out *out, const struct actor_view *actor)
{
	const struct details_view *details = &actor->details;

	if (details->is_there)
		show_command(out, details);
	if (details->is_there && details->file.at != NULL) {
		show_label(out, "file");
		print_span(&out->buf, details->file);
		strbuf_addf(&out->buf, ":%lld\n", (long long)details->line);
	}
	if (details->is_there)
		show_sockets(out, details->sockets);
	if (actor->health.at != NULL) {
		show_label(out, "health");
		print_span(&out->buf, actor->health);
		strbuf_addc(&out->buf, '\n');
	}
	if (details->log.at == NULL && actor->missed.blocked.at == NULL)
		return;
	show_label(out, "log");
	print_span(&out->buf, details->log);
	if (actor->missed.blocked.at != NULL) {
		strbuf_addf(&out->buf,
		            "%scannot be written: ", details->log.at != NULL ? ", " : "");
		print_span(&out->buf, actor->missed.blocked);
	}
	strbuf_addc(&out->buf, '\n');
}
