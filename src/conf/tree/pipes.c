/* SPDX-License-Identifier: ISC */
/* pipes.c - which actor reads the output of which. */
#include "config.h"

#include "base/assert.h"
#include "base/cleanup.h"
#include "conf/read/keys.h"
#include "conf/read/read_output.h"
#include "conf/text/way.h"

struct pipes {
	struct reader *reader;
	uint32_t *reader_of; /* two for each actor, of stdout and stderr, or CONF_NONE */
	struct way way;      /* places: actors; edges: their outputs */
};

static const char *const output_keys[] = {"output.stdout", "output.stderr"};

/* The actor at the other end of an output; CONF_NONE: there is none, or a wrong one. */
static uint32_t
find_reader(struct reader *reader, uint32_t index, const struct conf_output *output,
            const char *key)
{
	const struct conf_actor *actor = &reader->conf->actors[index];
	const struct lint lint = keys_lint(reader);

	if (output->kind != OUTPUT_PIPE || output->file == NULL)
		return CONF_NONE;
	uint32_t found = conf_find(reader->conf, output->file);
	if (found == CONF_NONE) {
		keys_refuse_stranger(reader, actor, key, output->file);
	} else if (found == index) {
		keys_report(&lint, CONF_ERROR, actor, key,
		            "an actor cannot read its own output");
		found = CONF_NONE;
	} else if (reader->conf->actors[found].spec->core.kind == NODE_SUPERVISOR) {
		keys_report(&lint, CONF_ERROR, actor, key,
		            "`%.200s` is a supervisor and has no process that could read",
		            output->file);
		found = CONF_NONE;
	} else if (reader->conf->actors[found].process->world.input != NULL) {
		keys_report(
		    &lint, CONF_ERROR, actor, key,
		    "`%.200s` reads from a file (`stdin`), and has no other input",
		    output->file);
	}
	return found;
}

/* The pipe from the end of the way closes a circle at `index`. */
static void
refuse_circle(void *data, uint32_t index)
{
	const struct pipes *pipes = data;
	const struct lint lint = keys_lint(pipes->reader);
	const uint32_t last = pipes->way.at[pipes->way.n - 1];
	CLEANUP(strbuf_done) struct strbuf circle = STRBUF(65536);

	keys_write_circle(lint.conf, &pipes->way, index, &circle);
	keys_report(&lint, CONF_ERROR, &lint.conf->actors[last],
	            output_keys[pipes->way.tried[last] - 1],
	            "the pipes lead in a circle: %.600s", strbuf_str(&circle));
}

static bool
next_pipe(void *data, uint32_t index, uint32_t output, uint32_t *ret)
{
	const struct pipes *pipes = data;

	*ret = output < ARRAY_SIZE(output_keys) ? pipes->reader_of[2 * index + output]
	                                        : WAY_NONE;
	return output < ARRAY_SIZE(output_keys);
}

static bool
find_readers(struct pipes *pipes)
{
	struct reader *reader = pipes->reader;
	bool any = false;

	for (uint32_t i = 0; i < reader->conf->n_actors; i++) {
		const struct conf_process *process = reader->conf->actors[i].process;
		uint32_t *found = &pipes->reader_of[2 * i];

		found[0] = find_reader(reader, i, &process->output.out, output_keys[0]);
		found[1] = CONF_NONE;
		if (!process->output.out_is_err)
			found[1] =
			    find_reader(reader, i, &process->output.err, output_keys[1]);
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
	    .way = {.edge = next_pipe, .on_circle = refuse_circle, .data = &pipes},
	};

	if (!reader->scratch->failed && find_readers(&pipes) &&
	    !way_search(&pipes.way, n))
		reader->scratch->failed = true;
}
