/* SPDX-License-Identifier: ISC */
/* test_steps.c - death at every instruction in turn, of each thing that can be done.
 *
 * A child does it one instruction at a time.  After each that wrote something the parent
 * takes a copy of the ledger as a successor would find it, looks whether that is the
 * state before or the state after, and goes on from there.
 */
#include "config.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ledger/layout.h"
#include "tests/ledger/steps.h"
#include "tests/ledger/suites.h"

/* What is slow to step through is looked at in part. */
#define STEPS_MAX 20000

pid_t
start_stepping(const struct step_case *test, struct ledger *ledger)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			_exit(2);
		(void)raise(SIGSTOP);
		test->act(ledger);
		(void)raise(SIGUSR1);
		_exit(0);
	}
	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSTOPPED(status));
	return pid;
}

/* One instruction; false: all was done. */
bool
step(pid_t pid)
{
	int status;

	ck_assert_int_eq(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSTOPPED(status));
	if (WSTOPSIG(status) == SIGUSR1)
		return false;
	ck_assert_int_eq(WSTOPSIG(status), SIGTRAP);
	return true;
}

void
kill_child(pid_t pid)
{
	int status;

	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
}

/* Has it written anything since the last time? */
static bool
has_changed(const struct ledger *ledger, char *seen)
{
	const size_t bytes = ledger->layout.tokens;

	if (memcmp(seen, ledger->header, bytes) == 0)
		return false;
	memcpy(seen, ledger->header, bytes);
	return true;
}

void
die_at_every_instruction(const struct step_case *test)
{
	struct ledger *ledger = new_ledger();
	struct ledger *found = new_ledger();
	char *seen = calloc(1, ledger->layout.tokens);
	enum phase phase = BEFORE;
	uint32_t n = 0;
	pid_t pid;

	ck_assert_ptr_nonnull(seen);
	test->prepare(ledger);
	for (pid = start_stepping(test, ledger); n < STEPS_MAX && step(pid); n++) {
		struct ledger *again;
		enum phase now;

		if (!has_changed(ledger, seen))
			continue;
		replicate(found, ledger);
		again = open_again(found);
		now = test->look(again);
		if (now != phase && now != phase + 1)
			ck_abort_msg("instruction %u: %d after %d", n, now, phase);
		phase = now;
		test->go_on(again);
		ledger_free(again);
	}
	if (n < STEPS_MAX)
		ck_assert_int_eq(phase, AFTER);
	kill_child(pid);
	free(seen);
	ledger_free(found);
	ledger_free(ledger);
}

/* ---- the journal ------------------------------------------------------------------- */

static void
append(struct ledger *ledger, uint32_t n)
{
	const struct event event = event_of(n);

	append_entry(ledger, JOURNAL_POST, n, &event, n);
}

static bool
entry_is(const struct ledger *ledger, uint32_t i, uint32_t n)
{
	const struct journal_entry *entry = ledger_entry(ledger, i);

	return entry != NULL && entry->now_ms == n && entry->tag == n &&
	       entry->kind == JOURNAL_POST && event_is(&entry->event, n);
}

static void
two_entries(struct ledger *ledger)
{
	append(ledger, 1);
	append(ledger, 2);
	ledger_set_performed(ledger, 5);
}

static void
third_entry(struct ledger *ledger)
{
	append(ledger, 3);
}

static enum phase
look_for_third_entry(struct ledger *found)
{
	uint32_t n = ledger_entries(found);

	if (ledger_restore(found) != 0 || !entry_is(found, 0, 1) ||
	    !entry_is(found, 1, 2) || ledger_performed(found) != 5)
		return TORN;
	if (n == 2 && ledger_entry(found, 2) == NULL)
		return BEFORE;
	return n == 3 && entry_is(found, 2, 3) ? AFTER : TORN;
}

static void
append_one_more(struct ledger *found)
{
	uint32_t n = ledger_entries(found);

	append(found, 77);
	ck_assert(entry_is(found, n, 77));
	ck_assert_int_eq(ledger_restore(found), 0);
}

START_TEST(an_entry_is_there_or_not)
{
	const struct step_case test = {two_entries, third_entry, look_for_third_entry,
	                               append_one_more};

	die_at_every_instruction(&test);
}
END_TEST

