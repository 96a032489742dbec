/* SPDX-License-Identifier: ISC */
/* test-watchdog.c - who is silent for too long, and who follows when. */
#include "config.h"

#include "base/assert.h"
#include "base/respawn.h"
#include "base/watchdog.h"

#include <check.h>
#include <stdint.h>
#include <stdlib.h>

#define PROVE  120000
#define PERIOD 30000
#define T0     UINT64_C(1000000)

START_TEST(without_anybody_to_watch_there_is_nothing_to_do)
{
	struct watchdog dog;

	watchdog_init(&dog, 0, PROVE, T0);
	ck_assert_uint_eq(watchdog_deadline_ms(&dog), UINT64_MAX);
	ck_assert_int_eq(watchdog_next(&dog, T0 + 10 * PROVE), WATCHDOG_WAIT);
}
END_TEST

START_TEST(who_does_not_prove_itself_in_time_is_aborted_and_then_killed_once)
{
	struct watchdog dog;
	uint64_t now = T0;

	watchdog_init(&dog, 0, PROVE, T0);
	watchdog_enter(&dog, WATCHDOG_PROVING, T0);
	/* Whatever it says: only proof counts. */
	watchdog_hear(&dog, T0 + PROVE / 2);
	ck_assert_uint_eq(watchdog_deadline_ms(&dog), T0 + PROVE);
	ck_assert_int_eq(watchdog_next(&dog, T0 + PROVE - 1), WATCHDOG_WAIT);
	now += PROVE;
	ck_assert_int_eq(watchdog_next(&dog, now), WATCHDOG_ABORT);
	ck_assert_uint_eq(watchdog_deadline_ms(&dog), now + WATCHDOG_ABORT_MS);
	watchdog_hear(&dog, now + 1);
	now += WATCHDOG_ABORT_MS;
	ck_assert_int_eq(watchdog_next(&dog, now), WATCHDOG_KILL);
	ck_assert_uint_eq(watchdog_deadline_ms(&dog), UINT64_MAX);
	ck_assert_int_eq(watchdog_next(&dog, now + PROVE), WATCHDOG_WAIT);
}
END_TEST

START_TEST(who_has_proved_itself_may_be_silent_where_nobody_wants_to_hear)
{
	struct watchdog dog;

	watchdog_init(&dog, 0, PROVE, T0);
	watchdog_enter(&dog, WATCHDOG_PROVING, T0);
	watchdog_enter(&dog, WATCHDOG_PROVED, T0 + 5);
	ck_assert_uint_eq(watchdog_deadline_ms(&dog), UINT64_MAX);
}
END_TEST

START_TEST(three_quarters_of_the_period_are_allowed_from_the_last_sign_of_life)
{
	struct watchdog dog;

	watchdog_init(&dog, PERIOD, PROVE, T0);
	watchdog_enter(&dog, WATCHDOG_PROVED, T0);
	ck_assert_uint_eq(watchdog_deadline_ms(&dog), T0 + PERIOD * 3 / 4);
	watchdog_hear(&dog, T0 + 20000);
	ck_assert_uint_eq(watchdog_deadline_ms(&dog), T0 + 20000 + PERIOD * 3 / 4);
	ck_assert_int_eq(watchdog_next(&dog, T0 + PERIOD * 3 / 4), WATCHDOG_WAIT);
	ck_assert_int_eq(watchdog_next(&dog, T0 + 20000 + PERIOD * 3 / 4),
	                 WATCHDOG_ABORT);
}
END_TEST

START_TEST(the_superior_is_told_every_half_period_while_nobody_works)
{
	struct watchdog dog;

	watchdog_init(&dog, PERIOD, PROVE, T0);
	watchdog_enter(&dog, WATCHDOG_PROVING, T0 + 100);
	for (uint64_t now = T0 + PERIOD / 2; now < T0 + PROVE; now += PERIOD / 2) {
		ck_assert_uint_eq(watchdog_deadline_ms(&dog), now);
		ck_assert_int_eq(watchdog_next(&dog, now - 1), WATCHDOG_WAIT);
		ck_assert_int_eq(watchdog_next(&dog, now), WATCHDOG_PING);
		ck_assert_int_eq(watchdog_next(&dog, now), WATCHDOG_WAIT);
	}
	watchdog_enter(&dog, WATCHDOG_PROVED, T0 + PROVE);
	watchdog_hear(&dog, T0 + PROVE);
	ck_assert_int_eq(watchdog_next(&dog, T0 + PROVE + PERIOD / 2), WATCHDOG_WAIT);
}
END_TEST

START_TEST(the_superior_is_not_kept_patient_for_ever)
{
	const uint64_t lost = T0 + 1000000;
	struct watchdog dog;
	uint64_t now = lost, last = 0;

	watchdog_init(&dog, PERIOD, PROVE, T0);
	watchdog_enter(&dog, WATCHDOG_PROVED, T0);
	watchdog_hear(&dog, lost);
	watchdog_enter(&dog, WATCHDOG_NONE, lost);
	/* Attempts that come to nothing prolong nothing. */
	while (watchdog_deadline_ms(&dog) != UINT64_MAX) {
		now = watchdog_deadline_ms(&dog);
		ck_assert_int_eq(watchdog_next(&dog, now), WATCHDOG_PING);
		last = now;
		watchdog_enter(&dog, WATCHDOG_PROVING, now);
		watchdog_enter(&dog, WATCHDOG_NONE, now);
	}
	ck_assert_uint_le(last, lost + WATCHDOG_GRACE_MS);
	ck_assert_uint_gt(last, lost + WATCHDOG_GRACE_MS - PERIOD);
	/* An attempt that hangs, and another one, fit in. */
	ck_assert_uint_ge(WATCHDOG_GRACE_MS, 2 * (PROVE + WATCHDOG_ABORT_MS));
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

int
main(void)
{
	const TTest *const tests[] = {
	    without_anybody_to_watch_there_is_nothing_to_do,
	    who_does_not_prove_itself_in_time_is_aborted_and_then_killed_once,
	    who_has_proved_itself_may_be_silent_where_nobody_wants_to_hear,
	    three_quarters_of_the_period_are_allowed_from_the_last_sign_of_life,
	    the_superior_is_told_every_half_period_while_nobody_works,
	    the_superior_is_not_kept_patient_for_ever,
	    one_that_lived_is_followed_at_once_and_the_others_ever_later,
	};
	Suite *suite = suite_create("watchdog");
	TCase *tcase = tcase_create("watchdog");
	SRunner *runner;
	int failed;

	for (size_t i = 0; i < ARRAY_SIZE(tests); i++)
		tcase_add_test(tcase, tests[i]);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
