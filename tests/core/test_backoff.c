/* SPDX-License-Identifier: ISC */
/* test_backoff.c - when: delays, their bounds, and what resets them. */
#include "config.h"

#include "base/units.h"
#include "core/value/backoff.h"
#include "tests/core/suites.h"

#define MINUTE 60000
#define DAY    UINT64_C(86400000)

static struct backoff_spec
backoff(uint64_t min_ms, uint64_t max_ms, uint32_t factor_milli, uint32_t jitter_milli)
{
	return (struct backoff_spec){.min_ms = min_ms,
	                             .max_ms = max_ms,
	                             .factor_milli = factor_milli,
	                             .jitter_milli = jitter_milli,
	                             .reset_after_ms = 365 * DAY};
}

/* 140 B-01 B-03. */
START_TEST(the_base_doubles_up_to_the_bound)
{
	static const struct {
		uint64_t min_ms;
		uint64_t max_ms;
		uint32_t factor_milli;
		uint32_t failures;
		uint64_t base_ms;
	} table[] = {
	    {3000, 30000, 2000, 0, 3000},
	    {3000, 30000, 2000, 1, 6000},
	    {3000, 30000, 2000, 2, 12000},
	    {3000, 30000, 2000, 3, 24000},
	    {3000, 30000, 2000, 4, 30000},
	    {3000, 30000, 2000, 5, 30000},
	    {300, 3000, 2000, 3, 2400},
	    {300, 3000, 2000, 4, 3000},
	    {5 * MINUTE, 10 * MINUTE, 2000, 29, 10 * MINUTE},
	    {10000 * DAY, 10000 * DAY, 2000, 2147483647, 10000 * DAY},
	    {1, DURATION_MS_MAX, 2000, 41, UINT64_C(1) << 41},
	    {1, DURATION_MS_MAX, 2000, 42, DURATION_MS_MAX},
	    {1, DURATION_MS_MAX, 2000, 4294967295U, DURATION_MS_MAX},
	    {DURATION_MS_MAX, DURATION_MS_MAX, 100000, 4294967295U, DURATION_MS_MAX},
	    {500, 7 * MINUTE, 2000, 0, 500},
	    {2500, 7000, 2000, 2, 7000},
	    {2500, 7 * DAY, 2000, 3, 20000},
	    {1000, 60000, 1000, 2147483647, 1000},
	    {100, 60000, 1500, 1, 150},
	    {100, 60000, 1500, 2, 225},
	    {100, 60000, 1500, 3, 337},
	    {100, 60000, 1500, 4, 506},
	    {1, 60000, 1001, 1, 1},
	    {1, 60000, 100000, 2, 10000},
	    {1, 60000, 100000, 3, 60000},
	    {1000, 60000, 1100, 3, 1331},
	    {10, 60000, 2718, 4, 545},
	};
	const struct backoff_spec spec =
	    backoff(table[_i].min_ms, table[_i].max_ms, table[_i].factor_milli, 0);

	ck_assert_uint_eq(backoff_base(&spec, table[_i].failures), table[_i].base_ms);
}
END_TEST

START_TEST(the_base_is_the_exact_power_rounded_down)
{
	struct rng rng;

	rng_seed(&rng, 5);
	for (int i = 0; i < 5000; i++) {
		uint64_t min_ms = 1 + rng_below(&rng, 1000000);
		uint64_t max_ms = min_ms + rng_below(&rng, DURATION_MS_MAX - min_ms);
		uint32_t factor = 1000 + (uint32_t)rng_below(&rng, 3000);
		uint32_t n = (uint32_t)rng_below(&rng, 7);
		const struct backoff_spec spec = backoff(min_ms, max_ms, factor, 0);
		unsigned __int128 exact = min_ms;
		unsigned __int128 scale = 1;

		for (uint32_t k = 0; k < n; k++) {
			exact *= factor;
			scale *= 1000;
		}
		exact /= scale;
		if (exact > max_ms)
			exact = max_ms;
		ck_assert_msg(
		    backoff_base(&spec, n) == (uint64_t)exact,
		    "min %lu factor %u n %u: %lu, not %lu", (unsigned long)min_ms, factor,
		    n, (unsigned long)backoff_base(&spec, n), (unsigned long)exact);
	}
}
END_TEST

