/* SPDX-License-Identifier: ISC */
/* output_last.c - what actors said last, and the end of their pipes. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "daemon/messages/messages.h"
#include "daemon/messages/output_private.h"
#include "daemon/state/keeper.h"
#include "os/self/fd.h"

/*
 * What is to be remembered of a process that has just begun: 1 + how much was said before
 * it on its stdout (or both), and on its stderr; 0 where that is not captured.
 */
void
output_begun(const struct output *output, const struct actor *actor,
             uint64_t ret_match_from[2])
{
	const struct output_pipe *out = output_find(
	    output, actor->path,
	    actor->conf->process->output.out_is_err ? FEED_OUTPUT : FEED_STDOUT);
	const struct output_pipe *err = output_find(output, actor->path, FEED_STDERR);

	ret_match_from[0] = out == NULL ? 0 : out->stream.begun + 1;
	ret_match_from[1] = err == NULL ? 0 : err->stream.begun + 1;
}

/* All that a process of this actor forked is gone: what it began to say is all. */
void
output_flush(struct output *output, const struct actor *actor)
{
	const bool is_told = output_is_told_of_lives(output, actor->conf->process);

	for (unsigned int name = 0; name < FEED_STREAM_MAX; name++) {
		struct output_pipe *pipe = output_find(output, actor->path, name);

		if (pipe == NULL)
			continue;
		pipe->is_quiet = true;
		/* What the feed has no room for the next life brings about. */
		if (is_told && output->instance != 0 &&
		    (output->cursor == IDLE || output->only_changes))
			(void)output_say(output, FEED_FLUSH, pipe->stream.key);
	}
}

static void
drop_pipe(struct output *output, struct output_pipe *pipe)
{
	struct output_pipe *last = &output->pipes[output->n - 1];

	if (pipe->name < FEED_STREAM_MAX && output->instance != 0 &&
	    output_say(output, FEED_DROP, pipe->stream.key) < 0)
		output_name_again(output);
	keeper_release(output->messages->keeper, pipe->stream.key);
	map_remove(&output->by_key, pipe->stream.key);
	output->n_named[pipe->name]--;
	output->n_spare -= pipe->used != 0;
	fd_close(&pipe->stream.pipe_fd);
	free(pipe->path);
	if (pipe != last) {
		*pipe = *last;
		/* The key is in the map already, so this cannot fail. */
		ASSERT(map_put(&output->by_key, pipe->stream.key,
		               (uint32_t)(pipe - output->pipes)) == 0);
	}
	output->n--;
	/* A pipe that moved to another place must not be left out. */
	if (output->cursor != IDLE)
		output_name_changes(output);
}

/* The actor with this path is gone, and no new actor has the path. */
void
output_drop(struct output *output, const char *path)
{
	for (unsigned int name = 0; name <= PIPE_INPUT; name++) {
		struct output_pipe *pipe = output_find(output, path, name);

		if (pipe != NULL)
			drop_pipe(output, pipe);
	}
}

/* Log files are opened by their names again: something else has moved them. */
void
output_reopen(struct output *output)
{
	/* A log process that does not listen yet opens its files anew in any case. */
	if (output->instance != 0)
		(void)output_say(output, FEED_REOPEN, 0);
}

/*
 * The errno that keeps the log files of an actor from being written; 0: they are written.
 * *ret_lost is how many bytes were dropped for that (log: {when_full: drop}).  Never
 * waits.  NULL: nothing is captured.
 */
int
output_blocked(struct output *output, const char *path, uint64_t *ret_lost)
{
	int error = 0;

	*ret_lost = 0;
	if (output == NULL)
		return 0;
	for (unsigned int name = 0; name < FEED_STREAM_MAX && output->was_troubled;
	     name++) {
		struct output_pipe *pipe = output_find(output, path, name);
		uint64_t lost = 0;
		int r = 0;

		if (pipe != NULL)
			r = tail_blocked(&output->tail, &pipe->stream, &lost);
		*ret_lost += lost;
		if (r != 0)
			error = r;
	}
	return error;
}

/*
 * The last that the newest process of an actor said on a stream.  Never waits.
 */
void
output_tail(struct output *output, const char *path, enum feed_stream name,
            struct output_last *ret)
{
	struct output_pipe *pipe = output_find(output, path, name);
	uint64_t total;

	ret->len = 0;
	ret->is_cut = false;
	if (pipe == NULL)
		return;
	uint64_t begun = pipe->stream.begun;
	/* Without it what is still in the pipe is left out. */
	(void)output_hold(output, pipe);
	ret->len =
	    tail_read(&output->tail, &pipe->stream, ret->text, sizeof(ret->text), &total);
	if (total > pipe->said)
		pipe->said = total;
	uint64_t said = total > begun ? total - begun : 0;
	pipe->is_silent = pipe->is_quiet && total == begun && pipe->stream.pipe_fd >= 0;
	output_let_go(output, pipe);
	ret->is_cut = said > ret->len;
	if (said < ret->len) {
		memmove(ret->text, ret->text + ret->len - said, (size_t)said);
		ret->len = (size_t)said;
	}
}
