/* SPDX-License-Identifier: ISC */
/* test_perform.c - loop/perform.c: which actions count as performed when the guardian
 * dies in the midst of them.  The rooms are stubs that note what they are asked for. */
#include "config.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/err.h"
#include "daemon/loop/owner.h"
#include "daemon/loop/perform.h"
#include "daemon/messages/messages.h"
#include "daemon/messages/notify.h"
#include "daemon/messages/output.h"
#include "daemon/messages/readiness.h"
#include "daemon/messages/rundir.h"
#include "daemon/messages/stores.h"
#include "daemon/processes/prober.h"
#include "daemon/processes/processes.h"
#include "daemon/processes/procs.h"
#include "daemon/processes/tasks.h"
#include "daemon/processes/unkillable_text.h"
#include "daemon/reload/additions.h"
#include "daemon/reload/reload.h"
#include "daemon/reload/trial.h"
#include "daemon/report/report.h"
#include "daemon/server/server.h"
#include "daemon/sockets/sockets.h"
#include "daemon/sockets/standin.h"
#include "daemon/state/keeper.h"
#include "daemon/state/log.h"
#include "daemon/state/post.h"
#include "daemon/state/proctable.h"
#include "daemon/state/recording.h"
#include "ledger/ledger.h"
#include "tests/lib/check_main.h"

/* Of each kind of action that a room carries out, one; the life is its number. */
static const enum action_kind kinds[] = {
    ACTION_SPAWN,  ACTION_STOP,  ACTION_KILL,   ACTION_CONTINUE,
    ACTION_PROBE,  ACTION_HOOK,  ACTION_FREEZE, ACTION_THAW,
    ACTION_SIGNAL, ACTION_REACT, ACTION_REPLY,  ACTION_REPORT,
};
#define N_ACTIONS ((uint32_t)ARRAY_SIZE(kinds))

static struct supd supd;
static struct post post;
static struct processes processes;
static struct messages messages;
static struct sockets sockets;
static struct action_list actions;
static uint32_t done[N_ACTIONS + 1]; /* how often each was carried out */
static uint32_t dies_in;             /* the action in which the guardian dies; 0: none */
static jmp_buf death;

/* A room carries the action out: meanwhile the one before it is the last that counts. */
static void
act(uint32_t life)
{
	ck_assert_uint_eq(ledger_performed(supd.recording.ledger), life - 1);
	ck_assert_uint_eq((uint32_t)supd.events.by, life);
	ck_assert_uint_eq(supd.events.by >> 32, ledger_epoch(supd.recording.ledger));
	done[life]++;
	if (life == dies_in)
		longjmp(death, 1);
}

/* ---- the rooms --------------------------------------------------------------------- */

#define NAMES_LIFE(name)                                              \
	void name(struct procs *procs, struct ref ref, uint32_t life) \
	{                                                             \
		(void)procs;                                          \
		(void)ref;                                            \
		act(life);                                            \
	}
NAMES_LIFE(procs_spawn)
NAMES_LIFE(procs_kill)
NAMES_LIFE(procs_continue)
NAMES_LIFE(procs_freeze)
NAMES_LIFE(procs_thaw)

#define HAS_ACTION(name, room)                           \
	void name(room *at, const struct action *action) \
	{                                                \
		(void)at;                                \
		act(action->life);                       \
	}
HAS_ACTION(prober_ask, struct prober)
HAS_ACTION(tasks_hook, struct tasks)
HAS_ACTION(tasks_react, struct tasks)
HAS_ACTION(report, const struct reporter)

void
control_remember(struct control *control, struct ledger *ledger,
                 const struct engine *engine, const struct action *action)
{
	(void)control;
	(void)ledger;
	(void)engine;
	act(action->life);
}

void
log_flush(void)
{
	/* There is no log. */
}

void
procs_stop(struct procs *procs, struct ref ref, uint32_t life, bool watchdog_expired)
{
	(void)procs;
	(void)ref;
	(void)watchdog_expired;
	act(life);
}

int
procs_signal(struct procs *procs, struct ref ref, int signo)
{
	(void)procs;
	(void)ref;
	act((uint32_t)signo);
	return 0;
}

uint32_t
proctable_life(const struct proctable *table, struct ref ref)
{
	(void)table;
	return ref.tenant;
}

struct actor *
actors_get(const struct actors *actors, struct ref ref)
{
	(void)actors;
	(void)ref;
	return NULL;
}

bool
actors_has_name(const struct actors *actors, struct ref ref)
{
	(void)actors;
	(void)ref;
	return false;
}

/* What is asked for beside these, or never here. */
#define IDLE(name, ...)        \
	void name(__VA_ARGS__) \
	{                      \
	}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
