/* SPDX-License-Identifier: ISC */
/* scrape.c - the figures about supd and its actors, as OpenMetrics text.
 *
 * First every actor is looked at, a few of them a turn; then the families are written,
 * each with all of its actors, as OpenMetrics wants it.  Actors that are gone by then
 * are left out.
 */
#include "config.h"

#include "daemon/metrics/scrape.h"

#include <ev.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "daemon/processes/procs.h"
#include "daemon/state/resolve.h"
#include "daemon/state/shell.h"
#include "daemon/report/view.h"
#include "os/clock.h"
#include "os/usage.h"

/* So many actors are looked at, or written, before others have their turn. */
#define LOOKED_AT_ONCE  32
#define WRITTEN_AT_ONCE 512

/* The figures of an actor. */
struct sample {
	struct ref ref;
	struct node_view view;
	uint64_t dead_letters;
	uint64_t uptime_ms; /* of its process */
	bool has_uptime;
	bool has_usage;
	struct usage usage;
};

TAILQ_HEAD(requests, scrape_request);

struct scraper {
	struct shell *shell;
	ev_timer timer;          /* active while something is to be done */
	struct requests waiting; /* for the next one */
	struct requests served;  /* the requests that the text under way will answer */
	struct ref_list list;
	struct sample *samples;
	size_t n_looked;  /* of the list */
	size_t n_samples; /* of those, who were there */
	size_t n_written; /* of the family that is being written */
	size_t family;
	uint64_t now_ms;          /* when it began */
	struct scrape_text *text; /* NULL: none is being made */
};

/* ---- texts ------------------------------------------------------------------------- */

/* One more holds it. */
struct scrape_text *
scrape_text_hold(struct scrape_text *text)
{
	text->holders++;
	return text;
}

/* One less; NULL is fine. */
void
scrape_text_drop(struct scrape_text *text)
{
	if (text == NULL || --text->holders > 0)
		return;
	strbuf_done(&text->sb);
	free(text);
}

/* ---- families ---------------------------------------------------------------------- */

/* A label's value: with a backslash before backslash, quote and newline. */
static void
add_label(struct strbuf *sb, const char *value)
{
	for (; *value != '\0'; value++) {
		if (*value == '\\' || *value == '"')
			strbuf_addc(sb, '\\');
		if (*value == '\n')
			strbuf_adds(sb, "\\n");
		else
			strbuf_addc(sb, *value);
	}
}

/* Thousandths or millionths as a decimal number. */
static void
add_decimal(struct strbuf *sb, uint64_t n, uint64_t unit)
{
	const int digits = unit == 1000 ? 3 : 6;

	strbuf_addf(sb, "%" PRIu64 ".%0*" PRIu64, n / unit, digits, n % unit);
}

enum figure_form { FORM_WHOLE, FORM_MS, FORM_US };

/* What one family says of an actor; false: nothing. */
typedef bool figure_fn(const struct sample *sample, uint64_t *ret);

static bool
is_up(const struct sample *sample, uint64_t *ret)
{
	*ret = sample->view.state == STATE_RUNNING;
	return true;
}

static bool
is_ready(const struct sample *sample, uint64_t *ret)
{
	*ret = sample->view.ready;
	return true;
}

static bool
is_failed(const struct sample *sample, uint64_t *ret)
{
	*ret = sample->view.state == STATE_FAILED;
	return true;
}

static bool
count_restarts(const struct sample *sample, uint64_t *ret)
{
	*ret = sample->view.restarts;
	return true;
}

static bool
count_starts(const struct sample *sample, uint64_t *ret)
{
	*ret = sample->view.generation;
	return sample->view.kind != NODE_SUPERVISOR;
}

static bool
count_window(const struct sample *sample, uint64_t *ret)
{
	*ret = sample->view.window;
	return true;
}

static bool
count_failures(const struct sample *sample, uint64_t *ret)
{
	*ret = sample->view.failures;
	return true;
}

static bool
get_delay(const struct sample *sample, uint64_t *ret)
{
	*ret = sample->view.failures > 0 ? sample->view.delay_ms : 0;
	return true;
}

