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
	int fd;

	if (pipe->stream.pipe_fd >= 0)
		return 0;
	int r = keeper_fetch(output->messages->keeper, &pipe->stream.key, 1, &fd);
	if (r == 0 && fd < 0)
		r = -ENOENT;
	if (r < 0)
		return r;
	pipe->stream.pipe_fd = fd;
	pipe->is_writer = false;
	pipe->is_kept = true;
	return 0;
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

/* Take `n` pipes from this place on out of the list of spare pipes. */
static void
take_out(struct output *output, size_t at, size_t n)
{
	output->n_spare -= n;
	memmove(output->spare + at, output->spare + at + n,
	        (output->n_spare - at) * sizeof(output->spare[0]));
}

/* Close ours of those that were used the longest time ago, if the walker has them. */
static void
close_some(struct output *output)
{
	struct output_pipe *pipes[LINK_STORE_MAX], *asked[LINK_STORE_MAX];
	size_t n = 0, n_asked = 0;
	uint32_t at;

	for (size_t i = 0; i < LINK_STORE_MAX; i++) {
		if (!map_get(&output->by_key, output->spare[i], &at))
			continue;
		pipes[n] = &output->pipes[at];
		if (!pipes[n]->is_kept)
			asked[n_asked++] = pipes[n];
		n++;
	}
	ask(output, asked, n_asked);
	for (size_t i = 0; i < n; i++)
		if (pipes[i]->is_kept)
			fd_close(&pipes[i]->stream.pipe_fd);
	take_out(output, 0, LINK_STORE_MAX);
}

/* It was used just now: it stays open while fewer than OUTPUT_HELD_MAX - LINK_STORE_MAX
 * others are used.  Others open the pipes between actors at any time. */
void
output_let_go(struct output *output, struct output_pipe *pipe)
{
	size_t at = 0;

	if (!output->is_sparing || pipe->name == PIPE_INPUT || pipe->stream.pipe_fd < 0)
		return;
	while (at < output->n_spare && output->spare[at] != pipe->stream.key)
		at++;
	if (at < output->n_spare)
		take_out(output, at, 1);
	else if (output->n_spare == OUTPUT_HELD_MAX)
		close_some(output);
	output->spare[output->n_spare++] = pipe->stream.key;
}

/* Descriptors are scarce, or no longer: then each pipe is had again from the next start
 * of its actor on. */
void
output_spare(struct output *output, bool is_sparing)
{
	output->is_sparing = is_sparing;
	for (size_t i = 0; i < output->n; i++)
		output_let_go(output, &output->pipes[i]);
}
