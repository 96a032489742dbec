/* SPDX-License-Identifier: ISC */
/* test_contract.c - what is put in comes out again, here and in a successor. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/sum.h"
#include "tests/ledger/suites.h"

START_TEST(a_sum_depends_on_every_bit_the_length_and_the_seed)
{
	unsigned char data[100] = {0};

	for (size_t len = 0; len < sizeof(data); len++) {
		uint64_t sum = sum_bytes(data, len, 7);

		ck_assert_uint_eq(sum_bytes(data, len, 7), sum);
		ck_assert_uint_ne(sum_bytes(data, len, 8), sum);
		ck_assert_uint_ne(sum_bytes(data, len + 1, 7), sum);
		for (size_t bit = 0; bit < len * 8; bit++) {
			data[bit / 8] ^= (unsigned char)(1 << bit % 8);
			ck_assert_uint_ne(sum_bytes(data, len, 7), sum);
			data[bit / 8] = 0;
		}
	}
}
END_TEST

START_TEST(two_top_bits_do_not_cancel_out_in_a_sum)
{
	uint64_t words[16] = {0};
	uint64_t sum = sum_bytes(words, sizeof(words), 0);

	words[0] ^= UINT64_C(1) << 63;
	words[4] ^= UINT64_C(1) << 63;
	ck_assert_uint_ne(sum_bytes(words, sizeof(words), 0), sum);
}
END_TEST

static bool
is_zero(const char *memory, size_t bytes)
{
	return memory[0] == 0 && memcmp(memory, memory + 1, bytes - 1) == 0;
}

START_TEST(all_of_a_new_ledger_is_zero_and_writable)
{
	struct ledger *ledger = new_ledger();
	char *parts[] = {ledger_core(ledger), ledger_events(ledger),
	                 ledger_tokens(ledger)};
	const size_t bytes[] = {CORE_BYTES, EVENTS_BYTES, LEDGER_TOKENS_BYTES};
	struct ledger_record record;
	struct ledger_facts facts;
	struct ledger_size size;

	for (int i = 0; i < 3; i++) {
		ck_assert(is_zero(parts[i], bytes[i]));
		memset(parts[i], 'x', bytes[i]);
	}
	for (uint32_t slot = 0; slot < SLOTS; slot++) {
		ck_assert_int_eq(ledger_read(ledger, slot, &record), -ENOENT);
		ck_assert_str_eq(ledger_status(ledger, slot), "");
	}
	ck_assert_int_eq(ledger_facts(ledger, &facts), -ENOENT);
	ck_assert_uint_eq(ledger_spawn(ledger, 0)->life, 0);
	ck_assert_uint_eq(ledger_past(ledger, "/user/a"), 0);
	ck_assert_uint_eq(ledger_entries(ledger), 0);
	ck_assert_uint_eq(ledger_performed(ledger), 0);
	ck_assert_ptr_null(ledger_entry(ledger, 0));
	ledger_size(ledger, &size);
	ck_assert_uint_eq(size.slots, SLOTS);
	ck_assert_uint_eq(size.journal, JOURNAL);
	ck_assert_uint_eq(size.core_bytes, CORE_BYTES);
	ck_assert_uint_eq(size.events_bytes, EVENTS_BYTES);
	ledger_free(ledger);
}
END_TEST

START_TEST(its_descriptor_is_close_on_exec_and_its_size_is_for_good)
{
	struct ledger *ledger = new_ledger();
	int fd = ledger_fd(ledger);

	ck_assert_int_eq(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	ck_assert_int_lt(ftruncate(fd, 0), 0);
	ck_assert_int_lt(ftruncate(fd, 1 << 30), 0);
	ck_assert_int_lt(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), 0);
	ledger_free(ledger);
}
END_TEST

START_TEST(memory_that_is_not_to_be_had_is_an_error_with_a_sentence)
{
	const struct ledger_size size = {
	    .slots = 1, .journal = 1, .core_bytes = 64, .events_bytes = 64};
	struct err err = {.code = 0};
	struct rlimit limit;
	struct rlimit small;

	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	small = (struct rlimit){65536, limit.rlim_max};
	ck_assert_ptr_ne(signal(SIGXFSZ, SIG_IGN), SIG_ERR);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
	ck_assert_ptr_null(ledger_new(&size, &err));
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_int_eq(err.code, EFBIG);
	ck_assert_ptr_nonnull(strstr(err.text, "memory for a ledger of"));
}
END_TEST

START_TEST(a_ledger_without_a_checkpoint_is_none)
{
	const struct ledger_size size = {
	    .slots = 1, .journal = 1, .core_bytes = 64, .events_bytes = 64};
	struct err err;
	struct ledger *ledger = ledger_new(&size, &err);

	ck_assert_ptr_nonnull(ledger);
	ck_assert_uint_eq(ledger_epoch(ledger), 0);
	ck_assert_int_eq(ledger_restore(ledger), -ENODATA);
	ck_assert_ptr_null(try_again(ledger, &err));
	ck_assert_str_eq(err.text, "the ledger was never completed");
	ledger_checkpoint(ledger, &(struct core_used){.first = size.core_bytes});
	ck_assert_uint_eq(ledger_epoch(ledger), 1);
	ledger_free(open_again(ledger));
	ledger_free(ledger);
}
END_TEST

START_TEST(what_is_not_a_ledger_is_refused_and_closed)
{
	struct err err;
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	ck_assert_ptr_null(ledger_open(fd, &err));
	ck_assert_str_eq(err.text, "the ledger is not a sealed memfd");
	ck_assert_int_lt(fcntl(fd, F_GETFD), 0);

	fd = memfd_create("test", MFD_ALLOW_SEALING);
	ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
	ck_assert_ptr_null(ledger_open(fd, &err));
	ck_assert_str_eq(err.text, "the ledger has 0 bytes only");

	fd = memfd_create("test", MFD_ALLOW_SEALING);
	ck_assert_int_eq(ftruncate(fd, 65536), 0);
	ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
	ck_assert_ptr_null(ledger_open(fd, &err));
	ck_assert_str_eq(err.text, "this is not a ledger");
}
END_TEST

START_TEST(another_version_is_refused_by_its_number)
{
	struct ledger *ledger = new_ledger();
	const uint32_t version = LEDGER_VERSION + 41;
	char want[160];
	struct err err;

	/* Behind the magic number, in every version. */
	ck_assert_int_eq(pwrite(ledger_fd(ledger), &version, sizeof(version), 8), 4);
	ck_assert_ptr_null(try_again(ledger, &err));
	snprintf(want, sizeof(want),
	         "the ledger is of version %u, this supd reads %d: stop supd with its "
	         "actors, and start it anew",
	         version, LEDGER_VERSION);
	ck_assert_str_eq(err.text, want);
	ledger_free(ledger);
}
END_TEST

