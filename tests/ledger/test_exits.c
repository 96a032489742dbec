/* SPDX-License-Identifier: ISC */
/* test_exits.c - records of ended processes, with writer and reader dying at random. */
#include "config.h"

#include <check.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ledger/exits.h"
#include "tests/lib/check_main.h"

/* Of each side; so many that the ring goes round several times. */
#define DEATHS 500

static struct exits *
new_ring(void)
{
	struct err err;
	struct exits *exits = exits_new(&err);

	ck_assert_ptr_nonnull(exits);
	return exits;
}

static struct exits *
side(struct exits *(*open_side)(int, struct err *), const struct exits *of)
{
	struct err err = {0};
	struct exits *exits = open_side(fcntl(exits_fd(of), F_DUPFD_CLOEXEC, 0), &err);

	ck_assert_msg(exits != NULL, "%s", err.text);
	return exits;
}

/* Every field has the number of its record, so that a torn record would show. */
static struct reap
nth(uint64_t n)
{
	struct reap reap;

	memset(&reap, 0, sizeof(reap));
	reap.pid = (pid_t)(n + 1);
	reap.kind = (enum reap_kind)(n % 5);
	reap.status = (int)(n % 256);
	reap.utime_us = n * 3;
	reap.stime_us = n * 5;
	reap.maxrss_kib = n * 7;
	return reap;
}

static bool
is_nth(const struct reap *reap, uint64_t n)
{
	struct reap wanted = nth(n);

	return reap->pid == wanted.pid && reap->kind == wanted.kind &&
	       reap->status == wanted.status && reap->utime_us == wanted.utime_us &&
	       reap->stime_us == wanted.stime_us && reap->maxrss_kib == wanted.maxrss_kib;
}

/* As ck_assert(), which writes a file each time. */
static void
expect(const struct reap *reap, uint64_t n)
{
	if (!is_nth(reap, n))
		ck_abort_msg("a record is torn, lost or doubled: %d instead of %d",
		             reap->pid, (int)n + 1);
}

START_TEST(records_come_in_order_and_stay_until_they_are_taken)
{
	struct exits *walker = new_ring(), *guardian = side(exits_open, walker);
	struct reap reap;

	ck_assert(!exits_peek(guardian, &reap));
	for (uint64_t n = 0; n < 3; n++) {
		struct reap one = nth(n);

		ck_assert(exits_add(walker, &one));
	}
	ck_assert(exits_peek(guardian, &reap) && is_nth(&reap, 0));
	ck_assert(exits_peek(guardian, &reap) && is_nth(&reap, 0));
	exits_take(guardian);
	ck_assert(exits_peek(guardian, &reap) && is_nth(&reap, 1));
	exits_free(guardian);
	guardian = side(exits_open, walker);
	ck_assert(exits_peek(guardian, &reap) && is_nth(&reap, 1));
	exits_take(guardian);
	exits_take(guardian);
	ck_assert(!exits_peek(guardian, &reap));
	exits_free(guardian);
	exits_free(walker);
	exits_free(NULL);
}
END_TEST

START_TEST(a_full_ring_takes_no_more_until_there_is_room)
{
	struct exits *walker = new_ring(), *guardian = side(exits_open, walker);
	struct reap reap, one;
	uint64_t taken = 0, added = 0;

	for (int round = 0; round < 5; round++) {
		for (one = nth(added); exits_add(walker, &one); one = nth(++added))
			continue;
		ck_assert(exits_is_full(walker));
		ck_assert_uint_eq(added - taken, EXITS_MAX);
		for (int i = 0; i < 1000 * (round + 1); i++, taken++) {
			ck_assert(exits_peek(guardian, &reap));
			expect(&reap, taken);
			exits_take(guardian);
		}
		ck_assert(!exits_is_full(walker));
	}
	exits_free(guardian);
	exits_free(walker);
}
END_TEST

