/* SPDX-License-Identifier: ISC */
/* control_logs_request.c - from a call of Logs to what its reader is asked. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/moment.h"
#include "daemon/control/handlers.h"
#include "daemon/report/resolve.h"
#include "daemon/state/actors.h"
#include "daemon/state/engine.h"
#include "daemon/state/glob.h"
#include "daemon/state/log.h"
#include "daemon/state/options.h"
#include "logd/read/reader.h"
#include "os/self/clock.h"
#include "os/self/fd.h"

#define PLACE_MAX 64
/* supd's own log, among those of actors. */
#define OWN_LOG "/system/supd"
/* An actor that appeared after the client last read has said nothing earlier than so. */
#define NEWCOMER_US (10 * 1000000)

/* ---- what is to be read ------------------------------------------------------------ */

/* What the caller asks for, with the places that it had come to. */
struct wanted {
	const char *since; /* as the reader wants it, "" for none */
	char since_text[CLOCK_TEXT_MAX];
	bool positions;
	char *places; /* owned; PATH NUL POSITION NUL, or NULL */
	struct map by_path;
};

static void
wanted_done(struct wanted *wanted)
{
	free(wanted->places);
	map_done(&wanted->by_path);
}

/* Take "PATH POSITION PATH POSITION" apart in place; false: it has another form, or there
 * is no memory. */
static bool
parse_places(struct wanted *wanted, const char *text)
{
	char *p = wanted->places = strdup(text);

	while (p != NULL && *p != '\0') {
		char *path = p;
		char *position = strchr(p, ' ');

		if (position == NULL)
			return false;
		*position++ = '\0';
		p = strchr(position, ' ');
		if (p != NULL)
			*p++ = '\0';
		if (map_put_name(&wanted->by_path, path,
		                 (uint32_t)(position - wanted->places)) < 0)
			return false;
	}
	return wanted->places != NULL;
}

/*
 * Read `since`; false: it is wrong.  It is a time of RFC 3339.  With "@" in front, where
 * the time may be missing, the places are told as well; "@ " and places that were told
 * say where to go on.
 */
static bool
parse_since(struct wanted *wanted, const char *text)
{
	uint64_t us;

	*wanted = (struct wanted){.since = ""};
	if (text == NULL)
		return true;
	wanted->positions = text[0] == '@';
	text += wanted->positions;
	if (wanted->positions && text[0] == '\0')
		return true;
	if (wanted->positions && text[0] == ' ') {
		wanted->since =
		    clock_format(clock_wall_us() - NEWCOMER_US, 3, wanted->since_text);
		return parse_places(wanted, text + 1);
	}
	if (moment_parse(text, &us) < 0)
		return false;
	wanted->since = clock_format(us, 3, wanted->since_text);
	return true;
}

/* The place of source n of an actor, "" if it is to begin as the others do. */
static const char *
place_of(struct wanted *wanted, const char *path, size_t n, bool has_times,
         char buf[PLACE_MAX])
{
	uint32_t offset;

	if (wanted->places == NULL)
		return "";
	/* No position for this actor: it appeared after the client last read. */
	if (!map_get_name(&wanted->by_path, path, &offset))
		return has_times ? "" : READER_END;
	const char *position = wanted->places + offset;
	for (; n > 0 && *position != '\0'; n--)
		position += strcspn(position, "+") + (strchr(position, '+') != NULL);
	size_t len = strcspn(position, "+");
	if (len == 0 || len >= PLACE_MAX)
		return READER_END;
	memcpy(buf, position, len);
	buf[len] = '\0';
	return buf;
}

struct request {
	struct conn *conn;
	const struct control_uses *uses;
	struct wanted wanted;
	struct strbuf text;
	struct map slots; /* slots of the actors in the request, see key_of_gone() */
	int n_gone;       /* names of actors that are gone */
	size_t n_sources;
	bool has_own_log;
	bool grows; /* a name may mean more actors later */
};

static void
add_text(struct strbuf *sb, const char *text)
{
	strbuf_add(sb, text, strlen(text) + 1);
}

/* Root reads the file with the rights that the actor has. */
static void
add_owner(struct strbuf *sb, const struct conf_process *process)
{
	if (!process->identity.has_user)
		return;
	strbuf_addf(sb, " %u:%u", (unsigned int)process->identity.uid,
	            (unsigned int)process->identity.gid);
	for (size_t i = 0; i < process->identity.n_groups; i++)
		strbuf_addf(sb, ":%u", (unsigned int)process->identity.groups[i]);
}

static void
add_log_file(struct request *request, const char *path)
{
	strbuf_addf(&request->text, "%s%s.log",
	            request->uses->actors->conf->log_directory, path);
	strbuf_addc(&request->text, '\0');
}

