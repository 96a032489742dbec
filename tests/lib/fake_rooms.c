/* SPDX-License-Identifier: ISC */
/* fake_rooms.c - rooms without processes around the real core and the real control
 * server. */
#include "config.h"

#include "tests/lib/fake_rooms.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "daemon/processes/processes.h"
#include "daemon/processes/procs.h"
#include "daemon/state/actors.h"
#include "daemon/state/cause.h"
#include "daemon/state/engine.h"
#include "daemon/state/keeper.h"
#include "daemon/state/post.h"
#include "ledger/ledger.h"
#include "os/self/clock.h"

static char fake_conf_file[] = FAKE_CONF_FILE;
static char *fake_conf_files[] = {fake_conf_file};

/* ---- what the control server expects of the rooms ---------------------------------- */

/* The linker calls these instead of the functions without `__wrap_`: an actor has the
 * number of a process here, and no process. */
int __wrap_procs_signal(struct procs *procs, struct ref ref, int signo);
int __wrap_procs_reload(struct procs *procs, struct ref ref);
void __wrap_procs_add_up(const struct procs *procs);
bool __wrap_procs_usage(const struct procs *procs, struct ref ref, struct usage *ret);
bool __wrap_procs_are_starting(const struct procs *procs);

int
__wrap_procs_signal(struct procs *procs, struct ref ref, int signo)
{
	struct fake *fake = (struct fake *)(void *)procs;
	const struct actor *actor = actors_get(&fake->supd.actors, ref);

	if (actor == NULL || actor->pid == 0)
		return -ESRCH;
	fake->last_signal = signo;
	fake->n_signals++;
	return 0;
}

int
__wrap_procs_reload(struct procs *procs, struct ref ref)
{
	return __wrap_procs_signal(procs, ref, SIGHUP);
}

void
__wrap_procs_add_up(const struct procs *procs)
{
	(void)procs;
}

bool
__wrap_procs_usage(const struct procs *procs, struct ref ref, struct usage *ret)
{
	(void)procs;
	(void)ref;
	(void)ret;
	return false;
}

bool
__wrap_procs_are_starting(const struct procs *procs)
{
	(void)procs;
	return false;
}

/* ---- the rooms --------------------------------------------------------------------- */

static void
fill_reporter(struct fake *fake)
{
	fake->reporter = (struct reporter){
	    .engine = &fake->supd.engine,
	    .actors = &fake->supd.actors,
	    .events = &fake->supd.events,
	    .recording = &fake->supd.recording,
	    .post = fake->supd.post,
	    .keeper = fake->supd.keeper,
	    .loop = fake->supd.loop,
	    .origin = &fake->supd.origin,
	    .processes = &fake->processes,
	    .messages = &fake->messages,
	    .sockets = &fake->sockets,
	};
	fake->supd.reporter = &fake->reporter;
}

static void
fill_sockets(struct fake *fake)
{
	fake->sockets = (struct sockets){
	    .loop = fake->supd.loop,
	    .engine = &fake->supd.engine,
	    .actors = &fake->supd.actors,
	    .events = &fake->supd.events,
	    .recording = &fake->supd.recording,
	    .post = fake->supd.post,
	    .keeper = fake->supd.keeper,
	};
	fake->supd.sockets = &fake->sockets;
}

/* The figures, and the control server without a socket. */
static void
open_control(struct fake *fake)
{
	fake->supd.control_file = &fake->control_file;
	fake->control_file.fd = -1;
	scraper_open(fake->supd.loop, &(struct scraped){
	                                  .engine = &fake->supd.engine,
	                                  .actors = &fake->supd.actors,
	                                  .events = &fake->supd.events,
	                                  .recording = &fake->supd.recording,
	                                  .origin = &fake->supd.origin,
	                                  .procs = fake->processes.procs,
	                                  .bounded = &fake->supd.bounded,
	                              });
	fake->reloader = (struct reloader){
	    .loop = fake->supd.loop,
	    .origin = &fake->supd.origin,
	    .engine = &fake->supd.engine,
	    .actors = &fake->supd.actors,
	    .recording = &fake->supd.recording,
	    .processes = &fake->processes,
	    .bounded = &fake->supd.bounded,
	    .before_fd = -1,
	};
	fake->uses = (struct control_uses){
	    .loop = fake->supd.loop,
	    .engine = &fake->supd.engine,
	    .actors = &fake->supd.actors,
	    .events = &fake->supd.events,
	    .recording = &fake->supd.recording,
	    .post = fake->supd.post,
	    .keeper = fake->supd.keeper,
	    .origin = &fake->supd.origin,
	    .procs = fake->processes.procs,
	    .spawner = &fake->supd.spawner,
	    .closers = &fake->supd.closers,
	    .file = &fake->control_file,
	    .reporter = &fake->reporter,
	    .upgrader = &fake->upgrader,
	    .reloader = &fake->reloader,
	};
	fake->supd.control = control_alloc(&fake->uses);
}