START_TEST(the_walker_goes_on_where_it_was_after_it_executed_itself)
{
	struct exits *walker = new_ring(), *again, *guardian;
	struct reap reap, one = nth(0);

	ck_assert(exits_add(walker, &one));
	again = side(exits_resume, walker);
	exits_free(walker);
	one = nth(1);
	ck_assert(exits_add(again, &one));
	guardian = side(exits_open, again);
	for (uint64_t n = 0; n < 2; n++) {
		ck_assert(exits_peek(guardian, &reap) && is_nth(&reap, n));
		exits_take(guardian);
	}
	ck_assert(!exits_peek(guardian, &reap));
	exits_free(guardian);
	exits_free(again);
}
END_TEST

START_TEST(what_is_no_ring_is_refused)
{
	struct exits *walker = new_ring();
	struct err err = {0};
	int fd = memfd_create("strange", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	const int flags = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	off_t size = lseek(exits_fd(walker), 0, SEEK_END);

	ck_assert_ptr_null(exits_open(fcntl(fd, F_DUPFD_CLOEXEC, 0), &err));
	ck_assert_int_eq(ftruncate(fd, size), 0);
	ck_assert_ptr_null(exits_open(fcntl(fd, F_DUPFD_CLOEXEC, 0), &err));
	ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, flags), 0);
	ck_assert_ptr_null(exits_open(fd, &err));
	ck_assert_ptr_nonnull(strstr(err.text, "another version"));
	ck_assert_int_eq(ftruncate(exits_fd(walker), 0), -1);
	exits_free(walker);
}
END_TEST

START_TEST(a_reader_that_went_mad_is_survived)
{
	struct exits *walker = new_ring(), *guardian;
	struct reap reap, one = nth(0);
	uint64_t *taken =
	    mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, exits_fd(walker), 0);

	ck_assert_ptr_ne(taken, MAP_FAILED);
	ck_assert(exits_add(walker, &one));
	*taken = UINT64_C(0xdeadbeefdeadbeef);
	ck_assert(!exits_add(walker, &one));
	guardian = side(exits_open, walker);
	ck_assert(!exits_peek(guardian, &reap));
	one = nth(1);
	ck_assert(exits_add(walker, &one));
	ck_assert(exits_peek(guardian, &reap) && is_nth(&reap, 1));
	exits_free(guardian);
	exits_free(walker);
	(void)munmap(taken, 8);
}
END_TEST

/* ---- death at any instruction ------------------------------------------------------ */

/* The work of a side until it is killed; the reader writes its count to `ledger`. */
static void
read_on(const struct exits *of, uint64_t *ledger)
{
	struct err err;
	struct exits *exits = exits_open(dup(exits_fd(of)), &err);
	struct reap reap;

	for (;;) {
		if (!exits_peek(exits, &reap)) {
			(void)sched_yield();
			continue;
		}
		/* A predecessor died between putting it down and taking it. */
		if (*ledger > 0 && is_nth(&reap, *ledger - 1)) {
			exits_take(exits);
			continue;
		}
		if (!is_nth(&reap, *ledger))
			_exit(1);
		__atomic_store_n(ledger, *ledger + 1, __ATOMIC_SEQ_CST);
		exits_take(exits);
	}
}

/* The zombie that is not reaped: `next` is raised when the record is there for sure. */
static void
write_on(const struct exits *of, uint64_t *next)
{
	struct err err;
	struct exits *exits = exits_resume(dup(exits_fd(of)), &err);

	for (;;) {
		struct reap one = nth(*next);

		if (exits_add(exits, &one))
			__atomic_store_n(next, *next + 1, __ATOMIC_SEQ_CST);
		else
			(void)sched_yield();
	}
}

static pid_t
start(void (*life)(const struct exits *, uint64_t *), const struct exits *exits,
      uint64_t *number)
{
	pid_t pid = fork();

	/* A process that may be killed at any moment tells the frame of the tests
	 * nothing. */
	if (pid == 0)
		life(exits, number);
	ck_assert_int_gt(pid, 0);
	return pid;
}

static void
end(pid_t pid)
{
	int status;

	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
	              "the reader saw what was wrong: status %x", status);
}

