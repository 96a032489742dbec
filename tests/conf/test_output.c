/* SPDX-License-Identifier: ISC */
/* test_output.c - where output goes, how logs are kept, and which of it is refused. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/units.h"
#include "tests/conf/support.h"

static const struct {
	const char *text;
	const char *place;
	const char *words;
} faults[] = {
    {"children: {a: {command: [x], output: pipe:a}}\n",
     "1:38: error: children.a.output.stdout", "an actor cannot read its own output"},
    {"children: {a: {command: [x], output: {stderr: pipe:/user/a}}}\n",
     "1:47: error: children.a.output.stderr", "an actor cannot read its own output"},
    {"children: {a: {command: [x], output: 'pipe:'}}\n", "1:38: error: children.a.output",
     "write `log`, `journal`, `syslog`, `stdout`, `inherit`, `null`, file:PATH or "
     "pipe:ACTOR, "
     "or a list such as [log, stdout]"},
    {"children: {a: {command: [x], output: pipe:wirter}, writer: {command: [x]}}\n",
     "1:38: error: children.a.output.stdout",
     "there is no actor `/user/wirter`, did you mean `/user/writer`?"},
    {"children: {a: {command: [x], output: pipe:/user/nobody}}\n",
     "1:38: error: children.a.output.stdout", "there is no actor `/user/nobody`"},
    {"children: {a: {command: [x], output: pipe:/}}\n",
     "1:38: error: children.a.output.stdout", "there is no actor `/`"},
    {"children: {a: {command: [x], output: pipe:w}, w: {command: [x], replicas: 2}}\n",
     "1:38: error: children.a.output.stdout",
     "`/user/w` has replicas; name one of them, such as `/user/w@1`"},
    {"children: {a: {command: [x], output: pipe:s}, s: {children: {}}}\n",
     "1:38: error: children.a.output.stdout",
     "`/user/s` is a supervisor and has no process that could read"},
    {"children: {a: {command: [x], output: pipe:/user}}\n",
     "1:38: error: children.a.output.stdout", "`/user` is a supervisor"},
    {"children: {a: {command: [x], output: pipe:b}, b: {command: [x], output: pipe:a}}\n",
     "1:73: error: children.b.output.stdout",
     "the pipes lead in a circle: /user/a -> /user/b -> /user/a"},
    {"children: {a: {command: [x], output: pipe:b}, b: {command: [x], output: {stdout: "
     "pipe:d, stderr: pipe:c}}, c: {command: [x], output: {stderr: pipe:b}}, d: "
     "{command: [x]}}\n",
     "1:143: error: children.c.output.stderr",
     "the pipes lead in a circle: /user/b -> /user/c -> /user/b"},
    {"defaults: {output: pipe:/user/b}\nchildren: {a: {command: [x]}, b: {command: "
     "[x]}}\n",
     "1:20: error: children.b.output.stdout", "an actor cannot read its own output"},
    {"children: {a: {command: [x], log: {max_size: 4095}}}\n",
     "1:46: error: children.a.log.max_size", "a size from 4K to 1T, such as 10M"},
    {"children: {a: {command: [x], log: {max_size: 10MB}}}\n",
     "1:46: error: children.a.log.max_size", "`10MB` is not allowed here"},
    {"children: {a: {command: [x], log: {total: 2T}}}\n",
     "1:43: error: children.a.log.total", "a size from 4K to 1T, such as 10M"},
    {"children: {a: {command: [x], log: {total: infinity}}}\n",
     "1:43: error: children.a.log.total", "`infinity` is not allowed here"},
    {"children: {a: {command: [x], log: {keep: 1000001}}}\n",
     "1:42: error: children.a.log.keep", "a number from 0 to 1000000"},
    {"children: {a: {command: [x], log: {keep: -1}}}\n",
     "1:42: error: children.a.log.keep", "a number from 0 to 1000000"},
    {"children: {a: {command: [x], log: {max_age: 999ms}}}\n",
     "1:45: error: children.a.log.max_age",
     "a duration of 1s or more, such as 7d, or `infinity`"},
    {"children: {a: {command: [x], log: {max_age: 7}}}\n",
     "1:45: error: children.a.log.max_age",
     "`7` has no unit: write 7s, not 7, for seconds"},
    {"children: {a: {command: [x], log: {format: xml}}}\n",
     "1:44: error: children.a.log.format", "`text` or `json`"},
    {"children: {a: {command: [x], log: {timestamps: maybe}}}\n",
     "1:48: error: children.a.log.timestamps", "`true` or `false`"},
    {"children: {a: {command: [x], log: {compres: true}}}\n",
     "1:36: error: children.a.log.compres", "did you mean `compress`?"},
    {"children: {a: {command: [x], log: journal}}\n", "1:35: error: children.a.log",
     "write a mapping such as {max_size: 10M, keep: 5}"},
    {"children: {s: {children: {}, log: {keep: 1}}}\n", "1:30: error: children.s.log",
     "`log` is a key of actors with a `command`"},
    {"children: {}\nlog: {compress: true}\n", "2:7: error: log.compress",
     "there are: level, show, target, directory"},
    {"children: {}\non_crash: die\n", "2:11: error: on_crash", "`adopt` or `kill`"},
    {"children: {a: {command: [x], on_crash: kill}}\n",
     "1:30: error: children.a.on_crash", "belongs at the top level of the main file"},
};

START_TEST(each_fault_is_one_error)
{
	expect_fault(faults[_i].text, faults[_i].place, faults[_i].words);
}
END_TEST

static const char *const fine[] = {
    /* several write to one, and what was written goes on */
    "children:\n"
    "  a: {command: [x], output: pipe:d}\n"
    "  b: {command: [x], output: pipe:d}\n"
    "  c: {command: [x], output: {stdout: pipe:d, stderr: pipe:e}}\n"
    "  d: {command: [x], output: pipe:e}\n"
    "  e: {command: [x]}\n",
    "children:\n"
    "  s: {children: {a: {command: [x], output: pipe:/user/w@2}}}\n"
    "  w: {command: [x], replicas: 2}\n",
};