struct fake *
fake_new(void)
{
	/* Only what is remembered of commands is used of it. */
	const struct ledger_size size = {
	    .slots = 1, .journal = 1, .core_bytes = 1, .events_bytes = 1};
	struct fake *fake = calloc(1, sizeof(*fake));

	fake->supd.loop = ev_loop_new(EVFLAG_AUTO);
	rig_init(&fake->rig, 8, 1);
	fake->rig.now_ms = clock_mono_ms();
	fake_begin_link(fake);
	keeper_settled(fake->supd.keeper);
	fake->supd.post = post_new(&fake->supd.engine, &fake->supd.recording);
	ASSERT(post_reserve(fake->supd.post, FAKE_ACTORS_MAX) == 0);
	fake->confs = calloc(FAKE_ACTORS_MAX, sizeof(*fake->confs));
	fake->specs = calloc(FAKE_ACTORS_MAX, sizeof(*fake->specs));
	fake->actors = calloc(FAKE_ACTORS_MAX, sizeof(*fake->actors));
	for (size_t i = 0; i < FAKE_ACTORS_MAX; i++)
		fake->actors[i].ref = REF_NONE;
	fake->conf.files = fake_conf_files;
	fake->conf.n_files = 1;
	fake->conf.actors = fake->confs;
	fake->supd.actors.conf = &fake->conf;
	fake->supd.origin.conf_file = fake_conf_file;
	fake->supd.engine.core = fake->rig.core;
	fake->supd.engine.now_ms = fake->rig.now_ms;
	fake->supd.recording.facts.started_ms = fake->rig.now_ms;
	fake->supd.actors.at = fake->actors;
	fake->supd.actors.cap = FAKE_ACTORS_MAX;
	fake->supd.messages = &fake->messages;
	fill_sockets(fake);
	fill_reporter(fake);
	fake->supd.processes = &fake->processes;
	fake->processes.procs = (struct procs *)(void *)fake;
	ASSERT(events_init(&fake->supd.events) == 0);
	events_attach(&fake->supd.events, calloc(1, sizeof(struct events_ring)));
	fake->supd.recording.ledger = ledger_new(&size, NULL);
	ASSERT(fake->supd.recording.ledger != NULL);
	open_control(fake);
	(void)fake_add(fake, "/user", NODE_SUPERVISOR);
	return fake;
}

void
fake_free(struct fake *fake)
{
	control_free(fake->supd.control);
	scraper_close();
	ledger_free(fake->supd.recording.ledger);
	free(fake->supd.events.ring);
	events_done(&fake->supd.events);
	map_done(&fake->supd.actors.by_path);
	for (size_t i = 0; i < FAKE_ACTORS_MAX; i++) {
		free(fake->actors[i].path);
		free(fake->confs[i].base);
	}
	rig_done(&fake->rig);
	fake_end_walker(fake);
	ev_loop_destroy(fake->supd.loop);
	post_free(fake->supd.post);
	free(fake->confs);
	free(fake->specs);
	free(fake->actors);
	free(fake);
}

static struct ref
fake_parent(struct fake *fake, const char *path)
{
	char parent[256];
	char *slash;

	(void)snprintf(parent, sizeof(parent), "%s", path);
	slash = strrchr(parent, '/');
	if (slash == parent)
		return core_ref(fake->rig.core, CORE_ROOT);
	*slash = '\0';
	return fake_ref(fake, parent);
}