START_TEST(readers_killed_at_random_lose_and_double_nothing)
{
	struct exits *walker = new_ring(), *guardian;
	uint64_t *ledger =
	    mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t added = 0, seen = 0;
	struct reap reap;

	ck_assert_ptr_ne(ledger, MAP_FAILED);
	for (int death = 0; death < DEATHS; death++) {
		pid_t pid = start(read_on, walker, ledger);
		uint64_t until = seen + (uint64_t)(rand() % 4000) + 1;

		/* It dies in the middle of taking, at no chosen place. */
		while ((seen = __atomic_load_n(ledger, __ATOMIC_SEQ_CST)) < until) {
			struct reap one = nth(added);

			if (exits_add(walker, &one))
				added++;
			else
				(void)sched_yield();
		}
		end(pid);
		seen = *ledger;
	}
	guardian = side(exits_open, walker);
	for (seen = *ledger; exits_peek(guardian, &reap); exits_take(guardian))
		if (seen == 0 || !is_nth(&reap, seen - 1))
			expect(&reap, seen++);
	ck_assert_uint_eq(seen, added);
	ck_assert_uint_gt(added, 5 * EXITS_MAX);
	exits_free(guardian);
	exits_free(walker);
	(void)munmap(ledger, 4096);
}
END_TEST

START_TEST(the_guardian_says_once_that_it_wakes_up_where_it_was_let_rest)
{
	struct exits *walker = new_ring(), *guardian = side(exits_open, walker);

	/* It has not turned yet: it may be anything. */
	ck_assert(!exits_let_rest(walker));
	ck_assert(!exits_wake(guardian));
	ck_assert(!exits_let_rest(walker));
	for (int i = 0; i < 3; i++) {
		exits_sleep(guardian);
		ck_assert(exits_let_rest(walker));
		ck_assert(exits_wake(guardian));
		exits_sleep(guardian);
		ck_assert(!exits_wake(guardian));
		/* In a turn, again. */
		exits_rouse(walker);
		ck_assert(!exits_let_rest(walker));
	}
	exits_sleep(guardian);
	ck_assert(exits_let_rest(walker));
	exits_rouse(walker);
	ck_assert(!exits_wake(guardian));
	exits_sleep(guardian);
	ck_assert(exits_let_rest(walker));
	/* The next guardian is as unknown as the first one was. */
	exits_new_pulse(walker);
	exits_free(guardian);
	guardian = side(exits_open, walker);
	ck_assert(!exits_let_rest(walker));
	ck_assert(!exits_wake(guardian));
	exits_free(guardian);
	exits_free(walker);
}
END_TEST

START_TEST(writers_killed_at_random_lose_nothing_and_tear_nothing)
{
	struct exits *ring = new_ring(), *guardian = side(exits_open, ring);
	uint64_t *next =
	    mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t doubled = 0, seen = 0;
	struct reap reap;

	ck_assert_ptr_ne(next, MAP_FAILED);
	for (int death = 0; death < DEATHS; death++) {
		pid_t pid = start(write_on, ring, next);
		uint64_t until = seen + (uint64_t)(rand() % 4000) + 1;

		while (seen < until || death == DEATHS - 1) {
			if (!exits_peek(guardian, &reap)) {
				if (death == DEATHS - 1 && seen >= until)
					break;
				(void)sched_yield();
				continue;
			}
			/* A writer that died before it noted its record writes the record
			 * again: at most once a death. */
			if (seen > 0 && is_nth(&reap, seen - 1))
				doubled++;
			else
				expect(&reap, seen++);
			exits_take(guardian);
		}
		end(pid);
	}
	ck_assert_uint_le(doubled, DEATHS);
	for (; exits_peek(guardian, &reap); exits_take(guardian))
		if (!is_nth(&reap, seen - 1))
			expect(&reap, seen++);
	ck_assert_uint_ge(seen, *next);
	ck_assert_uint_gt(seen, 5 * EXITS_MAX);
	exits_free(guardian);
	exits_free(ring);
	(void)munmap(next, 4096);
}
END_TEST

CHECK_MAIN("exits", records_come_in_order_and_stay_until_they_are_taken,
           a_full_ring_takes_no_more_until_there_is_room,
           the_walker_goes_on_where_it_was_after_it_executed_itself,
           what_is_no_ring_is_refused, a_reader_that_went_mad_is_survived,
           readers_killed_at_random_lose_and_double_nothing,
           the_guardian_says_once_that_it_wakes_up_where_it_was_let_rest,
           writers_killed_at_random_lose_nothing_and_tear_nothing)
