/* SPDX-License-Identifier: ISC */
/* pipes.c - which actor reads the output of which. */
#include "config.h"

#include <string.h>

#include "base/assert.h"
#include "conf/read/keys.h"
#include "conf/read/read_output.h"

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
	} else if (reader->conf->actors[found].process.world.input != NULL) {
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
