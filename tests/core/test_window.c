/* SPDX-License-Identifier: ISC */
/* test_window.c - how often: the intensity and the limit, against a brute-force model. */
#include "config.h"

#include <stdlib.h>

#include "base/rng.h"
#include "base/units.h"
#include "tests/core/suites.h"

#define CRASHES_MAX 400

/* The model: all grants so far, looked through anew each time. */
struct model {
	uint64_t grants[CRASHES_MAX];
	uint32_t n;
	uint64_t opened_ms; /* fixed */
	uint32_t count;
};

static bool
sliding_grants(struct model *model, uint32_t restarts, uint64_t within_ms,
               uint64_t now_ms)
{
	uint32_t inside = 0;

	for (uint32_t i = 0; i < model->n; i++)
		if (now_ms - model->grants[i] <= within_ms)
			inside++;
	if (inside + 1 > restarts)
		return false;
	model->grants[model->n++] = now_ms;
	return true;
}

/* SEMANTICS 2.10. */
static bool
fixed_grants(struct model *model, uint32_t restarts, uint64_t within_ms, uint64_t now_ms)
{
	if (restarts == 0)
		return false;
	if (model->count == 0 || now_ms - model->opened_ms > within_ms) {
		model->opened_ms = now_ms;
		model->count = 1;
		return true;
	}
	return ++model->count <= restarts;
}

/* Let the first child crash at this time; true: it was restarted. */
static bool
crash(struct family *family, uint64_t at_ms)
{
	struct rig *rig = &family->rig;
	bool again;

	ck_assert(rig_advance(rig, at_ms));
	rig_forget(rig);
	rig_exits(rig, family->child[0], 1);
	rig_runs(rig);
	rig_hurry(rig, family->child[0]);
	again = rig_count(rig, ACTION_SPAWN, family->child[0]) == 1;
	ck_assert_ptr_null(rig->fault);
	return again;
}

static struct spec
limited(uint32_t restarts, uint64_t within_ms, bool fixed)
{
	struct spec top = plain_supervisor();

	top.policy.limit = (struct limit_spec){
	    .on = true, .fixed = fixed, .restarts = restarts, .within_ms = within_ms};
	return top;
}

static struct spec
intense(uint32_t restarts, uint64_t within_ms)
{
	struct spec top = plain_supervisor();

	top.policy.intensity =
	    (struct intensity_spec){.restarts = restarts, .within_ms = within_ms};
	return top;
}

START_TEST(an_entry_counts_while_its_age_is_at_most_the_period)
{
	static const struct {
		uint32_t restarts;
		uint64_t within_ms;
		uint64_t at_ms[6]; /* crashes; all but the last are granted */
		uint32_t n;
		bool last;
	} table[] = {
	    {0, 5000, {0}, 1, false},
	    {1, 5000, {0, 5000}, 2, false},
	    {1, 5000, {0, 5001}, 2, true},
	    {1, 1, {0, 1}, 2, false},
	    {1, 1, {0, 2}, 2, true},
	    {2, 5000, {0, 0, 0}, 3, false},
	    {2, 5000, {0, 2500, 5000}, 3, false},
	    {2, 5000, {0, 2500, 5001}, 3, true},
	    {2, 5000, {0, 2500, 5001, 7500}, 4, false},
	    {2, 5000, {0, 2500, 5001, 7501}, 4, true},
	    {3, 10000, {0, 9900, 9950, 10100, 10200}, 5, false},
	    {1, 1000, {0, 2100, 4200, 6300, 8400}, 5, true},
	};

	for (int limit = 0; limit < 2; limit++) {
		const struct spec top =
		    limit == 0 ? intense(table[_i].restarts, table[_i].within_ms)
		               : limited(table[_i].restarts, table[_i].within_ms, false);
		const struct spec worker = plain_worker();
		struct family family;
		uint64_t start_ms;

		family_init(&family, &top, &worker, 1);
		family_boot(&family);
		start_ms = family.rig.now_ms;
		for (uint32_t i = 0; i < table[_i].n; i++)
			ck_assert_msg(crash(&family, start_ms + table[_i].at_ms[i]) ==
			                  (i + 1 < table[_i].n || table[_i].last),
			              "crash %u", i);
		family_done(&family);
	}
}
END_TEST