START_TEST(a_checkpoint_empties_the_journal_and_keeps_the_core)
{
	struct ledger *ledger = new_ledger();
	struct ledger *again;
	char *before = ledger_core(ledger);
	const struct event event = event_of(3);

	memset(before, 'a', CORE_BYTES);
	append_entry(ledger, JOURNAL_POST, 5, &event, 6);
	ledger_set_performed(ledger, 4);
	ledger_checkpoint(ledger, &(struct core_used){.first = CORE_BYTES});
	ck_assert_ptr_ne(ledger_core(ledger), before);
	ck_assert_mem_eq(ledger_core(ledger), before, CORE_BYTES);
	ck_assert_uint_eq(ledger_entries(ledger), 0);
	ck_assert_uint_eq(ledger_performed(ledger), 0);
	ck_assert_ptr_null(ledger_entry(ledger, 0));

	/* The live copy may become anything. */
	memset(ledger_core(ledger), 'b', CORE_BYTES);
	again = open_again(ledger);
	ck_assert_int_eq(ledger_restore(again), 0);
	for (size_t i = 0; i < CORE_BYTES; i++)
		ck_assert_int_eq(((char *)ledger_core(again))[i], 'a');
	ledger_free(again);
	ledger_free(ledger);
}
END_TEST

START_TEST(the_journal_gives_back_what_was_appended)
{
	struct ledger *ledger = new_ledger();
	struct ledger *again;

	for (uint32_t i = 0; i < JOURNAL; i++) {
		const struct event event = event_of(i);

		ck_assert(ledger_has_room(ledger, JOURNAL - i));
		ck_assert(!ledger_has_room(ledger, JOURNAL - i + 1));
		if (i % 2 == 0)
			append_entry(ledger, JOURNAL_POST, i, &event, i + 1);
		else
			append_entry(ledger, JOURNAL_SETTLE, i, NULL, 0);
		ledger_set_performed(ledger, i * 2);
	}
	ck_assert(ledger_has_room(ledger, 0));
	ck_assert(!ledger_has_room(ledger, 1));
	again = open_again(ledger);
	ck_assert_uint_eq(ledger_entries(again), JOURNAL);
	ck_assert_uint_eq(ledger_performed(again), (JOURNAL - 1) * 2);
	ck_assert_uint_eq(ledger_epoch(again), 1);
	for (uint32_t i = 0; i < JOURNAL; i++) {
		const struct journal_entry *entry = ledger_entry(again, i);

		ck_assert_ptr_nonnull(entry);
		ck_assert_uint_eq(entry->now_ms, i);
		ck_assert_uint_eq(entry->kind,
		                  i % 2 == 0 ? JOURNAL_POST : JOURNAL_SETTLE);
		ck_assert_uint_eq(entry->tag, i % 2 == 0 ? i + 1 : 0);
		ck_assert(i % 2 != 0 || event_is(&entry->event, i));
	}
	ck_assert_ptr_null(ledger_entry(again, JOURNAL));
	ck_assert_ptr_null(ledger_entry(again, UINT32_MAX));
	ledger_free(again);
	ledger_free(ledger);
}
END_TEST

