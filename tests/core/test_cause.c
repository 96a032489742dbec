/* SPDX-License-Identifier: ISC */
/* test_cause.c - from the end of a process to its cause, and what its type makes of it.
 */
#include "config.h"

#include <errno.h>

#include "tests/core/suites.h"

/* How a running process can end, and what that is to be called. */
struct ending {
	int code; /* -1: by signal */
	int signal;
	bool core;
	enum cause_kind kind;
};

static const struct ending endings[] = {
    {0, 0, false, CAUSE_NORMAL},   {1, 0, false, CAUSE_EXIT},
    {75, 0, false, CAUSE_EXIT},    {127, 0, false, CAUSE_EXIT},
    {255, 0, false, CAUSE_EXIT},   {-1, 1, false, CAUSE_NORMAL},
    {-1, 2, false, CAUSE_NORMAL},  {-1, 13, false, CAUSE_NORMAL},
    {-1, 15, false, CAUSE_NORMAL}, {-1, 9, false, CAUSE_SIGNAL},
    {-1, 11, false, CAUSE_SIGNAL}, {-1, 11, true, CAUSE_CORE},
    {-1, 6, true, CAUSE_CORE},     {-1, 64, false, CAUSE_SIGNAL},
    {-1, 3, true, CAUSE_CORE},     {-1, 10, false, CAUSE_SIGNAL},
};

static void
end(struct family *family, const struct ending *ending)
{
	if (ending->code >= 0)
		rig_exits(&family->rig, family->child[0], ending->code);
	else
		rig_dies(&family->rig, family->child[0], ending->signal, ending->core);
}

START_TEST(every_end_has_its_cause)
{
	const struct ending *ending = &endings[_i];
	const struct spec top = plain_supervisor();
	const struct spec worker = plain_worker();
	struct family family;
	const struct action *exited;
	const struct action *failure;

	family_init(&family, &top, &worker, 1);
	family_boot(&family);
	end(&family, ending);
	exited = rig_report(&family.rig, REPORT_EXITED, family.child[0]);
	ck_assert_ptr_nonnull(exited);
	ck_assert_int_eq(exited->cause.kind, ending->kind);
	ck_assert_int_eq(exited->life, 1);
	failure = rig_report(&family.rig, REPORT_FAILURE, family.child[0]);
	ck_assert_int_eq(failure != NULL, ending->kind != CAUSE_NORMAL);
	if (failure != NULL) {
		ck_assert_int_eq(failure->cause.kind, ending->kind);
		ck_assert_int_eq(failure->cause.code, ending->code);
		ck_assert_int_eq(failure->cause.signal, ending->signal);
		ck_assert(ref_equal(failure->origin, family.child[0]));
	}
	family_done(&family);
}
END_TEST

START_TEST(the_restart_type_decides_what_an_end_leads_to)
{
	const struct ending *ending = &endings[_i];
	const struct spec top = plain_supervisor();

	for (int type = 0; type < RESTART_TYPE_MAX; type++) {
		struct spec worker = plain_worker();
		struct family family;
		bool again = type == RESTART_PERMANENT ||
		             (type == RESTART_TRANSIENT && ending->kind != CAUSE_NORMAL);

		worker.restart = (enum restart_type)type;
		family_init(&family, &top, &worker, 1);
		family_boot(&family);
		end(&family, ending);
		rig_runs(&family.rig);
		ck_assert_uint_eq(rig_count(&family.rig, ACTION_SPAWN, family.child[0]),
		                  again);
		ck_assert_uint_eq(rig_count(&family.rig, ACTION_REMOVED, family.child[0]),
		                  type == RESTART_TEMPORARY);
		ck_assert(core_valid(family.rig.core, family.child[0]) ==
		          (type != RESTART_TEMPORARY));
		if (type != RESTART_TEMPORARY)
			ck_assert_int_eq(rig_view(&family.rig, family.child[0]).state,
			                 again                          ? STATE_RUNNING
			                 : ending->kind == CAUSE_NORMAL ? STATE_DONE
			                                                : STATE_FAILED);
		family_done(&family);
	}
}
END_TEST

START_TEST(success_replaces_what_counts_as_normal)
{
	static const struct {
		struct ending ending;
		bool normal;
	} table[] = {
	    {{0, 0, false, CAUSE_EXIT}, false},   {{4, 0, false, CAUSE_EXIT}, true},
	    {{5, 0, false, CAUSE_EXIT}, true},    {{6, 0, false, CAUSE_EXIT}, true},
	    {{7, 0, false, CAUSE_EXIT}, false},   {{255, 0, false, CAUSE_EXIT}, true},
	    {{-1, 15, false, CAUSE_EXIT}, false}, {{-1, 10, false, CAUSE_EXIT}, true},
	    {{-1, 64, false, CAUSE_EXIT}, true},
	};
	const struct spec top = plain_supervisor();
	struct spec worker = plain_worker();
	struct family family;

	worker.restart = RESTART_TRANSIENT;
	worker.success_exits = (struct exit_set){{0}};
	worker.success_signals = (struct signal_set){0};
	exit_set_add(&worker.success_exits, 4, 6);
	exit_set_add(&worker.success_exits, 255, 255);
	signal_set_add(&worker.success_signals, 10);
	signal_set_add(&worker.success_signals, 64);
	family_init(&family, &top, &worker, 1);
	family_boot(&family);
	end(&family, &table[_i].ending);
	ck_assert_int_eq(rig_view(&family.rig, family.child[0]).state == STATE_DONE,
	                 table[_i].normal);
	family_done(&family);
}
END_TEST

