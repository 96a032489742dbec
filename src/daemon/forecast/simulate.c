/* SPDX-License-Identifier: ISC */
/* simulate.c - what the policy will do if an actor keeps failing: the steps. */
#include "config.h"

#include "daemon/forecast/simulate.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/names.h"
#include "base/units.h"
#include "daemon/forecast/forecast.h"
#include "daemon/forecast/outcome.h"
#include "daemon/state/cause.h"

#define TEXT_BYTES_MAX 2048

/* ---- causes ------------------------------------------------------------------------ */

static bool
parse_code(const char *text, struct cause *ret)
{
	char *end;
	long code = strtol(text, &end, 10);

	ret->code = (int32_t)code;
	return end != text && *end == '\0' && code >= 0 && code <= 255;
}

static bool
parse_errno(const char *text, struct cause *ret)
{
	ret->error = err_code(text);
	return ret->error > 0;
}

/* Take the name that a process gives to a failure of its own, perhaps ""; false: it is
 * too long. */
static bool
parse_key(const char *text, struct cause *ret)
{
	size_t len = strlen(text);

	if (len >= sizeof(ret->key))
		return false;
	memcpy(ret->key, text, len);
	return true;
}

static bool
parse_signal(const char *text, struct cause *ret)
{
	const int signo = signal_parse(text);

	ret->signal = (uint8_t)signo;
	ret->core = ret->kind == CAUSE_CORE;
	return signo > 0;
}

/* Read the part of a cause behind the colon, "" for the usual value; false: the cause has
 * no such part. */
static bool
parse_detail(const char *text, struct cause *ret)
{
	const enum cause_kind kind = ret->kind;
	const bool is_usual = *text == '\0';

	if (kind == CAUSE_INTENSITY || kind == CAUSE_UNKILLABLE || kind >= CAUSE_UNKNOWN)
		return false;
	if (kind == CAUSE_EXIT || kind == CAUSE_EARLY_EXIT)
		return parse_code(is_usual ? "1" : text, ret) &&
		       (ret->code != 0 || kind == CAUSE_EARLY_EXIT);
	if (kind == CAUSE_SIGNAL)
		return parse_signal(is_usual ? "KILL" : text, ret);
	if (kind == CAUSE_CORE)
		return parse_signal(is_usual ? "SEGV" : text, ret);
	if (kind == CAUSE_EXEC)
		return parse_errno(is_usual ? "ENOENT" : text, ret);
	if (kind == CAUSE_SELF_REPORT)
		return parse_key(text, ret);
	if (kind == CAUSE_NORMAL)
		ret->code = 0;
	return is_usual;
}

bool
simulate_parse_cause(const char *text, struct cause *ret)
{
	char name[32];
	size_t len = strcspn(text, ":");

	if (len >= sizeof(name))
		return false;
	memcpy(name, text, len);
	name[len] = '\0';
	int kind = names_find(cause_kind_names, CAUSE_KIND_MAX, name);
	if (kind < 0)
		return false;
	*ret = (struct cause){.kind = (enum cause_kind)kind, .code = -1};
	return parse_detail(text[len] == ':' ? text + len + 1 : "", ret);
}

bool
simulate_can_fail(const struct cause *cause, enum ready_mode ready)
{
	return cause->kind != CAUSE_START_TIMEOUT || ready != READY_EXEC;
}

/* ---- steps ------------------------------------------------------------------------- */

struct step {
	uint64_t at_ms;
	const char *event, *path;
	bool has_delay;
	uint64_t delay_ms;
	struct delay_bounds bounds;
	bool has_window;
	uint32_t window, limit;
	struct strbuf text;
};

struct writer {
	const struct simulation *simulation;
	struct strbuf *out;
	/* The bounds of a delay come from the failure that caused it. */
	struct delay_bounds bounds;
	struct outcome outcome;
};

static void
add_optional(struct strbuf *out, const char *key, bool there, uint64_t value)
{
	if (there)
		strbuf_addf(out, ",\"%s\":%" PRIu64, key, value);
	else
		strbuf_addf(out, ",\"%s\":null", key);
}

