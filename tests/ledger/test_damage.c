/* SPDX-License-Identifier: ISC */
/* test_damage.c - a bit that changed by accident is reported, or it did not matter. */
#include "config.h"

#include "base/rng.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/layout.h"
#include "tests/ledger/suites.h"

#define RANDOM_FLIPS 20000
#define RANDOM_TRASH 2000
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
		ledger_checkpoint(ledger);
		for (uint32_t n = 0; n < ENTRIES; n++) {
			const struct event event = event_of(n);

			ledger_append(ledger, JOURNAL_POST, n, &event, n);
		}
		ledger_set_performed(ledger, PERFORMED);
	}
	for (uint32_t slot = 0; slot < SLOTS; slot += 2)
		for (uint32_t n = slot; n <= slot + slot / 2; n++) {
			const struct ledger_record record = record_of(n);

			ledger_write(ledger, slot, &record);
			ledger_set_status(ledger, slot, "a text");
		}
	ledger_set_facts(ledger, &facts);
	ledger_set_facts(ledger, &facts);
	for (uint32_t n = 1; n <= NAMES; n++)
		ledger_set_past(ledger, name_of(n, name), n);
	return ledger;
}

/* What ledger_restore() vouches for. */
static const char *
look_at_core(const struct ledger *ledger)
{
	const char *core = ledger_core(ledger);

	for (size_t i = 0; i < CORE_BYTES; i++)
		if (core[i] != 'x')
			return "the core is another";
	if (ledger_entries(ledger) != ENTRIES)
		return "entries are missing";
	for (uint32_t n = 0; n < ENTRIES; n++) {
		const struct journal_entry *entry = ledger_entry(ledger, n);

		if (entry == NULL || entry->now_ms != n || entry->tag != n ||
		    entry->kind != JOURNAL_POST || !event_is(&entry->event, n))
			return "an entry is another";
	}
	return ledger_performed(ledger) == PERFORMED ? NULL : "actions are missing";
}

static const char *
look_at_records(const struct ledger *ledger)
{
	struct ledger_record record;
	struct ledger_facts facts;
	int r;

	for (uint32_t slot = 0; slot < SLOTS; slot++) {
		r = ledger_read(ledger, slot, &record);
		if (slot % 2 == 0 ? r != 0 : r != -ENOENT) {
			if (r != -EBADMSG)
				return "a record came or went";
		} else if (r == 0 && !record_is(&record, slot + slot / 2)) {
			return "a record is another";
		}
		if (strnlen(ledger_status(ledger, slot), LEDGER_STATUS_MAX) ==
		    LEDGER_STATUS_MAX)
			return "a text has no end";
	}
	r = ledger_facts(ledger, &facts);
	if (r == 0 ? facts.secret[0] != 4 || strcmp(facts.version, "4") != 0
	           : r != -EBADMSG)
		return "the facts are others";
	return NULL;
}

static const char *
look_at_names(const struct ledger *ledger)
{
	char name[32];

	for (uint32_t n = 1; n <= NAMES + 5; n++) {
		uint32_t incarnation = ledger_past(ledger, name_of(n, name));

		if (incarnation != 0 && (incarnation != n || n > NAMES))
			return "a name has another incarnation";
	}
	return NULL;
}

