/* SPDX-License-Identifier: ISC */
/* test_steps.c - death at every instruction in turn, of each thing that can be done.
 *
 * A child does it one instruction at a time.  After each that wrote something the parent
 * takes a copy of the ledger as a successor would find it, looks whether that is the
 * state before or the state after, and goes on from there.
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ledger/layout.h"
#include "tests/ledger/suites.h"

/* What is slow to step through is looked at in part. */
#define STEPS_MAX 20000

enum phase { BEFORE, AFTER, TORN };

struct step_case {
	void (*prepare)(struct ledger *ledger);
	void (*act)(struct ledger *ledger);
	enum phase (*look)(struct ledger *found);
	void (*go_on)(struct ledger *found);
};

static pid_t
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
static bool
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

static void
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

static void
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
	ledger_checkpoint(ledger);
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
	ledger_checkpoint(found);
	append(found, 8);
	memset(ledger_core(found), 'd', CORE_BYTES);
	ck_assert_int_eq(ledger_restore(found), 0);
	ck_assert(core_is(found, 'c'));
	ck_assert_uint_eq(ledger_entries(found), 1);
	ledger_checkpoint(found);
	ck_assert_int_eq(ledger_restore(found), 0);
	ck_assert(core_is(found, 'c'));
	ck_assert_uint_eq(ledger_entries(found), 0);
}