static bool
count_dead_letters(const struct sample *sample, uint64_t *ret)
{
	*ret = sample->dead_letters;
	return sample->view.kind != NODE_SUPERVISOR;
}

static bool
get_uptime(const struct sample *sample, uint64_t *ret)
{
	*ret = sample->uptime_ms;
	return sample->has_uptime;
}

static bool
get_memory(const struct sample *sample, uint64_t *ret)
{
	*ret = sample->usage.memory_bytes;
	return sample->has_usage;
}

static bool
get_cpu(const struct sample *sample, uint64_t *ret)
{
	*ret = sample->usage.cpu_usec;
	return sample->has_usage;
}

static bool
count_processes(const struct sample *sample, uint64_t *ret)
{
	*ret = sample->usage.processes;
	return sample->has_usage;
}

static bool
count_descriptors(const struct sample *sample, uint64_t *ret)
{
	*ret = sample->usage.descriptors;
	return sample->has_usage;
}

static bool
get_read(const struct sample *sample, uint64_t *ret)
{
	*ret = sample->usage.read_bytes;
	return sample->has_usage && sample->usage.has_io;
}

static bool
get_written(const struct sample *sample, uint64_t *ret)
{
	*ret = sample->usage.write_bytes;
	return sample->has_usage && sample->usage.has_io;
}

static const struct family {
	const char *name; /* ends with the unit, if the figure has a unit */
	bool is_counter;
	const char *unit;
	const char *help;
	enum figure_form form;
	figure_fn *figure;
} families[] = {
    {"supd_actor_up", false, NULL, "1 while the actor is running.", FORM_WHOLE, is_up},
    {"supd_actor_ready", false, NULL, "1 while the actor is ready.", FORM_WHOLE, is_ready},
    {"supd_actor_failed", false, NULL, "1 if a failure has stopped the actor for good.",
     FORM_WHOLE, is_failed},
    {"supd_actor_restarts", true, NULL, "Automatic restarts.", FORM_WHOLE,
     count_restarts},
    {"supd_actor_starts", true, NULL, "Processes that were started.", FORM_WHOLE,
     count_starts},
    {"supd_actor_window", false, NULL,
     "Restarts that count now for its intensity or limit.", FORM_WHOLE, count_window},
    {"supd_actor_consecutive_failures", false, NULL, "Failures since its backoff was reset.",
     FORM_WHOLE, count_failures},
    {"supd_actor_backoff_delay_seconds", false, "seconds",
     "The delay after its last failure.", FORM_MS, get_delay},
    {"supd_actor_dead_letters", true, NULL, "Clients that no process of the actor served.",
     FORM_WHOLE, count_dead_letters},
    {"supd_actor_uptime_seconds", false, "seconds", "How long its process has lived.",
     FORM_MS, get_uptime},
    {"supd_actor_memory_bytes", false, "bytes", "Memory of its processes.", FORM_WHOLE,
     get_memory},
    {"supd_actor_cpu_seconds", true, "seconds", "Time on processors of its processes.",
     FORM_US, get_cpu},
    {"supd_actor_processes", false, NULL, "Its processes.", FORM_WHOLE, count_processes},
    {"supd_actor_open_descriptors", false, NULL, "Descriptors of its processes.",
     FORM_WHOLE, count_descriptors},
    {"supd_actor_read_bytes", true, "bytes", "Read from disks, where that is counted.",
     FORM_WHOLE, get_read},
    {"supd_actor_written_bytes", true, "bytes",
     "Written to disks, where that is counted.", FORM_WHOLE, get_written},
};

static void
add_head(struct strbuf *sb, const char *name, const char *type, const char *unit,
         const char *help)
{
	strbuf_addf(sb, "# TYPE %s %s\n", name, type);
	if (unit != NULL)
		strbuf_addf(sb, "# UNIT %s %s\n", name, unit);
	strbuf_addf(sb, "# HELP %s %s\n", name, help);
}

