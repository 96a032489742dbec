/* SPDX-License-Identifier: ISC */
/* test_group.c - the siblings that a restart takes along: strategies, and batches of
 * simultaneous ends. */
#include "config.h"

#include "tests/core/suites.h"

#define MEMBERS 4

/* Which members a failure of member `failing` restarts. */
static bool
in_scope(enum strategy strategy, uint32_t failing, uint32_t member)
{
	if (strategy == STRATEGY_ONE_FOR_ALL)
		return true;
	if (strategy == STRATEGY_REST_FOR_ONE)
		return member >= failing;
	return member == failing;
}

/* The place in the log of the first action of this kind for this actor, or n_log. */
static size_t
when(const struct rig *rig, enum action_kind kind, struct ref ref)
{
	for (size_t i = 0; i < rig->n_log; i++)
		if (rig->log[i].kind == kind && ref_equal(rig->log[i].ref, ref))
			return i;
	return rig->n_log;
}

START_TEST(a_group_is_stopped_in_reverse_and_started_in_order)
{
	const enum strategy strategy = (enum strategy)(_i / MEMBERS);
	const uint32_t failing = (uint32_t)_i % MEMBERS;
	struct spec top = plain_supervisor();
	const struct spec worker = plain_worker();
	struct family f;
	size_t last_stop = 0;

	top.policy.strategy = strategy;
	family_init(&f, &top, &worker, MEMBERS);
	family_boot(&f);
	rig_exits(&f.rig, f.child[failing], 1);
	rig_runs(&f.rig);
	for (uint32_t i = 0; i < MEMBERS; i++) {
		bool hit = in_scope(strategy, failing, i);
		struct ref child = f.child[i];

		ck_assert_uint_eq(rig_count(&f.rig, ACTION_SPAWN, child), hit);
		ck_assert_uint_eq(rig_count(&f.rig, ACTION_STOP, child),
		                  hit && i != failing);
		if (hit && i != failing && when(&f.rig, ACTION_STOP, child) > last_stop)
			last_stop = when(&f.rig, ACTION_STOP, child);
		for (uint32_t k = 0; k < i; k++) {
			if (!hit || !in_scope(strategy, failing, k))
				continue;
			ck_assert_uint_lt(when(&f.rig, ACTION_SPAWN, f.child[k]),
			                  when(&f.rig, ACTION_SPAWN, child));
			if (i != failing && k != failing)
				ck_assert_uint_gt(when(&f.rig, ACTION_STOP, f.child[k]),
				                  when(&f.rig, ACTION_STOP, child));
		}
	}
	for (uint32_t i = 0; i < MEMBERS; i++)
		ck_assert_uint_gt(when(&f.rig, ACTION_SPAWN, f.child[i]), last_stop);
	family_done(&f);
}
END_TEST

START_TEST(readers_see_the_scope_that_the_core_uses)
{
	const enum strategy strategy = (enum strategy)(_i / MEMBERS);
	const uint32_t failing = (uint32_t)_i % MEMBERS;
	struct spec top = plain_supervisor();
	const struct spec worker = plain_worker();
	struct ref at = REF_NONE;
	struct family f;

	top.policy.strategy = strategy;
	family_init(&f, &top, &worker, MEMBERS);
	family_boot(&f);
	for (uint32_t i = 0; i < MEMBERS; i++) {
		if (!in_scope(strategy, failing, i))
			continue;
		at = core_scope_next(f.rig.core, f.child[failing], at);
		ck_assert(ref_equal(at, f.child[i]));
	}
	at = core_scope_next(f.rig.core, f.child[failing], at);
	ck_assert_uint_eq(at.slot, UINT32_MAX);
	family_done(&f);
}
END_TEST

