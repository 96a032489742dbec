/* SPDX-License-Identifier: ISC */
/* test_notify.c - what a process says of itself, and how often the core hears of it. */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <unistd.h>

#include "daemon/messages/readiness.h"
#include "daemon/messages/stores.h"
#include "daemon/state/post.h"
#include "daemon/state/proctable.h"
#include "ledger/ledger.h"
#include "os/socket/sdnotify.h"
#include "tests/lib/fake_rooms.h"

enum { TIMES = 100, SLOTS = 8 };

static struct fake *fake;
static struct proctable *table;
static struct conf_process process = {.readiness.sign = READY_BY_NOTIFY};
static struct notifier notifier;
static struct ref ref;

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
	    .slots = SLOTS, .journal = 1, .core_bytes = 1, .events_bytes = 1};
	struct spec spec;

	fake = fake_new();
	ledger_free(fake->supd.recording.ledger);
	fake->supd.recording.ledger = ledger_new(&size, NULL);
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

static void
add_tests(TCase *tcase)
{
	tcase_add_test(tcase,
	               readiness_is_posted_once_in_a_life_however_often_it_is_said);
	tcase_add_test(tcase, a_sign_of_life_is_posted_once_a_turn);
}

int
main(void)
{
	return fake_main("notify", set_up, tear_down, add_tests);
}
