/* SPDX-License-Identifier: ISC */
/* scrape.c - the figures about supd and its actors, as OpenMetrics text.
 *
 * First every actor is looked at, a few of them a turn; then the families are written,
 * each with all of its actors, as OpenMetrics wants it: of each actor what it was when it
 * was looked at.  What the kernel knows of the processes of many actors takes longer to
 * read than all the rest: children read that before.
 */
#include "config.h"

#include "daemon/metrics/scrape.h"

#include <ev.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/assert.h"
#include "daemon/messages/messages.h"
#include "daemon/messages/output.h"
#include "daemon/metrics/families.h"
#include "daemon/processes/processes.h"
#include "daemon/processes/procs.h"
#include "daemon/report/resolve.h"
#include "daemon/state/actors.h"
#include "daemon/state/engine.h"
#include "helper/watchers.h"
#include "os/self/bounded.h"
#include "os/self/clock.h"

/* How many actors are looked at, or written, before other work has its turn. */
#define LOOKED_AT_ONCE  32
#define WRITTEN_AT_ONCE 512

/* How many children read, as two processors can be busy with it; they are left behind
 * when none of them has answered for so long. */
enum { READERS = 2 };
#define SILENT_S 0.25

/* How many texts are kept for readers that have not taken all of theirs. */
#define KEPT_MAX 4

/* A child that reads. */
struct usage_reader {
	ev_io io; /* active while it reads … */
	int id;
	size_t from; /* … about these actors of the list */
};

TAILQ_HEAD(requests, scrape_request);
TAILQ_HEAD(scrape_texts, scrape_text);

static struct scraper {
	struct ev_loop *loop; /* NULL: not open */
	struct scraped about;
	ev_timer timer; /* active while something is to be done */
	struct requests
	    waiting;     /* those that the text under way will answer come first */
	uint64_t number; /* of the text under way, or of the last */
	struct ref_list list;
	struct usage_reader readers[READERS];
	size_t n_asked;       /* how many of the list readers were asked about */
	struct usage *usages; /* what they have read, of each in the list */
	struct sample *samples;
	struct strbuf labels; /* of the samples */
	size_t n_looked;      /* of the list */
	size_t n_samples;     /* samples of actors that exist */
	size_t n_written;     /* of the family that is being written */
	size_t family;
	uint64_t now_ms;    /* when it began */
	struct strbuf text; /* the one being made */
} the_scraper;

/* Texts that are kept, the oldest first. */
static struct scrape_texts kept = TAILQ_HEAD_INITIALIZER(kept);
static size_t n_kept;

/* ---- whole texts ------------------------------------------------------------------- */

static void
unkeep(struct scrape_text *text)
{
	TAILQ_REMOVE(&kept, text, link);
	text->is_kept = false;
	n_kept--;
}

/* Hold a text beyond the call that it came with, until scrape_text_drop(); it may be lost
 * before, when newer texts are held: slow readers cost no more memory than that. */
void
scrape_text_hold(struct scrape_text *text)
{
	text->holders++;
	if (text->is_kept)
		return;
	TAILQ_INSERT_TAIL(&kept, text, link);
	text->is_kept = true;
	if (++n_kept <= KEPT_MAX)
		return;
	struct scrape_text *oldest = TAILQ_FIRST(&kept);
	unkeep(oldest);
	oldest->is_lost = true;
	strbuf_done(&oldest->text);
}

/* One holder less; NULL is fine. */
void
scrape_text_drop(struct scrape_text *text)
{
	if (text == NULL || --text->holders > 0)
		return;
	if (text->is_kept)
		unkeep(text);
	strbuf_done(&text->text);
	free(text);
}

/* The text that was made, whole; NULL: it is not, or there is no memory. */
static struct scrape_text *
text_take(struct scraper *scraper)
{
	struct scrape_text *text;

	if (scraper->samples == NULL || scraper->text.failed || scraper->labels.failed)
		return NULL;
	text = calloc(1, sizeof(*text));
	if (text == NULL)
		return NULL;
	text->holders = 1;
	text->text = scraper->text;
	strbuf_init(&scraper->text, SCRAPE_BYTES_MAX);
	return text;
}

/* ---- one scrape -------------------------------------------------------------------- */