/* Order number `n` of three things. */
static void
permutation(int n, uint32_t ret[3])
{
	static const uint32_t orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
	                                      {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

	for (int i = 0; i < 3; i++)
		ret[i] = orders[n][i];
}

START_TEST(ends_at_one_instant_are_one_restart_in_any_order_of_arrival)
{
	struct spec top = plain_supervisor();
	const struct spec worker = plain_worker();
	uint32_t order[3];
	struct family f;

	permutation(_i, order);
	top.policy.strategy = STRATEGY_ONE_FOR_ALL;
	top.policy.intensity = (struct intensity_spec){.restarts = 1, .within_ms = 60000};
	family_init(&f, &top, &worker, MEMBERS);
	family_boot(&f);
	for (int i = 0; i < 3; i++)
		rig_post(&f.rig, &(struct event){.kind = EVENT_EXITED,
		                                 .ref = f.child[order[i]],
		                                 .life = 1,
		                                 .code = 1,
		                                 .gone = true});
	rig_settle(&f.rig);
	rig_runs(&f.rig);
	ck_assert_uint_eq(rig_view(&f.rig, f.top).counted.window, 1);
	ck_assert_int_eq(rig_view(&f.rig, f.top).state, STATE_RUNNING);
	for (uint32_t i = 0; i < MEMBERS; i++) {
		ck_assert_uint_eq(rig_count(&f.rig, ACTION_SPAWN, f.child[i]), 1);
		ck_assert_uint_eq(rig_count(&f.rig, ACTION_STOP, f.child[i]), i == 3);
	}
	family_done(&f);
}
END_TEST

START_TEST(a_thousand_that_crash_at_once_are_all_back_none_twice)
{
	enum { CROWD = 1000 };
	const struct spec top = plain_supervisor();
	const struct spec worker = plain_worker();
	struct ref crowd[CROWD];
	struct family f;

	family_init(&f, &top, &worker, 0);
	f.rig.unchecked = true;
	for (uint32_t i = 0; i < CROWD; i++)
		crowd[i] = rig_add(&f.rig, f.top, REF_NONE, &worker);
	family_boot(&f);
	for (uint32_t i = 0; i < CROWD; i++)
		rig_post(&f.rig, &(struct event){.kind = EVENT_EXITED,
		                                 .ref = crowd[i],
		                                 .life = 1,
		                                 .code = -1,
		                                 .signal = 9,
		                                 .gone = true});
	rig_settle(&f.rig);
	rig_runs(&f.rig);
	for (uint32_t i = 0; i < CROWD; i++) {
		const struct node_view view = rig_view(&f.rig, crowd[i]);

		ck_assert_int_eq(view.state, STATE_RUNNING);
		ck_assert_uint_eq(view.process.life, 2);
		ck_assert_uint_eq(view.run.restarts, 1);
	}
	ck_assert_ptr_null(core_check(f.rig.core));
	family_done(&f);
}
END_TEST

/* A caller of restart waits for the start that follows, not for the start before.
 */
START_TEST(a_start_that_fails_after_a_restart_was_asked_for_answers_no_command)
{
	const struct spec top = plain_supervisor();
	const struct spec worker = plain_worker();
	struct event restart = {.kind = EVENT_RESTART, .token = 7};
	struct event fails = {.kind = EVENT_SPAWN_FAILED, .error = 2};
	const struct action *reply;
	struct family f;

	family_init(&f, &top, &worker, 1);
	family_boot(&f);
	rig_exits(&f.rig, f.child[0], 1);
	rig_tick(&f.rig);
	restart.ref = fails.ref = f.child[0];
	fails.life = rig_view(&f.rig, f.child[0]).process.life;
	rig_post(&f.rig, &restart);
	rig_post(&f.rig, &fails);
	rig_settle(&f.rig);
	ck_assert_ptr_null(rig_last(&f.rig, ACTION_REPLY, f.child[0]));
	rig_runs(&f.rig);
	rig_tick(&f.rig);
	rig_runs(&f.rig);
	reply = rig_last(&f.rig, ACTION_REPLY, f.child[0]);
	ck_assert_ptr_nonnull(reply);
	ck_assert_int_eq(reply->result, REPLY_DONE);
	family_done(&f);
}
END_TEST

Suite *
suite_group(void)
{
	Suite *suite = suite_create("group");
	TCase *tcase = tcase_create("group");

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, a_group_is_stopped_in_reverse_and_started_in_order, 0,
	                    3 * MEMBERS);
	tcase_add_loop_test(tcase, readers_see_the_scope_that_the_core_uses, 0,
	                    3 * MEMBERS);
	tcase_add_loop_test(
	    tcase, ends_at_one_instant_are_one_restart_in_any_order_of_arrival, 0, 6);
	tcase_add_test(
	    tcase, a_start_that_fails_after_a_restart_was_asked_for_answers_no_command);
	tcase_add_test(tcase, a_thousand_that_crash_at_once_are_all_back_none_twice);
	suite_add_tcase(suite, tcase);
	return suite;
}
