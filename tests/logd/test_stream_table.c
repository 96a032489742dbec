/* SPDX-License-Identifier: ISC */
/* test_stream_table.c - the table of streams in want of memory. */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <sys/resource.h>

#include "logd/write/stream.h"
#include "tests/lib/check_main.h"

/* There an allocator that finds nothing ends the process by itself. */
#if defined(__SANITIZE_ADDRESS__)
#define HAS_LIMITS false
#else
#define HAS_LIMITS true
#endif

/* The log process before this one was killed, and had streams. */
START_TEST(without_memory_for_the_streams_of_before_there_is_no_table)
{
	const struct rlimit none = {0, 0};
	struct stream_table table;
	struct state state;
	struct err err;
	uint32_t entry;

	CHECK_NEEDS(HAS_LIMITS, "an allocator that returns NULL");
	ck_assert_int_eq(state_open(&state, state_new(&err), &err), 0);
	ck_assert_int_eq(state_find(&state, 0x1000, &entry), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &none), 0);
	ck_assert_int_eq(stream_table_open(&table, &state), -ENOMEM);
	ck_assert_ptr_null(table.by_entry);
}
END_TEST

CHECK_MAIN("stream_table", without_memory_for_the_streams_of_before_there_is_no_table)