static void
write_json(struct strbuf *out, const struct step *step)
{
	if (out->len > 0)
		strbuf_addc(out, ',');
	strbuf_addf(out, "{\"at_ms\":%" PRIu64 ",\"event\":\"%s\",\"path\":", step->at_ms,
	            step->event);
	strbuf_add_json(out, step->path);
	add_optional(out, "delay_ms", step->has_delay, step->delay_ms);
	add_optional(out, "delay_min_ms", step->has_delay, step->bounds.min_ms);
	add_optional(out, "delay_max_ms", step->has_delay, step->bounds.max_ms);
	add_optional(out, "window", step->has_window, step->window);
	add_optional(out, "limit", step->has_window && step->limit > 0, step->limit);
	strbuf_adds(out, ",\"text\":");
	strbuf_add_json(out, strbuf_str(&step->text));
	strbuf_addc(out, '}');
}

static void
write_line(struct strbuf *out, const struct step *step)
{
	char text[DURATION_TEXT_MAX];

	strbuf_addf(out, "%12s  %-10s  %s  %s\n", age_format(step->at_ms, text),
	            step->event, step->path, strbuf_str(&step->text));
}

static void
write_step(const struct simulation *simulation, struct strbuf *out,
           const struct step *step)
{
	if (simulation->json)
		write_json(out, step);
	else
		write_line(out, step);
}

static const char *
path_of(const struct writer *writer, struct ref ref)
{
	return writer->simulation->path(writer->simulation->user, ref);
}

static void
add_range(struct strbuf *sb, const struct delay_bounds *bounds)
{
	char text[DURATION_TEXT_MAX];

	strbuf_adds(sb, age_format(bounds->min_ms, text));
	if (bounds->max_ms > bounds->min_ms)
		strbuf_addf(sb, " to %s", age_format(bounds->max_ms, text));
}

/* How far the intensity is used up, or the child's own limit. */
static void
describe_failure(struct writer *writer, const struct action *action, struct step *step)
{
	struct strbuf *sb = &step->text;

	cause_text(sb, &action->cause, NULL);
	if (memcmp(&action->origin, &action->ref, sizeof(action->ref)) != 0)
		strbuf_addf(sb, " in %s", path_of(writer, action->origin));
	strbuf_addf(sb, ": %s", directive_names[action->ruling.directive]);
	if (action->group)
		strbuf_adds(sb, " of its group");
	if (step->has_delay) {
		strbuf_adds(sb, " in ");
		add_range(sb, &step->bounds);
	}
	strbuf_adds(sb, ", by ");
	rule_text(sb, writer->simulation->conf, action->ruling.preset,
	          action->ruling.place, action->ruling.reason);
	if (action->limit > 0)
		strbuf_addf(sb, "; %u of %u restarts", action->window, action->limit);
}

static struct delay_bounds
bounds_of(const struct node_view *view)
{
	return (struct delay_bounds){view->backoff.delay_min_ms,
	                             view->backoff.delay_max_ms};
}

static void
on_failure(struct writer *writer, const struct core *core, const struct action *action,
           struct step *step)
{
	bool later = action->ruling.directive == DIRECTIVE_RESTART ||
	             action->ruling.directive == DIRECTIVE_RESUME;
	const struct ref whose =
	    action->ruling.directive == DIRECTIVE_RESUME ? action->origin : action->ref;
	struct node_view view;

	writer->bounds = (struct delay_bounds){0};
	if (later && core_valid(core, whose)) {
		core_view(core, whose, writer->simulation->now_ms, &view);
		/* A resume of a living process has no delay. */
		if (action->delay_ms > 0)
			writer->bounds = bounds_of(&view);
	}
	step->has_delay = later;
	step->delay_ms = action->delay_ms;
	step->has_window = true;
	step->window = action->window;
	step->limit = action->limit;
	step->bounds = writer->bounds;
	describe_failure(writer, action, step);
}

static void
on_backoff(struct writer *writer, const struct core *core, const struct action *action,
           struct step *step)
{
	struct node_view view;