/* A successor may go on with what could be read, and what it writes can be read again. */
static const char *
go_on(struct ledger *ledger)
{
	const struct event event = event_of(1);
	const struct ledger_record want = record_of(99);
	const struct ledger_facts facts = {.secret = {5}};
	struct ledger_record record;
	struct ledger_facts found;

	for (uint32_t slot = 0; slot < SLOTS; slot++) {
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
	ledger_checkpoint(ledger);
	ledger_append(ledger, JOURNAL_POST, 1, &event, 1);
	return ledger_restore(ledger) == 0 && ledger_entries(ledger) == 1
	           ? NULL
	           : "it cannot be written any more";
}

/* All that can be said of a damaged ledger; NULL: it was said. */
static const char *
look(const struct ledger *damaged)
{
	struct err err = {.text = ""};
	struct ledger *ledger = try_again(damaged, &err);
	const char *wrong = NULL;
	int r;

	if (ledger == NULL)
		return err.text[0] != '\0' ? NULL : "refused without a sentence";
	r = ledger_restore(ledger);
	if (r == 0)
		wrong = look_at_core(ledger);
	else if (r != -EBADMSG)
		wrong = "restoring fails in another way";
	if (wrong == NULL)
		wrong = look_at_records(ledger);
	if (wrong == NULL)
		wrong = look_at_names(ledger);
	if (wrong == NULL && r == 0)
		wrong = go_on(ledger);
	ledger_free(ledger);
	return wrong;
}

/* What is beyond is not the ledger's to look at. */
static size_t
summed_bytes(const struct ledger *ledger)
{
	return ledger->layout.events;
}

static void
flip(struct ledger *damaged, const struct ledger *ledger, size_t byte, int bit)
{
	const char *wrong;

	replicate(damaged, ledger);
	((unsigned char *)damaged->header)[byte] ^= (unsigned char)(1 << bit);
	wrong = look(damaged);
	ck_assert_msg(wrong == NULL, "byte %zu, bit %d: %s", byte, bit, wrong);
}

START_TEST(every_bit_of_the_header_and_of_two_records_is_watched)
{
	struct ledger *ledger = full_ledger();
	struct ledger *damaged = new_ledger();
	const size_t records = ledger->layout.records;

	for (size_t byte = 0; byte < sizeof(struct header); byte++)
		for (int bit = 0; bit < 8; bit++)
			flip(damaged, ledger, byte, bit);
	for (size_t byte = 0; byte < 2 * RECORD_BYTES; byte++)
		for (int bit = 0; bit < 8; bit++)
			flip(damaged, ledger, records + 7 * RECORD_BYTES + byte, bit);
	ledger_free(damaged);
	ledger_free(ledger);
}
END_TEST

START_TEST(every_bit_of_the_journal_is_watched)
{
	struct ledger *ledger = full_ledger();
	struct ledger *damaged = new_ledger();

	for (size_t byte = 0; byte < 2 * sizeof(struct journal_entry); byte++)
		for (int bit = 0; bit < 8; bit++)
			flip(damaged, ledger,
			     ledger->layout.journal +
			         (ENTRIES - 1) * sizeof(struct journal_entry) + byte,
			     bit);
	ledger_free(damaged);
	ledger_free(ledger);
}
END_TEST

START_TEST(a_bit_anywhere_is_watched)
{
	struct ledger *ledger = full_ledger();
	struct ledger *damaged = new_ledger();
	struct rng rng;

	rng_seed(&rng, 9);
	for (int i = 0; i < RANDOM_FLIPS; i++)
		flip(damaged, ledger, rng_below(&rng, summed_bytes(ledger)),
		     (int)rng_below(&rng, 8));
	ledger_free(damaged);
	ledger_free(ledger);
}
END_TEST

START_TEST(trash_anywhere_is_watched)
{
	struct ledger *ledger = full_ledger();
	struct ledger *damaged = new_ledger();
	struct rng rng;

	rng_seed(&rng, 10);
	for (int i = 0; i < RANDOM_TRASH; i++) {
		size_t at = rng_below(&rng, summed_bytes(ledger));
		size_t n = 1 + rng_below(&rng, 600);
		const char *wrong;

		replicate(damaged, ledger);
		for (size_t k = at; k < at + n && k < summed_bytes(ledger); k++)
			((char *)damaged->header)[k] = (char)rng_next(&rng);
		wrong = look(damaged);
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
	tcase_add_test(tcase, every_bit_of_the_header_and_of_two_records_is_watched);
	tcase_add_test(tcase, every_bit_of_the_journal_is_watched);
	tcase_add_test(tcase, a_bit_anywhere_is_watched);
	tcase_add_test(tcase, trash_anywhere_is_watched);
	suite_add_tcase(suite, tcase);
	return suite;
}
