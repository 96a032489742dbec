/* SPDX-License-Identifier: ISC */
/* test_door.c - the core as a value: memory, references, order, readers, callers. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "core/tree/node.h"
#include "tests/core/suites.h"

START_TEST(a_new_core_has_a_root_and_takes_user_as_its_first_child)
{
	const struct spec user = plain_supervisor();
	struct rig rig;
	struct ref ref;

	rig_init(&rig, 4, 1);
	ck_assert(core_valid(rig.core, core_ref(rig.core, CORE_ROOT)));
	ref = rig_user(&rig, &user);
	ck_assert_uint_eq(ref.slot, CORE_USER);
	ck_assert_uint_eq(rig_view(&rig, ref).depth, 1);
	ck_assert(!core_valid(rig.core, REF_NONE));
	ck_assert(!core_valid(rig.core, (struct ref){2, 1}));
	ck_assert_uint_eq(core_deadline(rig.core), DURATION_INFINITE);
	ck_assert_ptr_null(core_check(rig.core));
	rig_done(&rig);
}
END_TEST

START_TEST(a_core_with_a_goal_that_does_not_exist_is_refused)
{
	const struct spec user = plain_supervisor();
	struct rig rig;
	struct node *node;

	rig_init(&rig, 4, 1);
	node = node_at(rig.core, rig_user(&rig, &user).slot);
	ck_assert_ptr_null(core_check(rig.core));
	node->goal = (enum goal)(GOAL_RESTART + 1);
	ck_assert_ptr_nonnull(core_check(rig.core));
	node->goal = GOAL_UP;
	node->plan.stop_how = (enum stop_how)(STOP_KILL + 1);
	ck_assert_ptr_nonnull(core_check(rig.core));
	node->plan.stop_how = STOP_IN_ORDER;
	node->plan.down_as = STATE_RUNNING;
	ck_assert_ptr_nonnull(core_check(rig.core));
	rig_done(&rig);
}
END_TEST

START_TEST(a_copy_of_the_memory_is_the_same_core)
{
	struct spec top = plain_supervisor();
	struct spec worker = plain_worker();
	struct family f;
	struct action_list one = {.n = 0};
	struct action_list two = {.n = 0};
	size_t bytes;
	void *copy;

	top.policy.strategy = STRATEGY_REST_FOR_ONE;
	worker.backoff.none = false;
	family_init(&f, &top, &worker, 4);
	family_boot(&f);
	bytes = core_used(f.rig.core).first;
	ck_assert_uint_eq(core_used(f.rig.core).later, 0);
	ck_assert_uint_le(bytes, core_bytes(&f.rig.size));
	copy = malloc(core_bytes(&f.rig.size));
	ck_assert_ptr_nonnull(copy);
	memcpy(copy, f.rig.core, bytes);
	for (int i = 0; i < 2; i++) {
		struct core *core = i == 0 ? f.rig.core : copy;
		struct action_list *list = i == 0 ? &one : &two;

		core_post(core, 5000,
		          &(struct event){.kind = EVENT_EXITED,
		                          .ref = f.child[1],
		                          .life = 1,
		                          .code = 1,
		                          .gone = true},
		          list);
		ck_assert(!core_settle(core, 5000, list));
	}
	ck_assert_uint_gt(one.n, 0);
	ck_assert_uint_eq(one.n, two.n);
	ck_assert_mem_eq(&one.at, &two.at, one.n * sizeof(*one.at));
	ck_assert_mem_eq(f.rig.core, copy, core_used(f.rig.core).first);
	free(copy);
	family_done(&f);
}
END_TEST

START_TEST(a_reference_to_an_earlier_tenant_of_a_slot_is_not_valid)
{
	const struct spec top = plain_supervisor();
	const struct spec worker = plain_worker();
	struct family f;
	struct ref old;
	struct ref fresh;

	family_init(&f, &top, &worker, 2);
	family_boot(&f);
	old = f.child[0];
	core_remove(f.rig.core, old, f.rig.now_ms);
	rig_settle(&f.rig);
	rig_runs(&f.rig);
	ck_assert_uint_eq(rig_count(&f.rig, ACTION_REMOVED, old), 1);
	ck_assert(!core_valid(f.rig.core, old));
	fresh = rig_add(&f.rig, f.top, REF_NONE, &worker);
	ck_assert(!ref_equal(fresh, old));
	rig_settle(&f.rig);
	rig_runs(&f.rig);
	rig_forget(&f.rig);
	rig_turn(
	    &f.rig,
	    &(struct event){
	        .kind = EVENT_EXITED, .ref = old, .life = 1, .code = 1, .gone = true});
	ck_assert_uint_eq(f.rig.n_log, 0);
	rig_turn(&f.rig, &(struct event){.kind = EVENT_STOP, .ref = old, .token = 77});
	ck_assert_uint_eq(f.rig.n_log, 1);
	ck_assert_int_eq(f.rig.log[0].kind, ACTION_REPLY);
	ck_assert_int_eq(f.rig.log[0].result, REPLY_NO_SUCH_ACTOR);
	ck_assert_uint_eq(f.rig.log[0].token, 77);
	family_done(&f);
}
END_TEST

START_TEST(stale_and_impossible_events_do_nothing)
{
	static const enum event_kind kinds[] = {EVENT_SPAWNED, EVENT_SPAWN_FAILED,
	                                        EVENT_READY, EVENT_EXITED, EVENT_GONE};
	static const uint32_t lives[] = {0, 1, 3, UINT32_MAX};
	const struct spec top = plain_supervisor();
	const struct spec worker = plain_worker();
	struct family f;
	uint64_t deadline_ms;

	family_init(&f, &top, &worker, 2);
	family_boot(&f);
	rig_exits(&f.rig, f.child[0], 1);
	rig_runs(&f.rig);
	rig_forget(&f.rig);
	deadline_ms = core_deadline(f.rig.core);
	for (size_t k = 0; k < 5; k++)
		for (size_t l = 0; l < 4; l++)
			rig_turn(&f.rig, &(struct event){.kind = kinds[k],
			                                 .ref = f.child[0],
			                                 .life = lives[l],
			                                 .code = 1,
			                                 .gone = true});
	for (size_t k = 0; k < 5; k++) {
		rig_turn(&f.rig, &(struct event){.kind = kinds[k], .ref = f.top});
		rig_turn(&f.rig, &(struct event){.kind = kinds[k], .ref = REF_NONE});
	}
	/* An event of the right life that cannot occur in this state. */
	rig_turn(&f.rig,
	         &(struct event){.kind = EVENT_SPAWNED, .ref = f.child[0], .life = 2});
	rig_turn(&f.rig, &(struct event){.kind = EVENT_SPAWN_FAILED,
	                                 .ref = f.child[0],
	                                 .life = 2,
	                                 .error = 2});
	rig_turn(&f.rig,
	         &(struct event){.kind = EVENT_GONE, .ref = f.child[0], .life = 2});
	rig_tick(&f.rig);
	ck_assert_uint_eq(f.rig.n_log, 0);
	ck_assert_uint_eq(core_deadline(f.rig.core), deadline_ms);
	ck_assert_int_eq(rig_view(&f.rig, f.child[0]).state, STATE_RUNNING);
	family_done(&f);
}
END_TEST