static void
scrape_actor(struct scraper *scraper, struct ref ref, const struct usage *usage)
{
	const struct scraped *about = &scraper->about;
	const struct actor *actor = actors_get(about->actors, ref);

	if (!core_valid(about->engine->core, ref) || actor == NULL)
		return;
	struct observation found = {.tally = actor->tally,
	                            .dead_letters = actor->dead_letters,
	                            .failed_at_us = actor->failed_at_wall_us,
	                            .has_uptime = actor->pid != 0,
	                            .usage = *usage};
	core_view(about->engine->core, ref, scraper->now_ms, &found.view);
	found.is_blocked = about->output != NULL &&
	                   output_blocked(about->output, actor->path, &found.lost) != 0;
	if (scraper->now_ms > actor->process_started_ms)
		found.uptime_ms = scraper->now_ms - actor->process_started_ms;
	/* Nothing was read about a process that is new. */
	found.has_usage =
	    actor->pid != 0 &&
	    (usage->processes > 0 || procs_usage(about->procs, ref, &found.usage));
	struct sample *sample = &scraper->samples[scraper->n_samples++];
	families_measure(sample, &found);
	sample->labels = scraper->labels.len;
	families_add_labels(&scraper->labels, about->actors, &found.view);
}

/* The child: read about the actors that it is asked about, in its copy of our memory. */
static void
read_usages(int fd, void *data)
{
	const struct scraper *scraper = data;
	size_t from;

	/* Others are to wait for no figures. */
	(void)setpriority(PRIO_PROCESS, 0, 10);
	procs_look_alone(scraper->about.procs);
	while (recv(fd, &from, sizeof(from), 0) == sizeof(from)) {
		struct usage usages[LOOKED_AT_ONCE] = {0};

		procs_add_up(scraper->about.procs);
		for (size_t i = 0; i < LOOKED_AT_ONCE && from + i < scraper->list.n; i++)
			(void)procs_usage(scraper->about.procs,
			                  scraper->list.at[from + i], &usages[i]);
		(void)send(fd, usages, sizeof(usages), MSG_NOSIGNAL);
	}
}

/* End a child without waiting for its end: it may stand still. */
static void
reader_leave(struct scraper *scraper, struct usage_reader *reader)
{
	ev_io_stop(scraper->loop, &reader->io);
	bounded_leave(scraper->about.bounded, 0, reader->id, &reader->io.fd);
}

/* Have it read about the next actors; it ends where there are none. */
static void
reader_ask(struct scraper *scraper, struct usage_reader *reader)
{
	reader->from = scraper->n_asked;
	if (reader->from < scraper->list.n &&
	    send(reader->io.fd, &reader->from, sizeof(reader->from),
	         MSG_NOSIGNAL | MSG_DONTWAIT) > 0) {
		scraper->n_asked += LOOKED_AT_ONCE;
	} else {
		reader_leave(scraper, reader);
	}
}

/* Leave the readers behind that still read: what they have not read the guardian reads.
 */
static void
readers_leave(struct scraper *scraper)
{
	for (size_t i = 0; i < READERS; i++)
		if (ev_is_active(&scraper->readers[i].io))
			reader_leave(scraper, &scraper->readers[i]);
}

/* When a reader still reads it is waited for. */
static void
scraper_go_on(struct scraper *scraper)
{
	_Static_assert(READERS == 2, "each of them is looked at");
	timer_begin(scraper->loop, &scraper->timer,
	            ev_is_active(&scraper->readers[0].io) ||
	                    ev_is_active(&scraper->readers[1].io)
	                ? SILENT_S
	                : 0.);
}

static void
on_usages(struct ev_loop *loop UNUSED, ev_io *io, int revents UNUSED)
{
	struct scraper *scraper = io->data;
	struct usage_reader *reader = (struct usage_reader *)(void *)io;

	(void)recv(io->fd, &scraper->usages[reader->from],
	           LOOKED_AT_ONCE * sizeof(*scraper->usages), MSG_DONTWAIT);
	reader_ask(scraper, reader);
	scraper_go_on(scraper);
}

/* About a few actors no child need read. */
static void
readers_begin(struct scraper *scraper)
{
	const struct bounded_task task = {.run = read_usages, .data = scraper};
	int fd;

	for (size_t i = 0; i < READERS && scraper->list.n > LOOKED_AT_ONCE; i++) {
		struct usage_reader *reader = &scraper->readers[i];

		reader->id = bounded_open(scraper->about.bounded, &task, &fd);
		if (reader->id < 0)
			return;
		io_prepare(&reader->io, on_usages, scraper);
		io_begin(scraper->loop, &reader->io, fd, EV_READ);
		reader_ask(scraper, reader);
	}
}

static void
scraper_forget(struct scraper *scraper)
{
	readers_leave(scraper);
	free(scraper->usages);
	strbuf_done(&scraper->text);
	strbuf_done(&scraper->labels);
	free(scraper->samples);
	scraper->usages = NULL;
	scraper->samples = NULL;
	ref_list_done(&scraper->list);
}

