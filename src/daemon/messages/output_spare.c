/* SPDX-License-Identifier: ISC */
/* output_spare.c - where descriptors are scarce the walker alone has those of pipes.
 *
 * But for a few that were used last: an actor that ends is often started next, and of
 * those that are started for the first time the walker is asked together.
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "daemon/messages/messages.h"
#include "daemon/messages/output_private.h"
#include "daemon/state/keeper.h"
#include "ledger/link.h"
#include "os/self/fd.h"

/* Have a descriptor of the pipe, until output_let_go(): ours, or the walker's.  0 or
 * -errno. */
int
output_hold(struct output *output, struct output_pipe *pipe)
{
	if (pipe->stream.pipe_fd >= 0)
		return 0;
	int r = keeper_fetch(output->messages->keeper, &pipe->stream.key, 1,
	                     &pipe->stream.pipe_fd);
	if (r < 0 || pipe->stream.pipe_fd < 0)
		return r < 0 ? r : -ENOENT;
	pipe->is_writer = false;
	pipe->is_kept = true;
	return 0;
}

/* The process of an actor has ended, and its last words will be read: where the walker
 * has the pipe they come from, the one for errors, it is asked for it. */
void
output_foresee(const struct output *output, const struct actor *actor)
{
	const bool out_is_err = actor->conf->process->output.out_is_err;
	const struct output_pipe *pipe =
	    output_find(output, actor->path, out_is_err ? FEED_OUTPUT : FEED_STDERR);

	if (pipe != NULL && pipe->stream.pipe_fd < 0)
		keeper_ask(output->messages->keeper, pipe->stream.key);
}

/* Does the walker have these pipes?  It may have had no room for what it was told to
 * keep. */
static void
ask(struct output *output, struct output_pipe *const *pipes, size_t n)
{
	uint64_t keys[LINK_STORE_MAX];
	int fds[LINK_STORE_MAX];

	for (size_t i = 0; i < n; i++)
		keys[i] = pipes[i]->stream.key;
	if (n == 0 || keeper_fetch(output->messages->keeper, keys, n, fds) < 0)
		return;
	for (size_t i = 0; i < n; i++) {
		pipes[i]->is_kept = fds[i] >= 0;
		fd_close(&fds[i]);
	}
}

/* Close ours of some that were not used for long, if the walker has them and can be asked
 * for that, which takes as many descriptors for a moment.  What the start that is being
 * prepared has got was used just now. */
static void
close_some(struct output *output)
{
	struct output_pipe *pipes[LINK_STORE_MAX], *asked[LINK_STORE_MAX];
	size_t n = 0, n_asked = 0;

	for (size_t k = 0; k < output->n && n < LINK_STORE_MAX; k++) {
		struct output_pipe *pipe = &output->pipes[output->hand++ % output->n];

		if (pipe->used == 0 ||
		    output->n_used - pipe->used < output->spare_max / 2)
			continue;
		if (!pipe->is_kept)
			asked[n_asked++] = pipe;
		pipes[n++] = pipe;
	}
	ask(output, asked, n_asked);
	for (size_t i = 0; i < n; i++)
		if (pipes[i]->is_kept) {
			fd_close(&pipes[i]->stream.pipe_fd);
			pipes[i]->used = 0;
			output->n_spare--;
		}
}

/* It was used just now: it stays open while there is room for all, and else at least
 * until as many uses of others as half of those that there is room for.  Pipes between
 * actors are not among them: other actors open them at any time. */
void
output_let_go(struct output *output, struct output_pipe *pipe)
{
	if (pipe->name == PIPE_INPUT || pipe->stream.pipe_fd < 0)
		return;
	output->n_spare += pipe->used == 0;
	pipe->used = ++output->n_used;
	if (output->n_spare > output->spare_max)
		close_some(output);
}

/* Hold so many pipes at most; SIZE_MAX: all, each from the next start of its actor on. */
void
output_spare(struct output *output, size_t max)
{
	output->spare_max = max;
	for (size_t i = 0; i < output->n; i++)
		output_let_go(output, &output->pipes[i]);
}