	step->has_delay = true;
	step->delay_ms = action->delay_ms;
	if (core_valid(core, action->ref)) {
		core_view(core, action->ref, writer->simulation->now_ms, &view);
		step->bounds = bounds_of(&view);
	}
	strbuf_adds(&step->text, "waits ");
	add_range(&step->text, &step->bounds);
	strbuf_adds(&step->text, " before it starts again");
}

static void
on_gave_up(struct writer *writer, const struct action *action, struct step *step)
{
	char text[DURATION_TEXT_MAX];

	step->has_window = true;
	step->window = action->window;
	step->limit = action->limit;
	strbuf_addf(&step->text,
	            "gives up: more than %u restarts within %s, the last of %s",
	            action->limit, age_format(action->delay_ms, text),
	            path_of(writer, action->origin));
}

/* Fill in the fields of a step; false: the report is not about the question. */
static bool
describe_report(struct writer *writer, const struct core *core,
                const struct action *action, struct step *step)
{
	const enum report kind = action->report;

	if (kind == REPORT_FAILURE)
		on_failure(writer, core, action, step);
	else if (kind == REPORT_BACKOFF)
		on_backoff(writer, core, action, step);
	else if (kind == REPORT_GAVE_UP)
		on_gave_up(writer, action, step);
	else if (kind == REPORT_ESCALATED)
		strbuf_addf(&step->text,
		            "cannot handle the failure, and passes it on to %s",
		            path_of(writer, action->to));
	else if (kind == REPORT_STARTED)
		strbuf_adds(&step->text, "is started");
	else if (kind == REPORT_STOPPING)
		strbuf_adds(&step->text, "is stopped");
	else if (kind == REPORT_TERMINATED)
		strbuf_adds(&step->text, "is down for good");
	else
		return false;
	return true;
}

static void
take_action(void *user, uint64_t at_ms, const struct core *core,
            const struct action *action)
{
	struct writer *writer = user;
	struct step step = {.at_ms = at_ms, .text = STRBUF(TEXT_BYTES_MAX)};
	bool wanted = false;

	if (action->kind == ACTION_EXIT) {
		step.event = "exit";
		step.path = "/";
		strbuf_addf(&step.text, "supd ends with status %d", (int)action->status);
		wanted = true;
	} else if (action->kind == ACTION_REPORT && action->ref.slot != CORE_ROOT) {
		step.event = report_names[action->report];
		step.path = path_of(writer, action->ref);
		wanted = describe_report(writer, core, action, &step);
	}
	if (wanted)
		write_step(writer->simulation, writer->out, &step);
	strbuf_done(&step.text);
	outcome_take(&writer->outcome, at_ms, core, action, &writer->bounds);
}

/* What has become of the worker; core: NULL: it could not even be started. */
static void
write_summary(const struct writer *writer, const struct core *core, struct strbuf *out)
{
	struct step step = {
	    .at_ms = writer->outcome.last_ms,
	    .event = "summary",
	    .path = path_of(writer, writer->outcome.worker),
	    .text = STRBUF(TEXT_BYTES_MAX),
	};

	if (core == NULL)
		strbuf_adds(&step.text, "it cannot be started now");
	else
		outcome_describe(&writer->outcome, core, writer->simulation, &step.text);
	write_step(writer->simulation, out, &step);
	strbuf_done(&step.text);
}

int
simulate(const struct simulation *simulation, struct ref worker, struct strbuf *out,
         struct strbuf *summaries)
{
	struct writer writer = {.simulation = simulation, .out = out};
	struct forecast *forecast = forecast_new(simulation->core, simulation->now_ms);

	if (forecast == NULL)
		return -ENOMEM;
	outcome_init(&writer.outcome, worker);
	int r = forecast_fail(forecast, worker, &simulation->cause, simulation->times,
	                      &(const struct forecast_watch){take_action, &writer});
	if (r == 0) {
		write_summary(&writer, forecast_core(forecast), summaries);
	} else if (r == -EINVAL && simulation->is_part) {
		write_summary(&writer, NULL, summaries);
		r = 0;
	}
	forecast_free(forecast);
	return r == 0 && (out->failed || summaries->failed) ? -E2BIG : r;
}
