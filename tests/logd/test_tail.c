/* SPDX-License-Identifier: ISC */
/* test_tail.c - where the guardian finds what the log process keeps of a stream. */
#include "config.h"

#include <check.h>
#include <sys/mman.h>
#include <unistd.h>

#include "logd/read/tail.h"
#include "logd/write/state.h"
#include "tests/lib/check_main.h"

#define STREAMS 5000
#define KEY(i)  (0x1000 + (uint64_t)(i))

static struct state state;
static struct tail tail;

/* So many streams, named in this order, the first one from entry 0 on. */
static void
begin(void)
{
	struct err err;
	uint32_t entry;
	int fd = state_new(&err);

	ck_assert_msg(fd >= 0, "%s", err.text);
	ck_assert_int_eq(state_open(&state, fd, &err), 0);
	for (uint32_t i = 0; i < STREAMS; i++) {
		ck_assert_int_eq(state_find(&state, KEY(i), &entry), 0);
		ck_assert_uint_eq(entry, i);
		state.entries[i].total = 10 * i;
	}
	tail_init(&tail);
	tail_open(&tail, fd);
	ck_assert_ptr_nonnull(tail.head);
}

static void
end(void)
{
	const int fd = state.fd;

	tail_close(&tail);
	state_close(&state);
	(void)close(fd);
}

/* The stream is found with this guess, in this entry. */
static void
finds(uint64_t key, uint32_t guess, uint32_t entry)
{
	struct tail_stream stream = {.key = key, .pipe_fd = -1, .entry = guess};

	ck_assert_uint_eq(tail_total(&tail, &stream, 0), tail.entries[entry].total);
	ck_assert_uint_eq(stream.entry, entry);
}

/* The page with this entry, and the page before and behind it, can be read. */
static void
show(uint32_t entry)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const size_t at = sizeof(*tail.entries) * entry / page * page;

	ck_assert_int_eq(
	    mprotect((char *)(uintptr_t)tail.entries + at - page, 3 * page, PROT_READ),
	    0);
}

/* The stream is found without a look at entries that are far from the guess and from
 * where the stream is. */
static void
finds_at_once(uint64_t key, uint32_t guess, uint32_t entry)
{
	const size_t size = sizeof(*tail.entries) * STREAMS;

	ck_assert_int_eq(mprotect((char *)(uintptr_t)tail.entries, size, PROT_NONE), 0);
	show(guess);
	show(entry);
	finds(key, guess, entry);
	ck_assert_int_eq(mprotect((char *)(uintptr_t)tail.entries, size, PROT_READ), 0);
}

START_TEST(each_stream_is_found_whatever_the_guess)
{
	const uint32_t guesses[] = {0, 1, STREAMS / 2, STREAMS - 1, STREAMS, UINT32_MAX};

	begin();
	for (size_t k = 0; k < sizeof(guesses) / sizeof(guesses[0]); k++)
		for (uint32_t i = 0; i < STREAMS; i += 499)
			finds(KEY(i), guesses[k], i);
	finds(KEY(STREAMS - 1), 0, STREAMS - 1);
	finds(KEY(0), STREAMS - 1, 0);
	end();
}
END_TEST

START_TEST(what_is_not_there_is_not_found)
{
	struct tail_stream stream = {.key = 1, .pipe_fd = -1, .entry = 7};

	begin();
	ck_assert_uint_eq(tail_total(&tail, &stream, 0), 0);
	ck_assert_uint_eq(stream.entry, 7);
	end();
}
END_TEST

START_TEST(no_entry_is_looked_at_but_those_around_the_guess)
{
	begin();
	for (uint32_t i = 100; i < STREAMS - 100; i += 97) {
		finds_at_once(KEY(i), i, i);
		finds_at_once(KEY(i), i + 3, i);
	}
	end();
}
END_TEST

START_TEST(guesses_may_be_as_wrong_as_the_one_before)
{
	begin();
	finds(KEY(100), 2100, 100);
	for (uint32_t i = 100; i < STREAMS - 2100; i += 97)
		finds_at_once(KEY(i), i + 2000, i);
	end();
}
END_TEST

/* Entries of dropped streams are used again from the last one on. */
START_TEST(entries_in_the_opposite_order_are_beside_each_other)
{
	begin();
	finds(KEY(3000), 1000, 3000);
	for (uint32_t i = 1; i < 900; i++)
		finds_at_once(KEY(3000 - i), 1000 + i, 3000 - i);
	end();
}
END_TEST

CHECK_MAIN("tail", each_stream_is_found_whatever_the_guess,
           what_is_not_there_is_not_found,
           no_entry_is_looked_at_but_those_around_the_guess,
           guesses_may_be_as_wrong_as_the_one_before,
           entries_in_the_opposite_order_are_beside_each_other)
