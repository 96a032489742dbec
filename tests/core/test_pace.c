/* SPDX-License-Identifier: ISC */
/* test_pace.c - how often: the floor below every delay, and starts without room. */
#include "config.h"

#include <errno.h>

#include "tests/core/suites.h"

#define LIVES_MAX 16

static const struct {
	uint64_t min_ms; /* of the backoff; 0: none */
	uint32_t n;
	struct {
		uint64_t lived_ms;
		uint64_t delay_ms;
	} lives[LIVES_MAX];
} rows[] = {
    {0,
     13,
     {{0, 0},
      {0, 0},
      {0, 0},
      {0, 10},
      {0, 20},
      {0, 40},
      {0, 80},
      {0, 160},
      {0, 320},
      {0, 640},
      {0, 1000},
      {0, 1000},
      {0, 1000}}},
    {0, 5, {{999, 0}, {999, 0}, {999, 0}, {999, 10}, {999, 20}}},
    {0, 5, {{1000, 0}, {1000, 0}, {1000, 0}, {1000, 0}, {5000, 0}}},
    {0, 6, {{0, 0}, {0, 0}, {0, 0}, {1000, 0}, {0, 0}, {0, 0}}},
    {0, 9, {{0, 0}, {0, 0}, {0, 0}, {0, 10}, {2000, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 10}}},
    {15, 7, {{0, 15}, {0, 15}, {0, 15}, {0, 15}, {0, 20}, {0, 40}, {0, 80}}},
    {5000, 5, {{0, 5000}, {0, 5000}, {0, 5000}, {0, 5000}, {0, 5000}}},
};

/* DECISIONS 45. */
START_TEST(the_floor_rises_with_short_lives_in_a_row_and_ends_with_a_long_one)
{
	for (int code = 0; code < 2; code++) {
		struct spec top = plain_supervisor();
		struct spec worker = plain_worker();
		struct family f;

		top.policy.intensity.unlimited = true;
		worker.backoff = (struct backoff_spec){
		    .none = rows[_i].min_ms == 0,
		    .on_stop = true,
		    .min_ms = rows[_i].min_ms,
		    .max_ms = rows[_i].min_ms,
		    .reset_after_ms = 1000000,
		};
		family_init(&f, &top, &worker, 1);
		family_boot(&f);
		for (uint32_t n = 0; n < rows[_i].n; n++) {
			ck_assert(rig_advance(&f.rig,
			                      f.rig.now_ms + rows[_i].lives[n].lived_ms));
			rig_exits(&f.rig, f.child[0], code);
			ck_assert_uint_eq(rig_view(&f.rig, f.child[0]).backoff.delay_ms,
			                  rows[_i].lives[n].delay_ms);
			ck_assert(rig_advance(&f.rig,
			                      f.rig.now_ms + rows[_i].lives[n].delay_ms));
			rig_runs(&f.rig);
			ck_assert_int_eq(rig_view(&f.rig, f.child[0]).state,
			                 STATE_RUNNING);
		}
		family_done(&f);
	}
}
END_TEST

/* DECISIONS 46. */
START_TEST(a_start_without_room_is_no_failure_and_any_other_is)
{
	static const struct {
		int error;
		bool is_shortage;
	} table[] = {
	    {EAGAIN, true},  {ENOMEM, true},   {EBUSY, true},  {ENFILE, true},
	    {EMFILE, true},  {ETXTBSY, true},  {ENOSPC, true}, {ENOENT, false},
	    {EACCES, false}, {ENOEXEC, false}, {EPERM, false}, {EIO, false},
	    {E2BIG, false},  {ELOOP, false},
	};
	struct spec top = plain_supervisor();
	const struct spec worker = plain_worker();
	struct family f;
	struct node_view view;

	top.policy.decider.preset = PRESET_STOPPING;
	family_init(&f, &top, &worker, 1);
	rig_event(&f.rig, EVENT_BOOT, REF_NONE);
	rig_spawn_fails(&f.rig, f.child[0], table[_i].error);
	view = rig_view(&f.rig, f.child[0]);
	ck_assert_int_eq(view.state,
	                 table[_i].is_shortage ? STATE_BACKOFF : STATE_FAILED);
	ck_assert_int_eq(rig_report(&f.rig, REPORT_FAILURE, f.child[0]) == NULL,
	                 table[_i].is_shortage);
	ck_assert_int_eq(rig_report(&f.rig, REPORT_SHORTAGE, f.child[0]) != NULL,
	                 table[_i].is_shortage);
	if (table[_i].is_shortage)
		ck_assert_uint_eq(view.backoff.due_ms, f.rig.now_ms + 200);
	family_done(&f);
}
END_TEST

