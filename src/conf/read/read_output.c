/* SPDX-License-Identifier: ISC */
/* read_output.c - targets of an actor's output, keeping of its log, pipes between actors.
 */
#include "config.h"

#include "conf/read/read_output.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/cleanup.h"
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

/* A list: `captured` output is written to a target, and shown as well. */
static void
read_both(struct reader *reader, const struct yaml *node, struct conf_output *output,
          const struct trail *trail)
{
	size_t n_captured = 0;

	*output = (struct conf_output){.kind = OUTPUT_STDOUT};
	for (size_t i = 0; i < node->n; i++) {
		const int word =
		    names_find(output_names, OUTPUT_MAX, node->items[i]->text);

		if (word == OUTPUT_STDOUT) {
			output->is_shown = true;
			continue;
		}
		output->kind = (enum output_kind)word;
		n_captured++;
	}
	if (node->n == 0 || n_captured > 1)
		reader_error(reader, node, trail,
		             "a list has one of `log`, `journal` and `syslog`, and "
		             "`stdout`, as [log, stdout]");
}

static void
read_target(struct reader *reader, const struct yaml *node,
            const struct conf_actor *actor, struct conf_output *output,
            const struct trail *trail)
{
	static const enum output_kind kinds[] = {
	    [TARGET_WORD_LOG] = OUTPUT_LOG,       [TARGET_WORD_JOURNAL] = OUTPUT_JOURNAL,
	    [TARGET_WORD_SYSLOG] = OUTPUT_SYSLOG, [TARGET_WORD_INHERIT] = OUTPUT_INHERIT,
	    [TARGET_WORD_NULL] = OUTPUT_NULL,     [TARGET_WORD_STDOUT] = OUTPUT_STDOUT,
	};

	if (node->type == NODE_LIST) {
		read_both(reader, node, output, trail);
		return;
	}
	struct value value = read_value(&schema_output_target, node);
	output->is_shown = false;
	if (value.word >= 0) {
		ASSERT((size_t)value.word < ARRAY_SIZE(kinds));
		output->kind = kinds[value.word];
		output->is_shown = output->kind == OUTPUT_STDOUT;
	} else if (has_prefix(node, pipe_prefix)) {
		output->kind = OUTPUT_PIPE;
		output->file =
		    read_reference(reader, actor, node->text + strlen(pipe_prefix));
	} else {
		output->kind = OUTPUT_FILE;
		output->file = read_path(reader, node, node->text + strlen(file_prefix));
	}
}

/* `output`: one target for both streams, or a target for each. */
void
read_output(struct reader *reader, const struct yaml *node, void *target,
            const struct trail *trail)
{
	struct conf_actor *actor = target;
	struct conf_process *process = actor->process;
	const struct yaml *out = node, *err = node;

	if (node->type == NODE_MAP) {
		out = node_get(node, "stdout");
		err = node_get(node, "stderr");
	}
	if (out != NULL)
		read_target(reader, out, actor, &process->output.out, trail);
	if (err != NULL)
		read_target(reader, err, actor, &process->output.err, trail);
	process->output.out_is_err =
	    process->output.out.kind == process->output.err.kind &&
	    process->output.out.is_shown == process->output.err.is_shown;
	if (process->output.out_is_err && process->output.out.file != NULL &&
	    process->output.err.file != NULL)
		process->output.out_is_err =
		    strcmp(process->output.out.file, process->output.err.file) == 0;
}

/*
 * One target as JSON, a pipe with the whole path of its reader, which is the same however
 * it was written.  The caller frees it.  NULL: out of memory.
 */
char *
output_show(struct reader *reader, const struct conf_actor *actor,
            const struct yaml *node)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF(CONF_BYTES_MAX);
	struct strbuf out = STRBUF(CONF_BYTES_MAX);

	if (!has_prefix(node, pipe_prefix))
		return schema_show(&schema_output_target, node);
	const char *path =
	    read_reference(reader, actor, node->text + strlen(pipe_prefix));
	if (path == NULL)
		return NULL;
	strbuf_addf(&text, "%s%s", pipe_prefix, path);
	strbuf_add_json(&out, strbuf_str(&text));
	out.failed = out.failed || text.failed;
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
	struct conf_log *log = &((struct conf_actor *)target)->process->output.log;
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

/* True if the output passes through the log process. */
bool
conf_output_is_captured(const struct conf_output *output)
{
	return output->kind == OUTPUT_LOG || output->kind == OUTPUT_JOURNAL ||
	       output->kind == OUTPUT_SYSLOG || output->kind == OUTPUT_STDOUT;
}
