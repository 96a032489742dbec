/* SPDX-License-Identifier: ISC */
/* families.c - the families of figures: their names, units and lines. */
#include "config.h"

#include "daemon/metrics/families.h"

#include <inttypes.h>
#include <stdio.h>
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

/* Where a family has nothing to say of an actor. */
#define NO_FIGURE UINT64_MAX

/* What one family says of an actor for the i-th value of its label, or NO_FIGURE. */
typedef uint64_t labelled_fn(const struct sample *sample, size_t i);

static uint64_t
is_in_state(const struct sample *sample, size_t i)
{
	return sample->state == i ? 1 : NO_FIGURE;
}

static uint64_t
count_failures_of(const struct sample *sample, size_t i)
{
	return sample->failures[i] > 0 ? sample->failures[i] : NO_FIGURE;
}

static uint64_t
count_restarts_by(const struct sample *sample, size_t i)
{
	return sample->has_process ? sample->restarts_by[i] : NO_FIGURE;
}

static uint64_t
get_failure_time(const struct sample *sample, size_t i)
{
	return sample->failed_at_us > 0 && sample->failure == i ? sample->failed_at_us
	                                                        : NO_FIGURE;
}

static const struct family {
	const char *name; /* ends with the unit, if the figure has a unit */
	bool is_counter;
	const char *unit, *help;
	enum figure_form form;
} families[FIGURE_MAX] = {
    [FIGURE_UP] = {"supd_actor_up", false, NULL, "1 while the actor is running.",
                   FORM_WHOLE},
    [FIGURE_READY] = {"supd_actor_ready", false, NULL, "1 while the actor is ready.",
                      FORM_WHOLE},
    [FIGURE_FAILED] = {"supd_actor_failed", false, NULL,
                       "1 if a failure has stopped the actor for good.", FORM_WHOLE},
    [FIGURE_RESTARTS] = {"supd_actor_restarts", true, NULL, "Automatic restarts.",
                         FORM_WHOLE},
    [FIGURE_STARTS] = {"supd_actor_starts", true, NULL, "Processes that were started.",
                       FORM_WHOLE},
    [FIGURE_WINDOW] = {"supd_actor_window", false, NULL,
                       "Restarts that count now for its intensity or limit.", FORM_WHOLE},
    [FIGURE_CONSECUTIVE_FAILURES] = {"supd_actor_consecutive_failures", false, NULL,
                                     "Failures since its backoff was reset.", FORM_WHOLE},
    [FIGURE_BACKOFF_DELAY] = {"supd_actor_backoff_delay_seconds", false, "seconds",
                              "The delay after its last failure.", FORM_MS},
    [FIGURE_DEAD_LETTERS] = {"supd_actor_dead_letters", true, NULL,
                             "Clients that no process of the actor served.", FORM_WHOLE},
    [FIGURE_OUTPUT_BLOCKED] = {"supd_actor_output_blocked", false, NULL,
                               "1 while its log files cannot be written.", FORM_WHOLE},
    [FIGURE_OUTPUT_LOST] =
        {"supd_actor_output_lost_bytes", true, "bytes",
         "Output that was dropped while its log files could not be written.", FORM_WHOLE},
    [FIGURE_UPTIME] = {"supd_actor_uptime_seconds", false, "seconds",
                       "How long its process has lived.", FORM_MS},
    [FIGURE_MEMORY] = {"supd_actor_memory_bytes", false, "bytes",
                       "Memory of its processes.", FORM_WHOLE},
    [FIGURE_CPU] = {"supd_actor_cpu_seconds", true, "seconds",
                    "Processor time of its processes.", FORM_US},
    [FIGURE_PROCESSES] = {"supd_actor_processes", false, NULL, "Number of its processes.",
                          FORM_WHOLE},
    [FIGURE_DESCRIPTORS] = {"supd_actor_open_descriptors", false, NULL,
                            "Open descriptors of its processes.", FORM_WHOLE},
    [FIGURE_READ] = {"supd_actor_read_bytes", true, "bytes",
                     "Read from disks, where the kernel counts that.", FORM_WHOLE},
    [FIGURE_WRITTEN] = {"supd_actor_written_bytes", true, "bytes",
                        "Written to disks, where the kernel counts that.", FORM_WHOLE},
    [FIGURE_WINDOW_LIMIT] =
        {"supd_actor_window_limit", false, NULL,
         "How many restarts in the window its intensity or limit allows.", FORM_WHOLE},
    [FIGURE_HEALTHY] =
        {"supd_actor_healthy", false, NULL,
         "1 if its last health check was good; for actors that have a check.",
         FORM_WHOLE},
    [FIGURE_EXIT_CODE] = {"supd_actor_last_failure_exit_code", false, NULL,
                          "The exit status of its last failure, if that was an exit.",
                          FORM_WHOLE},
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
      "Time of its last failure since the Epoch, by cause.", FORM_US},
     ",cause=\"",
     cause_kind_names,
     CAUSE_KIND_MAX,
     get_failure_time},
    {{"supd_actor_state", false, NULL, "1 for the state in which the actor is.",
      FORM_WHOLE},
     ",state=\"",
     node_state_names,
     NODE_STATE_MAX,
     is_in_state},
    {{"supd_actor_failures", true, NULL, "Failures by cause.", FORM_WHOLE},
     ",cause=\"",
     cause_kind_names,
     CAUSE_KIND_MAX,
     count_failures_of},
    {{"supd_actor_restarts_by_reason", true, NULL,
      "Starts after the first: for its own failure or normal end, that of a sibling, a "
      "restart of its supervisor, the end of an actor it watches, a resume, a command.",
      FORM_WHOLE},
     ",reason=\"",
     restart_kind_names,
     RESTART_KIND_MAX,
     count_restarts_by},
};

