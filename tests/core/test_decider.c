/* SPDX-License-Identifier: ISC */
/* test_decider.c - from a cause to a directive: presets, lists, the order of deciders. */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "tests/core/suites.h"

/* Ways for the first child of a family to fail. */
enum way {
	WAY_EXIT,
	WAY_SIGNAL,
	WAY_CORE,
	WAY_KILLED,
	WAY_FIRST_EXEC,
	WAY_LATER_EXEC,
	WAY_FIRST_TIMEOUT,
	WAY_LATER_TIMEOUT,
	WAY_FIRST_EARLY,
	WAY_LATER_EARLY,
	WAY_MAX
};

#define RES DIRECTIVE_RESTART
#define STO DIRECTIVE_STOP
#define ESC DIRECTIVE_ESCALATE

/* SEMANTICS 1.1, and DECISIONS 41 for otp: the answer for each way and strategy. */
static const struct {
	enum preset preset;
	enum strategy strategy;
	enum directive then[WAY_MAX];
} presets[] = {
    {PRESET_DEFAULT,
     STRATEGY_ONE_FOR_ONE,
     {RES, RES, RES, STO, STO, RES, RES, RES, RES, RES}},
    {PRESET_DEFAULT,
     STRATEGY_ONE_FOR_ALL,
     {RES, RES, RES, STO, ESC, RES, RES, RES, RES, RES}},
    {PRESET_DEFAULT,
     STRATEGY_REST_FOR_ONE,
     {RES, RES, RES, STO, ESC, RES, RES, RES, RES, RES}},
    {PRESET_OTP,
     STRATEGY_ONE_FOR_ONE,
     {RES, RES, RES, RES, ESC, RES, ESC, RES, ESC, RES}},
    {PRESET_OTP,
     STRATEGY_ONE_FOR_ALL,
     {RES, RES, RES, RES, ESC, RES, ESC, RES, ESC, RES}},
    {PRESET_STOPPING,
     STRATEGY_ONE_FOR_ONE,
     {STO, STO, STO, STO, STO, STO, STO, STO, STO, STO}},
    {PRESET_ESCALATING,
     STRATEGY_ONE_FOR_ONE,
     {ESC, ESC, ESC, ESC, ESC, ESC, ESC, ESC, ESC, ESC}},
    {PRESET_ESCALATING,
     STRATEGY_ONE_FOR_ALL,
     {ESC, ESC, ESC, ESC, ESC, ESC, ESC, ESC, ESC, ESC}},
};

static bool
is_first(enum way way)
{
	return way == WAY_FIRST_EXEC || way == WAY_FIRST_TIMEOUT ||
	       way == WAY_FIRST_EARLY;
}

static void
let_fail(struct family *family, enum way way)
{
	struct rig *rig = &family->rig;
	struct ref child = family->child[0];

	switch (way) {
	case WAY_EXIT:
		rig_exits(rig, child, 1);
		break;
	case WAY_SIGNAL:
		rig_dies(rig, child, 11, false);
		break;
	case WAY_CORE:
		rig_dies(rig, child, 6, true);
		break;
	case WAY_KILLED:
		rig_event(rig, EVENT_KILL, child);
		break;
	case WAY_FIRST_EXEC:
	case WAY_LATER_EXEC:
		rig_spawn_fails(rig, child, ENOENT);
		break;
	case WAY_FIRST_TIMEOUT:
	case WAY_LATER_TIMEOUT:
		rig_spawned(rig, child);
		ck_assert(rig_advance(rig, rig->now_ms + 5000));
		break;
	case WAY_FIRST_EARLY:
	case WAY_LATER_EARLY:
		rig_spawned(rig, child);
		rig_exits(rig, child, 0);
		break;
	case WAY_MAX:
		break;
	}
}