static void
add_source(struct request *request, const struct actor *actor, size_t n,
           const struct conf_output *output, const char *stream)
{
	const struct conf_log *log = &actor->conf->process->output.log;
	enum reader_format format = log->json ? READER_JSON : READER_TIMED;
	struct strbuf *sb = &request->text;
	char place[PLACE_MAX];

	if (output->kind == OUTPUT_FILE)
		format = READER_FOREIGN;
	else if (output->kind == OUTPUT_JOURNAL)
		format = READER_JOURNAL;
	else if (!log->json && !log->timestamps)
		format = READER_PLAIN;
	add_text(sb, actor->path);
	add_text(sb, stream);
	strbuf_adds(sb, reader_format_names[format]);
	if (output->kind == OUTPUT_FILE)
		add_owner(sb, actor->conf->process);
	else if (format == READER_JOURNAL)
		strbuf_addf(sb, " %s", request->uses->origin->control_path);
	strbuf_addc(sb, '\0');
	add_text(sb, place_of(&request->wanted, actor->path, n,
	                      format == READER_TIMED || format == READER_JSON, place));
	if (output->kind == OUTPUT_FILE) {
		add_text(sb, output->file);
	} else {
		add_log_file(request, actor->path);
	}
	request->n_sources++;
}

/* True if the output can be read.  Of the journal only a client that asks for places, as
 * supctl does, is told that the lines are there. */
static bool
is_readable(const struct request *request, const struct conf_output *output)
{
	return output->kind == OUTPUT_LOG || output->kind == OUTPUT_FILE ||
	       (output->kind == OUTPUT_JOURNAL && request->wanted.positions);
}

/* What can be read of one actor; false: nothing. */
static bool
add_sources(struct request *request, struct ref ref)
{
	const struct actor *actor = actors_get(request->uses->actors, ref);
	uint32_t index;
	size_t n = 0;

	if (actor == NULL || actor->conf->spec->core.kind == NODE_SUPERVISOR)
		return false;
	if (map_get(&request->slots, ref.slot, &index))
		return true;
	if (map_put(&request->slots, ref.slot, 0) < 0)
		request->text.failed = true;
	const struct conf_process *process = actor->conf->process;
	if (is_readable(request, &process->output.out))
		add_source(request, actor, n++, &process->output.out,
		           process->output.out_is_err ? "output" : "stdout");
	if (!process->output.out_is_err && is_readable(request, &process->output.err))
		add_source(request, actor, n++, &process->output.err, "stderr");
	return n > 0;
}

/* In the map of slots, none of which is so large: the number of its newest event. */
static uint64_t
key_of_gone(const struct event_view *gone)
{
	return ~gone->record->seq;
}

/* Its configuration went with it: the file that it has by default; false: an error was
 * replied. */
static bool
add_gone(struct request *request, const struct event_view *gone)
{
	struct strbuf *sb = &request->text;
	char place[PLACE_MAX];
	uint32_t index;

	if (++request->n_gone > CONTROL_GONE_MAX)
		return reply_limit(request->conn, "names", CONTROL_GONE_MAX);
	if (map_get(&request->slots, key_of_gone(gone), &index))
		return true;
	if (map_put(&request->slots, key_of_gone(gone), 0) < 0)
		sb->failed = true;
	add_text(sb, gone->path);
	add_text(sb, "output");
	add_text(sb, reader_format_names[READER_TIMED]);
	add_text(sb, place_of(&request->wanted, gone->path, 0, false, place));
	add_log_file(request, gone->path);
	request->n_sources++;
	return true;
}

/* Where else the output of an actor goes. */
static void
reply_not_captured(struct conn *conn, struct ref ref)
{
	const struct actor *actor = actors_get(conn->control->uses.actors, ref);
	const struct conf_output *output = &actor->conf->process->output.out;

	CLEANUP(strbuf_done) struct strbuf text = STRBUF(4096);
	if (actor->conf->spec->core.kind == NODE_SUPERVISOR)
		strbuf_adds(&text, "it is a supervisor, and nothing below it has a log");
	else if (output->kind == OUTPUT_JOURNAL)
		strbuf_addf(&text,
		            "its output goes to the journal: journalctl SUPD_PATH=%s",
		            actor->path);
	else if (output->kind == OUTPUT_SYSLOG)
		strbuf_adds(&text, "its output goes to syslog (output: syslog)");
	else if (output->kind == OUTPUT_STDOUT)
		strbuf_adds(&text, "supd prints its output and keeps none of it (output: "
		                   "stdout); [log, stdout] does both");
	else if (output->kind == OUTPUT_PIPE)
		strbuf_addf(&text, "its output goes to the standard input of %s",
		            output->file);
	else if (output->kind == OUTPUT_INHERIT)
		strbuf_adds(&text, "its output goes where that of supd itself goes "
		                   "(output: inherit)");
	else
		strbuf_adds(&text, "its output is thrown away (output: null)");
	reply_invalid_state(conn, ref, strbuf_str(&text));
}

/* Add all actors below a supervisor; false: none has anything to read. */
static bool
add_subtree(struct request *request, struct ref top)
{
	const struct core *core = request->uses->engine->core;
	bool any = false;

	CORE_FOREACH_BELOW (ref, core, top)
		any = add_sources(request, ref) || any;
	return any;
}