START_TEST(a_record_is_the_newest_that_was_written)
{
	struct ledger *ledger = new_ledger();
	struct ledger *again = open_again(ledger);
	struct ledger_record record;

	for (uint32_t n = 1; n < 10; n++)
		for (uint32_t slot = 0; slot < SLOTS; slot += 2) {
			const struct ledger_record want = record_of(slot, n + slot);

			ledger_write(n % 2 == 0 ? ledger : again, slot, &want);
			ck_assert_int_eq(ledger_read(ledger, slot, &record), 0);
			ck_assert(record_is(&record, n + slot));
			ck_assert_int_eq(ledger_read(again, slot + 1, &record), -ENOENT);
		}
	ledger_free(again);
	ledger_free(ledger);
}
END_TEST

START_TEST(facts_are_the_newest_that_were_written)
{
	struct ledger *ledger = new_ledger();
	struct ledger *again = open_again(ledger);
	struct ledger_facts facts = {.version = "1.2"};

	for (uint32_t n = 1; n < 5; n++) {
		struct ledger_facts want = {.secret = {n},
		                            .conf_id = n,
		                            .started_ms = n,
		                            .upgrade_ms = n,
		                            .is_ready = n % 2,
		                            .shutting_down = n % 3 == 0};

		/* Not even terminated. */
		memset(want.version, 'v', sizeof(want.version));
		ledger_set_facts(n % 2 == 0 ? ledger : again, &want);
		ck_assert_int_eq(ledger_facts(ledger, &facts), 0);
		ck_assert_uint_eq(facts.secret[0], n);
		ck_assert_uint_eq(facts.conf_id, n);
		ck_assert_uint_eq(facts.started_ms, n);
		ck_assert_uint_eq(facts.upgrade_ms, n);
		ck_assert_int_eq(facts.is_ready, n % 2);
		ck_assert_int_eq(facts.shutting_down, n % 3 == 0);
		ck_assert_uint_eq(strlen(facts.version), sizeof(facts.version) - 1);
	}
	ledger_free(again);
	ledger_free(ledger);
}
END_TEST

/* How much of the ledger's memory was used. */
static off_t
bytes_used(const struct ledger *ledger)
{
	off_t used = 0, hole = 0, data;

	for (; (data = lseek(ledger_fd(ledger), hole, SEEK_DATA)) >= 0;
	     used += hole - data)
		hole = lseek(ledger_fd(ledger), data, SEEK_HOLE);
	return used;
}

START_TEST(a_task_is_the_newest_that_was_written_and_goes_along_with_a_copy)
{
	const struct ledger_size size = {.slots = SLOTS,
	                                 .journal = JOURNAL,
	                                 .core_bytes = CORE_BYTES,
	                                 .events_bytes = EVENTS_BYTES};
	struct err err;
	struct ledger *ledger = new_ledger(), *copy = ledger_new(&size, &err);
	struct ledger_task task = {.ref = {3, 4}, .serial = 5, .pid = 6, .ended = true};
	struct ledger_task got;

	ck_assert_int_eq(ledger_read_task(ledger, 0, &got), -ENOENT);
	for (int32_t pid = 1; pid < 5; pid++) {
		task.pid = pid;
		ledger_write_task(ledger, LEDGER_TASKS_MAX - 1, &task);
	}
	/* Memory that was never used is not looked at: it would be used then. */
	const off_t used = bytes_used(ledger);
	ledger_copy(copy, ledger);
	ck_assert_int_eq(bytes_used(ledger), used);
	ck_assert_int_le(bytes_used(copy), used);
	ck_assert_int_eq(ledger_read_task(copy, LEDGER_TASKS_MAX - 1, &got), 0);
	ck_assert_uint_eq(got.ref.tenant, 4);
	ck_assert_uint_eq(got.serial, 5);
	ck_assert_int_eq(got.pid, 4);
	ck_assert(got.ended);
	ck_assert_int_eq(ledger_read_task(copy, LEDGER_TASKS_MAX - 2, &got), -ENOENT);
	ledger_free(ledger);
	ledger_free(copy);
}
END_TEST