/* Prepare the child so that it can fail that way, and let it. */
static void
bring_about(struct family *family, enum way way)
{
	struct rig *rig = &family->rig;

	if (way < WAY_FIRST_EXEC) {
		rig_event(rig, EVENT_BOOT, REF_NONE);
		rig_spawned(rig, family->child[0]);
		rig_turn(rig, &(struct event){.kind = EVENT_READY,
		                              .ref = family->child[0],
		                              .life = 1});
	} else if (is_first(way)) {
		rig_event(rig, EVENT_BOOT, REF_NONE);
	} else {
		rig_event(rig, EVENT_BOOT, REF_NONE);
		rig_spawned(rig, family->child[0]);
		rig_turn(rig, &(struct event){.kind = EVENT_READY,
		                              .ref = family->child[0],
		                              .life = 1});
		/* After a restart a failed start is not the first start. */
		rig_event(rig, EVENT_BOOT, REF_NONE);
		core_restart(rig->core, family->child[0], rig->now_ms);
		rig_settle(rig);
		rig_exits(rig, family->child[0], 0);
		rig_tick(rig);
	}
	rig_forget(rig);
	let_fail(family, way);
}

static enum directive
directive_of(const struct family *family)
{
	const struct rig *rig = &family->rig;
	const struct action *report = rig_report(rig, REPORT_FAILURE, family->child[0]);

	if (report != NULL)
		return report->ruling.directive;
	ck_assert_ptr_nonnull(rig_report(rig, REPORT_FAILURE, family->top));
	return DIRECTIVE_ESCALATE;
}

START_TEST(every_preset_answers_every_failure)
{
	for (int way = 0; way < WAY_MAX; way++) {
		struct spec top = plain_supervisor();
		struct spec worker = plain_worker();
		struct family family;

		top.policy.strategy = presets[_i].strategy;
		top.policy.decider.preset = presets[_i].preset;
		worker.start.ready = READY_TOLD;
		worker.start.timeout_ms = 5000;
		family_init(&family, &top, &worker, 1);
		bring_about(&family, (enum way)way);
		ck_assert_msg(directive_of(&family) == presets[_i].then[way],
		              "preset %s, %s, way %d: %s",
		              preset_names[presets[_i].preset],
		              strategy_names[presets[_i].strategy], way,
		              directive_names[directive_of(&family)]);
		family_done(&family);
	}
}
END_TEST

static struct rule
rule_for(uint32_t kinds, enum directive then, uint32_t line)
{
	return (struct rule){.kinds = kinds, .then = then, .place = {.line = line}};
}

/* Which rule answers, 0 for none (the failure climbs). */
static uint32_t
line_for(const struct rule *rules, uint32_t n, int code, int signo, bool core)
{
	struct spec top = plain_supervisor();
	struct spec worker = plain_worker();
	struct family family;
	const struct action *report;
	uint32_t line = 0;

	top.policy.decider = (struct decider){.rules = rules, .n_rules = n};
	family_init(&family, &top, &worker, 1);
	family_boot(&family);
	if (signo == 0)
		rig_exits(&family.rig, family.child[0], code);
	else
		rig_dies(&family.rig, family.child[0], signo, core);
	report = rig_report(&family.rig, REPORT_FAILURE, family.child[0]);
	if (report != NULL)
		line = report->ruling.place.line;
	else
		ck_assert_ptr_nonnull(
		    rig_report(&family.rig, REPORT_FAILURE, family.top));
	family_done(&family);
	return line;
}

START_TEST(the_first_matching_rule_of_a_list_answers)
{
	struct rule rules[4] = {
	    rule_for(0, DIRECTIVE_STOP, 1),
	    rule_for(0, DIRECTIVE_STOP, 2),
	    rule_for(0, DIRECTIVE_STOP, 3),
	    rule_for(1u << CAUSE_SIGNAL, DIRECTIVE_STOP, 4),
	};

	exit_set_add(&rules[0].exits, 10, 20);
	exit_set_add(&rules[1].exits, 15, 25);
	signal_set_add(&rules[1].signals, 11);
	signal_set_add(&rules[2].cores, 11);
	signal_set_add(&rules[2].cores, 6);
	ck_assert_uint_eq(line_for(rules, 4, 9, 0, false), 0);
	ck_assert_uint_eq(line_for(rules, 4, 10, 0, false), 1);
	ck_assert_uint_eq(line_for(rules, 4, 15, 0, false), 1);
	ck_assert_uint_eq(line_for(rules, 4, 21, 0, false), 2);
	ck_assert_uint_eq(line_for(rules, 4, 26, 0, false), 0);
	ck_assert_uint_eq(line_for(rules, 4, -1, 11, false), 2);
	ck_assert_uint_eq(line_for(rules, 4, -1, 11, true), 2);
	ck_assert_uint_eq(line_for(rules, 4, -1, 6, true), 3);
	ck_assert_uint_eq(line_for(rules, 4, -1, 6, false), 4);
}
END_TEST

