/* SPDX-License-Identifier: ISC */
/* post.c - events on their way to the core. */
#include "config.h"

#include "daemon/state/post.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "daemon/state/engine.h"
#include "daemon/state/memory.h"
#include "daemon/state/recording.h"
#include "ledger/ledger.h"
#include "os/self/clock.h"

struct post *
post_new(struct engine *engine, struct recording *recording)
{
	struct post *post = calloc(1, sizeof(*post));

	if (post == NULL)
		return NULL;
	*post = (struct post){.engine = engine, .recording = recording};
	return post;
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
post_event(struct post *post, const struct event *event)
{
	int r = queue_post(&post->posted, event);

	if (r < 0 && r != -EBUSY)
		memory_give_up();
	return r == 0;
}

bool
post_has_room(const struct post *post, size_t n)
{
	return queue_has_room(&post->posted, n);
}

int
post_reserve(struct post *post, uint32_t actors)
{
	int r = queue_reserve_for(&post->posted, actors);

	return r < 0 ? r : queue_reserve_for(&post->stepping, actors);
}

bool
post_is_stepping(const struct post *post)
{
	return post != NULL && post->is_stepping;
}

void
post_finish(struct post *post)
{
	if (post->is_stepping)
		post->finish(post->loop);
}

void
post_checkpoint(struct post *post)
{
	struct ledger *ledger = post->recording->ledger;

	const struct core_used used = core_used(ledger_core(ledger));

	ASSERT(post->actions.n == 0);
	ledger_checkpoint(ledger, &used);
	post->engine->core = ledger_core(ledger);
	post->n_actions = 0;
	/* Events written early are not in the core yet: the new journal has them, too. */
	for (size_t i = 0; i < post->n_written; i++)
		ledger_prepare(ledger, JOURNAL_POST, post->written_ms,
		               &post->posted.events[i], 0);
	ledger_commit(ledger);
}

/*
 * Write the posted events to the journal, so that their sources need not keep them any
 * longer.  false: the journal has no room before the turn is over.
 */
static bool
write_early(struct post *post)
{
	struct ledger *ledger = post->recording->ledger;
	const size_t n = post->posted.n - post->n_written;

	/* Room to sort them. */
	if (queue_reserve(&post->stepping, post->posted.cap) < 0)
		return false;
	struct event *events = post->posted.events + post->n_written;
	if (post->n_written == 0) {
		engine_set_time(post->engine);
		post->written_ms = post->engine->now_ms;
	}
	/* Room for the end of the turn, too. */
	if (!ledger_has_room(ledger, (uint32_t)n + 1)) {
		if (post->n_written > 0)
			return false;
		post_checkpoint(post);
		if (!ledger_has_room(ledger, (uint32_t)n + 1))
			return false;
	}
	queue_sort_ends(post->engine->core, events, n, post->stepping.events);
	for (size_t i = 0; i < n; i++)
		ledger_prepare(ledger, JOURNAL_POST, post->written_ms, &events[i], 0);
	ledger_commit(ledger);
	post->n_written = post->posted.n;
	return true;
}

bool
post_surely(struct post *post, const struct event *events, size_t n)
{
	const struct queue before = post->posted;

	/* What the core is being told comes before it in the journal. */
	if (post->is_stepping)
		return false;
	/* Actions that are being performed belong to a turn without its end in the
	 * journal. */
	ASSERT(post->actions.n == 0);
	if (!post_has_room(post, n))
		return false;
	for (size_t i = 0; i < n; i++)
		(void)post_event(post, &events[i]);
	if (write_early(post))
		return true;
	post->posted.n = before.n;
	post->posted.n_said = before.n_said;
	return false;
}

void
engine_set_time(struct engine *engine)
{
	const uint64_t now_ms = clock_due_ms(0);

	if (now_ms > engine->now_ms)
		engine->now_ms = now_ms;
}

void
post_tick(struct post *post)
{
	(void)post_event(post, &(struct event){.kind = EVENT_TICK,
	                                       .ref = REF_NONE,
	                                       .period_ms = clock_mono_ms()});
}

struct node_view
engine_view(const struct engine *engine, struct ref ref)
{
	struct node_view view;

	core_view(engine->core, ref, engine->now_ms, &view);
	return view;
}
