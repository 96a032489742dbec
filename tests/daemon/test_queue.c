/* SPDX-License-Identifier: ISC */
/* test_queue.c - what comes from outside has to wait, what has happened never. */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>

#include "daemon/state/queue.h"
#include "tests/lib/check_main.h"

#define ACTORS 3

static int
post(struct queue *queue, enum event_kind kind, uint64_t token)
{
	const struct event event = {.kind = kind, .token = token};

	return queue_post(queue, &event);
}

START_TEST(what_processes_say_is_let_in_up_to_a_number_and_ends_still_have_room)
{
	struct queue queue = {0};
	size_t cap;

	ck_assert_int_eq(queue_reserve_for(&queue, ACTORS), 0);
	cap = queue.cap;
	for (size_t i = 0; i < QUEUE_SAID_MAX; i++) {
		ck_assert(queue_has_room(&queue, 1));
		ck_assert_int_eq(post(&queue, i % 2 ? EVENT_READY : EVENT_SELF_REPORT, 0),
		                 0);
	}
	ck_assert(!queue_has_room(&queue, 1));
	/* Every actor may end, be gone, and start again. */
	for (int i = 0; i < ACTORS; i++) {
		ck_assert_int_eq(post(&queue, EVENT_EXITED, 0), 0);
		ck_assert_int_eq(post(&queue, EVENT_GONE, 0), 0);
		ck_assert_int_eq(post(&queue, EVENT_SPAWNED, 0), 0);
	}
	ck_assert_uint_eq(queue.cap, cap);
	queue_clear(&queue);
	ck_assert(queue_has_room(&queue, QUEUE_SAID_MAX));
	ck_assert(!queue_has_room(&queue, QUEUE_SAID_MAX + 1));
	queue_done(&queue);
}
END_TEST

START_TEST(commands_are_refused_beyond_a_number_and_what_is_said_does_not_take_theirs)
{
	struct queue queue = {0};

	for (size_t i = 0; i < QUEUE_SAID_MAX; i++)
		ck_assert_int_eq(post(&queue, EVENT_READY, 0), 0);
	for (uint64_t i = 1; i <= QUEUE_COMMANDS_MAX; i++)
		ck_assert_int_eq(post(&queue, EVENT_RESTART, i), 0);
	ck_assert_int_eq(post(&queue, EVENT_RESTART, 1), -EBUSY);
	/* A client that has gone gives its place back in any case. */
	ck_assert_int_eq(post(&queue, EVENT_UNWAIT, 1), 0);
	ck_assert_int_eq(post(&queue, EVENT_EXITED, 0), 0);
	queue_done(&queue);
}
END_TEST

START_TEST(more_than_was_foreseen_makes_it_grow_and_nothing_is_lost)
{
	struct queue queue = {0};

	for (uint32_t i = 0; i < 100000; i++) {
		const struct event event = {.kind = EVENT_EXITED, .life = i};

		ck_assert_int_eq(queue_post(&queue, &event), 0);
	}
	ck_assert_uint_eq(queue.n, 100000);
	for (uint32_t i = 0; i < queue.n; i++)
		ck_assert_uint_eq(queue.events[i].life, i);
	queue_done(&queue);
}
END_TEST

CHECK_MAIN("queue", what_processes_say_is_let_in_up_to_a_number_and_ends_still_have_room,
           commands_are_refused_beyond_a_number_and_what_is_said_does_not_take_theirs,
           more_than_was_foreseen_makes_it_grow_and_nothing_is_lost)