START_TEST(the_tree_can_be_walked_and_compared_in_start_order)
{
	const struct spec supervisor = plain_supervisor();
	const struct spec worker = plain_worker();
	struct family f;
	struct ref order[8];
	struct ref at;
	uint32_t n = 0;

	family_init(&f, &supervisor, &worker, 2);
	order[0] = core_ref(f.rig.core, CORE_USER);
	order[1] = f.top;
	order[2] = rig_add(&f.rig, f.top, f.child[0], &supervisor);
	order[3] = rig_add(&f.rig, order[2], REF_NONE, &worker);
	order[4] = f.child[0];
	order[5] = rig_add(&f.rig, f.top, f.child[1], &worker);
	order[6] = f.child[1];
	order[7] = rig_add(&f.rig, order[0], REF_NONE, &worker);
	for (at = order[0]; n < 8; at = core_next(f.rig.core, order[0], at), n++)
		ck_assert_msg(ref_equal(at, order[n]), "place %u", n);
	ck_assert_uint_eq(at.slot, UINT32_MAX);
	for (int i = 0; i < 8; i++)
		for (int k = 0; k < 8; k++) {
			int c = core_compare_order(f.rig.core, order[i], order[k]);

			ck_assert_int_eq((c > 0) - (c < 0), (i > k) - (i < k));
		}
	ck_assert(ref_equal(core_parent(f.rig.core, order[3]), order[2]));
	ck_assert(ref_equal(core_first_child(f.rig.core, f.top), order[2]));
	ck_assert(ref_equal(core_next_sibling(f.rig.core, order[2]), order[4]));
	ck_assert_uint_eq(core_next_sibling(f.rig.core, order[6]).slot, UINT32_MAX);
	family_done(&f);
}
END_TEST