IDLE(actors_clear, struct actors *actors, struct ref ref)
IDLE(additions_name, struct reloader *reloader, const struct action *action)
IDLE(additions_release, struct reloader *reloader, struct grown *grown)
IDLE(control_on_reply, struct control *control, const struct action *action)
IDLE(keeper_beat, struct keeper *keeper)
IDLE(notify_close, struct notify *notify, struct ref ref)
IDLE(output_drop, struct output *output, const char *path)
IDLE(procs_forget, struct procs *procs, struct ref ref)
IDLE(procs_inherit, struct procs *procs, struct ref successor)
IDLE(readiness_close, struct readiness *readiness, struct ref ref)
IDLE(record_slot, struct recording *recording, uint32_t slot)
IDLE(reload_release, struct reloader *reloader, const struct conf *owner)
IDLE(rundir_clear, struct rundirs *rundirs, const struct actor *actor)
IDLE(standin_touch, struct standin *standin, struct ref ref)
IDLE(stores_clear, struct stores *stores, struct ref ref)
IDLE(trial_on_failure, struct trial *trial, struct ref ref, const struct cause *cause)
IDLE(unkillable_log_left, const struct engine *engine, const struct actors *actors)
#pragma GCC diagnostic pop

/* ---- a guardian, and the next ------------------------------------------------------ */

static void
begin(void)
{
	const struct ledger_size size = {
	    .slots = 4, .journal = 8, .core_bytes = 4096, .events_bytes = 65536};
	struct err err;

	supd = (struct supd){
	    .processes = &processes, .messages = &messages, .sockets = &sockets};
	supd.recording.ledger = ledger_new(&size, &err);
	ck_assert_ptr_nonnull(supd.recording.ledger);
	ledger_checkpoint(supd.recording.ledger, &(struct core_used){.first = 4096});
	post = (struct post){.until_ms = UINT64_MAX};
	supd.post = &post;
	actions.n = N_ACTIONS;
	for (uint32_t i = 0; i < N_ACTIONS; i++)
		actions.at[i] = (struct action){
		    .kind = kinds[i],
		    .ref = {.slot = 2, .tenant = i + 1},
		    .life = i + 1,
		    .signal = (int)i + 1,
		};
}

static void
end(void)
{
	ledger_free(supd.recording.ledger);
}

/* The next guardian replays the journal: the same actions, numbered from the beginning.
 */
static void
perform_all(void)
{
	uint32_t budget = UINT32_MAX;

	supd.post->n_actions = 0;
	(void)perform(&supd, &actions, 0, &budget);
}

START_TEST(an_action_counts_as_performed_when_it_was_and_not_before)
{
	begin();
	perform_all();
	ck_assert_uint_eq(ledger_performed(supd.recording.ledger), N_ACTIONS);
	ck_assert_uint_eq(supd.events.by, 0);
	for (uint32_t i = 1; i <= N_ACTIONS; i++)
		ck_assert_uint_eq(done[i], 1);
	end();
}
END_TEST

/* As long as the guardian lives. */
static void
perform_till_death(uint32_t at)
{
	dies_in = at;
	if (setjmp(death) == 0)
		perform_all();
	dies_in = 0;
}

START_TEST(after_a_death_the_action_under_way_is_repeated_and_no_other)
{
	for (uint32_t at = 1; at <= N_ACTIONS; at++) {
		memset(done, 0, sizeof(done));
		begin();
		perform_till_death(at);
		perform_all();
		for (uint32_t i = 1; i <= N_ACTIONS; i++)
			ck_assert_uint_eq(done[i], i == at ? 2 : 1);
		end();
	}
}
END_TEST

/* Each action is performed for itself: as it is the budget, or as it is late. */
static void
perform_one_by_one(uint32_t each, uint64_t until_ms)
{
	uint32_t budget, from = 0;

	memset(done, 0, sizeof(done));
	begin();
	post.until_ms = until_ms;
	while (from < actions.n) {
		const uint32_t before = from;

		budget = each;
		from = perform(&supd, &actions, from, &budget);
		ck_assert_uint_eq(from, before + 1);
		ck_assert_uint_eq(ledger_performed(supd.recording.ledger), from);
	}
	perform_all();
	for (uint32_t i = 1; i <= N_ACTIONS; i++)
		ck_assert_uint_eq(done[i], 1);
	end();
}

START_TEST(what_the_budget_leaves_is_not_performed_yet)
{
	perform_one_by_one(1, UINT64_MAX);
}
END_TEST

START_TEST(what_there_is_no_time_for_is_not_performed_yet)
{
	perform_one_by_one(UINT32_MAX, 0);
}
END_TEST

CHECK_MAIN("perform", an_action_counts_as_performed_when_it_was_and_not_before,
           after_a_death_the_action_under_way_is_repeated_and_no_other,
           what_the_budget_leaves_is_not_performed_yet,
           what_there_is_no_time_for_is_not_performed_yet)