static void
add_head(struct strbuf *sb, const struct family *family, const char *type)
{
	strbuf_addf(sb, "# TYPE %s %s\n", family->name, type);
	if (family->unit != NULL)
		strbuf_addf(sb, "# UNIT %s %s\n", family->name, family->unit);
	strbuf_addf(sb, "# HELP %s %s\n", family->name, family->help);
}

/* The end of a line. */
static void
add_figure(struct strbuf *sb, enum figure_form form, uint64_t n)
{
	if (form == FORM_WHOLE)
		strbuf_add_number(sb, n);
	else
		add_decimal(sb, n, form == FORM_MS ? 1000 : 1000000);
	strbuf_addc(sb, '\n');
}

/* A family of one figure, about supd. */
static void
add_own(struct strbuf *sb, const struct family *family, uint64_t n)
{
	add_head(sb, family, family->is_counter ? "counter" : "gauge");
	strbuf_addf(sb, "%s%s ", family->name, family->is_counter ? "_total" : "");
	add_figure(sb, family->form, n);
}

/* The lines of a family: how each begins, and its label of its own, or NULL. */
struct lines {
	const char *begin, *label;
	enum figure_form form;
};

static void
add_line(struct strbuf *sb, const struct lines *lines, const char *labels,
         const char *value, uint64_t n)
{
	if (n == NO_FIGURE)
		return;
	strbuf_add_fixed(sb, lines->begin, strlen(lines->begin));
	strbuf_add_fixed(sb, labels, strlen(labels));
	if (lines->label != NULL) {
		strbuf_adds(sb, lines->label);
		strbuf_adds(sb, value);
		strbuf_addc(sb, '"');
	}
	strbuf_add_fixed(sb, "} ", 2);
	add_figure(sb, lines->form, n);
}

#define IF(condition, figure) ((condition) ? (uint64_t)(figure) : NO_FIGURE)

/* From what was found out about an actor to its figures. */
void
families_measure(struct sample *sample, const struct observation *found)
{
	const struct node_view *view = &found->view;
	const struct usage *usage = &found->usage;
	const bool has_process = view->kind != NODE_SUPERVISOR;
	const bool has_io = found->has_usage && usage->has_io;
	const uint64_t figures[FIGURE_MAX] = {
	    [FIGURE_UP] = view->state == STATE_RUNNING,
	    [FIGURE_READY] = view->ready,
	    [FIGURE_FAILED] = view->state == STATE_FAILED,
	    [FIGURE_RESTARTS] = view->run.restarts,
	    [FIGURE_STARTS] = IF(has_process, view->run.generation),
	    [FIGURE_WINDOW] = view->counted.window,
	    [FIGURE_CONSECUTIVE_FAILURES] = view->backoff.failures,
	    [FIGURE_BACKOFF_DELAY] =
	        view->backoff.failures > 0 ? view->backoff.delay_ms : 0,
	    [FIGURE_DEAD_LETTERS] = IF(has_process, found->dead_letters),
	    [FIGURE_OUTPUT_BLOCKED] = IF(has_process, found->is_blocked),
	    [FIGURE_OUTPUT_LOST] = IF(has_process, found->lost),
	    [FIGURE_UPTIME] = IF(found->has_uptime, found->uptime_ms),
	    [FIGURE_MEMORY] = IF(found->has_usage, usage->memory_bytes),
	    [FIGURE_CPU] = IF(found->has_usage, usage->cpu_usec),
	    [FIGURE_PROCESSES] = IF(found->has_usage, usage->processes),
	    [FIGURE_DESCRIPTORS] = IF(found->has_usage, usage->descriptors),
	    [FIGURE_READ] = IF(has_io, usage->read_bytes),
	    [FIGURE_WRITTEN] = IF(has_io, usage->write_bytes),
	    [FIGURE_WINDOW_LIMIT] = IF(view->counted.has_limit, view->counted.limit),
	    [FIGURE_HEALTHY] =
	        IF(view->has_health, view->process.main_alive && !view->is_unwell),
	    [FIGURE_EXIT_CODE] =
	        IF(view->has_failure && view->failure.cause.kind == CAUSE_EXIT,
	           view->failure.cause.code),
	};

	*sample = (struct sample){
	    .state = view->state,
	    .is_well = view_is_well(view, found->is_blocked),
	    .has_process = has_process,
	    .failed_at_us = view->has_failure ? found->failed_at_us : 0,
	    .failure = view->failure.cause.kind,
	};
	memcpy(sample->figures, figures, sizeof(figures));
	if (found->tally != NULL)
		memcpy(sample->failures, found->tally->failures,
		       sizeof(sample->failures));
	memcpy(sample->restarts_by, view->run.restarts_by, sizeof(sample->restarts_by));
}