START_TEST(a_moved_child_is_compared_at_its_new_place)
{
	const struct spec top = plain_supervisor();
	const struct spec worker = plain_worker();
	struct family f;

	family_init(&f, &top, &worker, 3);
	core_place_before(f.rig.core, f.child[2], f.child[0]);
	ck_assert_int_lt(core_compare_order(f.rig.core, f.child[2], f.child[0]), 0);
	core_place_before(f.rig.core, f.child[0], REF_NONE);
	ck_assert_int_gt(core_compare_order(f.rig.core, f.child[0], f.child[1]), 0);
	ck_assert(ref_equal(core_first_child(f.rig.core, f.top), f.child[2]));
	family_done(&f);
}
END_TEST

/* The order in which two watchers are told of the end of an actor added after them. */
static struct ref
first_told(bool moves)
{
	const struct spec top = plain_supervisor();
	const struct spec worker = plain_worker();
	const struct watch_spec watch = {.target = 7, .reaction = REACTION_STOP};
	struct spec watcher = plain_worker();
	struct spec target = plain_worker();
	struct ref first = REF_NONE;
	struct family f;
	struct ref ref;

	watcher.watches = &watch;
	watcher.n_watches = 1;
	target.name = 7;
	family_init(&f, &top, &worker, 2);
	rig_make_room(&f.rig, 8, 8192);
	rig_make_watches(&f.rig, 4);
	rig_update(&f.rig, f.child[0], &watcher);
	rig_update(&f.rig, f.child[1], &watcher);
	/* The elder watcher sets its watch anew. */
	rig_update(&f.rig, f.child[0], &worker);
	rig_update(&f.rig, f.child[0], &watcher);
	if (moves)
		rig_move(&f.rig);
	ref = rig_add(&f.rig, f.top, REF_NONE, &target);
	family_boot(&f);
	rig_event(&f.rig, EVENT_STOP, ref);
	rig_runs(&f.rig);
	for (size_t i = f.rig.n_log; i-- > 0;)
		if (f.rig.log[i].kind == ACTION_REPORT && f.rig.log[i].death.watch != 0)
			first = f.rig.log[i].ref;
	ck_assert_ptr_null(f.rig.fault);
	family_done(&f);
	return first;
}

START_TEST(the_order_of_notices_is_the_same_wherever_the_core_was_moved_to)
{
	const struct ref first = first_told(false);

	ck_assert_uint_ne(first.slot, REF_NONE.slot);
	ck_assert(ref_equal(first, first_told(true)));
}
END_TEST

START_TEST(callers_beyond_the_bound_are_told_that_it_is_busy)
{
	const struct spec top = plain_supervisor();
	struct spec worker = plain_worker();
	struct family f;
	uint32_t busy = 0;

	worker.start.ready = READY_TOLD;
	family_init(&f, &top, &worker, 1);
	family_boot(&f);
	for (uint64_t token = 1; token <= 20; token++)
		rig_turn(&f.rig, &(struct event){.kind = EVENT_WAIT,
		                                 .ref = f.child[0],
		                                 .token = token,
		                                 .wait_for = WAIT_READY});
	for (size_t i = 0; i < f.rig.n_log; i++) {
		ck_assert_int_eq(f.rig.log[i].kind, ACTION_REPLY);
		ck_assert_int_eq(f.rig.log[i].result, REPLY_BUSY);
		busy++;
	}
	ck_assert_uint_eq(busy, 20 - f.rig.size.waiters);
	/* A deleted actor makes room for another actor. */
	rig_turn(&f.rig, &(struct event){.kind = EVENT_UNWAIT, .token = 3});
	rig_forget(&f.rig);
	rig_turn(&f.rig, &(struct event){.kind = EVENT_WAIT,
	                                 .ref = f.child[0],
	                                 .token = 99,
	                                 .wait_for = WAIT_READY});
	ck_assert_uint_eq(f.rig.n_log, 0);
	rig_turn(&f.rig,
	         &(struct event){.kind = EVENT_READY, .ref = f.child[0], .life = 1});
	busy = 0;
	for (size_t i = 0; i < f.rig.n_log; i++) {
		if (f.rig.log[i].kind != ACTION_REPLY)
			continue;
		ck_assert_uint_ne(f.rig.log[i].token, 3);
		ck_assert_int_eq(f.rig.log[i].result, REPLY_DONE);
		busy++;
	}
	ck_assert_uint_eq(busy, f.rig.size.waiters);
	family_done(&f);
}
END_TEST