/* Of all actors: as good as nothing is started here. */
static struct conf_process no_process;

struct ref
fake_add_spec(struct fake *fake, const char *path, const struct spec *spec)
{
	struct ref ref = rig_add(&fake->rig, fake_parent(fake, path), REF_NONE, spec);
	struct conf_actor *conf = &fake->confs[ref.slot];
	struct actor *actor = &fake->actors[ref.slot];
	const char *at = strchr(path, '@');

	fake->supd.engine.core = fake->rig.core;
	free(actor->path);
	*actor =
	    (struct actor){.ref = ref, .path = strdup(path), .conf = conf, .conf_id = 1};
	free(conf->base);
	fake->specs[ref.slot] = (struct conf_spec){.core = *spec};
	*conf = (struct conf_actor){
	    .path = actor->path, .spec = &fake->specs[ref.slot], .process = &no_process};
	if (at != NULL) {
		const char *name = strrchr(path, '/') + 1;

		conf->base = strndup(name, (size_t)(at - name));
	}
	ASSERT(map_put_name(&fake->supd.actors.by_path, actor->path, ref.slot) == 0);
	return ref;
}

struct ref
fake_add(struct fake *fake, const char *path, enum node_kind kind)
{
	struct spec spec;

	spec_default(&spec, kind);
	spec.backoff.none = true;
	return fake_add_spec(fake, path, &spec);
}

struct ref
fake_ref(struct fake *fake, const char *path)
{
	return actors_find(&fake->supd.actors, path);
}

enum node_state
fake_state(struct fake *fake, const char *path)
{
	return rig_view(&fake->rig, fake_ref(fake, path)).state;
}

/* What the guardian writes into the stream for a report. */
static void
write_report(struct fake *fake, const struct action *action)
{
	struct supd *supd = &fake->supd;
	struct events *events = &supd->events;
	const struct event_head head = {.kind = (uint8_t)action->report,
	                                .path = actors_path(&supd->actors, action->ref)};
	struct strbuf rule;

	strbuf_init(&rule, 10000);
	events_begin(events, &head);
	events_cause(events, &action->cause, NULL);
	if (action->report == REPORT_FAILURE || action->report == REPORT_ESCALATED)
		events_text(events, FIELD_ORIGIN,
		            actors_path(&supd->actors, action->origin));
	if (action->report == REPORT_FAILURE) {
		events_text(events, FIELD_DIRECTIVE,
		            directive_names[action->ruling.directive]);
		rule_text(&rule, supd->actors.conf, action->ruling.preset,
		          action->ruling.place, action->ruling.reason);
		events_text(events, FIELD_RULE, strbuf_str(&rule));
		events_number(events, FIELD_WINDOW, action->window);
		events_number(events, FIELD_DELAY, (int64_t)action->delay_ms);
	}
	if (action->report == REPORT_GAVE_UP) {
		events_number(events, FIELD_INTENSITY, action->limit);
		events_text(events, FIELD_OFFENDER,
		            actors_path(&supd->actors, action->origin));
	}
	if (action->report == REPORT_ESCALATED)
		events_text(events, FIELD_TO, actors_path(&supd->actors, action->to));
	events_end(events);
	strbuf_done(&rule);
}

static void
perform(struct fake *fake, const struct action *action)
{
	struct actor *actor = actors_get(&fake->supd.actors, action->ref);
	struct event event = {.ref = action->ref, .life = action->life};

	switch (action->kind) {
	case ACTION_SPAWN:
		if (fake->exec_error != 0) {
			event.kind = EVENT_SPAWN_FAILED;
			event.error = fake->exec_error;
		} else {
			event.kind = EVENT_SPAWNED;
			actor->pid = (pid_t)(1000 + action->ref.slot);
			actor->process_started_ms = fake->rig.now_ms;
		}
		if (!fake->never_ready)
			post_event(fake->supd.post, &event);
		break;
	case ACTION_STOP:
	case ACTION_KILL:
		if (!fake->keeps_alive)
			fake_dies(fake, actor->path, -1, 15);
		break;
	case ACTION_REPLY:
		control_remember(fake->supd.control, fake->supd.recording.ledger,
		                 &fake->supd.engine, action);
		control_on_reply(fake->supd.control, action);
		break;
	case ACTION_REPORT:
		write_report(fake, action);
		break;
	case ACTION_ADDED:
		break;
	case ACTION_REMOVED:
		if (actor != NULL) {
			map_remove_name(&fake->supd.actors.by_path, actor->path);
			actor->ref = REF_NONE;
		}
		break;
	case ACTION_CLEAR:
	case ACTION_CONTINUE:
	case ACTION_PROBE:
	case ACTION_HOOK:
	case ACTION_HOOK_KILL:
	case ACTION_SIGNAL:
	case ACTION_REACT:
	case ACTION_LISTEN:
	case ACTION_FREEZE:
	case ACTION_THAW:
	case ACTION_EXIT:
	case ACTION_KIND_MAX:
		break;
	}
}

