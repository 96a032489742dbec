/* SPDX-License-Identifier: ISC */
/* test_notify.c - what a process says of itself, how often the core hears of it, and that
 * it waits where the core has been told enough for one turn. */
#include "config.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/messages/readiness.h"
#include "daemon/messages/stores.h"
#include "daemon/processes/procs_private.h"
#include "daemon/processes/tasks_private.h"
#include "daemon/state/post.h"
#include "daemon/state/proctable.h"
#include "ledger/exits.h"
#include "ledger/ledger.h"
#include "os/socket/sdnotify.h"
#include "tests/lib/fake_rooms.h"

/* A journal with room for two turns in which as much is said as can be. */
enum { TIMES = 100, SLOTS = 8, JOURNAL = 2 * QUEUE_SAID_MAX };

static struct fake *fake;
static struct proctable *table;
static struct conf_process process = {.readiness.sign = READY_BY_NOTIFY};
static struct notifier notifier;
static struct ref ref;
/* Of the processes that the walker tells of. */
static struct processes room;
static struct tasks tasks = {.room = &room};

/* This program is the process of the actor. */
static void
begin_life(void)
{
	table->at[ref.slot].ref = ref;
	table->at[ref.slot].life = rig_view(&fake->rig, ref).process.life;
	table->at[ref.slot].child.pid = getpid();
	proc_enter(&table->at[ref.slot], PROC_RUNS);
}

static void
on_main_pid(void *data, struct ref of, pid_t pid)
{
	(void)data;
	(void)of;
	(void)pid;
}

static void
open_messages(void)
{
	struct messages *messages = &fake->messages;

	*messages = (struct messages){
	    .loop = fake->supd.loop,
	    .engine = &fake->supd.engine,
	    .actors = &fake->supd.actors,
	    .events = &fake->supd.events,
	    .recording = &fake->supd.recording,
	    .post = fake->supd.post,
	    .keeper = fake->supd.keeper,
	    .proctable = table,
	    .closers = &fake->supd.closers,
	};
	messages->notify = notify_new(messages, on_main_pid, NULL, NULL);
	messages->readiness = readiness_new(messages, NULL);
	messages->stores = stores_new(fake->supd.loop, fake->supd.keeper, NULL);
	ck_assert_int_eq(notify_reserve(messages->notify, SLOTS), 0);
	ck_assert_int_eq(stores_reserve(messages->stores, SLOTS), 0);
	ck_assert_int_eq(readiness_reserve(messages->readiness, SLOTS), 0);
}

static void
open_socket(void)
{
	char address[NOTIFY_NAME_MAX], variable[NOTIFY_NAME_MAX + 16];
	char *env[] = {variable, NULL};

	ck_assert_int_eq(notify_open(fake->messages.notify, ref, address), 0);
	(void)snprintf(variable, sizeof(variable), "NOTIFY_SOCKET=%s", address);
	notifier_open(&notifier, env, getpid());
}

static void
set_up(void)
{
	const struct ledger_size size = {
	    .slots = SLOTS, .journal = JOURNAL, .core_bytes = 1, .events_bytes = 1};
	struct spec spec;

	fake = fake_new();
	ledger_free(fake->supd.recording.ledger);
	fake->supd.recording.ledger = ledger_new(&size, NULL);
	ledger_checkpoint(fake->supd.recording.ledger, &(struct core_used){.first = 0});
	table = proctable_new(NULL);
	ck_assert_int_eq(proctable_reserve(table, SLOTS), 0);
	fake->supd.recording.actors = &fake->supd.actors;
	fake->supd.recording.proctable = table;
	spec_default(&spec, NODE_WORKER);
	spec.start.ready = READY_TOLD;
	spec.backoff.none = true;
	ref = fake_add_spec(fake, "/user/a", &spec);
	fake->confs[ref.slot].process = &process;
	fake_boot(fake);
	open_messages();
	open_socket();
	begin_life();
}

static void
tear_down(void)
{
	notifier_close(&notifier);
	notify_free(fake->messages.notify);
	readiness_free(fake->messages.readiness);
	stores_free(fake->messages.stores);
	fake->messages = (struct messages){0};
	fake_free(fake);
	proctable_free(table);
}

/* The process says it again and again; how many events there are for the core then. */
static size_t
say(const char *text)
{
	for (int i = 0; i < TIMES; i++) {
		ck_assert_int_eq(notifier_send(&notifier, text), 0);
		notify_drain(fake->messages.notify);
	}
	return fake->supd.post->posted.n;
}

START_TEST(readiness_is_posted_once_in_a_life_however_often_it_is_said)
{
	ck_assert_int_eq(fake_state(fake, "/user/a"), STATE_STARTING);
	ck_assert_uint_eq(say("READY=1"), 1);
	ck_assert_int_eq(fake->supd.post->posted.events[0].kind, EVENT_READY);
	fake_run(fake);
	ck_assert_int_eq(fake_state(fake, "/user/a"), STATE_RUNNING);
	ck_assert_uint_eq(say("READY=1"), 0);
	fake_dies(fake, "/user/a", 1, 0);
	fake_run(fake);
	ck_assert_int_eq(fake_state(fake, "/user/a"), STATE_STARTING);
	begin_life();
	ck_assert_uint_eq(say("READY=1"), 1);
	fake_run(fake);
	ck_assert_int_eq(fake_state(fake, "/user/a"), STATE_RUNNING);
}
END_TEST

