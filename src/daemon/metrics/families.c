/* SPDX-License-Identifier: ISC */
/* families.c - the families of figures: their names, units and lines. */
#include "config.h"

#include "daemon/metrics/families.h"

#include <inttypes.h>
#include <string.h>

#include "base/assert.h"
#include "base/strbuf.h"
#include "daemon/metrics/scrape.h"
#include "daemon/report/view.h"
#include "daemon/state/actors.h"
#include "daemon/state/engine.h"
#include "daemon/state/events.h"
#include "daemon/state/options.h"
#include "daemon/state/recording.h"

/* A label's value: with a backslash before backslash, quote and newline. */
static void
add_label(struct strbuf *sb, const char *value)
{
	while (*value != '\0') {
		const size_t plain = strcspn(value, "\\\"\n");

		strbuf_add(sb, value, plain);
		value += plain;
		if (*value == '\0')
			break;
		strbuf_addc(sb, '\\');
		strbuf_addc(sb, *value == '\n' ? 'n' : *value);
		value++;
	}
}

/* Thousandths or millionths as a decimal number. */
static void
add_decimal(struct strbuf *sb, uint64_t n, uint64_t unit)
{
	strbuf_add_number(sb, n / unit);
	strbuf_addc(sb, '.');
	for (uint64_t left = n % unit; unit > 1; left %= unit) {
		unit /= 10;
		strbuf_addc(sb, (char)('0' + left / unit));
	}
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
	*ret = sample->view.run.restarts;
	return true;
}

static bool
count_starts(const struct sample *sample, uint64_t *ret)
{
	*ret = sample->view.run.generation;
	return sample->view.kind != NODE_SUPERVISOR;
}

static bool
count_window(const struct sample *sample, uint64_t *ret)
{
	*ret = sample->view.counted.window;
	return true;
}

static bool
count_failures(const struct sample *sample, uint64_t *ret)
{
	*ret = sample->view.backoff.failures;
	return true;
}

static bool
get_delay(const struct sample *sample, uint64_t *ret)
{
	*ret = sample->view.backoff.failures > 0 ? sample->view.backoff.delay_ms : 0;
	return true;
}

static bool
count_dead_letters(const struct sample *sample, uint64_t *ret)
{
	*ret = sample->dead_letters;
	return sample->view.kind != NODE_SUPERVISOR;
}

static bool
is_blocked(const struct sample *sample, uint64_t *ret)
{
	*ret = sample->is_blocked;
	return sample->view.kind != NODE_SUPERVISOR;
}