static void
add_figure(struct strbuf *sb, const struct shell *shell, const struct family *family,
           const struct sample *sample)
{
	uint64_t n;

	if (!core_valid(shell->core, sample->ref) || !family->figure(sample, &n))
		return;
	strbuf_addf(sb, "%s%s{path=\"", family->name, family->is_counter ? "_total" : "");
	add_label(sb, shell_path(shell, sample->ref));
	strbuf_adds(sb, "\"} ");
	if (family->form == FORM_WHOLE)
		strbuf_add_number(sb, n);
	else
		add_decimal(sb, n, family->form == FORM_MS ? 1000 : 1000000);
	strbuf_addc(sb, '\n');
}

/* What is said of supd as a whole. */
static void
add_own(struct strbuf *sb, const struct scraper *scraper)
{
	const struct shell *shell = scraper->shell;
	uint32_t counts[NODE_STATE_MAX] = {0};
	struct view_clock clock;

	add_head(sb, "supd", "info", NULL, "The running supd.");
	strbuf_adds(sb, "supd_info{version=\"" PACKAGE_VERSION "\"} 1\n");
	view_clock_init(&clock);
	add_head(sb, "supd_start_time_seconds", "gauge", "seconds",
	         "When supd was started, since the Epoch.");
	strbuf_adds(sb, "supd_start_time_seconds ");
	add_decimal(sb, view_wall_us(&clock, shell->started_ms), 1000000);
	strbuf_addc(sb, '\n');
	add_head(sb, "supd_events", "counter", NULL, "Events in the stream.");
	strbuf_addf(sb, "supd_events_total %" PRIu64 "\n",
	            shell->events.next_seq > 0 ? shell->events.next_seq - 1 : 0);
	for (size_t i = 0; i < scraper->n_samples; i++)
		counts[scraper->samples[i].view.state]++;
	add_head(sb, "supd_actors", "gauge", NULL, "Actors in each state.");
	for (size_t state = 0; state < NODE_STATE_MAX; state++)
		strbuf_addf(sb, "supd_actors{state=\"%s\"} %" PRIu32 "\n",
		            node_state_names[state], counts[state]);
}

/* ---- one scrape -------------------------------------------------------------------- */

static void
look_at(struct scraper *scraper, struct ref ref)
{
	const struct shell *shell = scraper->shell;
	const struct actor *actor = actors_get(&shell->actors, ref);
	struct sample *sample;

	if (!core_valid(shell->core, ref) || actor == NULL)
		return;
	sample = &scraper->samples[scraper->n_samples++];
	*sample = (struct sample){.ref = ref, .dead_letters = actor->dead_letters};
	core_view(shell->core, ref, scraper->now_ms, &sample->view);
	sample->has_uptime = actor->pid != 0;
	if (scraper->now_ms > actor->process_started_ms)
		sample->uptime_ms = scraper->now_ms - actor->process_started_ms;
	sample->has_usage = procs_usage(shell->procs, ref, &sample->usage);
}

static void
forget(struct scraper *scraper)
{
	scrape_text_drop(scraper->text);
	scraper->text = NULL;
	free(scraper->samples);
	scraper->samples = NULL;
	ref_list_done(&scraper->list);
	ref_list_init(&scraper->list);
}

/* Tell all waiting requests, in order; they may ask again at once. */
static void
answer(struct scraper *scraper)
{
	struct scrape_text *text = scraper->text;
	struct scrape_request *request;

	if (text != NULL && text->sb.failed)
		text = NULL;
	while ((request = TAILQ_FIRST(&scraper->served)) != NULL) {
		TAILQ_REMOVE(&scraper->served, request, link);
		request->is_waiting = false;
		request->on_text(request, text);
	}
	forget(scraper);
}

static bool
begin(struct scraper *scraper)
{
	const struct shell *shell = scraper->shell;
	struct scrape_text *text;

	TAILQ_CONCAT(&scraper->served, &scraper->waiting, link);
	scraper->n_looked = scraper->n_samples = scraper->n_written = scraper->family = 0;
	text = calloc(1, sizeof(*text));
	if (text != NULL && resolve_all(shell, &scraper->list) == 0)
		scraper->samples = calloc(scraper->list.n + 1, sizeof(*scraper->samples));
	if (text == NULL || scraper->samples == NULL) {
		free(text);
		return false;
	}
	text->holders = 1;
	strbuf_init(&text->sb, SCRAPE_BYTES_MAX);
	scraper->text = text;
	scraper->now_ms = clock_mono_ms();
	return true;
}