START_TEST(all_callers_can_go_away_at_once)
{
	const struct spec top = plain_supervisor();
	struct spec worker = plain_worker();
	struct family f;

	worker.start.ready = READY_TOLD;
	family_init(&f, &top, &worker, 2);
	family_boot(&f);
	for (uint64_t token = 1; token <= f.rig.size.waiters; token++)
		rig_turn(&f.rig, &(struct event){.kind = EVENT_WAIT,
		                                 .ref = f.child[token % 2],
		                                 .token = token,
		                                 .wait_for = WAIT_READY});
	rig_turn(&f.rig, &(struct event){.kind = EVENT_UNWAIT, .token = TOKEN_ALL});
	rig_forget(&f.rig);
	rig_turn(&f.rig,
	         &(struct event){.kind = EVENT_READY, .ref = f.child[0], .life = 1});
	for (size_t i = 0; i < f.rig.n_log; i++)
		ck_assert_int_ne(f.rig.log[i].kind, ACTION_REPLY);
	/* There is room for as many others. */
	rig_forget(&f.rig);
	for (uint64_t token = 1; token <= f.rig.size.waiters; token++)
		rig_turn(&f.rig, &(struct event){.kind = EVENT_WAIT,
		                                 .ref = f.child[1],
		                                 .token = token,
		                                 .wait_for = WAIT_STOPPED});
	ck_assert_uint_eq(f.rig.n_log, 0);
	family_done(&f);
}
END_TEST

START_TEST(an_exit_that_was_decided_can_be_asked_for_again)
{
	const struct spec top = plain_supervisor();
	const struct spec worker = plain_worker();
	struct family f;
	int32_t status = -1;

	family_init(&f, &top, &worker, 1);
	family_boot(&f);
	ck_assert(!core_exited(f.rig.core, &status));
	rig_turn(&f.rig, &(struct event){.kind = EVENT_SHUTDOWN});
	ck_assert(!core_exited(f.rig.core, &status));
	rig_exits(&f.rig, f.child[0], 0);
	ck_assert(core_exited(f.rig.core, &status));
	ck_assert_int_eq(status, 0);
	family_done(&f);
}
END_TEST

START_TEST(an_idle_core_has_no_deadline)
{
	const struct spec top = plain_supervisor();
	struct spec worker = plain_worker();
	struct family f;

	worker.backoff.none = false;
	family_init(&f, &top, &worker, 4);
	family_boot(&f);
	ck_assert_uint_eq(core_deadline(f.rig.core), DURATION_INFINITE);
	rig_exits(&f.rig, f.child[0], 1);
	ck_assert_uint_gt(core_deadline(f.rig.core), f.rig.now_ms);
	ck_assert(rig_advance(&f.rig, core_deadline(f.rig.core)));
	rig_runs(&f.rig);
	/* Only the reset of the backoff is left, and then nothing. */
	ck_assert(rig_advance(&f.rig, f.rig.now_ms + 60000));
	ck_assert_uint_eq(core_deadline(f.rig.core), DURATION_INFINITE);
	ck_assert_uint_eq(rig_view(&f.rig, f.child[0]).backoff.failures, 0);
	family_done(&f);
}
END_TEST

START_TEST(a_deadline_that_is_due_stays_due_until_a_tick)
{
	const struct spec top = plain_supervisor();
	struct spec worker = plain_worker();
	struct family f;
	uint64_t due_ms;

	worker.backoff.none = false;
	family_init(&f, &top, &worker, 2);
	family_boot(&f);
	rig_exits(&f.rig, f.child[0], 1);
	due_ms = core_deadline(f.rig.core);
	f.rig.now_ms = due_ms + 500;
	rig_forget(&f.rig);
	rig_event(&f.rig, EVENT_RESET, f.child[1]);
	ck_assert_uint_eq(rig_count(&f.rig, ACTION_SPAWN, f.child[0]), 0);
	ck_assert_uint_eq(core_deadline(f.rig.core), due_ms);
	rig_tick(&f.rig);
	ck_assert_uint_eq(rig_count(&f.rig, ACTION_SPAWN, f.child[0]), 1);
	family_done(&f);
}
END_TEST