/* C22 B-02. */
START_TEST(jitter_comes_after_the_cap_and_is_never_lost)
{
	static const uint32_t failures[] = {0, 3, 29, 40, 1023, 2147483647};
	struct rng rng;

	rng_seed(&rng, 9);
	for (size_t f = 0; f < sizeof(failures) / sizeof(*failures); f++) {
		const struct backoff_spec spec = backoff(1000, 60000, 2000, 500);
		uint64_t base = backoff_base(&spec, failures[f]);
		uint64_t low = UINT64_MAX;
		uint64_t high = 0;

		for (int i = 0; i < 2000; i++) {
			uint64_t delay = backoff_delay(&spec, failures[f], &rng);

			low = delay < low ? delay : low;
			high = delay > high ? delay : high;
		}
		ck_assert_uint_ge(low, base);
		ck_assert_uint_lt(low, base + base / 20);
		ck_assert_uint_lt(high, base + base / 2);
		ck_assert_uint_gt(high, base + base * 9 / 20);
	}
}
END_TEST

START_TEST(no_backoff_and_no_jitter_are_exact)
{
	struct backoff_spec spec = backoff(1000, 60000, 2000, 0);
	struct rng rng;

	rng_seed(&rng, 9);
	ck_assert_uint_eq(backoff_delay(&spec, 0, &rng), 1000);
	ck_assert_uint_eq(backoff_delay(&spec, 99, &rng), 60000);
	spec.none = true;
	ck_assert_uint_eq(backoff_delay(&spec, 5, &rng), 0);
}
END_TEST

/* Crash n times at once after each start; the delay of the last one. */
static uint64_t
delay_after(struct family *family, uint32_t n)
{
	struct rig *rig = &family->rig;
	const struct action *report = NULL;

	for (uint32_t i = 0; i < n; i++) {
		rig_forget(rig);
		rig_exits(rig, family->child[0], 1);
		report = rig_report(rig, REPORT_FAILURE, family->child[0]);
		ck_assert_ptr_nonnull(report);
		rig->now_ms += report->delay_ms;
		rig_tick(rig);
		rig->answered = 0;
		rig_runs(rig);
	}
	return rig_view(rig, family->child[0]).backoff.delay_ms;
}

START_TEST(the_number_of_failures_shown_is_one_more_than_the_exponent)
{
	const struct spec top = plain_supervisor();
	struct spec worker = plain_worker();
	struct family family;

	worker.backoff = backoff(100, 100000, 2000, 0);
	family_init(&family, &top, &worker, 1);
	family_boot(&family);
	for (uint32_t n = 1; n <= 8; n++) {
		ck_assert_uint_eq(delay_after(&family, 1), UINT64_C(100) << (n - 1));
		ck_assert_uint_eq(rig_view(&family.rig, family.child[0]).backoff.failures,
		                  n);
	}
	family_done(&family);
}
END_TEST

START_TEST(a_rule_s_backoff_replaces_only_the_keys_it_names)
{
	static const struct {
		uint32_t keys;
		uint64_t delays[3];
	} table[] = {
	    {0, {100, 200, 400}},
	    {BACKOFF_KEY_MIN, {300, 600, 1000}},
	    {BACKOFF_KEY_MAX, {100, 200, 250}},
	    {BACKOFF_KEY_FACTOR, {100, 300, 900}},
	    {BACKOFF_KEY_MIN | BACKOFF_KEY_FACTOR, {300, 900, 1000}},
	    {BACKOFF_KEY_NONE, {0, 0, 0}},
	};
	struct rule rule = {.kinds = RULE_KINDS_ANY,
	                    .then = DIRECTIVE_RESTART,
	                    .backoff_keys = table[_i].keys,
	                    .backoff = backoff(300, 250, 3000, 0)};
	struct spec top = plain_supervisor();
	struct spec worker = plain_worker();
	struct family family;

	rule.backoff.none = table[_i].keys == BACKOFF_KEY_NONE;
	top.policy.decider = (struct decider){.rules = &rule, .n_rules = 1};
	worker.backoff = backoff(100, 1000, 2000, 0);
	family_init(&family, &top, &worker, 1);
	family_boot(&family);
	for (int i = 0; i < 3; i++)
		ck_assert_uint_eq(delay_after(&family, 1), table[_i].delays[i]);
	family_done(&family);
}
END_TEST