/* Write on; true: all is written. */
static bool
write_some(struct scraper *scraper)
{
	struct strbuf *sb = &scraper->text->sb;

	if (scraper->family == 0 && scraper->n_written == 0)
		add_own(sb, scraper);
	for (size_t n = 0; n < WRITTEN_AT_ONCE && scraper->family < ARRAY_SIZE(families);
	     n++) {
		const struct family *family = &families[scraper->family];

		if (scraper->n_written == 0)
			add_head(sb, family->name,
			         family->is_counter ? "counter" : "gauge", family->unit,
			         family->help);
		if (scraper->n_written < scraper->n_samples)
			add_figure(sb, scraper->shell, family,
			           &scraper->samples[scraper->n_written]);
		if (++scraper->n_written >= scraper->n_samples) {
			scraper->n_written = 0;
			scraper->family++;
		}
	}
	if (scraper->family < ARRAY_SIZE(families) && !sb->failed)
		return false;
	strbuf_adds(sb, "# EOF\n");
	return true;
}

/* A piece of the work. */
static bool
step(struct scraper *scraper)
{
	struct ref_list *list = &scraper->list;

	if (scraper->text == NULL)
		return !begin(scraper);
	if (scraper->n_looked < list->n) {
		for (size_t n = 0; n < LOOKED_AT_ONCE && scraper->n_looked < list->n; n++)
			look_at(scraper, list->at[scraper->n_looked++]);
		return false;
	}
	return write_some(scraper);
}

static void
go_on(struct scraper *scraper)
{
	ev_timer_set(&scraper->timer, 0., 0.);
	ev_timer_start(scraper->shell->loop, &scraper->timer);
}

static void
on_timer(struct ev_loop *loop, ev_timer *timer, int revents)
{
	struct scraper *scraper = timer->data;

	(void)loop;
	(void)revents;
	if (step(scraper))
		answer(scraper);
	if (scraper->text != NULL || !TAILQ_EMPTY(&scraper->waiting))
		go_on(scraper);
}

/* ---- the door ---------------------------------------------------------------------- */

/* NULL: out of memory. */
struct scraper *
scraper_new(struct shell *shell)
{
	struct scraper *scraper = calloc(1, sizeof(*scraper));

	if (scraper == NULL)
		return NULL;
	scraper->shell = shell;
	TAILQ_INIT(&scraper->waiting);
	TAILQ_INIT(&scraper->served);
	ref_list_init(&scraper->list);
	ev_timer_init(&scraper->timer, on_timer, 0., 0.);
	scraper->timer.data = scraper;
	return scraper;
}

/* End: no request waits any more.  NULL is fine. */
void
scraper_free(struct scraper *scraper)
{
	if (scraper == NULL)
		return;
	ev_timer_stop(scraper->shell->loop, &scraper->timer);
	forget(scraper);
	free(scraper);
}

/* Have a text made; the request belongs to the caller, and is not in use yet. */
void
scraper_ask(struct scraper *scraper, struct scrape_request *request)
{
	ASSERT(!request->is_waiting);
	request->is_waiting = true;
	TAILQ_INSERT_TAIL(&scraper->waiting, request, link);
	if (!ev_is_active(&scraper->timer))
		go_on(scraper);
}

/* It is not wanted any more; may be called for one that is not in use. */
void
scraper_cancel(struct scraper *scraper, struct scrape_request *request)
{
	const struct scrape_request *other;

	if (!request->is_waiting)
		return;
	request->is_waiting = false;
	TAILQ_FOREACH (other, &scraper->served, link) {
		if (other == request) {
			TAILQ_REMOVE(&scraper->served, request, link);
			return;
		}
	}
	TAILQ_REMOVE(&scraper->waiting, request, link);
}