/*
 * The last of these goes to the place of what is cleared, and is sooner than what is
 * above that place.
 */
START_TEST(whichever_deadline_is_cleared_the_others_come_in_order)
{
	static const uint64_t delay_s[] = {1, 6, 2, 3, 4, 7, 8, 9, 10, 5};
	enum { N = sizeof(delay_s) / sizeof(delay_s[0]) };
	struct spec top = plain_supervisor();
	struct spec worker = plain_worker();
	struct family f;
	uint64_t begun_ms;

	top.policy.intensity.unlimited = true;
	family_init(&f, &top, &worker, 0);
	worker.backoff.none = false;
	worker.backoff.jitter_milli = 0;
	for (int i = 0; i < N; i++) {
		worker.backoff.min_ms = worker.backoff.max_ms = delay_s[i] * 1000;
		family_add(&f, &worker);
	}
	family_boot(&f);
	begun_ms = f.rig.now_ms;
	for (int i = 0; i < N; i++)
		rig_exits(&f.rig, f.child[i], 1);
	rig_event(&f.rig, EVENT_STOP, f.child[_i]);
	for (uint64_t due_s = 1; due_s <= N; due_s++) {
		if (due_s == delay_s[_i])
			continue;
		ck_assert_uint_eq(core_deadline(f.rig.core), begun_ms + due_s * 1000);
		ck_assert(rig_advance(&f.rig, begun_ms + due_s * 1000));
	}
	ck_assert_uint_eq(core_deadline(f.rig.core), DURATION_INFINITE);
	family_done(&f);
}
END_TEST

START_TEST(ten_thousand_restarts_leave_nothing_behind)
{
	const struct spec top = plain_supervisor();
	const struct spec worker = plain_worker();
	struct family f;
	struct core_size before;
	struct core_size after;

	family_init(&f, &top, &worker, 1);
	family_boot(&f);
	f.rig.unchecked = true;
	core_room(f.rig.core, &before);
	for (int i = 0; i < 10000; i++) {
		rig_forget(&f.rig);
		rig_exits(&f.rig, f.child[0], 1);
		rig_runs(&f.rig);
		rig_hurry(&f.rig, f.child[0]);
	}
	core_room(f.rig.core, &after);
	ck_assert_mem_eq(&before, &after, sizeof(before));
	ck_assert_uint_eq(rig_view(&f.rig, f.child[0]).run.restarts, 10000);
	ck_assert_uint_eq(rig_view(&f.rig, f.child[0]).process.life, 10001);
	family_done(&f);
}
END_TEST

Suite *
suite_door(void)
{
	Suite *suite = suite_create("door");
	TCase *tcase = tcase_create("door");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, a_new_core_has_a_root_and_takes_user_as_its_first_child);
	tcase_add_test(tcase, a_core_with_a_goal_that_does_not_exist_is_refused);
	tcase_add_test(tcase, a_copy_of_the_memory_is_the_same_core);
	tcase_add_test(tcase, a_reference_to_an_earlier_tenant_of_a_slot_is_not_valid);
	tcase_add_test(tcase, stale_and_impossible_events_do_nothing);
	tcase_add_test(tcase, the_tree_can_be_walked_and_compared_in_start_order);
	tcase_add_test(tcase, a_moved_child_is_compared_at_its_new_place);
	tcase_add_test(tcase,
	               the_order_of_notices_is_the_same_wherever_the_core_was_moved_to);
	tcase_add_test(tcase, callers_beyond_the_bound_are_told_that_it_is_busy);
	tcase_add_test(tcase, all_callers_can_go_away_at_once);
	tcase_add_test(tcase, an_exit_that_was_decided_can_be_asked_for_again);
	tcase_add_test(tcase, an_idle_core_has_no_deadline);
	tcase_add_test(tcase, a_deadline_that_is_due_stays_due_until_a_tick);
	tcase_add_loop_test(tcase, whichever_deadline_is_cleared_the_others_come_in_order,
	                    0, 10);
	tcase_add_test(tcase, ten_thousand_restarts_leave_nothing_behind);
	suite_add_tcase(suite, tcase);
	return suite;
}