static void
post(struct fake *fake, const struct event *event)
{
	fake->n_unwaited += event->kind == EVENT_UNWAIT;
	rig_post(&fake->rig, event);
	if (event->token != 0 && event->kind != EVENT_UNWAIT)
		control_on_posted(fake->supd.recording.ledger, event->token);
}

static void
turn(struct fake *fake)
{
	struct post *posted = fake->supd.post;
	const struct queue queue = posted->posted;

	/* What is posted meanwhile is for the next turn. */
	posted->posted = posted->stepping;
	posted->stepping = queue;
	queue_clear(&posted->posted);
	for (size_t i = 0; i < queue.n; i++)
		post(fake, &queue.events[i]);
	if (core_deadline(fake->rig.core) <= fake->rig.now_ms)
		rig_tick(&fake->rig);
	rig_settle(&fake->rig);
	for (; fake->performed < fake->rig.n_log; fake->performed++) {
		const struct action action = fake->rig.log[fake->performed];

		perform(fake, &action);
	}
	rig_forget(&fake->rig);
	fake->performed = 0;
	if (!fake->cut)
		control_on_turn(fake->supd.control);
}

/* True while a child reads a configuration.  Of another child, which was killed and is
 * slow to die, no event would come. */
static bool
is_loading(struct fake *fake)
{
	struct bounded *bounded = &fake->supd.bounded;

	for (int i = 0; i < BOUNDED_MAX; i++)
		if (bounded->owners[i] == BOUNDED_CONF && bounded_works(bounded, i))
			return true;
	return false;
}

/* Turns, until nothing more comes of them. */
void
fake_run(struct fake *fake)
{
	for (int i = 0; i < 1000; i++) {
		ev_run(fake->supd.loop, is_loading(fake) ? EVRUN_ONCE : EVRUN_NOWAIT);
		turn(fake);
		if (fake->supd.post->posted.n == 0 && i > 2 && !is_loading(fake) &&
		    !control_is_waiting(fake->supd.control))
			break;
	}
	fake_walk(fake);
}

void
fake_boot(struct fake *fake)
{
	const struct event boot = {.kind = EVENT_BOOT, .ref = REF_NONE};

	post_event(fake->supd.post, &boot);
	fake_run(fake);
}

/* A booted fake of /user with a, b, and app, which has api and two replicas of crawl. */
struct fake *
fake_family(void)
{
	struct fake *fake = fake_new();

	(void)fake_add(fake, "/user/a", NODE_WORKER);
	(void)fake_add(fake, "/user/b", NODE_WORKER);
	(void)fake_add(fake, "/user/app", NODE_SUPERVISOR);
	(void)fake_add(fake, "/user/app/api", NODE_WORKER);
	(void)fake_add(fake, "/user/app/crawl@1", NODE_WORKER);
	(void)fake_add(fake, "/user/app/crawl@2", NODE_WORKER);
	fake_boot(fake);
	return fake;
}

/* The process of an actor ends; the core hears of it in the next turn. */
void
fake_dies(struct fake *fake, const char *path, int code, int signo)
{
	struct ref ref = fake_ref(fake, path);
	const struct event event = {
	    .kind = EVENT_EXITED,
	    .ref = ref,
	    .life = rig_view(&fake->rig, ref).process.life,
	    .code = code,
	    .signal = signo,
	    .gone = true,
	};

	fake->actors[ref.slot].pid = 0;
	post_event(fake->supd.post, &event);
}