START_TEST(a_fixed_window_lets_twice_as_many_pass_around_its_end)
{
	static const uint64_t at_ms[] = {0, 9900, 9950, 10100, 10200, 10300, 10400};
	const struct spec top = limited(3, 10000, true);
	const struct spec worker = plain_worker();
	struct family family;
	uint64_t start_ms;

	family_init(&family, &top, &worker, 1);
	family_boot(&family);
	start_ms = family.rig.now_ms;
	for (uint32_t i = 0; i < 7; i++)
		ck_assert_int_eq(crash(&family, start_ms + at_ms[i]), i < 6);
	ck_assert_int_eq(rig_view(&family.rig, family.child[0]).state, STATE_FAILED);
	ck_assert_int_eq(rig_view(&family.rig, family.top).state, STATE_RUNNING);
	family_done(&family);
}
END_TEST

START_TEST(a_fixed_window_follows_akka_s_table)
{
	static const struct {
		uint32_t restarts;
		uint64_t within_ms;
		uint64_t at_ms[6];
		uint32_t n;
		bool last;
	} table[] = {
	    {0, 1000, {0}, 1, false},
	    {0, DURATION_INFINITE, {0}, 1, false},
	    {2, DURATION_INFINITE, {0, 100000, 9000000}, 3, false},
	    {1, 1000, {0, 1000}, 2, false},
	    {1, 1000, {0, 1001}, 2, true},
	    {1, 1000, {0, 1001, 2001}, 3, false},
	    {1, 1000, {0, 1001, 2002}, 3, true},
	    {2, 1000, {0, 999, 1000}, 3, false},
	    {2, 1000, {0, 999, 1001, 1999}, 4, true},
	    {2, 1000, {0, 999, 1001, 1999, 2001}, 5, false},
	    {1, UINT64_C(2592000000), {0, UINT64_C(2592000000)}, 2, false},
	};
	const struct spec top = limited(table[_i].restarts, table[_i].within_ms, true);
	const struct spec worker = plain_worker();
	struct family family;
	uint64_t start_ms;

	family_init(&family, &top, &worker, 1);
	family_boot(&family);
	start_ms = family.rig.now_ms;
	for (uint32_t i = 0; i < table[_i].n; i++)
		ck_assert_msg(crash(&family, start_ms + table[_i].at_ms[i]) ==
		                  (i + 1 < table[_i].n || table[_i].last),
		              "crash %u", i);
	family_done(&family);
}
END_TEST

/* Random crash times for one spec, beside the model; the last one was refused. */
static uint32_t
compare(struct rng *rng, const struct spec *top, uint32_t restarts, uint64_t within_ms,
        bool fixed)
{
	const struct spec worker = plain_worker();
	struct model model = {.n = 0};
	struct family family;
	uint64_t at_ms;
	uint32_t n;

	family_init(&family, top, &worker, 1);
	family_boot(&family);
	family.rig.unchecked = true;
	at_ms = family.rig.now_ms;
	for (n = 0; n < CRASHES_MAX; n++) {
		bool expected;

		at_ms += rng_below(rng, 4) == 0
		             ? 0
		             : rng_below(rng, within_ms + within_ms / 4);
		expected = fixed ? fixed_grants(&model, restarts, within_ms, at_ms)
		                 : sliding_grants(&model, restarts, within_ms, at_ms);
		ck_assert_msg(crash(&family, at_ms) == expected, "crash %u", n);
		if (!expected)
			break;
	}
	family_done(&family);
	return n;
}

START_TEST(random_crashes_agree_with_a_model_that_counts_by_hand)
{
	struct rng rng;

	rng_seed(&rng, 1000 + (uint64_t)_i);
	for (int i = 0; i < 30; i++) {
		uint32_t restarts = (uint32_t)rng_below(&rng, 12);
		uint64_t within_ms = 1 + rng_below(&rng, 50);
		struct spec top = intense(restarts, within_ms);

		compare(&rng, &top, restarts, within_ms, false);
		top = limited(restarts, within_ms, false);
		compare(&rng, &top, restarts, within_ms, false);
		top = limited(restarts, within_ms, true);
		compare(&rng, &top, restarts, within_ms, true);
	}
}
END_TEST

