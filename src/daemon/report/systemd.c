/* SPDX-License-Identifier: ISC */
/* systemd.c - towards the service manager: READY, STATUS, STOPPING, WATCHDOG. */
#include "config.h"

#include "daemon/report/systemd.h"

#include <errno.h>
#include <ev.h>
#include <stdio.h>
#include <string.h>

#include "base/bounds.h"
#include "base/units.h"
#include "daemon/report/report.h"
#include "daemon/state/actors.h"
#include "daemon/state/engine.h"
#include "daemon/state/events.h"
#include "daemon/state/keeper.h"
#include "daemon/state/options.h"
#include "daemon/state/recording.h"
#include "helper/watchers.h"
#include "ledger/handover.h"
#include "os/self/clock.h"
#include "os/socket/sdnotify.h"

#define TEXT_MAX 256
/* Counting looks at every actor: not at each event, and at the end of a burst. */
#define STATUS_SECONDS 0.2
/* While it stops, supd asks this often for this much more time, as long as it may need
 * the time.
 */
#define STOPPING_EVERY_S 10.
#define STOPPING_MORE_MS UINT64_C(30000)
/* What supd itself needs to end, besides its actors. */
#define STOPPING_OWN_MS UINT64_C(5000)

static struct service_manager {
	const struct reporter *reporter; /* NULL: not open */
	struct notifier notifier;
	ev_timer watchdog;
	ev_timer count; /* something happened: STATUS= is due */
	ev_timer stopping;
	uint64_t stop_by_ms; /* the ordered stop has ended then, DURATION_INFINITE:
	                        perhaps not */
	uint64_t told_seq;
	char status[TEXT_MAX];
} service_manager = {.notifier.fd = -1};

/* Have the walker say it, if there is a service manager. */
static void
say(const struct reporter *reporter, const char *text)
{
	if (service_manager.notifier.fd >= 0)
		keeper_notify(reporter->keeper, text);
}

static void
on_watchdog(struct ev_loop *loop UNUSED, ev_timer *timer UNUSED, int revents UNUSED)
{
	say(service_manager.reporter, "WATCHDOG=1");
}

static uint64_t
add_ms(uint64_t a, uint64_t b)
{
	return a > DURATION_INFINITE - b ? DURATION_INFINITE : a + b;
}

static uint64_t
times(uint64_t ms, uint64_t factor)
{
	return ms > DURATION_INFINITE / factor ? DURATION_INFINITE : ms * factor;
}

/* How long an actor may take to stop: its hooks, its process, and its death. */
static uint64_t
stop_time(const struct conf_actor *actor)
{
	const struct spec *spec = &actor->spec->core;
	uint64_t ms = 0;

	for (int hook = HOOK_PRE_RESTART; hook < HOOK_MAX; hook++)
		if (hook != HOOK_POST_RESTART && (spec->hooks >> hook & 1) != 0)
			ms = add_ms(ms, add_ms(spec->hook_timeout_ms,
			                       spec->stop.kill_timeout_ms));
	if (spec->kind == NODE_SUPERVISOR)
		return ms;
	if (spec->stop.mode == SHUTDOWN_INFINITY)
		return DURATION_INFINITE;
	if (spec->stop.mode == SHUTDOWN_TIMEOUT)
		ms = add_ms(
		    ms, times(spec->stop.shutdown_ms,
		              actor->process->readiness.notify ? CORE_EXTEND_FACTOR : 1));
	return add_ms(ms, spec->stop.kill_timeout_ms);
}

/* The sum for all that run: no ordered stop takes longer (DECISIONS 57). */
static uint64_t
stop_times(const struct reporter *reporter)
{
	const struct ref root = core_ref(reporter->engine->core, CORE_ROOT);
	uint64_t ms = STOPPING_OWN_MS;

	CORE_FOREACH_BELOW (ref, reporter->engine->core, root) {
		const struct actor *actor = actors_get(reporter->actors, ref);

		const struct node_view view = engine_view(reporter->engine, ref);
		if (actor != NULL && (view.process.alive || view.kind == NODE_SUPERVISOR))
			ms = add_ms(ms, stop_time(actor->conf));
	}
	return ms;
}

/* Ask the service manager for more time, but not beyond `until_ms`. */
static void
ask_for_time(const struct reporter *reporter, const char *first, uint64_t until_ms)
{
	const uint64_t now_ms = clock_mono_ms();
	const uint64_t more_ms =
	    until_ms > now_ms ? SMALLER(until_ms - now_ms, STOPPING_MORE_MS) : 0;
	char text[TEXT_MAX];

	(void)snprintf(text, sizeof(text), "%sEXTEND_TIMEOUT_USEC=%llu", first,
	               (unsigned long long)more_ms * 1000);
	say(reporter, text);
}

static void
on_still_stopping(struct ev_loop *loop, ev_timer *timer, int revents UNUSED)
{
	if (service_manager.stop_by_ms == 0)
		service_manager.stop_by_ms =
		    add_ms(clock_mono_ms(), stop_times(service_manager.reporter));
	if (clock_mono_ms() < service_manager.stop_by_ms)
		ask_for_time(service_manager.reporter, "", service_manager.stop_by_ms);
	else
		ev_timer_stop(loop, timer);
}