START_TEST(an_end_before_readiness_is_an_early_exit_whatever_it_was)
{
	const struct ending *ending = &endings[_i];
	const struct spec top = plain_supervisor();
	struct spec worker = plain_worker();
	struct family family;
	const struct action *failure;

	worker.start.ready = READY_TOLD;
	worker.restart = RESTART_TRANSIENT;
	family_init(&family, &top, &worker, 1);
	family_boot(&family);
	end(&family, ending);
	failure = rig_report(&family.rig, REPORT_FAILURE, family.child[0]);
	ck_assert_ptr_nonnull(failure);
	ck_assert_int_eq(failure->cause.kind, CAUSE_EARLY_EXIT);
	ck_assert_int_eq(failure->ruling.directive, DIRECTIVE_RESTART);
	family_done(&family);
}
END_TEST

START_TEST(a_failing_spawn_is_an_exec_failure_with_its_errno)
{
	static const int errnos[] = {ENOENT, EACCES, ENOEXEC};
	const struct spec top = plain_supervisor();
	const struct spec worker = plain_worker();
	struct family family;
	const struct action *failure;

	family_init(&family, &top, &worker, 1);
	family_boot(&family);
	rig_exits(&family.rig, family.child[0], 1);
	rig_tick(&family.rig);
	rig_forget(&family.rig);
	rig_spawn_fails(&family.rig, family.child[0], errnos[_i]);
	failure = rig_report(&family.rig, REPORT_FAILURE, family.child[0]);
	ck_assert_ptr_nonnull(failure);
	ck_assert_int_eq(failure->cause.kind, CAUSE_EXEC);
	ck_assert_int_eq(failure->cause.error, errnos[_i]);
	ck_assert_str_eq(failure->cause.key, "setuid");
	ck_assert_int_eq(failure->ruling.directive, DIRECTIVE_RESTART);
	family_done(&family);
}
END_TEST

START_TEST(a_hook_that_cannot_be_executed_tells_at_which_step)
{
	const struct spec top = plain_supervisor();
	struct spec worker = plain_worker();
	struct family family;
	const struct action *hook;
	const struct action *failed;

	worker.hooks = 1U << HOOK_POST_START;
	family_init(&family, &top, &worker, 1);
	rig_event(&family.rig, EVENT_BOOT, REF_NONE);
	rig_runs(&family.rig);
	hook = rig_last(&family.rig, ACTION_HOOK, family.child[0]);
	ck_assert_ptr_nonnull(hook);
	rig_turn(&family.rig, &(struct event){.kind = EVENT_HOOK_DONE,
	                                      .ref = family.child[0],
	                                      .life = hook->life,
	                                      .serial = hook->serial,
	                                      .code = -1,
	                                      .error = EPERM,
	                                      .key = "setuid"});
	failed = rig_report(&family.rig, REPORT_HOOK_FAILED, family.child[0]);
	ck_assert_ptr_nonnull(failed);
	ck_assert_int_eq(failed->cause.kind, CAUSE_EXEC);
	ck_assert_str_eq(failed->cause.key, "setuid");
	family_done(&family);
}
END_TEST

START_TEST(whatever_ends_a_process_that_is_stopped_is_no_failure)
{
	const struct ending *ending = &endings[_i];
	const struct spec top = plain_supervisor();
	const struct spec worker = plain_worker();
	struct family family;

	family_init(&family, &top, &worker, 1);
	family_boot(&family);
	rig_event(&family.rig, EVENT_STOP, family.child[0]);
	ck_assert_uint_eq(rig_count(&family.rig, ACTION_STOP, family.child[0]), 1);
	end(&family, ending);
	ck_assert_ptr_null(rig_report(&family.rig, REPORT_FAILURE, family.child[0]));
	ck_assert_int_eq(rig_view(&family.rig, family.child[0]).state, STATE_STOPPED);
	family_done(&family);
}
END_TEST

START_TEST(sets_of_exit_codes_and_signals_have_exact_edges)
{
	struct exit_set exits = {{0}};
	struct signal_set signals = {0};

	exit_set_add(&exits, 0, 0);
	exit_set_add(&exits, 63, 64);
	exit_set_add(&exits, 128, 191);
	for (int code = -1; code <= 256; code++)
		ck_assert_int_eq(exit_set_has(&exits, code),
		                 code == 0 || code == 63 || code == 64 ||
		                     (code >= 128 && code <= 191));
	signal_set_add(&signals, 1);
	signal_set_add(&signals, 64);
	for (int signo = -1; signo <= 66; signo++)
		ck_assert_int_eq(signal_set_has(&signals, signo),
		                 signo == 1 || signo == 64);
}
END_TEST

Suite *
suite_cause(void)
{
	const int n = sizeof(endings) / sizeof(*endings);
	Suite *suite = suite_create("cause");
	TCase *tcase = tcase_create("cause");

	tcase_add_loop_test(tcase, every_end_has_its_cause, 0, n);
	tcase_add_loop_test(tcase, the_restart_type_decides_what_an_end_leads_to, 0, n);
	tcase_add_loop_test(tcase, success_replaces_what_counts_as_normal, 0, 9);
	tcase_add_loop_test(
	    tcase, an_end_before_readiness_is_an_early_exit_whatever_it_was, 0, n);
	tcase_add_loop_test(tcase, a_failing_spawn_is_an_exec_failure_with_its_errno, 0,
	                    3);
	tcase_add_loop_test(tcase, whatever_ends_a_process_that_is_stopped_is_no_failure,
	                    0, n);
	tcase_add_test(tcase, a_hook_that_cannot_be_executed_tells_at_which_step);
	tcase_add_test(tcase, sets_of_exit_codes_and_signals_have_exact_edges);
	suite_add_tcase(suite, tcase);
	return suite;
}
