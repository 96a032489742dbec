/* SPDX-License-Identifier: ISC */
/* test_damage.c - a header, a core, a journal or a record that no guardian can have
 * written is reported; whatever else is in there, it can be read and gone on with. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "ledger/layout.h"
#include "tests/ledger/suites.h"

#define RANDOM_TRASH 20000
#define ENTRIES      9
#define PERFORMED    7
#define NAMES        20

static const char *
name_of(uint32_t n, char ret[32])
{
	snprintf(ret, 32, "/user/%u", n);
	return ret;
}

/* Something of everything; odd slots were never written. */
static struct ledger *
full_ledger(void)
{
	struct ledger *ledger = new_ledger();
	const struct ledger_facts facts = {.secret = {4}, .version = "4"};
	char name[32];

	memset(ledger_core(ledger), 'x', CORE_BYTES);
	for (uint32_t epoch = 0; epoch < 4; epoch++) {
		ledger_checkpoint(ledger, &(struct core_used){.first = CORE_BYTES});
		for (uint32_t n = 0; n < ENTRIES; n++) {
			const struct event event = event_of(n);

			append_entry(ledger, JOURNAL_POST, n, &event, n);
		}
		ledger_set_performed(ledger, PERFORMED);
	}
	for (uint32_t slot = 0; slot < SLOTS; slot += 2)
		for (uint32_t n = slot; n <= slot + slot / 2; n++) {
			const struct ledger_record record = record_of(slot, n);

			ledger_write(ledger, slot, &record);
			ledger_set_status(ledger, slot, "a text");
		}
	ledger_set_facts(ledger, &facts);
	ledger_set_facts(ledger, &facts);
	for (uint32_t n = 1; n <= NAMES; n++)
		ledger_set_past(ledger, name_of(n, name), n);
	return ledger;
}

/* Read everything there is; what cannot be read is told so. */
static const char *
look_at_all(const struct ledger *ledger)
{
	struct ledger_record record;
	struct ledger_facts facts;
	struct ledger_task task;
	char name[32];

	for (uint32_t n = 0; n < ledger_entries(ledger); n++)
		if (ledger_entry(ledger, n) == NULL)
			return "an entry cannot be read";
	for (uint32_t slot = 0; slot < SLOTS; slot++) {
		if (ledger_read(ledger, slot, &record) == -EBADMSG)
			return "an impossible record went unnoticed";
		if (strnlen(ledger_status(ledger, slot), LEDGER_STATUS_MAX) ==
		    LEDGER_STATUS_MAX)
			return "a text has no end";
	}
	for (uint32_t place = 0; place < LEDGER_TASKS_MAX; place++)
		if (ledger_read_task(ledger, place, &task) == -EBADMSG)
			return "an impossible task went unnoticed";
	if (ledger_facts(ledger, &facts) == 0 &&
	    strnlen(facts.version, sizeof(facts.version)) == sizeof(facts.version))
		return "the version has no end";
	for (uint32_t n = 1; n <= NAMES; n++)
		(void)ledger_past(ledger, name_of(n, name));
	return NULL;
}

/* A successor may go on with what could be read, and what it writes can be read again. */
static const char *
go_on(struct ledger *ledger)
{
	const struct event event = event_of(1);
	const struct ledger_facts facts = {.secret = {5}};
	struct ledger_record record;
	struct ledger_facts found;

	for (uint32_t slot = 0; slot < SLOTS; slot++) {
		const struct ledger_record want = record_of(slot, 99);

		ledger_write(ledger, slot, &want);
		if (ledger_read(ledger, slot, &record) != 0 || !record_is(&record, 99))
			return "a record cannot be replaced";
	}
	ledger_set_facts(ledger, &facts);
	if (ledger_facts(ledger, &found) != 0 || found.secret[0] != 5)
		return "the facts cannot be replaced";
	ledger_set_past(ledger, "/user/new", 8);
	if (ledger_past(ledger, "/user/new") != 8)
		return "a name cannot be remembered";
	ledger_set_status(ledger, 1, "new");
	ledger_checkpoint(ledger, &(struct core_used){.first = CORE_BYTES});
	append_entry(ledger, JOURNAL_POST, 1, &event, 1);
	return ledger_restore(ledger) == 0 && ledger_entries(ledger) == 1
	           ? NULL
	           : "it cannot be written any more";
}

