/* SPDX-License-Identifier: ISC */
/* rows.c - the figures of all actors at one moment, as rows in an order. */
#include "config.h"

#include "ctl/page/rows.h"

#include <stdlib.h>

#include "base/array.h"
#include "ctl/text/actor.h"
#include "ctl/text/roster.h"

#define ROWS_MAX (1024 * 1024)

/* As in --sort. */
const char *const rows_sort_names[SORT_MAX] = {"cpu", "memory", "restarts", "uptime",
                                               "path"};

/* ---- figures, of which -1 is not known --------------------------------------------- */

/* A share of a processor, given in thousandths, in per cent. */
void
rows_add_share(struct strbuf *sb, int64_t milli)
{
	strbuf_addf(sb, "%lld.%lld%%", (long long)milli / 10, (long long)milli % 10);
}

/* A figure of a row, as its column has it. */
void
rows_add_figure(struct strbuf *sb, const struct row *row, enum figure figure)
{
	const int64_t n = row->figures[figure];

	if (n < 0)
		strbuf_addc(sb, '-');
	else if (figure == FIGURE_CPU)
		rows_add_share(sb, n);
	else if (figure == FIGURE_MEMORY)
		print_bytes(sb, (uint64_t)n);
	else if (figure == FIGURE_UPTIME)
		print_age(sb, (uint64_t)n);
	else
		strbuf_add_number(sb, (uint64_t)n);
}

/* ---- a look ------------------------------------------------------------------------ */

/* Free the rows; the list is empty then. */
void
snapshot_done(struct snapshot *seen)
{
	strbuf_done(&seen->texts);
	free(seen->rows);
	*seen = (struct snapshot){0};
}

static uint32_t
snapshot_keep_text(struct snapshot *seen, struct span text)
{
	const uint32_t at = (uint32_t)seen->texts.len;

	print_span(&seen->texts, text);
	strbuf_add(&seen->texts, "", 1);
	return at;
}

static uint32_t
snapshot_keep_remark(struct snapshot *seen, const struct actor_view *actor)
{
	const uint32_t at = (uint32_t)seen->texts.len;

	actor_print_remark(&seen->texts, actor);
	strbuf_add(&seen->texts, "", 1);
	return at;
}

/* A text of a row of this snapshot, borrowed. */
const char *
snapshot_text(const struct snapshot *seen, uint32_t at)
{
	return seen->texts.data + at;
}

static int
compare_pids(const void *a, const void *b)
{
	const struct row *left = a, *right = b;

	const int64_t l = left->figures[FIGURE_PID], r = right->figures[FIGURE_PID];

	return l < r ? -1 : l > r;
}

/* Of the same process: what it took since the last look; else since it was started. */
static int64_t
share_of_time(const struct top *top, const struct row *row)
{
	const struct snapshot *before = &top->before;
	const struct row *same =
	    before->n == 0 || row->figures[FIGURE_PID] < 0
	        ? NULL
	        : bsearch(row, before->rows, before->n, sizeof(*row), compare_pids);
	int64_t usec = row->cpu_usec, ms = row->figures[FIGURE_UPTIME];

	if (row->cpu_usec < 0)
		return -1;
	if (same != NULL && same->cpu_usec >= 0 && same->cpu_usec <= row->cpu_usec) {
		usec -= same->cpu_usec;
		ms = (int64_t)(top->now.at_ms - before->at_ms);
	}
	/* Microseconds in milliseconds are thousandths. */
	return ms > 0 ? usec / ms : 0;
}

static void
on_actor_seen(void *user, const struct actor_view *actor)
{
	struct top *top = user;
	struct snapshot *seen = &top->now;

	if (top->ctl->options.json) {
		ctl_array_add(top->ctl, actor->raw);
		return;
	}
	if (seen->n == ROWS_MAX || !ARRAY_RESERVE(seen->rows, seen->n, seen->cap)) {
		seen->failed = true;
		return;
	}
	const struct resources_view *resources = &actor->resources;
	struct row *row = &seen->rows[seen->n];
	*row = (struct row){
	    .path = snapshot_keep_text(seen, actor->path),
	    .state = snapshot_keep_text(seen, actor_state(actor)),
	    .remark = snapshot_keep_remark(seen, actor),
	    .order = (uint32_t)seen->n,
	    .depth = (uint32_t)roster_path_depth(actor->path),
	    .figures =
	        {
	            [FIGURE_NONE] = -1,
	            [FIGURE_PID] = actor->pid > 0 ? actor->pid : -1,
	            [FIGURE_MEMORY] = resources->is_there ? resources->memory_bytes : -1,
	            [FIGURE_PROCS] = resources->is_there ? resources->processes : -1,
	            [FIGURE_UPTIME] = actor->uptime_ms,
	            [FIGURE_RESTARTS] = actor->restarts,
	        },
	    .cpu_usec = resources->is_there ? resources->cpu_usec : -1,
	    .generation = actor->generation,
	};
	row->figures[FIGURE_CPU] = share_of_time(top, row);
	seen->running += span_is(actor->state, "running");
	seen->down += span_is(actor->state, "failed");
	seen->n++;
}

/* The greatest first, unknown values last; equal rows stay in the order of supd's reply.
 */
static int
compare_rows(const void *a, const void *b, void *user)
{
	static const enum figure figures[SORT_MAX] = {
	    [SORT_CPU] = FIGURE_CPU,           [SORT_MEMORY] = FIGURE_MEMORY,
	    [SORT_RESTARTS] = FIGURE_RESTARTS, [SORT_UPTIME] = FIGURE_UPTIME,
	    [SORT_PATH] = FIGURE_NONE,
	};
	const struct top *top = user;
	const struct row *left = a, *right = b;
	const int64_t l = left->figures[figures[top->sort]];
	const int64_t r = right->figures[figures[top->sort]];

	if (l != r)
		return l > r ? -1 : 1;
	return left->order < right->order ? -1 : left->order > right->order;
}

/* Look at all actors: the last look becomes the one before.  Without an answer the last
 * look stays the last, and is to be sorted again. */
int
top_look(struct top *top)
{
	struct snapshot oldest = top->before;

	top->before = top->now;
	if (top->before.n > 0)
		qsort(top->before.rows, top->before.n, sizeof(*top->before.rows),
		      compare_pids);
	top->now = (struct snapshot){
	    .texts = STRBUF(OUT_BYTES_MAX),
	    .at_ms = client_now_ms(),
	};
	if (top->ctl->options.timeout_ms == CLIENT_FOREVER)
		top->ctl->client.deadline_ms = client_now_ms() + top->answer_ms;
	int status =
	    actors_status(top->ctl, NULL, ACTORS_WITH_RESOURCES, on_actor_seen, top);
	if (status == 0 && (top->now.failed || top->now.texts.failed))
		status = ctl_no_memory(top->ctl);
	if (status == 0) {
		snapshot_done(&oldest);
		return 0;
	}
	snapshot_done(&top->now);
	top->now = top->before;
	top->before = oldest;
	return status;
}

/* Put the rows into the order that is wanted. */
void
top_sort(struct top *top)
{
	if (top->now.n > 0)
		qsort_r(top->now.rows, top->now.n, sizeof(*top->now.rows), compare_rows,
		        top);
}