/* "STATUS=42 running, 1 failed", and how many wait for others. */
static void
count(const struct reporter *reporter, char text[TEXT_MAX])
{
	struct ref top = core_ref(reporter->engine->core, CORE_USER);
	unsigned int running = 0, failed = 0, waiting = 0;

	CORE_FOREACH (ref, reporter->engine->core, top) {
		const struct node_view view = engine_view(reporter->engine, ref);
		if (view.kind == NODE_SUPERVISOR)
			continue;
		running += view.state == STATE_RUNNING;
		failed += view.state == STATE_FAILED;
		waiting += view.state == STATE_WAITING;
	}
	int n = snprintf(text, TEXT_MAX, "STATUS=%u running, %u failed", running, failed);
	if (waiting > 0 && n > 0 && n < TEXT_MAX)
		(void)snprintf(text + n, (size_t)(TEXT_MAX - n), ", %u waiting", waiting);
}

static void
tell_status(void)
{
	char text[TEXT_MAX];

	if (service_manager.notifier.fd < 0)
		return;
	count(service_manager.reporter, text);
	if (strcmp(text, service_manager.status) == 0)
		return;
	(void)snprintf(service_manager.status, sizeof(service_manager.status), "%s",
	               text);
	say(service_manager.reporter, text);
}

static void
on_count(struct ev_loop *loop UNUSED, ev_timer *timer UNUSED, int revents UNUSED)
{
	tell_status();
}

/*
 * Say again what the guardian before this was to say, because it may have died before.
 * systemd does not mind to hear that twice, but waits for a message that never comes,
 * also after RELOADING=1; and it has to be asked for more time again and again during a
 * stop.
 */
static void
say_again(const struct reporter *reporter)
{
	if (reporter->recording->facts.shutting_down)
		systemd_stopping(reporter);
	else if (reporter->recording->facts.is_ready)
		say(reporter, "READY=1");
}

/* Listen to NOTIFY_SOCKET and WATCHDOG_USEC; without them nothing is ever sent. */
void
systemd_open(const struct reporter *reporter)
{
	/* WATCHDOG_PID is the walker, and the walker speaks for us. */
	notifier_open(&service_manager.notifier, reporter->origin->environ,
	              reporter->origin->walker_pid);
	service_manager.reporter = reporter;
	ev_timer_init(&service_manager.stopping, on_still_stopping, STOPPING_EVERY_S,
	              STOPPING_EVERY_S);
	ev_timer_init(&service_manager.count, on_count, STATUS_SECONDS, 0.);
	say_again(reporter);
	if (service_manager.notifier.watchdog_us == 0)
		return;
	/* At once, too: the last one to speak may have done so a while ago. */
	ev_timer_init(&service_manager.watchdog, on_watchdog, 0.,
	              (double)service_manager.notifier.watchdog_us / 1e6 / 2.);
	ev_timer_start(reporter->loop, &service_manager.watchdog);
}

void
systemd_close(const struct reporter *reporter)
{
	if (service_manager.reporter != NULL) {
		ev_timer_stop(reporter->loop, &service_manager.watchdog);
		ev_timer_stop(reporter->loop, &service_manager.stopping);
		ev_timer_stop(reporter->loop, &service_manager.count);
	}
	notifier_close(&service_manager.notifier);
	service_manager.reporter = NULL;
}

void
systemd_on_turn(const struct reporter *reporter)
{
	if (service_manager.reporter == NULL ||
	    service_manager.told_seq == reporter->events->next_seq)
		return;
	service_manager.told_seq = reporter->events->next_seq;
	const struct ref top = core_ref(reporter->engine->core, CORE_USER);
	if (!reporter->recording->facts.is_ready &&
	    core_valid(reporter->engine->core, top) &&
	    engine_view(reporter->engine, top).state == STATE_RUNNING) {
		reporter->recording->facts.is_ready = true;
		record_facts(reporter->recording);
		report_supd(reporter, "ready");
		/* Before READY, so that a reader of STATUS finds the text. */
		tell_status();
		say(reporter, "READY=1");
	}
	if (service_manager.notifier.fd < 0 || ev_is_active(&service_manager.count))
		return;
	timer_begin(reporter->loop, &service_manager.count, STATUS_SECONDS);
}

void
systemd_reloading(const struct reporter *reporter)
{
	char text[TEXT_MAX];

	(void)snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%llu",
	               (unsigned long long)(clock_mono_ns() / 1000));
	say(reporter, text);
}

void
systemd_reloaded(const struct reporter *reporter)
{
	if (reporter->recording->facts.is_ready)
		say(reporter, "READY=1");
}

/*
 * The ordered stop has begun.  How long it may take is known to the tree only; so the
 * service manager's timeout is put off for as long as that.  Without that its timeout had
 * to be infinite, and one actor that ignores SIGTERM would keep a killed supd from being
 * started again.
 */
void
systemd_stopping(const struct reporter *reporter)
{
	/* A new guardian knows that supd stops, but has no core yet. */
	const uint64_t until_ms = reporter->engine->core == NULL
	                              ? 0
	                              : add_ms(clock_mono_ms(), stop_times(reporter));

	ask_for_time(reporter, "STOPPING=1\n",
	             until_ms == 0 ? DURATION_INFINITE : until_ms);
	if (service_manager.reporter == NULL)
		return;
	service_manager.stop_by_ms = until_ms;
	if (service_manager.notifier.fd >= 0)
		ev_timer_start(reporter->loop, &service_manager.stopping);
}
