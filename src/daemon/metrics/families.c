/* SPDX-License-Identifier: ISC */
/* families.c - the families of figures: their names, units and lines. */
#include "config.h"

#include "daemon/metrics/families.h"

#include <inttypes.h>

#include "base/assert.h"
#include "base/strbuf.h"
#include "daemon/report/view.h"
#include "daemon/state/shell.h"

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

static const struct family {
	const char *name; /* ends with the unit, if the figure has a unit */
	bool is_counter;
	const char *unit;
	const char *help;
	enum figure_form form;
	figure_fn *figure;
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

/* The figures about supd as a whole. */
void
families_write_own(struct strbuf *sb, const struct shell *shell,
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
	add_decimal(sb, view_wall_us(&clock, shell->started_ms), 1000000);
	strbuf_addc(sb, '\n');
	add_head(sb, "supd_events", "counter", NULL, "Events in the stream.");
	strbuf_addf(sb, "supd_events_total %" PRIu64 "\n",
	            shell->events.next_seq > 0 ? shell->events.next_seq - 1 : 0);
	for (size_t i = 0; i < n_samples; i++)
		counts[samples[i].view.state]++;
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
families_write(struct strbuf *sb, size_t place, bool is_first, const struct shell *shell,
               const struct sample *sample)
{
	const struct family *family = &families[place];

	if (place >= ARRAY_SIZE(families))
		return false;
	if (is_first)
		add_head(sb, family->name, family->is_counter ? "counter" : "gauge",
		         family->unit, family->help);
	if (sample != NULL)
		add_figure(sb, shell, family, sample);
	return true;
}