START_TEST(however_long_there_is_no_room_it_is_told_once)
{
	const struct spec top = plain_supervisor();
	const struct spec worker = plain_worker();
	struct family f;
	uint64_t delay_ms = 200;

	family_init(&f, &top, &worker, 1);
	rig_event(&f.rig, EVENT_BOOT, REF_NONE);
	for (int n = 0; n < 1000; n++) {
		rig_spawn_fails(&f.rig, f.child[0], ENOMEM);
		ck_assert_uint_eq(rig_view(&f.rig, f.child[0]).backoff.due_ms,
		                  f.rig.now_ms + delay_ms);
		ck_assert_int_eq(rig_report(&f.rig, REPORT_SHORTAGE, f.child[0]) != NULL,
		                 n == 0);
		rig_forget(&f.rig);
		ck_assert(rig_advance(&f.rig, f.rig.now_ms + delay_ms));
		delay_ms = delay_ms * 2 < 5000 ? delay_ms * 2 : 5000;
	}
	rig_spawned(&f.rig, f.child[0]);
	ck_assert_uint_eq(rig_report(&f.rig, REPORT_STARTED, f.child[0])->window, 1000);
	ck_assert_uint_eq(rig_view(&f.rig, f.child[0]).run.restarts, 0);
	family_done(&f);
}
END_TEST

/* The stop of the supervisor has come to its younger child, not yet to the elder. */
START_TEST(what_goes_down_with_a_supervisor_far_above_does_not_wait_for_room)
{
	struct spec top = plain_supervisor();
	const struct spec mid = plain_supervisor();
	const struct spec worker = plain_worker();
	struct family f;
	struct ref leaf;

	top.policy.start_parallel = true;
	family_init(&f, &top, &mid, 1);
	leaf = rig_add(&f.rig, f.child[0], REF_NONE, &worker);
	family_add(&f, &worker);
	rig_event(&f.rig, EVENT_BOOT, REF_NONE);
	rig_spawned(&f.rig, f.child[1]);
	rig_event(&f.rig, EVENT_STOP, f.top);
	ck_assert_int_eq(rig_view(&f.rig, leaf).state, STATE_STARTING);
	rig_spawn_fails(&f.rig, leaf, ENOMEM);
	ck_assert_ptr_null(rig_report(&f.rig, REPORT_SHORTAGE, leaf));
	ck_assert_int_ne(rig_view(&f.rig, leaf).state, STATE_BACKOFF);
	rig_exits(&f.rig, f.child[1], 0);
	ck_assert_int_eq(rig_view(&f.rig, f.top).state, STATE_STOPPED);
	family_done(&f);
}
END_TEST

/* The time of events may be rounded up by a millisecond: a tick says what is due. */
START_TEST(nothing_is_due_before_its_time_though_the_time_of_the_turn_is_ahead)
{
	const struct spec top = plain_supervisor();
	struct spec worker = plain_worker();
	struct event tick = {.kind = EVENT_TICK, .ref = REF_NONE};
	struct family f;

	family_init(&f, &top, &worker, 1);
	worker.backoff.none = false;
	family_add(&f, &worker);
	family_boot(&f);
	rig_exits(&f.rig, f.child[1], 1);
	f.rig.now_ms = core_deadline(f.rig.core);
	tick.period_ms = f.rig.now_ms - 1;
	rig_forget(&f.rig);
	rig_turn(&f.rig, &tick);
	ck_assert_uint_eq(rig_count(&f.rig, ACTION_SPAWN, f.child[1]), 0);
	/* What need not wait does not wait for that millisecond either. */
	rig_exits(&f.rig, f.child[0], 1);
	rig_turn(&f.rig, &tick);
	ck_assert_uint_eq(rig_count(&f.rig, ACTION_SPAWN, f.child[0]), 1);
	ck_assert_uint_eq(rig_count(&f.rig, ACTION_SPAWN, f.child[1]), 0);
	tick.period_ms = f.rig.now_ms;
	rig_turn(&f.rig, &tick);
	ck_assert_uint_eq(rig_count(&f.rig, ACTION_SPAWN, f.child[1]), 1);
	family_done(&f);
}
END_TEST

Suite *
suite_pace(void)
{
	Suite *suite = suite_create("pace");
	TCase *tcase = tcase_create("pace");

	tcase_add_loop_test(
	    tcase, the_floor_rises_with_short_lives_in_a_row_and_ends_with_a_long_one, 0,
	    7);
	tcase_add_loop_test(tcase, a_start_without_room_is_no_failure_and_any_other_is, 0,
	                    14);
	tcase_add_test(tcase, however_long_there_is_no_room_it_is_told_once);
	tcase_add_test(tcase,
	               what_goes_down_with_a_supervisor_far_above_does_not_wait_for_room);
	tcase_add_test(
	    tcase, nothing_is_due_before_its_time_though_the_time_of_the_turn_is_ahead);
	suite_add_tcase(suite, tcase);
	return suite;
}
