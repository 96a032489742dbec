/* SPDX-License-Identifier: ISC */
/* test_watchdog.c - what is silent for too long, and what follows when. */
#include "config.h"

#include <check.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/assert.h"
#include "tests/lib/check_main.h"
#include "walker/respawn.h"
#include "walker/walker.h"
#include "walker/watchdog.h"

#define PROVE  120000
#define PERIOD 30000
#define T0     UINT64_C(1000000)

START_TEST(without_anything_to_watch_there_is_nothing_to_do)
{
	struct watchdog dog;

	watchdog_init(&dog, 0, T0);
	ck_assert_uint_eq(watchdog_deadline_ms(&dog), UINT64_MAX);
	ck_assert_int_eq(watchdog_next(&dog, T0 + 10 * PROVE), WATCHDOG_WAIT);
	ck_assert(!watchdog_hurry(&dog, T0));
}
END_TEST

/* Aborted at now: killed, and left again and again, each after its time. */
static void
check_bites(struct watchdog *dog, uint64_t now)
{
	ck_assert_int_eq(watchdog_next(dog, now - 1), WATCHDOG_WAIT);
	ck_assert_uint_eq(watchdog_deadline_ms(dog), now);
	ck_assert(!watchdog_has_bitten(dog));
	ck_assert_int_eq(watchdog_next(dog, now), WATCHDOG_ABORT);
	ck_assert(watchdog_has_bitten(dog));
	ck_assert_uint_eq(watchdog_deadline_ms(dog), now + WATCHDOG_ABORT_MS);
	/* Too late to be heard. */
	watchdog_answered(dog, now + 1);
	now += WATCHDOG_ABORT_MS;
	ck_assert_int_eq(watchdog_next(dog, now), WATCHDOG_KILL);
	for (int i = 0; i < 3; i++) {
		ck_assert_uint_eq(watchdog_deadline_ms(dog), now + WATCHDOG_KILL_MS);
		now += WATCHDOG_KILL_MS;
		ck_assert_int_eq(watchdog_next(dog, now), WATCHDOG_LEAVE);
		ck_assert_int_eq(watchdog_next(dog, now), WATCHDOG_WAIT);
	}
	watchdog_enter(dog, WATCHDOG_NONE, now);
	ck_assert_uint_eq(watchdog_deadline_ms(dog), UINT64_MAX);
}

START_TEST(what_does_not_prove_itself_in_time_is_aborted_killed_and_left)
{
	struct watchdog dog;

	watchdog_init(&dog, 0, T0);
	watchdog_begin(&dog, PROVE, PROVE, T0);
	/* Messages count for nothing: only a proof of life counts. */
	watchdog_answered(&dog, T0 + PROVE / 2);
	check_bites(&dog, T0 + PROVE);
}
END_TEST

START_TEST(what_takes_over_may_be_silent_for_a_time_of_its_own)
{
	struct watchdog dog;

	watchdog_init(&dog, 0, T0);
	watchdog_begin(&dog, PROVE, PROVE / 10, T0);
	for (uint64_t now = T0; now < T0 + PROVE / 2; now += PROVE / 20) {
		watchdog_hear(&dog, now);
		ck_assert_uint_eq(watchdog_deadline_ms(&dog), now + PROVE / 10);
	}
	check_bites(&dog, T0 + PROVE / 2 - PROVE / 20 + PROVE / 10);
}
END_TEST