/* What a successor does with it; NULL: it was refused, or can be gone on with. */
static const char *
look(const struct ledger *damaged, bool *ret_refused)
{
	struct err err = {.text = ""};
	struct ledger *ledger = try_again(damaged, &err);
	const char *wrong = NULL;
	int r;

	*ret_refused = true;
	if (ledger == NULL)
		return err.text[0] != '\0' ? NULL : "refused without a sentence";
	r = ledger_restore(ledger);
	*ret_refused = r != 0;
	if (r != 0 && r != -EBADMSG && r != -ENODATA)
		wrong = "restoring fails in another way";
	if (r == 0)
		wrong = look_at_all(ledger);
	if (wrong == NULL && r == 0)
		wrong = go_on(ledger);
	ledger_free(ledger);
	return wrong;
}

static void
refuse(const struct ledger *damaged, const char *what, size_t byte)
{
	bool refused;
	const char *wrong = look(damaged, &refused);

	ck_assert_msg(wrong == NULL && refused, "byte %zu of %s: %s", byte, what,
	              wrong == NULL ? "not refused" : wrong);
}

/* Each bit of these bytes is watched. */
static void
flip_all(size_t at, size_t bytes, const char *what)
{
	struct ledger *ledger = full_ledger();
	struct ledger *damaged = new_ledger();

	for (size_t byte = 0; byte < bytes; byte++)
		for (int bit = 0; bit < 8; bit++) {
			replicate(damaged, ledger);
			((unsigned char *)damaged->header)[at + byte] ^=
			    (unsigned char)(1 << bit);
			refuse(damaged, what, byte);
		}
	ledger_free(damaged);
	ledger_free(ledger);
}

/* Where things are in each of these ledgers. */
static struct layout
usual_layout(uint32_t *ret_epoch)
{
	struct ledger *ledger = full_ledger();
	const struct layout layout = ledger->layout;

	*ret_epoch = ledger_epoch(ledger);
	ledger_free(ledger);
	return layout;
}

START_TEST(a_damaged_header_is_refused)
{
	flip_all(0, offsetof(struct header, commit), "the header");
	flip_all(offsetof(struct header, pending_at), 1, "where a write goes");
}
END_TEST

START_TEST(a_damaged_core_is_refused)
{
	uint32_t epoch;
	const struct layout layout = usual_layout(&epoch);

	flip_all(layout.cores[epoch & 1], 64, "the core");
	flip_all(layout.cores[epoch & 1] + CORE_BYTES - 64, 64, "the core");
	flip_all(offsetof(struct header, core_used[epoch & 1]), sizeof(uint64_t),
	         "what is used of it");
}
END_TEST

START_TEST(of_a_checkpoint_only_what_is_used_of_the_core_counts)
{
	struct ledger *ledger = new_ledger();
	struct ledger *again;
	char *before = ledger_core(ledger);

	memset(before, 'a', CORE_BYTES);
	ledger_checkpoint(ledger, &(struct core_used){.first = CORE_BYTES / 2});
	ck_assert_mem_eq(ledger_core(ledger), before, CORE_BYTES / 2);
	ck_assert_int_eq(((char *)ledger_core(ledger))[CORE_BYTES / 2], 0);

	before[CORE_BYTES / 2] = 'x';
	memset(ledger_core(ledger), 'b', CORE_BYTES);
	again = open_again(ledger);
	ck_assert_int_eq(ledger_restore(again), 0);
	ck_assert_int_eq(((char *)ledger_core(again))[CORE_BYTES / 2 - 1], 'a');
	ck_assert_int_eq(((char *)ledger_core(again))[CORE_BYTES / 2], 'b');
	before[CORE_BYTES / 2 - 1] = 'x';
	ck_assert_int_eq(ledger_restore(again), -EBADMSG);
	ledger_free(again);
	ledger_free(ledger);
}
END_TEST