static bool
is_supervisor(const struct control_uses *uses, struct ref ref)
{
	const struct actor *actor = actors_get(uses->actors, ref);

	return actor != NULL && actor->conf->spec->core.kind != NODE_WORKER;
}

/* True for "supd", unless an actor has that name, and for its path. */
static bool
is_own_log(const struct request *request, const char *name)
{
	struct candidates candidates;
	CLEANUP(ref_list_done) struct ref_list list = {0};

	if (strcmp(name, OWN_LOG) == 0)
		return true;
	return strcmp(name, "supd") == 0 &&
	       resolve_name(request->uses->reporter, name, &list, &candidates) == -ENOENT;
}

/* supd's own log, where it is a file; false: an error was replied. */
static bool
add_own_log(struct request *request)
{
	static const char *const elsewhere[LOG_TARGET_MAX] = {
	    [LOG_TARGET_JOURNAL] = "the journal: journalctl SYSLOG_IDENTIFIER=supd",
	    [LOG_TARGET_SYSLOG] = "syslog",
	    [LOG_TARGET_STDERR] = "the standard error of supd; write log: {target: file} "
	                          "to keep it",
	};
	struct strbuf *sb = &request->text;
	char place[PLACE_MAX], sentence[128];
	bool is_json;
	const char *file = log_file(&is_json);

	if (file == NULL) {
		const char *where = elsewhere[log_goes_to()];

		(void)snprintf(sentence, sizeof(sentence), "its log goes to %s",
		               where != NULL ? where : "another place");
		reply_error(request->conn, CONTROL_INTERFACE ".InvalidState",
		            json_pack("{s:s,s:s,s:s}", "name", OWN_LOG, "state",
		                      "running", "message", sentence));
		return false;
	}
	if (request->has_own_log)
		return true;
	request->has_own_log = true;
	add_text(sb, OWN_LOG);
	add_text(sb, "output");
	add_text(sb, reader_format_names[is_json ? READER_PLAIN : READER_TIMED]);
	add_text(sb, place_of(&request->wanted, OWN_LOG, 0, false, place));
	add_text(sb, file);
	request->n_sources++;
	return true;
}

/* Everything that one name means; false: an error was replied. */
static bool
add_name(struct request *request, const char *name, struct ref_list *list)
{
	struct event_view gone;
	bool any = false;

	if (is_own_log(request, name))
		return add_own_log(request);
	if (!call_resolve_past(request->conn, name, list, &gone))
		return false;
	if (gone.record != NULL)
		return add_gone(request, &gone);
	request->grows = request->grows || glob_is_pattern(name) || list->n > 1 ||
	                 is_supervisor(request->uses, list->at[0]);
	for (size_t i = 0; i < list->n; i++) {
		any = add_sources(request, list->at[i]) || any;
		/* A pattern selects supervisors' children by itself. */
		if (!glob_is_pattern(name) && is_supervisor(request->uses, list->at[i]))
			any = add_subtree(request, list->at[i]) || any;
	}
	if (!any)
		reply_not_captured(request->conn, list->at[0]);
	return any;
}

static bool
add_names(struct request *request)
{
	const json_t *names = param_get(request->conn, "names");

	if (json_array_size(names) == 0)
		return reply_invalid_parameter(request->conn, "names");
	for (size_t i = 0; i < json_array_size(names); i++) {
		CLEANUP(ref_list_done) struct ref_list list = {0};

		if (!add_name(request, json_string_value(json_array_get(names, i)),
		              &list))
			return false;
	}
	if (request->n_sources <= READER_SOURCES_MAX && !request->text.failed)
		return true;
	return reply_limit(request->conn, "logs", READER_SOURCES_MAX);
}

static void
add_head(struct request *request)
{
	int64_t lines = param_int(request->conn, "lines", -1);
	struct strbuf *sb = &request->text;

	add_text(sb, param_bool(request->conn, "follow", false) ? "1" : "0");
	if (lines < 0)
		add_text(sb, "all");
	else
		strbuf_addf(sb, "%" PRId64 "%c", lines, '\0');
	add_text(sb, request->wanted.since);
	add_text(sb, request->wanted.positions ? "1" : "0");
}

/*
 * What the reader is to be asked for this call of Logs, which is the caller's; false: an
 * error was replied.  *grows: the client, which knows how to go on, is to ask again when
 * there are more actors.
 */
bool
logs_request(struct conn *conn, struct strbuf *ret, bool *ret_grows)
{
	struct request request = {
	    .conn = conn, .uses = &conn->control->uses, .text = STRBUF(READER_BYTES_MAX)};
	bool good = parse_since(&request.wanted, param_string(conn, "since"));

	if (good) {
		add_head(&request);
		good = add_names(&request);
	} else {
		reply_invalid_parameter(conn, "since");
	}
	*ret_grows = request.grows && request.wanted.positions;
	wanted_done(&request.wanted);
	map_done(&request.slots);
	*ret = request.text;
	return good;
}