START_TEST(what_takes_over_has_ten_seconds_and_a_millisecond_for_each_actor)
{
	static const struct {
		uint32_t n_actors;
		uint64_t ms;
	} cases[] = {{0, 10000},
	             {1, 10001},
	             {1000, 11000},
	             {20000, 30000},
	             {UINT32_MAX, UINT64_C(4294977295)}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		ck_assert_uint_eq(WATCHDOG_TAKE_OVER_MS(cases[i].n_actors), cases[i].ms);
}
END_TEST

START_TEST(what_supervises_is_asked_and_has_to_answer)
{
	struct watchdog dog;
	uint64_t now = T0, wait = WATCHDOG_SOON_MS;

	watchdog_init(&dog, 0, T0);
	watchdog_begin(&dog, PROVE, PROVE, T0);
	watchdog_enter(&dog, WATCHDOG_PROVED, T0);
	for (int i = 0; i < 100; i++) {
		ck_assert_uint_eq(watchdog_deadline_ms(&dog), now + wait);
		ck_assert_int_eq(watchdog_next(&dog, now + wait - 1), WATCHDOG_WAIT);
		now += wait;
		ck_assert_int_eq(watchdog_next(&dog, now), WATCHDOG_ASK);
		ck_assert_int_eq(watchdog_next(&dog, now), WATCHDOG_WAIT);
		watchdog_answered(&dog, now);
		if (wait < WATCHDOG_ASK_MS)
			wait *= 2;
	}
	ck_assert_uint_eq(wait, WATCHDOG_ASK_MS);
	now += WATCHDOG_ASK_MS;
	ck_assert_int_eq(watchdog_next(&dog, now), WATCHDOG_ASK);
	check_bites(&dog, now + WATCHDOG_ANSWER_MS);
}
END_TEST

/* The next moment at which there is something to be done, as the walker sleeps. */
static enum watchdog_act
wait_for_act(struct watchdog *dog, uint64_t *now)
{
	*now = watchdog_deadline_ms(dog);
	ck_assert_uint_ne(*now, UINT64_MAX);
	return watchdog_next(dog, *now);
}

START_TEST(what_hangs_at_the_worst_moment_is_replaced_within_ten_seconds)
{
	static const struct {
		const char *what;
		enum watchdog_act last; /* its end */
		bool has_rested;
		uint64_t ms; /* from the hang to the next one */
	} cases[] = {
	    {"stopped: it gets SIGCONT behind SIGABRT", WATCHDOG_ABORT, false, 7000},
	    {"spins", WATCHDOG_ABORT, false, 7000},
	    {"spins, deaf to SIGABRT", WATCHDOG_KILL, false, 8000},
	    {"sleeps in the kernel: it is left", WATCHDOG_LEAVE, false, 9000},
	    {"stopped while it rested", WATCHDOG_ABORT, true, 3500},
	    {"sleeps in the kernel, since it rested", WATCHDOG_LEAVE, true, 5500},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct respawn respawn = {0};
		struct watchdog dog;
		enum watchdog_act act;
		uint64_t now = T0, hung;

		watchdog_init(&dog, 0, now);
		watchdog_enter(&dog, WATCHDOG_PROVED, now);
		respawn_begin(&respawn, now);
		while (now < T0 + 60000) {
			ck_assert_int_eq(wait_for_act(&dog, &now), WATCHDOG_ASK);
			watchdog_answered(&dog, now);
		}
		/* Its last act was an answer; what rests is not missed before there is
		 * something to do. */
		hung = now;
		if (cases[i].has_rested) {
			watchdog_rests(&dog);
			hung += WATCHDOG_REST_MS / 2;
			watchdog_rouse(&dog, hung);
		}
		for (act = WATCHDOG_ASK; act != cases[i].last;)
			act = wait_for_act(&dog, &now);
		ck_assert_uint_eq(respawn_end(&respawn, now), 0);
		ck_assert_msg(respawn.next_ms - hung == cases[i].ms, "%s: %ju ms",
		              cases[i].what, (uintmax_t)(respawn.next_ms - hung));
		/* A second is left for the takeover. */
		ck_assert_uint_le(cases[i].ms + 1000, 10000);
	}
}
END_TEST

START_TEST(a_watchdog_that_stood_still_itself_asks_again_before_it_judges)
{
	struct watchdog dog;
	uint64_t now = T0 + 3600000;

	watchdog_init(&dog, 0, T0);
	watchdog_enter(&dog, WATCHDOG_PROVED, T0);
	ck_assert_int_eq(watchdog_next(&dog, now), WATCHDOG_ASK);
	ck_assert_int_eq(watchdog_next(&dog, now), WATCHDOG_WAIT);
	check_bites(&dog, now + WATCHDOG_ANSWER_MS);
	/* It is missed from the first question on, not since it went to sleep. */
	watchdog_enter(&dog, WATCHDOG_PROVED, T0);
	watchdog_rests(&dog);
	ck_assert(watchdog_hurry(&dog, now));
	ck_assert_uint_eq(dog.heard_ms, now);
}
END_TEST

START_TEST(
    signs_of_life_without_an_answer_are_enough_for_a_while_that_grows_with_the_actors)
{
	static const uint32_t actors[] = {0, 1000};

	for (size_t i = 0; i < ARRAY_SIZE(actors); i++) {
		const uint64_t end = T0 + WATCHDOG_SOON_MS + WATCHDOG_TURN_MS +
		                     actors[i] * (uint64_t)WATCHDOG_TURN_MS_AN_ACTOR;
		struct watchdog dog;

		watchdog_init(&dog, 0, T0);
		watchdog_expect(&dog, actors[i]);
		watchdog_enter(&dog, WATCHDOG_PROVED, T0);
		for (uint64_t now = T0 + 500; now < end; now += 1000) {
			enum watchdog_act act = watchdog_next(&dog, now);

			ck_assert(act == WATCHDOG_WAIT || act == WATCHDOG_ASK);
			watchdog_hear(&dog, now);
		}
		check_bites(&dog, end);
	}
}
END_TEST

START_TEST(what_rests_is_left_alone_until_it_is_roused)
{
	struct watchdog dog;
	uint64_t now = T0 + WATCHDOG_SOON_MS;

	watchdog_init(&dog, 0, T0);
	watchdog_enter(&dog, WATCHDOG_PROVED, T0);
	ck_assert_int_eq(watchdog_next(&dog, now), WATCHDOG_ASK);
	watchdog_answered(&dog, now);
	watchdog_rests(&dog);
	ck_assert_uint_eq(watchdog_deadline_ms(&dog), now + WATCHDOG_REST_MS);
	now += WATCHDOG_REST_MS - 1;
	ck_assert_int_eq(watchdog_next(&dog, now), WATCHDOG_WAIT);
	/* The first time counts. */
	for (uint64_t i = 0; i < 2; i++) {
		watchdog_rouse(&dog, now + i);
		ck_assert_uint_eq(watchdog_deadline_ms(&dog), now + WATCHDOG_SOON_MS);
	}
	now += WATCHDOG_SOON_MS;
	ck_assert_int_eq(watchdog_next(&dog, now), WATCHDOG_ASK);
	watchdog_rouse(&dog, now + 1);
	check_bites(&dog, now + WATCHDOG_ANSWER_MS);
}
END_TEST

START_TEST(in_a_hurry_it_is_asked_at_once)
{
	struct watchdog dog;

	watchdog_init(&dog, 0, T0);
	watchdog_enter(&dog, WATCHDOG_PROVED, T0);
	ck_assert(watchdog_hurry(&dog, T0 + 10));
	ck_assert(!watchdog_hurry(&dog, T0 + 20));
	watchdog_answered(&dog, T0 + 30);
	ck_assert_uint_eq(watchdog_deadline_ms(&dog), T0 + 30 + 2 * WATCHDOG_SOON_MS);
	ck_assert(watchdog_hurry(&dog, T0 + 40));
	check_bites(&dog, T0 + 40 + WATCHDOG_ANSWER_MS);

	/* A guardian that takes over is not asked; its proof of life is awaited. */
	watchdog_begin(&dog, PROVE, PROVE, T0);
	ck_assert(!watchdog_hurry(&dog, T0 + 10));
	check_bites(&dog, T0 + 10 + WATCHDOG_ANSWER_MS);
}
END_TEST

START_TEST(three_quarters_of_the_period_are_allowed_from_the_last_sign_of_life)
{
	const uint64_t period = WATCHDOG_SOON_MS;
	struct watchdog dog;

	watchdog_init(&dog, period, T0);
	watchdog_enter(&dog, WATCHDOG_PROVED, T0);
	ck_assert_uint_eq(watchdog_deadline_ms(&dog), T0 + period * 3 / 4);
	watchdog_pinged(&dog, T0 + 100);
	ck_assert_uint_eq(watchdog_deadline_ms(&dog), T0 + 100 + period * 3 / 4);
	ck_assert_int_eq(watchdog_next(&dog, T0 + period * 3 / 4), WATCHDOG_WAIT);
	ck_assert_int_eq(watchdog_next(&dog, T0 + 100 + period * 3 / 4), WATCHDOG_ABORT);
}
END_TEST

START_TEST(the_superior_is_told_every_half_period_while_nothing_works)
{
	struct watchdog dog;

	watchdog_init(&dog, PERIOD, T0);
	watchdog_begin(&dog, PROVE, PROVE, T0 + 100);
	for (uint64_t now = T0 + PERIOD / 2; now < T0 + PROVE; now += PERIOD / 2) {
		ck_assert_uint_eq(watchdog_deadline_ms(&dog), now);
		ck_assert_int_eq(watchdog_next(&dog, now - 1), WATCHDOG_WAIT);
		ck_assert_int_eq(watchdog_next(&dog, now), WATCHDOG_PING);
		ck_assert_int_eq(watchdog_next(&dog, now), WATCHDOG_WAIT);
	}
	watchdog_enter(&dog, WATCHDOG_PROVED, T0 + PROVE);
	watchdog_pinged(&dog, T0 + PROVE);
	ck_assert_int_eq(watchdog_next(&dog, T0 + PROVE + WATCHDOG_ASK_MS), WATCHDOG_ASK);
	watchdog_answered(&dog, T0 + PROVE + PERIOD / 2 - 1);
	ck_assert_int_eq(watchdog_next(&dog, T0 + PROVE + PERIOD / 2), WATCHDOG_WAIT);
}
END_TEST

START_TEST(the_superior_is_not_kept_patient_for_ever)
{
	const uint64_t lost = T0 + 1000000;
	struct watchdog dog;
	uint64_t now = lost, last = 0;

	watchdog_init(&dog, PERIOD, T0);
	watchdog_enter(&dog, WATCHDOG_PROVED, T0);
	watchdog_pinged(&dog, lost);
	watchdog_enter(&dog, WATCHDOG_NONE, lost);
	/* Attempts that come to nothing prolong nothing. */
	while (watchdog_deadline_ms(&dog) != UINT64_MAX) {
		now = watchdog_deadline_ms(&dog);
		ck_assert_int_eq(watchdog_next(&dog, now), WATCHDOG_PING);
		last = now;
		watchdog_begin(&dog, PROVE, PROVE, now);
		watchdog_enter(&dog, WATCHDOG_NONE, now);
	}
	ck_assert_uint_le(last, lost + WATCHDOG_GRACE_MS);
	ck_assert_uint_gt(last, lost + WATCHDOG_GRACE_MS - PERIOD);
	/* An attempt that hangs, and another one, fit in. */
	ck_assert_uint_ge(WATCHDOG_GRACE_MS, 2 * (PROVE + WATCHDOG_ABORT_MS));
}
END_TEST

START_TEST(a_new_binary_is_trusted_after_ten_seconds)
{
	ck_assert_uint_eq(WALKER_TRIAL_MS, 10000);
}
END_TEST

START_TEST(one_that_lived_is_followed_at_once_and_the_others_ever_later)
{
	static const struct {
		uint64_t life_ms, delay_ms;
	} lives[] = {
	    {5000, 0}, {999, 100}, {0, 200},  {10, 400}, {1000, 0}, {10, 800},  {0, 1600},
	    {0, 3200}, {0, 5000},  {0, 5000}, {9999, 0}, {0, 5000}, {10000, 0}, {0, 100},
	};
	struct respawn respawn = {0};
	uint64_t now = T0;

	for (size_t i = 0; i < ARRAY_SIZE(lives); i++) {
		respawn_begin(&respawn, now);
		now += lives[i].life_ms;
		ck_assert_uint_eq(respawn_end(&respawn, now), lives[i].delay_ms);
		ck_assert_uint_eq(respawn.next_ms, now + lives[i].delay_ms);
		now = respawn.next_ms;
	}
}
END_TEST

CHECK_MAIN(
    "watchdog", without_anything_to_watch_there_is_nothing_to_do,
    what_does_not_prove_itself_in_time_is_aborted_killed_and_left,
    what_takes_over_may_be_silent_for_a_time_of_its_own,
    what_takes_over_has_ten_seconds_and_a_millisecond_for_each_actor,
    what_supervises_is_asked_and_has_to_answer,
    what_hangs_at_the_worst_moment_is_replaced_within_ten_seconds,
    a_watchdog_that_stood_still_itself_asks_again_before_it_judges,
    signs_of_life_without_an_answer_are_enough_for_a_while_that_grows_with_the_actors,
    what_rests_is_left_alone_until_it_is_roused, in_a_hurry_it_is_asked_at_once,
    three_quarters_of_the_period_are_allowed_from_the_last_sign_of_life,
    the_superior_is_told_every_half_period_while_nothing_works,
    the_superior_is_not_kept_patient_for_ever, a_new_binary_is_trusted_after_ten_seconds,
    one_that_lived_is_followed_at_once_and_the_others_ever_later)
