/* SPDX-License-Identifier: ISC */
/* test_source.c - where reading begins while files come into being. */
#include "config.h"

#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/moment.h"
#include "logd/read/reader_source.h"
#include "tests/lib/check_main.h"

#define SINCE  "2026-01-01T00:00:00.000Z"
#define ROUNDS 500

struct birth {
	char prepared[64];
	char name[64];
	atomic_int round; /* this file may come */
	atomic_int done;  /* … and has come */
};

/* The files come at a moment of their own, each at once with its first line. */
static void *
bear(void *user)
{
	struct birth *birth = user;

	for (int i = 1; i <= ROUNDS; i++) {
		while (atomic_load(&birth->round) != i)
			(void)sched_yield();
		for (volatile int wait = 0; wait < i % 64 * 20; wait++)
			continue;
		(void)rename(birth->prepared, birth->name);
		atomic_store(&birth->done, i);
	}
	return NULL;
}

static void
prepare(const struct birth *birth)
{
	FILE *file = fopen(birth->prepared, "w");

	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs("2026-11-24T18:16:25.579Z first\n", file), 0);
	ck_assert_int_eq(fclose(file), 0);
}

static void
read_one(struct birth *birth, int i)
{
	struct source_start start = {.lines = -1, .since = SINCE};
	struct source source = {
	    .path = "/user/a",
	    .stream = "output",
	    .name = birth->name,
	    .position = "",
	    .format = READER_TIMED,
	    .owner = "",
	};
	int r;

	ck_assert_int_eq(moment_parse(SINCE, &start.since_us), 0);
	reader_file_init(&source.file);
	prepare(birth);
	atomic_store(&birth->round, i);
	ck_assert_int_eq(source_begin(&source, &start), 0);
	while (atomic_load(&birth->done) != i)
		(void)sched_yield();
	r = source_peek(&source, start.since, true);
	ck_assert_msg(r == 1, "file %d: %d instead of its first line", i, r);
	ck_assert_int_eq(strncmp(source.head.text, "first", source.head.len), 0);
	reader_file_done(&source.file);
	ck_assert_int_eq(unlink(birth->name), 0);
}

START_TEST(the_first_line_of_a_file_that_comes_meanwhile_is_read)
{
	char directory[] = "/tmp/supd-source.XXXXXX";
	struct birth birth = {.round = 0};
	pthread_t thread;

	ck_assert_ptr_nonnull(mkdtemp(directory));
	(void)snprintf(birth.prepared, sizeof(birth.prepared), "%s/new", directory);
	(void)snprintf(birth.name, sizeof(birth.name), "%s/a.log", directory);
	ck_assert_int_eq(pthread_create(&thread, NULL, bear, &birth), 0);
	for (int i = 1; i <= ROUNDS; i++)
		read_one(&birth, i);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(rmdir(directory), 0);
}
END_TEST

CHECK_MAIN("source", the_first_line_of_a_file_that_comes_meanwhile_is_read)