START_TEST(pipes_that_lead_somewhere_are_fine)
{
	conf_free(load_text(fine[_i]));
}
END_TEST

START_TEST(a_long_way_of_pipes_is_followed_to_its_end)
{
	struct strbuf text;

	strbuf_init(&text, 1 << 24);
	strbuf_adds(&text, "children:\n");
	for (unsigned int i = 0; i < 5000; i++)
		strbuf_addf(&text, "  a%u: {command: [x], output: 'pipe:a%u'}\n", i,
		            i + 1);
	strbuf_adds(&text, "  a5000: {command: [x]}\n");
	conf_free(load_text(strbuf_str(&text)));
	strbuf_done(&text);
}
END_TEST

START_TEST(the_same_name_of_a_file_and_of_an_actor_are_two_targets)
{
	struct conf *conf = load_text(
	    "children:\n"
	    "  a: {command: [x], output: {stdout: file:/user/b, stderr: pipe:/user/b}}\n"
	    "  b: {command: [x], output: {stdout: pipe:c, stderr: pipe:/user/c}}\n"
	    "  c: {command: [x], output: {stdout: journal, stderr: syslog}}\n");
	const struct conf_process *a = actor_at(conf, "/user/a")->process;
	const struct conf_process *b = actor_at(conf, "/user/b")->process;
	const struct conf_process *c = actor_at(conf, "/user/c")->process;

	ck_assert(!a->output.out_is_err);
	ck_assert_int_eq(a->output.err.kind, OUTPUT_PIPE);
	ck_assert_str_eq(a->output.err.file, "/user/b");
	ck_assert(b->output.out_is_err);
	ck_assert_str_eq(b->output.out.file, "/user/c");
	ck_assert(!c->output.out_is_err);
	ck_assert_int_eq(c->output.out.kind, OUTPUT_JOURNAL);
	ck_assert_int_eq(c->output.err.kind, OUTPUT_SYSLOG);
	conf_free(conf);
}
END_TEST

START_TEST(a_list_is_captured_and_shown)
{
	struct conf *conf =
	    load_text("children:\n"
	              "  a: {command: [x], output: [stdout, log]}\n"
	              "  b: {command: [x], output: {stdout: [journal, stdout]}}\n"
	              "  c: {command: [x], output: [stdout]}\n");
	const struct conf_process *a = actor_at(conf, "/user/a")->process;
	const struct conf_process *b = actor_at(conf, "/user/b")->process;
	const struct conf_process *c = actor_at(conf, "/user/c")->process;

	ck_assert(a->output.out_is_err && a->output.out.is_shown);
	ck_assert_int_eq(a->output.out.kind, OUTPUT_LOG);
	ck_assert(!b->output.out_is_err && b->output.out.is_shown &&
	          !b->output.err.is_shown);
	ck_assert_int_eq(b->output.out.kind, OUTPUT_JOURNAL);
	ck_assert(c->output.out.is_shown);
	ck_assert_int_eq(c->output.out.kind, OUTPUT_STDOUT);
	conf_free(conf);
}
END_TEST