START_TEST(a_status_text_is_cut_off_between_two_characters)
{
	struct ledger *ledger = new_ledger();
	char text[LEDGER_STATUS_MAX * 2];

	ledger_set_status(ledger, 1, "working");
	ck_assert_str_eq(ledger_status(ledger, 1), "working");
	ledger_set_status(ledger, 1, "");
	ck_assert_str_eq(ledger_status(ledger, 1), "");
	memset(text, 'x', sizeof(text));
	text[LEDGER_STATUS_MAX - 1] = '\0';
	ledger_set_status(ledger, 1, text);
	ck_assert_str_eq(ledger_status(ledger, 1), text);
	/* A character of two bytes over the end. */
	memcpy(text + LEDGER_STATUS_MAX - 2, "\xc3\xa4y", 4);
	ledger_set_status(ledger, 1, text);
	ck_assert_uint_eq(strlen(ledger_status(ledger, 1)), LEDGER_STATUS_MAX - 2);
	ck_assert_str_eq(ledger_status(ledger, 0), "");
	ck_assert_str_eq(ledger_status(ledger, 2), "");
	ledger_free(ledger);
}
END_TEST

static const char *
name_of(uint32_t n, char ret[32])
{
	snprintf(ret, 32, "/user/%u", n);
	return ret;
}

START_TEST(names_are_remembered_and_the_oldest_forgotten)
{
	struct ledger *ledger = new_ledger();
	struct ledger *again;
	char name[32];

	for (uint32_t n = 1; n <= LEDGER_PAST_MAX; n++)
		ledger_set_past(ledger, name_of(n, name), n);
	/* Known ones take no place. */
	for (uint32_t n = 1; n <= 100; n++)
		ledger_set_past(ledger, name_of(n, name), n * 1000);
	again = open_again(ledger);
	for (uint32_t n = 1; n <= LEDGER_PAST_MAX; n++)
		ck_assert_uint_eq(ledger_past(again, name_of(n, name)),
		                  n <= 100 ? n * 1000 : n);
	for (uint32_t n = 1; n <= 50; n++)
		ledger_set_past(again, name_of(LEDGER_PAST_MAX + n, name), 7);
	ledger_free(ledger);
	ledger = open_again(again);
	for (uint32_t n = 1; n <= LEDGER_PAST_MAX + 50; n++) {
		uint32_t want = n <= 100 ? n * 1000 : n;

		if (n <= 50)
			want = 0;
		else if (n > LEDGER_PAST_MAX)
			want = 7;
		ck_assert_uint_eq(ledger_past(again, name_of(n, name)), want);
		ck_assert_uint_eq(ledger_past(ledger, name_of(n, name)), want);
	}
	ledger_free(again);
	ledger_free(ledger);
}
END_TEST