/* A-02 57. */
START_TEST(a_list_that_matches_nothing_escalates)
{
	struct rule rule = rule_for(1u << CAUSE_OOM, DIRECTIVE_STOP, 1);

	ck_assert_uint_eq(line_for(&rule, 1, 1, 0, false), 0);
	ck_assert_uint_eq(line_for(&rule, 0, 1, 0, false), 0);
}
END_TEST

START_TEST(a_preset_as_an_entry_goes_on_with_its_rules)
{
	static const enum preset after[] = {PRESET_DEFAULT, PRESET_OTP, PRESET_STOPPING,
	                                    PRESET_ESCALATING};
	static const enum directive then[] = {DIRECTIVE_RESTART, DIRECTIVE_RESTART,
	                                      DIRECTIVE_STOP, DIRECTIVE_ESCALATE};
	struct rule rules[3] = {rule_for(0, DIRECTIVE_STOP, 1),
	                        {.preset = after[_i]},
	                        rule_for(RULE_KINDS_ANY, DIRECTIVE_RESUME, 3)};
	struct spec top = plain_supervisor();
	const struct spec worker = plain_worker();
	struct family family;

	exit_set_add(&rules[0].exits, 75, 75);
	top.policy.decider = (struct decider){.rules = rules, .n_rules = 3};
	family_init(&family, &top, &worker, 1);
	family_boot(&family);
	rig_exits(&family.rig, family.child[0], 1);
	ck_assert_int_eq(directive_of(&family), then[_i]);
	family_done(&family);
}
END_TEST

START_TEST(a_rule_on_exec_can_name_errnos)
{
	struct rule rules[2] = {rule_for(0, DIRECTIVE_STOP, 1),
	                        rule_for(1u << CAUSE_EXEC, DIRECTIVE_RESTART, 2)};
	struct spec top = plain_supervisor();
	const struct spec worker = plain_worker();

	rules[0].errnos[0] = EACCES;
	rules[0].errnos[1] = ENOENT;
	top.policy.decider = (struct decider){.rules = rules, .n_rules = 2};
	for (int i = 0; i < 3; i++) {
		static const int errnos[] = {ENOENT, EACCES, ENOEXEC};
		struct family family;

		family_init(&family, &top, &worker, 1);
		rig_event(&family.rig, EVENT_BOOT, REF_NONE);
		rig_spawn_fails(&family.rig, family.child[0], errnos[i]);
		ck_assert_int_eq(directive_of(&family),
		                 i < 2 ? DIRECTIVE_STOP : DIRECTIVE_RESTART);
		family_done(&family);
	}
}
END_TEST

START_TEST(the_actor_s_own_list_is_asked_before_the_supervisor)
{
	struct rule own = rule_for(0, DIRECTIVE_RESTART, 7);
	struct spec top = plain_supervisor();
	struct spec worker = plain_worker();

	exit_set_add(&own.exits, 5, 5);
	top.policy.decider.preset = PRESET_STOPPING;
	worker.on_failure = (struct decider){.rules = &own, .n_rules = 1};
	for (int code = 5; code <= 6; code++) {
		struct family family;
		const struct action *report;

		family_init(&family, &top, &worker, 1);
		family_boot(&family);
		rig_exits(&family.rig, family.child[0], code);
		report = rig_report(&family.rig, REPORT_FAILURE, family.child[0]);
		ck_assert_ptr_nonnull(report);
		ck_assert_int_eq(report->ruling.directive,
		                 code == 5 ? DIRECTIVE_RESTART : DIRECTIVE_STOP);
		ck_assert_int_eq(report->ruling.reason,
		                 code == 5 ? DECIDED_BY_ON_FAILURE : DECIDED_BY_RULE);
		ck_assert_uint_eq(report->ruling.place.line, code == 5 ? 7 : 0);
		family_done(&family);
	}
}
END_TEST

