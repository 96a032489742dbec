/* SPDX-License-Identifier: ISC */
/* test_record_steps.c - death at every instruction while records, facts, texts and names
 * are written.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ledger/layout.h"
#include "tests/ledger/steps.h"
#include "tests/ledger/suites.h"

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
	int r = ledger_restore(found) == 0 ? ledger_read(found, 3, &record) : -EBADMSG;

	if (r == -ENOENT)
		return BEFORE;
	return r == 0 && record_is(&record, 1) ? AFTER : TORN;
}

static enum phase
look_for_fifth_record(struct ledger *found)
{
	struct ledger_record record;

	if (ledger_restore(found) != 0 || ledger_read(found, 3, &record) != 0)
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
		struct ledger *again = open_again(found);

		ck_assert_int_eq(ledger_restore(again), 0);
		ck_assert_int_eq(ledger_read(again, 3, &record), 0);
		ck_assert(record_is(&record, 5) || record_is(&record, 6));
		ledger_free(again);
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
	if (ledger_restore(found) != 0)
		return TORN;
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

/* As the candidate of an upgrade opens the ledger of the guardian that runs. */
START_TEST(a_write_under_way_is_left_to_the_guardian_when_its_ledger_is_opened)
{
	struct ledger *ledger = new_ledger();
	struct ledger *before = new_ledger();

	write_record(ledger, 1);
	ledger->header->pending.record = record_of(3, 2);
	atomic_store(&ledger->header->pending_at, ledger->layout.records);
	replicate(before, ledger);
	ledger_free(open_again(ledger));
	ck_assert_mem_eq(ledger->header, before->header, ledger->layout.tokens);
	ledger_free(before);
	ledger_free(ledger);
}
END_TEST

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
record_steps_suite(void)
{
	Suite *suite = suite_create("record steps");
	TCase *tcase = tcase_create("record steps");

	tcase_set_timeout(tcase, 300);
	tcase_set_tags(tcase, "deaths");
	tcase_add_test(tcase, the_first_record_is_whole_or_was_never_written);
	tcase_add_test(tcase, a_record_is_the_old_one_or_the_new_one);
	tcase_add_test(tcase, what_a_successor_has_read_its_own_death_does_not_undo);
	tcase_add_test(
	    tcase, a_write_under_way_is_left_to_the_guardian_when_its_ledger_is_opened);
	tcase_add_test(tcase, facts_are_the_old_ones_or_the_new_ones);
	tcase_add_test(tcase, a_text_is_whole_or_empty);
	tcase_add_test(tcase, a_new_name_costs_the_oldest_at_most);
	tcase_add_test(tcase, a_known_name_has_the_old_incarnation_or_the_new_one);
	suite_add_tcase(suite, tcase);
	return suite;
}