START_TEST(only_a_process_that_was_ready_long_enough_resets_the_backoff)
{
	/* How long it lives after its second failure, and the delay of the third. */
	static const struct {
		uint64_t lives_ms;
		bool manual;
		uint64_t delay_ms;
	} table[] = {
	    {0, false, 400},    {999, false, 400},  {1000, false, 100},
	    {1001, false, 100}, {5000, false, 100}, {5000, true, 400},
	};
	const struct spec top = plain_supervisor();
	struct spec worker = plain_worker();
	struct family family;

	worker.backoff = backoff(100, 10000, 2000, 0);
	worker.backoff.reset_after_ms = 1000;
	worker.backoff.manual_reset = table[_i].manual;
	family_init(&family, &top, &worker, 1);
	family_boot(&family);
	delay_after(&family, 2);
	ck_assert(rig_advance(&family.rig, family.rig.now_ms + table[_i].lives_ms));
	ck_assert_uint_eq(delay_after(&family, 1), table[_i].delay_ms);
	family_done(&family);
}
END_TEST

START_TEST(short_lives_do_not_add_up_to_a_healthy_one)
{
	const struct spec top = plain_supervisor();
	struct spec worker = plain_worker();
	struct family family;

	worker.backoff = backoff(100, 100000, 2000, 0);
	worker.backoff.reset_after_ms = 1000;
	family_init(&family, &top, &worker, 1);
	family_boot(&family);
	for (uint32_t n = 0; n < 6; n++) {
		ck_assert_uint_eq(delay_after(&family, 1), UINT64_C(100) << n);
		ck_assert(rig_advance(&family.rig, family.rig.now_ms + 900));
	}
	family_done(&family);
}
END_TEST

/* 152. */
START_TEST(twenty_that_fall_together_do_not_rise_together)
{
	const struct spec top = plain_supervisor();
	struct spec worker = plain_worker();
	uint64_t low = UINT64_MAX;
	uint64_t high = 0;

	worker.backoff = backoff(1000, 30000, 2000, 500);
	for (int round = 0; round < 4; round++) {
		struct family family;

		family_init(&family, &top, &worker, 5);
		rig_done(&family.rig);
		family_init(&family, &top, &worker, 5);
		family_boot(&family);
		for (int i = 0; i < 5; i++) {
			uint64_t delay;

			rig_exits(&family.rig, family.child[i], 1);
			delay = rig_report(&family.rig, REPORT_FAILURE, family.child[i])
			            ->delay_ms;
			low = delay < low ? delay : low;
			high = delay > high ? delay : high;
		}
		family_done(&family);
	}
	ck_assert_uint_ge(low, 1000);
	ck_assert_uint_lt(high, 1500);
	ck_assert_uint_gt(high - low, 100);
}
END_TEST

Suite *
suite_backoff(void)
{
	Suite *suite = suite_create("backoff");
	TCase *tcase = tcase_create("backoff");

	tcase_add_loop_test(tcase, the_base_doubles_up_to_the_bound, 0, 27);
	tcase_add_test(tcase, the_base_is_the_exact_power_rounded_down);
	tcase_add_test(tcase, jitter_comes_after_the_cap_and_is_never_lost);
	tcase_add_test(tcase, no_backoff_and_no_jitter_are_exact);
	tcase_add_test(tcase, the_number_of_failures_shown_is_one_more_than_the_exponent);
	tcase_add_loop_test(tcase, a_rule_s_backoff_replaces_only_the_keys_it_names, 0,
	                    6);
	tcase_add_loop_test(
	    tcase, only_a_process_that_was_ready_long_enough_resets_the_backoff, 0, 6);
	tcase_add_test(tcase, short_lives_do_not_add_up_to_a_healthy_one);
	tcase_add_test(tcase, twenty_that_fall_together_do_not_rise_together);
	suite_add_tcase(suite, tcase);
	return suite;
}