START_TEST(a_damaged_journal_is_refused)
{
	uint32_t epoch;
	const struct layout layout = usual_layout(&epoch);
	const size_t bytes = offsetof(struct journal_entry, sum) + sizeof(uint32_t);

	flip_all(layout.journal, bytes, "the oldest entry");
	flip_all(layout.journal + (ENTRIES - 1) * sizeof(struct journal_entry), bytes,
	         "the newest entry");
}
END_TEST

static void
impossible(const struct ledger_record *record)
{
	struct ledger *ledger = full_ledger();
	struct ledger_record found;

	ledger_write(ledger, 4, record);
	ck_assert_int_eq(ledger_read(ledger, 4, &found), -EBADMSG);
	refuse(ledger, "a record", 0);
	ledger_free(ledger);
}

START_TEST(a_record_that_no_guardian_writes_is_refused)
{
	struct ledger_record record = record_of(4, 4);

	record.ref.slot = 5;
	impossible(&record);
	record = record_of(4, 4);
	record.pid = -1;
	impossible(&record);
	record = record_of(4, 4);
	record.leader = -1;
	impossible(&record);
	record = record_of(4, 4);
	record.failed.step = SPAWN_STEP_MAX;
	impossible(&record);
	record = record_of(4, 4);
	record.end.kind = (enum reap_kind)99;
	impossible(&record);
}
END_TEST

static void
impossible_task(const struct ledger_task *task)
{
	struct ledger *ledger = full_ledger();
	struct ledger_task found;

	ledger_write_task(ledger, 7, task);
	ck_assert_int_eq(ledger_read_task(ledger, 7, &found), -EBADMSG);
	refuse(ledger, "a task", 0);
	ledger_free(ledger);
}

START_TEST(a_task_that_no_guardian_writes_is_refused)
{
	impossible_task(&(struct ledger_task){.ref = {SLOTS, 1}});
	impossible_task(&(struct ledger_task){.ref = {1, 1}, .pid = -1});
	impossible_task(&(struct ledger_task){.ref = {1, 1}, .step = SPAWN_STEP_MAX});
	impossible_task(
	    &(struct ledger_task){.ref = {1, 1}, .end = {.kind = (enum reap_kind)99}});
}
END_TEST

START_TEST(whatever_is_written_over_can_be_read)
{
	struct ledger *ledger = full_ledger();
	struct ledger *damaged = new_ledger();
	const size_t end = ledger->layout.events;
	struct rng rng;

	rng_seed(&rng, 10);
	for (int i = 0; i < RANDOM_TRASH; i++) {
		size_t at = rng_below(&rng, end);
		size_t n = 1 + rng_below(&rng, 600);
		const char *wrong;
		bool refused;

		replicate(damaged, ledger);
		for (size_t k = at; k < at + n && k < end; k++)
			((char *)damaged->header)[k] = (char)rng_next(&rng);
		wrong = look(damaged, &refused);
		ck_assert_msg(wrong == NULL, "%zu bytes at %zu: %s", n, at, wrong);
	}
	ledger_free(damaged);
	ledger_free(ledger);
}
END_TEST

Suite *
damage_suite(void)
{
	Suite *suite = suite_create("damage");
	TCase *tcase = tcase_create("damage");

	tcase_set_timeout(tcase, 300);
	tcase_add_test(tcase, a_damaged_header_is_refused);
	tcase_add_test(tcase, a_damaged_core_is_refused);
	tcase_add_test(tcase, of_a_checkpoint_only_what_is_used_of_the_core_counts);
	tcase_add_test(tcase, a_damaged_journal_is_refused);
	tcase_add_test(tcase, a_record_that_no_guardian_writes_is_refused);
	tcase_add_test(tcase, a_task_that_no_guardian_writes_is_refused);
	tcase_add_test(tcase, whatever_is_written_over_can_be_read);
	suite_add_tcase(suite, tcase);
	return suite;
}