START_TEST(a_sign_of_life_is_posted_once_a_turn)
{
	for (int turn = 0; turn < 3; turn++) {
		ck_assert_uint_eq(say("WATCHDOG=1"), 1);
		ck_assert_int_eq(fake->supd.post->posted.events[0].kind, EVENT_WATCHDOG);
		fake_run(fake);
		fake->supd.post->n_turns++;
	}
}
END_TEST

/* ---- a turn in which the processes have said as much as they may ------------------- */

static size_t
fill_the_turn(void)
{
	const struct event said = {.kind = EVENT_WATCHDOG, .ref = REF_NONE, .code = -1};
	struct post *post = fake->supd.post;

	while (post_has_room(post, 1))
		ck_assert(post_event(post, &said));
	return post->posted.n;
}

/* The core is told of all that was posted, and the next turn begins. */
static void
begin_a_turn(void)
{
	queue_clear(&fake->supd.post->posted);
	fake->supd.post->n_written = 0;
	fake->supd.post->n_turns++;
}

/* What waited in the turn before is the only event of this turn. */
static void
assert_posted(enum event_kind kind)
{
	const struct queue *posted = &fake->supd.post->posted;

	ck_assert_uint_eq(posted->n, 1);
	ck_assert_int_eq(posted->events[0].kind, kind);
	ck_assert(ref_equal(posted->events[0].ref, ref));
}

START_TEST(a_notification_stays_in_its_socket_while_the_turn_is_full)
{
	const size_t full = fill_the_turn();

	ck_assert_int_eq(notifier_send(&notifier, "X_SUPD_FAIL=disk"), 0);
	notify_drain(fake->messages.notify);
	ck_assert_uint_eq(fake->supd.post->posted.n, full);
	begin_a_turn();
	notify_drain(fake->messages.notify);
	assert_posted(EVENT_SELF_REPORT);
	ck_assert_str_eq(fake->supd.post->posted.events[0].key, "disk");
	begin_a_turn();
	notify_drain(fake->messages.notify);
	ck_assert_uint_eq(fake->supd.post->posted.n, 0);
}
END_TEST

START_TEST(a_newline_stays_in_its_pipe_while_the_turn_is_full)
{
	struct readiness *readiness = fake->messages.readiness;
	const size_t full = fill_the_turn();
	int fd = readiness_open(readiness, actors_get(&fake->supd.actors, ref));

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, "\n", 1), 1);
	readiness_drain(readiness);
	ck_assert_uint_eq(fake->supd.post->posted.n, full);
	begin_a_turn();
	readiness_drain(readiness);
	assert_posted(EVENT_READY);
	begin_a_turn();
	readiness_drain(readiness);
	ck_assert_uint_eq(fake->supd.post->posted.n, 0);
	(void)close(fd);
}
END_TEST

/* A process that stands still. */
static pid_t
start_stopped(void)
{
	pid_t pid = fork();
	int status;

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		(void)raise(SIGSTOP);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
	ck_assert(WIFSTOPPED(status));
	return pid;
}

START_TEST(a_stop_by_a_signal_stays_with_the_walker_while_the_turn_is_full)
{
	const pid_t pid = start_stopped();
	const struct reap stop = {.pid = pid, .kind = REAP_STOPPED, .status = SIGSTOP};
	struct procs procs = {.room = &room,
	                      .actors = &fake->supd.actors,
	                      .table = table,
	                      .exits = exits_new(NULL)};
	const size_t full = fill_the_turn();

	ck_assert_ptr_nonnull(procs.exits);
	room = (struct processes){.recording = &fake->supd.recording,
	                          .post = fake->supd.post,
	                          .procs = &procs,
	                          .tasks = &tasks};
	ck_assert_int_eq(map_put(&table->by_pid, (uint64_t)pid, ref.slot), 0);
	table->at[ref.slot].child.pid = pid;
	ck_assert(exits_add(procs.exits, &stop));
	ck_assert(!ends_take_exit(&procs));
	ck_assert_uint_eq(fake->supd.post->posted.n, full);
	ck_assert(!fake->actors[ref.slot].sigstopped);
	begin_a_turn();
	ck_assert(ends_take_exit(&procs));
	assert_posted(EVENT_PAUSED);
	ck_assert(fake->actors[ref.slot].sigstopped);
	ck_assert(!ends_take_exit(&procs));
	exits_free(procs.exits);
	(void)kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

static void
add_tests(TCase *tcase)
{
	tcase_add_test(tcase,
	               readiness_is_posted_once_in_a_life_however_often_it_is_said);
	tcase_add_test(tcase, a_sign_of_life_is_posted_once_a_turn);
	tcase_add_test(tcase, a_notification_stays_in_its_socket_while_the_turn_is_full);
	tcase_add_test(tcase, a_newline_stays_in_its_pipe_while_the_turn_is_full);
	tcase_add_test(tcase,
	               a_stop_by_a_signal_stays_with_the_walker_while_the_turn_is_full);
}

int
main(void)
{
	return fake_main("notify", set_up, tear_down, add_tests);
}