/* C13. */
START_TEST(an_actor_that_runs_once_is_stopped_whatever_the_rule_but_for_escalate)
{
	static const enum directive asked[] = {DIRECTIVE_RESUME, DIRECTIVE_RESTART,
	                                       DIRECTIVE_STOP, DIRECTIVE_ESCALATE};
	const enum directive directive = asked[_i % 4];
	struct rule rule = rule_for(RULE_KINDS_ANY, directive, 1);
	struct spec top = plain_supervisor();
	struct spec worker = plain_worker();
	struct family family;

	top.policy.decider = (struct decider){.rules = &rule, .n_rules = 1};
	top.policy.strategy = STRATEGY_ONE_FOR_ALL;
	worker.restart = _i < 4 ? RESTART_TEMPORARY : RESTART_NEVER;
	family_init(&family, &top, &worker, 1);
	worker.restart = RESTART_PERMANENT;
	family_add(&family, &worker);
	family_boot(&family);
	rig_exits(&family.rig, family.child[0], 1);
	ck_assert_int_eq(directive_of(&family), directive == DIRECTIVE_ESCALATE
	                                            ? DIRECTIVE_ESCALATE
	                                            : DIRECTIVE_STOP);
	ck_assert_uint_eq(rig_count(&family.rig, ACTION_STOP, family.child[1]),
	                  directive == DIRECTIVE_ESCALATE);
	family_done(&family);
}
END_TEST

START_TEST(five_resumes_within_a_minute_the_sixth_is_a_restart)
{
	/* The moment of the crash, and whether the directive is still resume. */
	static const struct {
		uint64_t at_ms;
		bool resume;
	} crashes[] = {
	    {0, true},      {10, true},     {20, true},     {30, true},
	    {40, true},     {60000, false}, {60001, true},  {60002, false},
	    {60010, false}, {60011, true},  {200000, true},
	};
	struct rule rule = rule_for(RULE_KINDS_ANY, DIRECTIVE_RESUME, 1);
	struct spec top = plain_supervisor();
	const struct spec worker = plain_worker();
	struct family family;
	uint64_t start_ms;

	top.policy.decider = (struct decider){.rules = &rule, .n_rules = 1};
	family_init(&family, &top, &worker, 1);
	family_boot(&family);
	start_ms = family.rig.now_ms;
	for (size_t i = 0; i < sizeof(crashes) / sizeof(*crashes); i++) {
		ck_assert(rig_advance(&family.rig, start_ms + crashes[i].at_ms));
		rig_forget(&family.rig);
		rig_exits(&family.rig, family.child[0], 1);
		ck_assert_msg(
		    directive_of(&family) ==
		        (crashes[i].resume ? DIRECTIVE_RESUME : DIRECTIVE_RESTART),
		    "crash at %d", (int)crashes[i].at_ms);
		rig_runs(&family.rig);
		rig_hurry(&family.rig, family.child[0]);
	}
	family_done(&family);
}
END_TEST

Suite *
suite_decider(void)
{
	Suite *suite = suite_create("decider");
	TCase *tcase = tcase_create("decider");

	tcase_add_loop_test(tcase, every_preset_answers_every_failure, 0,
	                    sizeof(presets) / sizeof(*presets));
	tcase_add_test(tcase, the_first_matching_rule_of_a_list_answers);
	tcase_add_test(tcase, a_list_that_matches_nothing_escalates);
	tcase_add_loop_test(tcase, a_preset_as_an_entry_goes_on_with_its_rules, 0, 4);
	tcase_add_test(tcase, a_rule_on_exec_can_name_errnos);
	tcase_add_test(tcase, the_actor_s_own_list_is_asked_before_the_supervisor);
	tcase_add_loop_test(
	    tcase, an_actor_that_runs_once_is_stopped_whatever_the_rule_but_for_escalate,
	    0, 8);
	tcase_add_test(tcase, five_resumes_within_a_minute_the_sixth_is_a_restart);
	suite_add_tcase(suite, tcase);
	return suite;
}