static void
perform(struct ledger *ledger)
{
	ledger_set_performed(ledger, 6);
}

static enum phase
look_for_performed(struct ledger *found)
{
	if (ledger_restore(found) != 0 || ledger_entries(found) != 2)
		return TORN;
	if (ledger_performed(found) == 5)
		return BEFORE;
	return ledger_performed(found) == 6 ? AFTER : TORN;
}

START_TEST(an_action_counts_as_performed_or_not)
{
	const struct step_case test = {two_entries, perform, look_for_performed,
	                               append_one_more};

	die_at_every_instruction(&test);
}
END_TEST

/* ---- the checkpoint ---------------------------------------------------------------- */

/* Checkpoint 'a', two entries, then the live copy goes on to 'b'. */
static void
two_cores(struct ledger *ledger)
{
	memset(ledger_core(ledger), 'a', CORE_BYTES);
	ledger_checkpoint(ledger, &(struct core_used){.first = CORE_BYTES});
	two_entries(ledger);
	memset(ledger_core(ledger), 'b', CORE_BYTES);
}

static bool
core_is(const struct ledger *ledger, char c)
{
	const char *core = ledger_core(ledger);

	for (size_t i = 0; i < CORE_BYTES; i++)
		if (core[i] != c)
			return false;
	return true;
}

static enum phase
look_for_checkpoint(struct ledger *found)
{
	if (ledger_restore(found) != 0)
		return TORN;
	if (core_is(found, 'a') && ledger_entries(found) == 2 &&
	    ledger_performed(found) == 5 && entry_is(found, 1, 2))
		return BEFORE;
	return core_is(found, 'b') && ledger_entries(found) == 0 &&
	               ledger_performed(found) == 0
	           ? AFTER
	           : TORN;
}

static void
checkpoint_twice(struct ledger *found)
{
	append(found, 9);
	memset(ledger_core(found), 'c', CORE_BYTES);
	ledger_checkpoint(found, &(struct core_used){.first = CORE_BYTES});
	append(found, 8);
	memset(ledger_core(found), 'd', CORE_BYTES);
	ck_assert_int_eq(ledger_restore(found), 0);
	ck_assert(core_is(found, 'c'));
	ck_assert_uint_eq(ledger_entries(found), 1);
	ledger_checkpoint(found, &(struct core_used){.first = CORE_BYTES});
	ck_assert_int_eq(ledger_restore(found), 0);
	ck_assert(core_is(found, 'c'));
	ck_assert_uint_eq(ledger_entries(found), 0);
}

static void
checkpoint(struct ledger *ledger)
{
	ledger_checkpoint(ledger, &(struct core_used){.first = CORE_BYTES});
}

START_TEST(a_checkpoint_is_taken_at_once_or_not)
{
	const struct step_case test = {two_cores, checkpoint, look_for_checkpoint,
	                               checkpoint_twice};

	die_at_every_instruction(&test);
}
END_TEST

static void
restore(struct ledger *ledger)
{
	(void)ledger_restore(ledger);
}

/* Not recorded: every successor begins with this. */
static enum phase
look_for_restored(struct ledger *found)
{
	enum phase phase = look_for_checkpoint(found);

	if (phase != BEFORE)
		return TORN;
	/* As the process that acts: when its first instructions are over. */
	return AFTER;
}

void
nothing_more(struct ledger *found)
{
	(void)found;
}

START_TEST(death_while_restoring_changes_nothing)
{
	const struct step_case test = {two_cores, restore, look_for_restored,
	                               nothing_more};

	die_at_every_instruction(&test);
}
END_TEST

Suite *
steps_suite(void)
{
	Suite *suite = suite_create("steps");
	TCase *tcase = tcase_create("steps");

	tcase_set_timeout(tcase, 300);
	tcase_set_tags(tcase, "deaths");
	tcase_add_test(tcase, an_entry_is_there_or_not);
	tcase_add_test(tcase, an_action_counts_as_performed_or_not);
	tcase_add_test(tcase, a_checkpoint_is_taken_at_once_or_not);
	tcase_add_test(tcase, death_while_restoring_changes_nothing);
	suite_add_tcase(suite, tcase);
	return suite;
}