/* The labels that all lines about an actor have, ended by a NUL: they stand there once.
 */
void
families_add_labels(struct strbuf *sb, const struct actors *actors,
                    const struct node_view *view)
{
	strbuf_adds(sb, "{path=\"");
	add_label(sb, actors_path(actors, view->ref));
	if (view->depth > 1) {
		strbuf_adds(sb, "\",supervisor=\"");
		add_label(sb, actors_path(actors, view->parent));
	}
	strbuf_add(sb, "\"", 2);
}

static const struct family
    info = {"supd", false, NULL, "The running supd.", FORM_WHOLE},
    start_time = {"supd_start_time_seconds", false, "seconds",
                  "When supd was started, since the Epoch.", FORM_US},
    n_events = {"supd_events", true, NULL, "Events in the stream.", FORM_WHOLE},
    crashes = {"supd_guardian_crashes", true, NULL,
               "Guardians that crashed or hung, and were replaced.", FORM_WHOLE},
    outage = {"supd_guardian_outage_seconds", false, "seconds",
              "Time without a guardian before this guardian; 0 for the first guardian.",
              FORM_MS},
    /* The figure from which /healthz is answered. */
    unhealthy = {"supd_actors_unhealthy", false, NULL,
                 "Actors that are not healthy, with the supervisors above failed ones.",
                 FORM_WHOLE},
    in_states = {"supd_actors", false, NULL, "Actors in each state.", FORM_WHOLE};

/* The figures about supd as a whole. */
void
families_write_own(struct strbuf *sb, const struct scraped *about,
                   const struct sample *samples, size_t n_samples)
{
	uint32_t counts[NODE_STATE_MAX] = {0}, n_unhealthy = 0;
	struct view_clock clock = view_clock_now();

	for (size_t i = 0; i < n_samples; i++) {
		counts[samples[i].state]++;
		n_unhealthy += !samples[i].is_well;
	}
	add_head(sb, &info, "info");
	strbuf_adds(sb, "supd_info{version=\"" PACKAGE_VERSION "\"} 1\n");
	add_own(sb, &start_time,
	        view_wall_us(&clock, about->recording->facts.started_ms));
	add_own(sb, &n_events,
	        about->events->next_seq > 0 ? about->events->next_seq - 1 : 0);
	add_own(sb, &crashes, about->origin->crashes);
	add_own(sb, &outage, about->origin->outage_ms);
	add_own(sb, &unhealthy, n_unhealthy);
	add_head(sb, &in_states, "gauge");
	for (size_t state = 0; state < NODE_STATE_MAX; state++)
		strbuf_addf(sb, "supd_actors{state=\"%s\"} %" PRIu32 "\n",
		            node_state_names[state], counts[state]);
}

/*
 * What one family says of some actors, with the head of the family before the first of
 * all, or without any.  false: there is no such family.
 */
bool
families_write(struct strbuf *sb, size_t place, bool is_first,
               const struct sampled *sampled, size_t n)
{
	const struct labelled_family *labelled =
	    place < FIGURE_MAX ? NULL : &labelled_families[place - FIGURE_MAX];
	char memory[128];

	if (place >= FIGURE_MAX + ARRAY_SIZE(labelled_families))
		return false;
	const struct family *family =
	    labelled == NULL ? &families[place] : &labelled->family;
	if (is_first)
		add_head(sb, family, family->is_counter ? "counter" : "gauge");
	(void)snprintf(memory, sizeof(memory), "%s%s", family->name,
	               family->is_counter ? "_total" : "");
	const struct lines lines = {memory, labelled == NULL ? NULL : labelled->label,
	                            family->form};
	for (size_t i = 0; i < n; i++) {
		const struct sample *sample = &sampled->samples[i];
		const char *labels = sampled->labels + sample->labels;

		if (labelled == NULL)
			add_line(sb, &lines, labels, NULL, sample->figures[place]);
		for (size_t k = 0; labelled != NULL && k < labelled->n_values; k++)
			add_line(sb, &lines, labels, labelled->values[k],
			         labelled->figure(sample, k));
	}
	return true;
}