START_TEST(a_checkpoint_is_taken_at_once_or_not)
{
	const struct step_case test = {two_cores, ledger_checkpoint, look_for_checkpoint,
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

static void
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

/* ---- records and facts ------------------------------------------------------------- */

static void
write_record(struct ledger *ledger, uint32_t n)
{
	const struct ledger_record record = record_of(3, n);

	ledger_write(ledger, 3, &record);
}

static void
first_record(struct ledger *ledger)
{
	write_record(ledger, 1);
}

static void
four_records(struct ledger *ledger)
{
	for (uint32_t n = 1; n <= 4; n++)
		write_record(ledger, n);
}

static void
fifth_record(struct ledger *ledger)
{
	write_record(ledger, 5);
}

static enum phase
look_for_first_record(struct ledger *found)
{
	struct ledger_record record;
	int r = ledger_read(found, 3, &record);

	if (r == -ENOENT)
		return BEFORE;
	return r == 0 && record_is(&record, 1) ? AFTER : TORN;
}

static enum phase
look_for_fifth_record(struct ledger *found)
{
	struct ledger_record record;

	if (ledger_read(found, 3, &record) != 0)
		return TORN;
	if (record_is(&record, 4))
		return BEFORE;
	return record_is(&record, 5) ? AFTER : TORN;
}

static void
sixth_record(struct ledger *ledger)
{
	write_record(ledger, 6);
}

/* The successor dies, too: what it has read must not be undone. */
static void
write_in_part(struct ledger *found)
{
	const struct step_case test = {NULL, sixth_record, NULL, NULL};
	struct ledger_record record;
	pid_t pid;

	if (look_for_fifth_record(found) != AFTER)
		return;
	pid = start_stepping(&test, found);
	while (step(pid)) {
		ck_assert_int_eq(ledger_read(found, 3, &record), 0);
		ck_assert(record_is(&record, 5) || record_is(&record, 6));
	}
	kill_child(pid);
	ck_assert(record_is(&record, 6));
}

static void
write_another(struct ledger *found)
{
	struct ledger_record record;

	write_record(found, 6);
	ck_assert_int_eq(ledger_read(found, 3, &record), 0);
	ck_assert(record_is(&record, 6));
	write_record(found, 7);
	ck_assert_int_eq(ledger_read(found, 3, &record), 0);
	ck_assert(record_is(&record, 7));
}

static void
no_record(struct ledger *ledger)
{
	(void)ledger;
}

START_TEST(the_first_record_is_whole_or_was_never_written)
{
	const struct step_case test = {no_record, first_record, look_for_first_record,
	                               write_another};

	die_at_every_instruction(&test);
}
END_TEST

START_TEST(a_record_is_the_old_one_or_the_new_one)
{
	const struct step_case test = {four_records, fifth_record, look_for_fifth_record,
	                               write_another};

	die_at_every_instruction(&test);
}
END_TEST

START_TEST(what_a_successor_has_read_its_own_death_does_not_undo)
{
	const struct step_case test = {four_records, fifth_record, look_for_fifth_record,
	                               write_in_part};

	die_at_every_instruction(&test);
}
END_TEST

static void
write_facts(struct ledger *ledger, uint64_t n)
{
	const struct ledger_facts facts = {
	    .secret = {n}, .conf_id = n, .started_ms = n, .version = "1"};

	ledger_set_facts(ledger, &facts);
}

static void
first_facts(struct ledger *ledger)
{
	write_facts(ledger, 1);
	write_facts(ledger, 2);
}

static void
third_facts(struct ledger *ledger)
{
	write_facts(ledger, 3);
}

static bool
facts_are(const struct ledger *ledger, uint64_t n)
{
	struct ledger_facts facts;

	return ledger_facts(ledger, &facts) == 0 && facts.secret[0] == n &&
	       facts.conf_id == n && facts.started_ms == n &&
	       strcmp(facts.version, "1") == 0;
}

static enum phase
look_for_facts(struct ledger *found)
{
	if (facts_are(found, 2))
		return BEFORE;
	return facts_are(found, 3) ? AFTER : TORN;
}

static void
fourth_facts(struct ledger *found)
{
	write_facts(found, 4);
	ck_assert(facts_are(found, 4));
}

START_TEST(facts_are_the_old_ones_or_the_new_ones)
{
	const struct step_case test = {first_facts, third_facts, look_for_facts,
	                               fourth_facts};

	die_at_every_instruction(&test);
}
END_TEST

/* ---- texts and names --------------------------------------------------------------- */

static void
first_text(struct ledger *ledger)
{
	ledger_set_status(ledger, 2, "one two three four five six seven eight nine ten");
}

static void
second_text(struct ledger *ledger)
{
	ledger_set_status(ledger, 2, "eleven twelve thirteen fourteen fifteen");
}

/* Nothing, in between, is not wrong. */
static enum phase
look_for_text(struct ledger *found)
{
	const char *text = ledger_status(found, 2);

	if (strncmp(text, "one", 3) == 0)
		return strcmp(text + 40, "nine ten") == 0 ? BEFORE : TORN;
	return text[0] == '\0' ||
	               strcmp(text, "eleven twelve thirteen fourteen fifteen") == 0
	           ? AFTER
	           : TORN;
}

START_TEST(a_text_is_whole_or_empty)
{
	const struct step_case test = {first_text, second_text, look_for_text,
	                               first_text};

	die_at_every_instruction(&test);
}
END_TEST

static void
all_names(struct ledger *ledger)
{
	char name[32];

	for (uint32_t n = 1; n <= LEDGER_PAST_MAX; n++) {
		snprintf(name, sizeof(name), "/user/%u", n);
		ledger_set_past(ledger, name, n);
	}
}

static void
name_too_many(struct ledger *ledger)
{
	ledger_set_past(ledger, "/user/new", 1000);
}

static enum phase
look_for_name(struct ledger *found)
{
	uint32_t oldest = ledger_past(found, "/user/1");

	if (ledger_past(found, "/user/2") != 2 ||
	    ledger_past(found, "/user/4096") != 4096)
		return TORN;
	if (ledger_past(found, "/user/new") == 1000)
		return oldest == 0 ? AFTER : TORN;
	return ledger_past(found, "/user/new") == 0 && (oldest == 0 || oldest == 1)
	           ? BEFORE
	           : TORN;
}

static void
two_more_names(struct ledger *found)
{
	ledger_set_past(found, "/user/newer", 5);
	ledger_set_past(found, "/user/new", 6);
	ck_assert_uint_eq(ledger_past(found, "/user/newer"), 5);
	ck_assert_uint_eq(ledger_past(found, "/user/new"), 6);
	ck_assert_uint_eq(ledger_past(found, "/user/4"), 4);
}

START_TEST(a_new_name_costs_the_oldest_at_most)
{
	const struct step_case test = {all_names, name_too_many, look_for_name,
	                               two_more_names};

	die_at_every_instruction(&test);
}
END_TEST

static void
known_name(struct ledger *ledger)
{
	ledger_set_past(ledger, "/user/2", 3);
}

static enum phase
look_for_known_name(struct ledger *found)
{
	uint32_t incarnation = ledger_past(found, "/user/2");

	if (incarnation == 2)
		return BEFORE;
	return incarnation == 3 ? AFTER : TORN;
}

START_TEST(a_known_name_has_the_old_incarnation_or_the_new_one)
{
	const struct step_case test = {all_names, known_name, look_for_known_name,
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
	tcase_add_test(tcase, the_first_record_is_whole_or_was_never_written);
	tcase_add_test(tcase, a_record_is_the_old_one_or_the_new_one);
	tcase_add_test(tcase, what_a_successor_has_read_its_own_death_does_not_undo);
	tcase_add_test(tcase, facts_are_the_old_ones_or_the_new_ones);
	tcase_add_test(tcase, a_text_is_whole_or_empty);
	tcase_add_test(tcase, a_new_name_costs_the_oldest_at_most);
	tcase_add_test(tcase, a_known_name_has_the_old_incarnation_or_the_new_one);
	suite_add_tcase(suite, tcase);
	return suite;
}
