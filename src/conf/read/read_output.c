/* SPDX-License-Identifier: ISC */
/* read_output.c - targets of an actor's output, keeping of its log, pipes between actors.
 */
#include "config.h"

#include "conf/read/read_output.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/units.h"
#include "conf/read/keys.h"
#include "conf/schema/schema_types.h"

static const char pipe_prefix[] = "pipe:";
static const char file_prefix[] = "file:";

static bool
has_prefix(const struct yaml *node, const char *prefix)
{
	return node->type == NODE_TEXT &&
	       strncmp(node->text, prefix, strlen(prefix)) == 0;
}

static void
read_target(struct reader *reader, const struct yaml *node,
            const struct conf_actor *actor, struct conf_output *output)
{
	static const enum output_kind kinds[] = {
	    [TARGET_WORD_LOG] = OUTPUT_LOG,       [TARGET_WORD_JOURNAL] = OUTPUT_JOURNAL,
	    [TARGET_WORD_SYSLOG] = OUTPUT_SYSLOG, [TARGET_WORD_INHERIT] = OUTPUT_INHERIT,
	    [TARGET_WORD_NULL] = OUTPUT_NULL,
	};
	struct value value = read_value(&schema_output_target, node);

	if (value.word >= 0) {
		ASSERT((size_t)value.word < ARRAY_SIZE(kinds));
		output->kind = kinds[value.word];
	} else if (has_prefix(node, pipe_prefix)) {
		output->kind = OUTPUT_PIPE;
		output->file =
		    read_reference(reader, actor, node->text + strlen(pipe_prefix));
	} else {
		output->kind = OUTPUT_FILE;
		output->file = arena_dup(reader->keep, node->text + strlen(file_prefix));
	}
}

/* `output`: one target for both streams, or a target for each. */
void
read_output(struct reader *reader, const struct yaml *node, void *target,
            const struct trail *trail)
{
	struct conf_actor *actor = target;
	struct conf_process *process = &actor->process;
	const struct yaml *out = node;
	const struct yaml *err = node;

	(void)trail;
	if (node->type == NODE_MAP) {
		out = node_get(node, "stdout");
		err = node_get(node, "stderr");
	}
	if (out != NULL)
		read_target(reader, out, actor, &process->out);
	if (err != NULL)
		read_target(reader, err, actor, &process->err);
	process->out_is_err = process->out.kind == process->err.kind;
	if (process->out_is_err && process->out.file != NULL && process->err.file != NULL)
		process->out_is_err = strcmp(process->out.file, process->err.file) == 0;
}

/*
 * One target as JSON, a pipe with the whole path of its reader, which is the same however
 * it was written.  The caller frees it.  NULL: out of memory.
 */
char *
output_show(struct reader *reader, const struct conf_actor *actor,
            const struct yaml *node)
{
	struct strbuf text;
	struct strbuf out;
	const char *path;

	if (!has_prefix(node, pipe_prefix))
		return schema_show(&schema_output_target, node);
	path = read_reference(reader, actor, node->text + strlen(pipe_prefix));
	if (path == NULL)
		return NULL;
	strbuf_init(&text, CONF_BYTES_MAX);
	strbuf_init(&out, CONF_BYTES_MAX);
	strbuf_addf(&text, "%s%s", pipe_prefix, path);
	strbuf_add_json(&out, strbuf_str(&text));
	strbuf_done(&text);
	return strbuf_take(&out);
}

/* The log of an actor without a key about logs. */
void
log_default(struct conf_log *log)
{
	*log = (struct conf_log){
	    .max_size = UINT64_C(10) << 20,
	    .keep = 5,
	    .total = UINT64_C(50) << 20,
	    .max_age_ms = DURATION_INFINITE,
	    .timestamps = true,
	};
}

/* `log` of an actor: what is not written keeps its default. */
void
read_actor_log(struct reader *reader, const struct yaml *node, void *target,
               const struct trail *trail)
{
	struct conf_log *log = &((struct conf_actor *)target)->process.log;
	const struct yaml *total = node_get(node, "total");
	const struct yaml *max_size = node_get(node, "max_size");
	struct trail below = {trail, total != NULL ? "total" : "max_size", 0};
	char buf[2][SIZE_TEXT_MAX];

	read_table(reader, node, schema_actor_log.table, log);
	if (log->total < log->max_size)
		reader_warn(reader, total != NULL ? total : max_size, &below,
		            "all files together may have less (`total`, %s) than one of "
		            "them (`max_size`, %s)",
		            size_format(log->total, buf[0]),
		            size_format(log->max_size, buf[1]));
}

/* ---- who reads from whom ---- */

/* How the search for circles has gone so far. */
enum visit { NOT_SEEN, ON_THE_WAY, DONE };

struct pipes {
	struct reader *reader;
	uint32_t *reader_of; /* two for each actor, of stdout and stderr, or CONF_NONE */
	unsigned char *visits; /* enum visit, one for each actor */
	uint32_t *way;         /* actors, from the first to where the search is */
	unsigned char *tried;  /* of each on the way, how many of its outputs */
	uint32_t n_way;
};