START_TEST(a_copy_has_everything_but_core_journal_and_records)
{
	const struct ledger_size size = {.slots = SLOTS * 2,
	                                 .journal = JOURNAL / 2,
	                                 .core_bytes = CORE_BYTES * 3,
	                                 .events_bytes = EVENTS_BYTES * 2};
	struct ledger *old = new_ledger();
	struct err err;
	struct ledger *ledger = ledger_new(&size, &err);
	const struct ledger_record want = record_of(SLOTS - 1, 9);
	const struct ledger_facts facts = {.secret = {11}};
	const struct event event = event_of(1);
	struct ledger_record record;
	struct ledger_facts found;
	uint32_t old_epoch;

	ck_assert_ptr_nonnull(ledger);
	ledger_write(old, SLOTS - 1, &want);
	ledger_set_status(old, SLOTS - 1, "here");
	ledger_set_facts(old, &facts);
	ledger_set_past(old, "/user/a", 5);
	append_entry(old, JOURNAL_POST, 1, &event, 1);
	ledger_set_performed(old, 1);
	ledger_spawn(old, 3)->life = 77;
	memset(ledger_core(old), 'c', CORE_BYTES);
	memset(ledger_events(old), 'e', EVENTS_BYTES);
	memset(ledger_tokens(old), 't', LEDGER_TOKENS_BYTES);
	ledger_copy(ledger, old);
	old_epoch = ledger_epoch(old);
	ledger_free(old);

	ck_assert_uint_eq(ledger_entries(ledger), 0);
	ck_assert_uint_eq(ledger_performed(ledger), 0);
	ck_assert_int_eq(*(char *)ledger_core(ledger), 0);
	ck_assert_int_eq(ledger_read(ledger, SLOTS - 1, &record), -ENOENT);
	ck_assert_str_eq(ledger_status(ledger, SLOTS - 1), "here");
	ck_assert_str_eq(ledger_status(ledger, SLOTS), "");
	ck_assert_int_eq(ledger_facts(ledger, &found), 0);
	ck_assert_uint_eq(found.secret[0], 11);
	ck_assert_uint_eq(ledger_past(ledger, "/user/a"), 5);
	ck_assert_uint_eq(ledger_spawn(ledger, 3)->life, 77);
	ck_assert_int_eq(((char *)ledger_events(ledger))[EVENTS_BYTES - 1], 'e');
	ck_assert_int_eq(((char *)ledger_events(ledger))[EVENTS_BYTES], 0);
	ck_assert_int_eq(((char *)ledger_tokens(ledger))[LEDGER_TOKENS_BYTES - 1], 't');
	ledger_checkpoint(ledger, &(struct core_used){.first = CORE_BYTES});
	/* What was copied names checkpoints: no new one may be taken for one of those. */
	ck_assert_uint_eq(ledger_epoch(ledger), old_epoch + 1);
	ck_assert_uint_eq(ledger_performed(ledger), 0);
	ck_assert_int_eq(ledger_restore(ledger), 0);
	ledger_free(open_again(ledger));
	ledger_free(ledger);
}
END_TEST

START_TEST(a_slot_costs_less_than_a_kibibyte_besides_the_core)
{
	const struct ledger_size size = {
	    .slots = 1000, .journal = 1, .core_bytes = 64, .events_bytes = 64};
	struct err err;
	struct ledger *ledger = ledger_new(&size, &err);

	ck_assert_ptr_nonnull(ledger);
	ck_assert_int_lt(lseek(ledger_fd(ledger), 0, SEEK_END) - LEDGER_TOKENS_BYTES,
	                 1000 * 1024);
	ledger_free(ledger);
}
END_TEST

Suite *
contract_suite(void)
{
	Suite *suite = suite_create("contract");
	TCase *tcase = tcase_create("contract");

	tcase_add_test(tcase, a_sum_depends_on_every_bit_the_length_and_the_seed);
	tcase_add_test(tcase, two_top_bits_do_not_cancel_out_in_a_sum);
	tcase_add_test(tcase, all_of_a_new_ledger_is_zero_and_writable);
	tcase_add_test(tcase, its_descriptor_is_close_on_exec_and_its_size_is_for_good);
	tcase_add_test(tcase, memory_that_is_not_to_be_had_is_an_error_with_a_sentence);
	tcase_add_test(tcase, a_ledger_without_a_checkpoint_is_none);
	tcase_add_test(tcase, what_is_not_a_ledger_is_refused_and_closed);
	tcase_add_test(tcase, another_version_is_refused_by_its_number);
	tcase_add_test(tcase, a_checkpoint_empties_the_journal_and_keeps_the_core);
	tcase_add_test(tcase, the_journal_gives_back_what_was_appended);
	tcase_add_test(tcase, a_record_is_the_newest_that_was_written);
	tcase_add_test(tcase,
	               a_task_is_the_newest_that_was_written_and_goes_along_with_a_copy);
	tcase_add_test(tcase, facts_are_the_newest_that_were_written);
	tcase_add_test(tcase, a_status_text_is_cut_off_between_two_characters);
	tcase_add_test(tcase, names_are_remembered_and_the_oldest_forgotten);
	tcase_add_test(tcase, a_copy_has_everything_but_core_journal_and_records);
	tcase_add_test(tcase, a_slot_costs_less_than_a_kibibyte_besides_the_core);
	suite_add_tcase(suite, tcase);
	return suite;
}
