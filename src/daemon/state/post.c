/* SPDX-License-Identifier: ISC */
/* post.c - events on their way to the core. */
#include "config.h"

#include "daemon/state/post.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "daemon/state/memory.h"
#include "daemon/state/shell.h"
#include "ledger/ledger.h"
#include "os/self/clock.h"

struct post *
post_new(void)
{
	return calloc(1, sizeof(struct post));
}

void
post_free(struct post *post)
{
	if (post == NULL)
		return;
	queue_done(&post->posted);
	queue_done(&post->stepping);
	free(post);
}

bool
shell_post(struct shell *shell, const struct event *event)
{
	int r = queue_post(&shell->post->posted, event);

	if (r < 0 && r != -EBUSY)
		memory_give_up();
	return r == 0;
}

bool
shell_has_room(const struct shell *shell, size_t n)
{
	return queue_has_room(&shell->post->posted, n);
}

int
post_reserve(struct post *post, uint32_t actors)
{
	int r = queue_reserve_for(&post->posted, actors);

	return r < 0 ? r : queue_reserve_for(&post->stepping, actors);
}

bool
post_is_stepping(const struct shell *shell)
{
	return shell->post != NULL && shell->post->is_stepping;
}

bool
post_has_news(const struct shell *shell)
{
	return shell->post->posted.n > 0;
}

void
post_finish(struct shell *shell)
{
	if (shell->post->is_stepping)
		shell->post->finish(shell->post->loop);
}

void
post_checkpoint(struct shell *shell)
{
	const struct post *post = shell->post;

	ASSERT(post->actions.n == 0);
	ledger_checkpoint(shell->ledger);
	shell->core = ledger_core(shell->ledger);
	shell->post->n_actions = 0;
	/* Events written early are not in the core yet: the new journal has them, too. */
	for (size_t i = 0; i < post->n_written; i++)
		ledger_prepare(shell->ledger, JOURNAL_POST, post->written_ms,
		               &post->posted.events[i], 0);
	ledger_commit(shell->ledger);
}

void
post_set_time(struct shell *shell, bool something_happened)
{
	uint64_t now_ns = clock_mono_ns() + (something_happened ? 999999 : 0);

	if (now_ns / 1000000 > shell->now_ms)
		shell->now_ms = now_ns / 1000000;
}

/*
 * Write the posted events to the journal, so that their sources need not keep them any
 * longer.  false: the journal has no room before the turn is over.
 */
static bool
write_early(struct shell *shell)
{
	struct post *post = shell->post;
	const size_t n = post->posted.n - post->n_written;
	struct event *events;

	/* Room to sort them. */
	if (queue_reserve(&post->stepping, post->posted.cap) < 0)
		return false;
	events = post->posted.events + post->n_written;
	if (post->n_written == 0) {
		post_set_time(shell, true);
		post->written_ms = shell->now_ms;
	}
	/* Room for the end of the turn, too. */
	if (!ledger_has_room(shell->ledger, (uint32_t)n + 1)) {
		if (post->n_written > 0)
			return false;
		post_checkpoint(shell);
		if (!ledger_has_room(shell->ledger, (uint32_t)n + 1))
			return false;
	}
	queue_sort_ends(shell->core, events, n, post->stepping.events);
	for (size_t i = 0; i < n; i++)
		ledger_prepare(shell->ledger, JOURNAL_POST, post->written_ms, &events[i],
		               0);
	ledger_commit(shell->ledger);
	post->n_written = post->posted.n;
	return true;
}

bool
shell_post_surely(struct shell *shell, const struct event *events, size_t n)
{
	struct post *post = shell->post;
	const struct queue before = post->posted;

	/* What the core is being told comes before it in the journal. */
	if (post->is_stepping)
		return false;
	/* Actions that are being performed belong to a turn without its end in the
	 * journal. */
	ASSERT(post->actions.n == 0);
	if (!shell_has_room(shell, n))
		return false;
	for (size_t i = 0; i < n; i++)
		(void)shell_post(shell, &events[i]);
	if (write_early(shell))
		return true;
	post->posted.n = before.n;
	post->posted.n_said = before.n_said;
	return false;
}