static const char *const output_keys[] = {"output.stdout", "output.stderr"};

/* The actor at the other end of an output; CONF_NONE: there is none, or a wrong one. */
static uint32_t
find_reader(struct reader *reader, uint32_t index, const struct conf_output *output,
            const char *key)
{
	const struct conf_actor *actor = &reader->conf->actors[index];
	uint32_t found;

	if (output->kind != OUTPUT_PIPE || output->file == NULL)
		return CONF_NONE;
	found = conf_find(reader->conf, output->file);
	if (found == CONF_NONE) {
		keys_refuse_stranger(reader, actor, key, output->file);
	} else if (found == index) {
		keys_report(reader->reports, CONF_ERROR, reader->conf, actor, key,
		            "an actor cannot read its own output");
		found = CONF_NONE;
	} else if (reader->conf->actors[found].spec.kind == NODE_SUPERVISOR) {
		keys_report(reader->reports, CONF_ERROR, reader->conf, actor, key,
		            "`%.200s` is a supervisor and has no process that could read",
		            output->file);
		found = CONF_NONE;
	} else if (reader->conf->actors[found].process.input != NULL) {
		keys_report(
		    reader->reports, CONF_ERROR, reader->conf, actor, key,
		    "`%.200s` reads from a file (`stdin`), and has no other input",
		    output->file);
	}
	return found;
}

/* The pipe from the end of the way closes a circle at `index`. */
static void
refuse_circle(const struct pipes *pipes, uint32_t index, const char *key)
{
	const struct conf *conf = pipes->reader->conf;
	const struct conf_actor *last = &conf->actors[pipes->way[pipes->n_way - 1]];
	struct strbuf circle;
	uint32_t i = 0;

	while (pipes->way[i] != index)
		i++;
	strbuf_init(&circle, 65536);
	for (; i < pipes->n_way; i++)
		strbuf_addf(&circle, "%s -> ", conf->actors[pipes->way[i]].path);
	strbuf_adds(&circle, conf->actors[index].path);
	keys_report(pipes->reader->reports, CONF_ERROR, conf, last, key,
	            "the pipes lead in a circle: %.600s", strbuf_str(&circle));
	strbuf_done(&circle);
}

/* Follow the pipes from an actor; the actors reached are done afterwards. */
static void
follow(struct pipes *pipes, uint32_t first)
{
	pipes->way[0] = first;
	pipes->tried[0] = 0;
	pipes->n_way = 1;
	while (pipes->n_way > 0) {
		uint32_t index = pipes->way[pipes->n_way - 1];
		unsigned char output = pipes->tried[pipes->n_way - 1]++;
		uint32_t next;

		pipes->visits[index] = ON_THE_WAY;
		if (output == ARRAY_SIZE(output_keys)) {
			pipes->visits[index] = DONE;
			pipes->n_way--;
			continue;
		}
		next = pipes->reader_of[2 * index + output];
		if (next == CONF_NONE || pipes->visits[next] == DONE)
			continue;
		if (pipes->visits[next] == ON_THE_WAY) {
			refuse_circle(pipes, next, output_keys[output]);
			continue;
		}
		pipes->way[pipes->n_way] = next;
		pipes->tried[pipes->n_way++] = 0;
	}
}

static bool
find_readers(struct pipes *pipes)
{
	struct reader *reader = pipes->reader;
	bool any = false;

	for (uint32_t i = 0; i < reader->conf->n_actors; i++) {
		const struct conf_process *process = &reader->conf->actors[i].process;
		uint32_t *found = &pipes->reader_of[2 * i];

		found[0] = find_reader(reader, i, &process->out, output_keys[0]);
		found[1] = CONF_NONE;
		if (!process->out_is_err)
			found[1] = find_reader(reader, i, &process->err, output_keys[1]);
		any = any || found[0] != CONF_NONE || found[1] != CONF_NONE;
	}
	return any;
}

/*
 * Every pipe leads to a worker of the same file, and none leads back: a circle would
 * wait for itself.  Several may lead to one.
 */
void
pipes_check(struct reader *reader)
{
	uint32_t n = reader->conf->n_actors;
	struct pipes pipes = {
	    .reader = reader,
	    .reader_of = arena_alloc(reader->scratch, n, 2 * sizeof(uint32_t)),
	    .visits = arena_alloc(reader->scratch, n, 1),
	    .way = arena_alloc(reader->scratch, n, sizeof(uint32_t)),
	    .tried = arena_alloc(reader->scratch, n, 1),
	};

	if (reader->scratch->failed || !find_readers(&pipes))
		return;
	for (uint32_t i = 0; i < n; i++)
		if (pipes.visits[i] == NOT_SEEN)
			follow(&pipes, i);
}

/* Does what goes there pass through the log process? */
bool
conf_output_is_captured(const struct conf_output *output)
{
	return output->kind == OUTPUT_LOG || output->kind == OUTPUT_JOURNAL ||
	       output->kind == OUTPUT_SYSLOG;
}
