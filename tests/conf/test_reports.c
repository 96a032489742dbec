/* SPDX-License-Identifier: ISC */
/* test_reports.c - the reports of a file with several faults, or with one several times.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "tests/conf/support.h"

START_TEST(what_a_report_quotes_does_not_control_a_terminal)
{
	expect_errors("children: {a: {command: [x], \"k\\e[31m\\n\": 1}}\n",
	              "main.yaml:1:30: error: children.a.k\\x1b[31m\\n: unknown key "
	              "`k\\x1b[31m\\n`; supd.yaml(5) describes all keys\n");
}
END_TEST

START_TEST(an_actor_that_is_not_indented_below_children_is_told_so)
{
	expect_errors("children:\nweb:\n  command: [x]\ntemplate: {}\n",
	              "main.yaml:1:10: error: children: nothing is not allowed here; "
	              "write a mapping, {} for none\n"
	              "main.yaml:2:1: error: web: unknown key `web`, did you mean an "
	              "actor below `children`? Indent it\n"
	              "main.yaml:4:1: error: template: unknown key `template`, did you "
	              "mean `templates`?\n");
	expect_errors("children:\n  app:\n    children:\n    used: {use: t}\n",
	              "main.yaml:3:14: error: children.app.children: nothing is not "
	              "allowed here; write a mapping from names to actors; write {} for "
	              "none\n"
	              "main.yaml:4:5: error: children.app.used: unknown key `used`, did "
	              "you mean an actor below `children`? Indent it\n");
}
END_TEST

static const char twenty_faults[] = "strategy: one_for_most\n"
                                    "intensity: {restarts: lots, within: 10}\n"
                                    "metrics: {listen: x}\n"
                                    "control: {mode: 0666}\n"
                                    "defaults:\n"
                                    "  shutdwon: 5s\n"
                                    "templates:\n"
                                    "  t: {command: [x, '${nobody}'], nice: 55}\n"
                                    "children:\n"
                                    "  a:\n"
                                    "    comand: [x]\n"
                                    "    shutdown: 5\n"
                                    "  b:\n"
                                    "    command: [x]\n"
                                    "    restart: sometimes\n"
                                    "    limits: {nofile: many}\n"
                                    "    backoff: {min: 0s, jitter: 2}\n"
                                    "  c: {use: t}\n"
                                    "  d:\n"
                                    "    children:\n"
                                    "      e f: {command: [x]}\n"
                                    "      g: {}\n"
                                    "      h: {command: [x], stop_signal: FOO}\n"
                                    "    decider:\n"
                                    "      - {when: {exti: [1]}, then: retry}\n"
                                    "  b: {command: [y]}\n";

static const char *const twenty_places[] = {
    "1:11: error: strategy: ",
    "2:23: error: intensity.restarts: ",
    "2:37: error: intensity.within: ",
    "3:19: error: metrics.listen: ",
    "4:17: error: control.mode: ",
    "6:3: error: defaults.shutdwon: ",
    "8:20: error: children.c.command[1]: ",
    "8:40: error: templates.t.nice: ",
    "11:5: error: children.a.comand: ",
    "12:15: error: children.a.shutdown: ",
    "15:14: error: children.b.restart: ",
    "16:22: error: children.b.limits.nofile: ",
    "17:20: error: children.b.backoff.min: ",
    "17:32: error: children.b.backoff.jitter: ",
    "21:7: error: children.d.children.e f: ",
    "22:7: error: children.d.children.g: ",
    "23:38: error: children.d.children.h.stop_signal: ",
    "25:17: error: children.d.decider[0].when.exti: ",
    "25:35: error: children.d.decider[0].then: ",
    "26:3: error: children.b: the key `b` is written twice, first at line 13",
};

START_TEST(twenty_faults_are_twenty_reports_in_the_order_of_the_lines)
{
	struct conf_reports reports;

	put_file("main.yaml", twenty_faults);
	ck_assert_ptr_null(load_main(false, &reports));
	for (size_t i = 0; i < reports.n && i < ARRAY_SIZE(twenty_places); i++) {
		struct strbuf line;
		char place[128];

		strbuf_init(&line, 4096);
		conf_report_format(&reports.at[i], &line);
		(void)snprintf(place, sizeof(place), "/main.yaml:%s", twenty_places[i]);
		ck_assert_msg(strstr(strbuf_str(&line), place) != NULL,
		              "number %zu is not at %s but: %s", i, twenty_places[i],
		              strbuf_str(&line));
		strbuf_done(&line);
	}
	ck_assert_uint_eq(reports.n, ARRAY_SIZE(twenty_places));
	ck_assert_uint_eq(reports.n_errors, ARRAY_SIZE(twenty_places));
	conf_reports_done(&reports);
}
END_TEST

START_TEST(too_many_faults_are_counted_and_the_first_ones_shown)
{
	static const char last[] =
	    "and more: only the first 200 are shown (300 errors)\n";
	struct conf_reports reports;
	struct strbuf text;
	struct strbuf out;

	strbuf_init(&text, 1 << 20);
	strbuf_init(&out, 1 << 20);
	strbuf_adds(&text, "children:\n");
	for (int i = 0; i < 300; i++)
		strbuf_addf(&text, "  a%d: {command: [x], shutdown: 5}\n", i);
	put_file("main.yaml", strbuf_str(&text));
	ck_assert_ptr_null(load_main(false, &reports));
	ck_assert_uint_eq(reports.n, CONF_REPORTS_MAX);
	ck_assert_uint_eq(reports.n_errors, 300);
	ck_assert(reports.truncated);
	conf_reports_format(&reports, &out);
	ck_assert_ptr_nonnull(strstr(strbuf_str(&out), last));
	conf_reports_done(&reports);
	strbuf_done(&text);
	strbuf_done(&out);
}
END_TEST

START_TEST(a_fault_of_a_template_is_reported_once_for_all_its_actors)
{
	expect_fault("templates: {t: {command: [x], shutdown: 5}}\n"
	             "children:\n"
	             "  a: {use: t}\n"
	             "  b: {use: t, replicas: 5}\n",
	             "1:41: error: templates.t.shutdown", "write 5s, not 5");
}
END_TEST

Suite *
suite_reports(void)
{
	Suite *suite = suite_create("reports");
	TCase *tcase = new_case("reports");

	tcase_add_test(tcase, twenty_faults_are_twenty_reports_in_the_order_of_the_lines);
	tcase_add_test(tcase, what_a_report_quotes_does_not_control_a_terminal);
	tcase_add_test(tcase, an_actor_that_is_not_indented_below_children_is_told_so);
	tcase_add_test(tcase, too_many_faults_are_counted_and_the_first_ones_shown);
	tcase_add_test(tcase, a_fault_of_a_template_is_reported_once_for_all_its_actors);
	suite_add_tcase(suite, tcase);
	return suite;
}
