/* SPDX-License-Identifier: ISC */
/* output_prepare.c - the pipes of actors that start at the same time. */
#include "config.h"

#include <unistd.h>

#include "daemon/messages/messages.h"
#include "daemon/messages/output_private.h"
#include "daemon/state/actors.h"
#include "daemon/state/keeper.h"
#include "ledger/link.h"
#include "os/self/fd.h"

/* Pipes that the walker is to keep, with one message for all. */
struct output_batch {
	size_t n;
	uint64_t keys[LINK_STORE_MAX];
	int fds[LINK_STORE_MAX];
	size_t at[LINK_STORE_MAX]; /* in the table */
	struct output_ends ends[LINK_STORE_MAX];
};

/* Have the walker keep them; from then on they may be named, and used. */
static void
keep_batch(struct output *output, struct output_batch *batch)
{
	keeper_keep_all(output->messages->keeper, batch->keys, batch->fds, batch->n);
	for (size_t i = 0; i < batch->n; i++) {
		struct output_pipe *pipe = &output->pipes[batch->at[i]];

		output_name_one(output, pipe, true, batch->ends[i].reader);
		fd_close(&batch->ends[i].reader);
		(void)output_become_writer(pipe, batch->ends[i].writer);
		output_let_go(output, pipe);
	}
	batch->n = 0;
}

/* Make the pipe that a start of this actor will want, if it is new. */
static void
prepare(struct output *output, const struct actor *actor, enum feed_stream name,
        struct output_batch *batch)
{
	const struct conf_process *process = actor->conf->process;
	const struct conf_output *target =
	    name == FEED_STDERR ? &process->output.err : &process->output.out;
	struct output_pipe *pipe;
	struct output_ends ends;

	/* What is told of each life is named at the start of one. */
	if (target->kind != OUTPUT_LOG || output_is_told_of_lives(output, process) ||
	    output_find(output, actor->path, name) != NULL)
		return;
	int fd = output_make_pipe(&ends);
	if (fd < 0)
		return;
	if (output_enter(output, actor->path, name, fd, &pipe) < 0) {
		(void)close(fd);
		output_close_ends(&ends);
		return;
	}
	pipe->is_prepared = true;
	batch->at[batch->n] = (size_t)(pipe - output->pipes);
	batch->keys[batch->n] = pipe->stream.key;
	batch->fds[batch->n] = fd;
	batch->ends[batch->n++] = ends;
	if (batch->n == LINK_STORE_MAX)
		keep_batch(output, batch);
}

/*
 * These actors are to be started: make the pipes that are missing, so that walker and log
 * process hear of several at once.  What cannot be made now is made at the start.
 */
void
output_prepare(struct output *output, const struct actor *const *actors, size_t n)
{
	struct output_batch batch = {.n = 0};

	/* The walker may have some of them yet.  Where descriptors are scarce there may
	 * be no room for all, two for each. */
	if (keeper_handover(output->messages->keeper) != NULL ||
	    output->n_spare + 2 * n > output->spare_max)
		return;
	for (size_t i = 0; i < n; i++) {
		const bool is_one = actors[i]->conf->process->output.out_is_err;

		prepare(output, actors[i], is_one ? FEED_OUTPUT : FEED_STDOUT, &batch);
		if (!is_one)
			prepare(output, actors[i], FEED_STDERR, &batch);
	}
	keep_batch(output, &batch);
}