/* Tell all waiting requests, in order; they may ask again at once. */
static void
scraper_answer(struct scraper *scraper)
{
	struct scrape_text *text = text_take(scraper);
	struct scrape_request *request;

	while ((request = TAILQ_FIRST(&scraper->waiting)) != NULL &&
	       request->number == scraper->number) {
		scraper_cancel(request);
		request->on_text(request, text);
	}
	scrape_text_drop(text);
	scraper_forget(scraper);
}

static bool
scraper_begin(struct scraper *scraper)
{
	scraper->number++;
	scraper->n_looked = scraper->n_samples = scraper->n_written = scraper->family = 0;
	scraper->n_asked = 0;
	if (resolve_all(scraper->about.engine->core, &scraper->list) == 0)
		scraper->samples = calloc(scraper->list.n + 1, sizeof(*scraper->samples));
	scraper->usages =
	    calloc(scraper->list.n + LOOKED_AT_ONCE, sizeof(*scraper->usages));
	if (scraper->samples == NULL || scraper->usages == NULL)
		return false;
	strbuf_init(&scraper->text, SCRAPE_BYTES_MAX);
	strbuf_init(&scraper->labels, SCRAPE_BYTES_MAX);
	scraper->now_ms = clock_mono_ms();
	readers_begin(scraper);
	return true;
}

/* Write on; true: all is written. */
static bool
scraper_write(struct scraper *scraper)
{
	struct strbuf *sb = &scraper->text;
	size_t n;

	if (scraper->labels.failed)
		return true;
	if (scraper->family == 0 && scraper->n_written == 0)
		families_write_own(sb, &scraper->about, scraper->samples,
		                   scraper->n_samples);
	for (size_t left = WRITTEN_AT_ONCE; left > 0 && !sb->failed; left -= n) {
		const size_t from = scraper->n_written;
		const struct sampled sampled = {&scraper->samples[from],
		                                scraper->labels.data};

		n = scraper->n_samples - from < left ? scraper->n_samples - from : left;
		if (!families_write(sb, scraper->family, from == 0, &sampled, n)) {
			strbuf_adds(sb, "# EOF\n");
			return true;
		}
		scraper->n_written += n;
		if (scraper->n_written == scraper->n_samples) {
			scraper->n_written = 0;
			scraper->family++;
		}
	}
	return sb->failed;
}

/* Do a piece of the work; true: that was the last one. */
static bool
scraper_step(struct scraper *scraper)
{
	if (scraper->samples == NULL)
		return !scraper_begin(scraper);
	readers_leave(scraper);
	if (scraper->n_looked < scraper->list.n) {
		procs_add_up(scraper->about.procs);
		for (size_t n = 0;
		     n < LOOKED_AT_ONCE && scraper->n_looked < scraper->list.n; n++) {
			const size_t at = scraper->n_looked++;

			scrape_actor(scraper, scraper->list.at[at], &scraper->usages[at]);
		}
		return false;
	}
	return scraper_write(scraper);
}

static void
on_timer(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
	struct scraper *scraper = timer->data;

	if (scraper_step(scraper))
		scraper_answer(scraper);
	if (scraper->samples != NULL || !TAILQ_EMPTY(&scraper->waiting))
		scraper_go_on(scraper);
}

/* ---- the door ---------------------------------------------------------------------- */

/* Begin; without requests nothing is done. */
void
scraper_open(struct ev_loop *loop, const struct scraped *about)
{
	struct scraper *scraper = &the_scraper;

	*scraper = (struct scraper){.loop = loop, .about = *about, .timer.data = scraper};
	TAILQ_INIT(&scraper->waiting);
	ev_timer_init(&scraper->timer, on_timer, 0., 0.);
}

/* End: no request waits any more. */
void
scraper_close(void)
{
	struct scraper *scraper = &the_scraper;

	if (scraper->loop == NULL)
		return;
	ev_timer_stop(scraper->loop, &scraper->timer);
	scraper_forget(scraper);
	scraper->loop = NULL;
}

/* Have a text made; the request belongs to the caller, and is not in use yet. */
void
scraper_ask(struct scrape_request *request)
{
	struct scraper *scraper = &the_scraper;

	ASSERT(request->number == 0);
	request->number = scraper->number + 1;
	TAILQ_INSERT_TAIL(&scraper->waiting, request, link);
	if (!ev_is_active(&scraper->timer))
		scraper_go_on(scraper);
}

/* It is not wanted any more; may be called for one that is not in use. */
void
scraper_cancel(struct scrape_request *request)
{
	if (request->number == 0)
		return;
	TAILQ_REMOVE(&the_scraper.waiting, request, link);
	request->number = 0;
}