START_TEST(a_pipe_is_looked_for_beside_its_writer)
{
	struct conf *conf =
	    load_text("defaults: {output: 'pipe:/user/sink'}\n"
	              "templates: {t: {command: [x], output: 'pipe:${to}'}}\n"
	              "children:\n"
	              "  sink: {command: [x], output: log}\n"
	              "  plain: {command: [x]}\n"
	              "  s:\n"
	              "    children:\n"
	              "      sink: {command: [x]}\n"
	              "      a: {use: t, with: {to: sink}, replicas: 2}\n"
	              "      b: {use: t, with: {to: 'deep/sink'}}\n"
	              "      deep: {children: {sink: {command: [x]}}}\n");

	ck_assert_str_eq(actor_at(conf, "/user/plain")->process->output.out.file,
	                 "/user/sink");
	ck_assert_str_eq(actor_at(conf, "/user/s/a@2")->process->output.out.file,
	                 "/user/s/sink");
	ck_assert_str_eq(actor_at(conf, "/user/s/b")->process->output.err.file,
	                 "/user/s/deep/sink");
	conf_free(conf);
}
END_TEST

START_TEST(how_a_log_is_kept_arrives)
{
	struct conf *conf =
	    load_text("defaults: {log: {keep: 3}}\n"
	              "templates: {t: {command: [x], log: {timestamps: false}}}\n"
	              "children:\n"
	              "  a: {command: [x], log: {keep: 1000, max_size: 4K, total: 1M,\n"
	              "      max_age: 7d, format: json, compress: true}}\n"
	              "  b: {use: t, log: {max_age: 1s}}\n"
	              "  s: {children: {}}\n");
	const struct conf_log *a = &actor_at(conf, "/user/a")->process->output.log;
	const struct conf_log *b = &actor_at(conf, "/user/b")->process->output.log;

	ck_assert_uint_eq(a->max_size, 4096);
	ck_assert_uint_eq(a->keep, 1000);
	ck_assert_uint_eq(a->total, 1 << 20);
	ck_assert_uint_eq(a->max_age_ms, UINT64_C(7) * 24 * 3600 * 1000);
	ck_assert(a->timestamps);
	ck_assert(a->json);
	ck_assert(a->compress);
	ck_assert_uint_eq(b->max_size, 10 << 20);
	ck_assert_uint_eq(b->keep, 3);
	ck_assert_uint_eq(b->total, 50 << 20);
	ck_assert_uint_eq(b->max_age_ms, 1000);
	ck_assert(!b->timestamps);
	ck_assert(!b->json);
	ck_assert(!b->compress);
	conf_free(conf);
	conf = load_text("children: {a: {command: [x]}}\n");
	ck_assert_uint_eq(actor_at(conf, "/user/a")->process->output.log.keep, 5);
	ck_assert_uint_eq(actor_at(conf, "/user/a")->process->output.log.max_age_ms,
	                  DURATION_INFINITE);
	conf_free(conf);
}
END_TEST

Suite *
suite_output(void)
{
	Suite *suite = suite_create("output");
	TCase *tcase = new_case("output");

	tcase_add_loop_test(tcase, each_fault_is_one_error, 0, (int)ARRAY_SIZE(faults));
	tcase_add_loop_test(tcase, pipes_that_lead_somewhere_are_fine, 0,
	                    (int)ARRAY_SIZE(fine));
	tcase_add_test(tcase, a_long_way_of_pipes_is_followed_to_its_end);
	tcase_add_test(tcase, the_same_name_of_a_file_and_of_an_actor_are_two_targets);
	tcase_add_test(tcase, a_list_is_captured_and_shown);
	tcase_add_test(tcase, a_pipe_is_looked_for_beside_its_writer);
	tcase_add_test(tcase, how_a_log_is_kept_arrives);
	suite_add_tcase(suite, tcase);
	return suite;
}