static bool
count_lost(const struct sample *sample, uint64_t *ret)
{
	*ret = sample->lost;
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

static bool
get_limit(const struct sample *sample, uint64_t *ret)
{
	*ret = sample->view.counted.limit;
	return sample->view.counted.has_limit;
}

static bool
is_healthy(const struct sample *sample, uint64_t *ret)
{
	*ret = sample->view.process.main_alive && !sample->view.is_unwell;
	return sample->view.has_health;
}

static bool
get_exit_code(const struct sample *sample, uint64_t *ret)
{
	*ret = (uint64_t)sample->view.failure.cause.code;
	return sample->view.has_failure && sample->view.failure.cause.kind == CAUSE_EXIT;
}

/* What one family says of an actor for the i-th value of its label; false: nothing. */
typedef bool labelled_fn(const struct sample *sample, const struct tally *tally, size_t i,
                         uint64_t *ret);

static bool
is_in_state(const struct sample *sample, const struct tally *tally UNUSED, size_t i,
            uint64_t *ret)
{
	*ret = 1;
	return sample->view.state == i;
}

static bool
count_failures_of(const struct sample *sample UNUSED, const struct tally *tally, size_t i,
                  uint64_t *ret)
{
	*ret = tally->failures[i];
	return *ret > 0;
}

static bool
count_restarts_by(const struct sample *sample, const struct tally *tally UNUSED, size_t i,
                  uint64_t *ret)
{
	*ret = sample->view.run.restarts_by[i];
	return sample->view.kind != NODE_SUPERVISOR;
}

static bool
get_failure_time(const struct sample *sample, const struct tally *tally UNUSED, size_t i,
                 uint64_t *ret)
{
	*ret = sample->failed_at_us;
	return sample->failed_at_us > 0 && sample->view.has_failure &&
	       sample->view.failure.cause.kind == i;
}

static const struct family {
	const char *name; /* ends with the unit, if the figure has a unit */
	bool is_counter;
	const char *unit;
	const char *help;
	enum figure_form form;
	figure_fn *figure; /* NULL: see labelled_families */
} families[] = {
    {"supd_actor_up", false, NULL, "1 while the actor is running.", FORM_WHOLE, is_up},
    {"supd_actor_ready", false, NULL, "1 while the actor is ready.", FORM_WHOLE,
     is_ready},
    {"supd_actor_failed", false, NULL, "1 if a failure has stopped the actor for good.",
     FORM_WHOLE, is_failed},
    {"supd_actor_restarts", true, NULL, "Automatic restarts.", FORM_WHOLE,
     count_restarts},
    {"supd_actor_starts", true, NULL, "Processes that were started.", FORM_WHOLE,
     count_starts},
    {"supd_actor_window", false, NULL,
     "Restarts that count now for its intensity or limit.", FORM_WHOLE, count_window},
    {"supd_actor_consecutive_failures", false, NULL,
     "Failures since its backoff was reset.", FORM_WHOLE, count_failures},
    {"supd_actor_backoff_delay_seconds", false, "seconds",
     "The delay after its last failure.", FORM_MS, get_delay},
    {"supd_actor_dead_letters", true, NULL,
     "Clients that no process of the actor served.", FORM_WHOLE, count_dead_letters},
    {"supd_actor_output_blocked", false, NULL, "1 while its log files cannot be written.",
     FORM_WHOLE, is_blocked},
    {"supd_actor_output_lost_bytes", true, "bytes",
     "Output that was dropped while its log files could not be written.", FORM_WHOLE,
     count_lost},
    {"supd_actor_uptime_seconds", false, "seconds", "How long its process has lived.",
     FORM_MS, get_uptime},
    {"supd_actor_memory_bytes", false, "bytes", "Memory of its processes.", FORM_WHOLE,
     get_memory},
    {"supd_actor_cpu_seconds", true, "seconds", "Processor time of its processes.",
     FORM_US, get_cpu},
    {"supd_actor_processes", false, NULL, "Number of its processes.", FORM_WHOLE,
     count_processes},
    {"supd_actor_open_descriptors", false, NULL, "Open descriptors of its processes.",
     FORM_WHOLE, count_descriptors},
    {"supd_actor_read_bytes", true, "bytes",
     "Read from disks, where the kernel counts that.", FORM_WHOLE, get_read},
    {"supd_actor_written_bytes", true, "bytes",
     "Written to disks, where the kernel counts that.", FORM_WHOLE, get_written},
    {"supd_actor_window_limit", false, NULL,
     "How many restarts in the window its intensity or limit allows.", FORM_WHOLE,
     get_limit},
    {"supd_actor_healthy", false, NULL,
     "1 if its last health check was good; for actors that have a check.", FORM_WHOLE,
     is_healthy},
    {"supd_actor_last_failure_exit_code", false, NULL,
     "The exit status of its last failure, if that was an exit.", FORM_WHOLE,
     get_exit_code},
};

/* Those of which an actor has a figure for each value of one more label. */
static const struct labelled_family {
	struct family family;
	const char *label;
	const char *const *values;
	size_t n_values;
	labelled_fn *figure;
} labelled_families[] = {
    {{"supd_actor_last_failure_time_seconds", false, "seconds",
      "Time of its last failure since the Epoch, by cause.", FORM_US, NULL},
     "cause",
     cause_kind_names,
     CAUSE_KIND_MAX,
     get_failure_time},
    {{"supd_actor_state", false, NULL, "1 for the state in which the actor is.",
      FORM_WHOLE, NULL},
     "state",
     node_state_names,
     NODE_STATE_MAX,
     is_in_state},
    {{"supd_actor_failures", true, NULL, "Failures by cause.", FORM_WHOLE, NULL},
     "cause",
     cause_kind_names,
     CAUSE_KIND_MAX,
     count_failures_of},
    {{"supd_actor_restarts_by_reason", true, NULL,
      "Starts after the first: for its own failure or normal end, that of a sibling, a "
      "restart of its supervisor, the end of an actor it watches, a resume, a command.",
      FORM_WHOLE, NULL},
     "reason",
     restart_kind_names,
     RESTART_KIND_MAX,
     count_restarts_by},
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

/* What a line of a family says of an actor. */
struct figure {
	const char *label; /* NULL: without a label of its own */
	const char *value; /* of the label */
	uint64_t n;
};

static void
add_line(struct strbuf *sb, const struct scraped *about, const struct family *family,
         const struct sample *sample, const struct figure *figure)
{
	strbuf_adds(sb, family->name);
	strbuf_adds(sb, family->is_counter ? "_total{path=\"" : "{path=\"");
	add_label(sb, actors_path(about->actors, sample->ref));
	if (sample->view.depth > 1) {
		strbuf_adds(sb, "\",supervisor=\"");
		add_label(sb, actors_path(about->actors, sample->view.parent));
	}
	if (figure->label != NULL) {
		strbuf_adds(sb, "\",");
		strbuf_adds(sb, figure->label);
		strbuf_adds(sb, "=\"");
		strbuf_adds(sb, figure->value);
	}
	strbuf_adds(sb, "\"} ");
	if (family->form == FORM_WHOLE)
		strbuf_add_number(sb, figure->n);
	else
		add_decimal(sb, figure->n, family->form == FORM_MS ? 1000 : 1000000);
	strbuf_addc(sb, '\n');
}

/* What one family says of an actor; `labelled` NULL: without a label of its own. */
static void
add_figures(struct strbuf *sb, const struct scraped *about, const struct family *family,
            const struct labelled_family *labelled, const struct sample *sample)
{
	const struct actor *actor = actors_get(about->actors, sample->ref);
	struct figure figure = {.label = NULL};

	if (!core_valid(about->engine->core, sample->ref) || actor == NULL)
		return;
	if (labelled == NULL) {
		if (family->figure(sample, &figure.n))
			add_line(sb, about, family, sample, &figure);
		return;
	}
	figure.label = labelled->label;
	for (size_t i = 0; i < labelled->n_values; i++) {
		figure.value = labelled->values[i];
		if (labelled->figure(sample, &actor->tally, i, &figure.n))
			add_line(sb, about, family, sample, &figure);
	}
}

/* How often supd itself failed, and for how long nothing was supervised. */
static void
add_guardians(struct strbuf *sb, const struct origin *origin)
{
	add_head(sb, "supd_guardian_crashes", "counter", NULL,
	         "Guardians that crashed or hung, and were replaced.");
	strbuf_addf(sb, "supd_guardian_crashes_total %" PRIu32 "\n", origin->crashes);
	add_head(
	    sb, "supd_guardian_outage_seconds", "gauge", "seconds",
	    "Time without a guardian before this guardian; 0 for the first guardian.");
	strbuf_adds(sb, "supd_guardian_outage_seconds ");
	add_decimal(sb, origin->outage_ms, 1000);
	strbuf_addc(sb, '\n');
}

/* The figure from which /healthz is answered. */
static void
add_unhealthy(struct strbuf *sb, const struct sample *samples, size_t n_samples)
{
	uint32_t n = 0;

	for (size_t i = 0; i < n_samples; i++)
		n += !view_is_well(&samples[i].view, samples[i].is_blocked);
	add_head(sb, "supd_actors_unhealthy", "gauge", NULL,
	         "Actors that are not healthy, with the supervisors above failed ones.");
	strbuf_addf(sb, "supd_actors_unhealthy %" PRIu32 "\n", n);
}

/* The figures about supd as a whole. */
void
families_write_own(struct strbuf *sb, const struct scraped *about,
                   const struct sample *samples, size_t n_samples)
{
	uint32_t counts[NODE_STATE_MAX] = {0};
	struct view_clock clock;

	add_head(sb, "supd", "info", NULL, "The running supd.");
	strbuf_adds(sb, "supd_info{version=\"" PACKAGE_VERSION "\"} 1\n");
	view_clock_init(&clock);
	add_head(sb, "supd_start_time_seconds", "gauge", "seconds",
	         "When supd was started, since the Epoch.");
	strbuf_adds(sb, "supd_start_time_seconds ");
	add_decimal(sb, view_wall_us(&clock, about->recording->facts.started_ms),
	            1000000);
	strbuf_addc(sb, '\n');
	add_head(sb, "supd_events", "counter", NULL, "Events in the stream.");
	strbuf_addf(sb, "supd_events_total %" PRIu64 "\n",
	            about->events->next_seq > 0 ? about->events->next_seq - 1 : 0);
	for (size_t i = 0; i < n_samples; i++)
		counts[samples[i].view.state]++;
	add_guardians(sb, about->origin);
	add_unhealthy(sb, samples, n_samples);
	add_head(sb, "supd_actors", "gauge", NULL, "Actors in each state.");
	for (size_t state = 0; state < NODE_STATE_MAX; state++)
		strbuf_addf(sb, "supd_actors{state=\"%s\"} %" PRIu32 "\n",
		            node_state_names[state], counts[state]);
}

/*
 * What one family says of one actor, with the head of the family before the first;
 * `sample` NULL: there are no actors, the head alone.  false: there is no such family.
 */
bool
families_write(struct strbuf *sb, size_t place, bool is_first,
               const struct scraped *about, const struct sample *sample)
{
	const size_t n = ARRAY_SIZE(families);
	const struct labelled_family *labelled =
	    place < n ? NULL : &labelled_families[place - n];
	const struct family *family;

	if (place >= n + ARRAY_SIZE(labelled_families))
		return false;
	family = labelled == NULL ? &families[place] : &labelled->family;
	if (is_first)
		add_head(sb, family->name, family->is_counter ? "counter" : "gauge",
		         family->unit, family->help);
	if (sample != NULL)
		add_figures(sb, about, family, labelled, sample);
	return true;
}