/* A-11 (I15). */
START_TEST(what_a_fixed_window_denies_a_sliding_one_denied_before)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct rng one;
		struct rng two;
		uint32_t restarts = 1 + (uint32_t)(seed % 5);
		const struct spec sliding = limited(restarts, 20, false);
		const struct spec fixed = limited(restarts, 20, true);

		rng_seed(&one, seed);
		rng_seed(&two, seed);
		ck_assert_uint_le(compare(&one, &sliding, restarts, 20, false),
		                  compare(&two, &fixed, restarts, 20, true));
	}
}
END_TEST

START_TEST(the_intensity_survives_an_update_that_does_not_change_it)
{
	struct spec top = intense(2, 60000);
	const struct spec worker = plain_worker();
	struct family family;

	family_init(&family, &top, &worker, 1);
	family_boot(&family);
	ck_assert(crash(&family, family.rig.now_ms + 10));
	ck_assert(crash(&family, family.rig.now_ms + 10));
	top.stop.mode = SHUTDOWN_TIMEOUT;
	rig_update(&family.rig, family.top, &top);
	rig_move(&family.rig);
	ck_assert_uint_eq(rig_view(&family.rig, family.top).counted.window, 2);
	ck_assert(!crash(&family, family.rig.now_ms + 10));
	family_done(&family);
}
END_TEST

START_TEST(an_update_can_widen_and_narrow_the_intensity)
{
	struct spec top = intense(3, 60000);
	const struct spec worker = plain_worker();
	struct family family;

	family_init(&family, &top, &worker, 1);
	family_boot(&family);
	for (int i = 0; i < 3; i++)
		ck_assert(crash(&family, family.rig.now_ms + 10));
	top = intense(5, 60000);
	rig_update(&family.rig, family.top, &top);
	ck_assert_uint_eq(rig_view(&family.rig, family.top).counted.window, 3);
	ck_assert(crash(&family, family.rig.now_ms + 10));
	top = intense(2, 60000);
	rig_update(&family.rig, family.top, &top);
	ck_assert(!crash(&family, family.rig.now_ms + 10));
	family_done(&family);
}
END_TEST

START_TEST(windows_survive_that_the_core_moves)
{
	const struct spec top = intense(50, 1000);
	const struct spec worker = plain_worker();
	struct model model = {.n = 0};
	struct family family;
	struct rng rng;
	bool expected;

	rng_seed(&rng, 7);
	family_init(&family, &top, &worker, 1);
	family_boot(&family);
	do {
		uint64_t at_ms = family.rig.now_ms + rng_below(&rng, 30);

		expected = sliding_grants(&model, 50, 1000, at_ms);
		ck_assert_int_eq(crash(&family, at_ms), expected);
		rig_move(&family.rig);
	} while (expected && model.n < CRASHES_MAX);
	family_done(&family);
}
END_TEST

Suite *
suite_window(void)
{
	Suite *suite = suite_create("window");
	TCase *tcase = tcase_create("window");

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, an_entry_counts_while_its_age_is_at_most_the_period, 0,
	                    12);
	tcase_add_test(tcase, a_fixed_window_lets_twice_as_many_pass_around_its_end);
	tcase_add_loop_test(tcase, a_fixed_window_follows_akka_s_table, 0, 11);
	tcase_add_loop_test(tcase, random_crashes_agree_with_a_model_that_counts_by_hand,
	                    0, 8);
	tcase_add_test(tcase, what_a_fixed_window_denies_a_sliding_one_denied_before);
	tcase_add_test(tcase, the_intensity_survives_an_update_that_does_not_change_it);
	tcase_add_test(tcase, an_update_can_widen_and_narrow_the_intensity);
	tcase_add_test(tcase, windows_survive_that_the_core_moves);
	suite_add_tcase(suite, tcase);
	return suite;
}
