/* SPDX-License-Identifier: ISC */
/* test_compose.c - defaults, templates, parameters, replicas and includes. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/assert.h"
#include "base/units.h"
#include "tests/conf/support.h"

static const char *
argument(const struct conf *conf, const char *path, size_t i)
{
	return actor_at(conf, path)->argv[i];
}

START_TEST(defaults_lie_under_templates_and_these_under_the_actor)
{
	struct conf *conf =
	    load_text("defaults:\n"
	              "  environment: {A: d, B: d, C: d}\n"
	              "  on_failure: [otp, stopping]\n"
	              "  umask: \"077\"\n"
	              "templates:\n"
	              "  t: {environment: {B: t, C: t}, command: [t]}\n"
	              "children:\n"
	              "  a: {use: t, environment: {C: a}, on_failure: [default]}\n");

	ck_assert_str_eq(key_of(conf, "/user/a", "environment.A"), "\"d\"");
	ck_assert_str_eq(key_of(conf, "/user/a", "environment.B"), "\"t\"");
	ck_assert_str_eq(key_of(conf, "/user/a", "environment.C"), "\"a\"");
	ck_assert_str_eq(key_of(conf, "/user/a", "on_failure"), "[\"default\"]");
	ck_assert_str_eq(key_of(conf, "/user/a", "umask"), "\"077\"");
	conf_free(conf);
}
END_TEST

START_TEST(each_key_knows_where_it_was_written)
{
	struct conf *conf = load_text("defaults:\n"
	                              "  shutdown: 7s\n"
	                              "children:\n"
	                              "  a:\n"
	                              "    command: [x]\n");
	const struct conf_actor *a = actor_at(conf, "/user/a");
	struct conf_keys keys = conf_keys(conf, a);
	const struct conf_key *before = NULL;
	const struct conf_key *key;
	size_t seen = 0;

	while ((key = conf_keys_next(&keys)) != NULL) {
		if (before != NULL)
			ck_assert_int_lt(strcmp(before->key, key->key), 0);
		before = key;
		if (strcmp(key->key, "shutdown") == 0)
			ck_assert(key->file == 0 && key->line == 2 && key->column == 13);
		else if (strcmp(key->key, "command") == 0)
			ck_assert(key->file == 0 && key->line == 5 && key->column == 14);
		else
			ck_assert(key->file == CONF_NONE && key->line == 0);
		seen +=
		    strcmp(key->key, "shutdown") == 0 || strcmp(key->key, "command") == 0;
	}
	ck_assert_uint_eq(seen, 2);
	conf_free(conf);
}
END_TEST

START_TEST(supervisors_take_of_the_defaults_what_fits_but_not_the_shutdown)
{
	struct conf *conf =
	    load_text("defaults: {umask: \"077\", shutdown: 9s, restart: transient}\n"
	              "children: {s: {children: {a: {command: [x]}}}}\n");

	ck_assert_str_eq(key_of(conf, "/user/s", "restart"), "\"transient\"");
	ck_assert_str_eq(key_of(conf, "/user/s", "shutdown"), "\"infinity\"");
	ck_assert_str_eq(key_of(conf, "/user/s", "umask"), "(none)");
	ck_assert_str_eq(key_of(conf, "/user/s/a", "shutdown"), "\"9s\"");
	conf_free(conf);
}
END_TEST

START_TEST(a_replaced_backoff_is_replaced_whole)
{
	struct conf *conf = load_text("defaults: {backoff: {min: 1s}}\n"
	                              "children:\n"
	                              "  a: {command: [x], backoff: none}\n"
	                              "  b: {command: [x], backoff: {max: 9s}}\n");

	ck_assert(actor_at(conf, "/user/a")->spec->core.backoff.none);
	ck_assert_uint_eq(actor_at(conf, "/user/b")->spec->core.backoff.min_ms, 1000);
	ck_assert_uint_eq(actor_at(conf, "/user/b")->spec->core.backoff.reset_after_ms,
	                  5000);
	conf_free(conf);
}
END_TEST

/* A text in a command, and what it expands to for the actor /user/s/a. */
static const struct {
	const char *written;
	const char *expanded;
} expansions[] = {
    {"plain", "plain"},
    {"${queue}", "pages"},
    {"<${queue}${queue}>", "<pagespages>"},
    {"${actor.name}", "a"},
    {"${actor.path}", "/user/s/a"},
    {"${env:PORT}", "8080"},
    {"${env:NONE:-x y}", "x y"},
    {"${env:EMPTY:-full}", "full"},
    {"${env:EMPTY}", ""},
    {"${env:NONE:-}", ""},
    {"$$", "$"},
    {"$${queue}", "${queue}"},
    {"$HOME $", "$HOME $"},
    {"${tricky}", "${queue}"},
    {"${outer}", "of s"},
    {"${path}", "/user/s/a!"},
};

START_TEST(names_in_braces_are_expanded)
{
	struct strbuf text;
	struct conf *conf;

	strbuf_init(&text, 4096);
	strbuf_adds(&text, "children:\n"
	                   "  s:\n"
	                   "    with: {outer: of s, queue: wrong}\n"
	                   "    children:\n"
	                   "      a:\n"
	                   "        with: {queue: pages, tricky: '$${queue}', "
	                   "path: '${actor.path}!'}\n"
	                   "        command: [x, ");
	strbuf_add_json(&text, expansions[_i].written);
	strbuf_adds(&text, "]\n");
	conf = load_text(strbuf_str(&text));
	ck_assert_str_eq(argument(conf, "/user/s/a", 1), expansions[_i].expanded);
	conf_free(conf);
	strbuf_done(&text);
}
END_TEST

START_TEST(a_parameter_cannot_become_two_words)
{
	struct conf *conf =
	    load_text("templates: {t: {command: \"run --queue ${queue} 'q u'\"}}\n"
	              "children: {a: {use: t, with: {queue: 'x y; z'}}}\n");

	ck_assert_str_eq(argument(conf, "/user/a", 2), "x y; z");
	ck_assert_str_eq(argument(conf, "/user/a", 3), "q u");
	conf_free(conf);
}
END_TEST

START_TEST(every_value_may_be_a_parameter)
{
	struct conf *conf =
	    load_text("templates:\n"
	              "  t:\n"
	              "    command: [x]\n"
	              "    restart: ${kind}\n"
	              "    shutdown: ${time}\n"
	              "    umask: ${mask}\n"
	              "    replicas: ${n}\n"
	              "    with: {kind: transient, time: 2s, mask: \"077\", n: 9}\n"
	              "children: {s: {with: {n: 2}, children: {\n"
	              "  a: {use: t, with: {time: 3s}}}}}\n");

	ck_assert_str_eq(key_of(conf, "/user/s/a@2", "restart"), "\"transient\"");
	ck_assert_str_eq(key_of(conf, "/user/s/a@2", "shutdown"), "\"3s\"");
	ck_assert_uint_eq(conf_find(conf, "/user/s/a@3"), CONF_NONE);
	conf_free(conf);
}
END_TEST

START_TEST(replicas_are_named_and_counted)
{
	struct conf *conf =
	    load_text("children:\n"
	              "  a: {command: [x, '${actor.name}', '${replica}'], replicas: 3}\n"
	              "  b: {command: [x]}\n"
	              "  c: {command: [x], replicas: 0}\n"
	              "  d: {command: [x], replicas: 1}\n");

	ck_assert_uint_eq(conf->n_actors, 6);
	ck_assert_str_eq(conf->actors[1].path, "/user/a@1");
	ck_assert_str_eq(conf->actors[3].path, "/user/a@3");
	ck_assert_str_eq(conf->actors[3].base, "a");
	ck_assert_str_eq(argument(conf, "/user/a@2", 1), "a@2");
	ck_assert_str_eq(argument(conf, "/user/a@2", 2), "2");
	ck_assert_str_eq(conf->actors[4].path, "/user/b");
	ck_assert_str_eq(conf->actors[5].path, "/user/d@1");
	conf_free(conf);
}
END_TEST

START_TEST(what_has_no_replicas_today_is_checked_all_the_same)
{
	expect_errors("children:\n"
	              "  s:\n"
	              "    replicas: 0\n"
	              "    children: {a: {command: [x], shutdwn: 5s}}\n",
	              "main.yaml:4:34: error: children.s.children.a.shutdwn: unknown key "
	              "`shutdwn`, did you mean `shutdown`?\n");
}
END_TEST

START_TEST(nothing_of_a_supervisor_without_replicas_is_in_the_tree)
{
	struct conf *conf =
	    load_text("children:\n"
	              "  s: {replicas: 0, children: {a: {command: [x]}}}\n"
	              "  b: {command: [x], sockets: {h: \"tcp:127.0.0.1:80\"}}\n");

	ck_assert_uint_eq(conf->n_actors, 2);
	ck_assert_str_eq(conf->actors[1].path, "/user/b");
	ck_assert_uint_eq(conf_find(conf, "/user/b"), 1);
	ck_assert_uint_eq(conf_find(conf, "/user/s@1"), CONF_NONE);
	conf_free(conf);
}
END_TEST

START_TEST(a_supervisor_can_be_a_template_with_replicas)
{
	struct conf *conf =
	    load_text("templates:\n"
	              "  pair:\n"
	              "    strategy: one_for_all\n"
	              "    children:\n"
	              "      one: {command: [x, '${replica}', '${what}']}\n"
	              "      two: {command: [y]}\n"
	              "children:\n"
	              "  p:\n"
	              "    use: pair\n"
	              "    replicas: 2\n"
	              "    with: {what: 'n${replica}'}\n"
	              "    children: {two: {shutdown: 1s}, three: {command: [z]}}\n");
	static const char *const paths[] = {
	    "/user",         "/user/p@1",       "/user/p@1/one",
	    "/user/p@1/two", "/user/p@1/three", "/user/p@2",
	    "/user/p@2/one", "/user/p@2/two",   "/user/p@2/three",
	};

	ck_assert_uint_eq(conf->n_actors, ARRAY_SIZE(paths));
	for (uint32_t i = 0; i < conf->n_actors; i++)
		ck_assert_str_eq(conf->actors[i].path, paths[i]);
	ck_assert_str_eq(argument(conf, "/user/p@2/one", 1), "2");
	ck_assert_str_eq(argument(conf, "/user/p@2/one", 2), "n2");
	ck_assert_str_eq(key_of(conf, "/user/p@1/two", "shutdown"), "\"1s\"");
	ck_assert_str_eq(key_of(conf, "/user/p@1", "strategy"), "\"one_for_all\"");
	conf_free(conf);
}
END_TEST

START_TEST(parents_come_before_children_and_siblings_in_file_order)
{
	struct conf *conf =
	    load_text("children:\n"
	              "  z: {children: {y: {command: [x]}, a: {children: {}}}}\n"
	              "  b: {command: [x]}\n");

	ck_assert_uint_eq(conf->n_actors, 5);
	ck_assert_str_eq(conf->actors[1].path, "/user/z");
	ck_assert_str_eq(conf->actors[2].path, "/user/z/y");
	ck_assert_str_eq(conf->actors[3].path, "/user/z/a");
	ck_assert_str_eq(conf->actors[4].path, "/user/b");
	ck_assert_uint_eq(conf->actors[2].parent, 1);
	ck_assert_uint_eq(conf->actors[4].parent, 0);
	ck_assert_uint_eq(conf_find(conf, "/user/z/a"), 3);
	ck_assert_uint_eq(conf_find(conf, "/user/nobody"), CONF_NONE);
	conf_free(conf);
}
END_TEST

START_TEST(included_files_add_children_and_templates)
{
	struct conf *conf;

	ck_assert_int_eq(mkdir(support_path("conf.d"), 0755), 0);
	put_file("conf.d/20.yaml", "children:\n  late: {use: t}\n");
	put_file("conf.d/10.yaml", "templates:\n  t: {command: [t]}\n");
	put_file("conf.d/00.yaml", "# nothing yet\n");
	conf = load_text("include: [conf.d/*.yaml, none.d/*.yaml]\n"
	                 "children: {a: {use: t}}\n");
	ck_assert_uint_eq(conf->n_actors, 3);
	ck_assert_str_eq(conf->actors[1].path, "/user/a");
	ck_assert_str_eq(conf->actors[2].path, "/user/late");
	ck_assert_uint_eq(conf->n_files, 4);
	ck_assert_ptr_nonnull(strstr(conf->files[conf->actors[2].place.file], "20.yaml"));
	conf_free(conf);
}
END_TEST

START_TEST(a_file_is_included_once)
{
	struct conf *conf;

	put_file("more.yaml", "children: {m: {command: [x]}}\n");
	conf = load_text("include: [more.yaml, ./*.yaml]\nchildren: {}\n");
	ck_assert_uint_eq(conf->n_actors, 2);
	ck_assert_uint_eq(conf->n_files, 2);
	conf_free(conf);
}
END_TEST

START_TEST(faults_of_all_files_are_reported_in_their_order)
{
	put_file("more.yaml", "strategy: one_for_all\n"
	                      "children:\n"
	                      "  a: {command: [x]}\n"
	                      "  b: {comand: [x]}\n");
	expect_errors(
	    "include: more.yaml\n"
	    "children:\n"
	    "  a: {command: [x], shutdown: 5}\n",
	    "main.yaml:3:31: error: children.a.shutdown: `5` has no unit: write 5s, not "
	    "5, "
	    "for seconds, 5ms for milliseconds\n"
	    "more.yaml:1:1: error: strategy: `strategy` cannot stand in an included "
	    "file; that may have `children` and `templates`\n"
	    "more.yaml:3:3: error: children.a: `a` is written twice, first at "
	    "main.yaml:3\n"
	    "more.yaml:4:7: error: children.b.comand: unknown key `comand`, did you "
	    "mean `command`?\n");
}
END_TEST

START_TEST(a_broken_include_does_not_hide_other_faults)
{
	put_file("more.yaml", "children: [\n");
	expect_errors(
	    "include: [more.yaml, gone.yaml]\nchildren: {a: {}}\n",
	    "main.yaml:1:22: error: include: cannot read gone.yaml: No such file or "
	    "directory\n"
	    "main.yaml:2:12: error: children.a: `command` is missing; an actor has a "
	    "`command`, or `children` if it is a supervisor\n"
	    "more.yaml:2:1: error: children[0]: not valid YAML: a value was expected "
	    "here\n");
}
END_TEST

static void
add_nested(struct strbuf *text, int levels)
{
	strbuf_clear(text);
	strbuf_adds(text, "children: {");
	for (int i = 0; i < levels; i++)
		strbuf_adds(text, "s: {children: {");
	for (int i = 0; i < levels; i++)
		strbuf_adds(text, "}}");
	strbuf_adds(text, "}\n");
}

START_TEST(the_depth_of_the_tree_is_bounded)
{
	struct conf_reports reports;
	struct strbuf text;
	struct conf *conf;

	strbuf_init(&text, 1 << 16);
	add_nested(&text, SPEC_DEPTH_MAX - 1);
	conf = load_text(strbuf_str(&text));
	ck_assert_uint_eq(conf->n_actors, SPEC_DEPTH_MAX);
	conf_free(conf);
	add_nested(&text, SPEC_DEPTH_MAX);
	put_file("main.yaml", strbuf_str(&text));
	ck_assert_ptr_null(load_main(false, &reports));
	ck_assert_uint_eq(reports.n, 1);
	ck_assert_ptr_nonnull(strstr(reports.at[0].message, "deeper than 100 levels"));
	conf_reports_done(&reports);
	strbuf_done(&text);
}
END_TEST

START_TEST(the_number_of_actors_is_bounded)
{
	expect_fault("children:\n"
	             "  s:\n"
	             "    replicas: 1000\n"
	             "    children: {a: {replicas: 1000, command: [x]}}\n",
	             "4:16: error: children.s.children.a", "more than 100000 actors");
}
END_TEST

START_TEST(a_text_cannot_grow_without_bound)
{
	struct conf_reports reports;
	struct strbuf text;

	strbuf_init(&text, 1 << 16);
	strbuf_adds(&text, "children: {a: {with: {x: aaaaaaaaaa}, children: {");
	for (int i = 0; i < 40; i++)
		strbuf_adds(&text, "a: {with: {x: '${x}${x}'}, children: {");
	for (int i = 0; i < 40; i++)
		strbuf_adds(&text, "}}");
	strbuf_adds(&text, "}}}\n");
	put_file("main.yaml", strbuf_str(&text));
	ck_assert_ptr_null(load_main(false, &reports));
	ck_assert_ptr_nonnull(
	    strstr(reports.at[0].message, "grows beyond 1048576 bytes"));
	conf_reports_done(&reports);
	strbuf_done(&text);
}
END_TEST

START_TEST(long_names_and_paths_are_refused)
{
	char text[512] = "children: {";

	memset(text + strlen(text), 'a', CONF_NAME_MAX + 1);
	strcat(text, ": {command: [x]}}\n");
	expect_fault(text,
	             "1:12: error: children.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	             "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	             "a name has at most 100 characters");
}
END_TEST

Suite *
suite_compose(void)
{
	Suite *suite = suite_create("compose");
	TCase *tcase = new_case("compose");

	tcase_add_test(tcase, defaults_lie_under_templates_and_these_under_the_actor);
	tcase_add_test(tcase, each_key_knows_where_it_was_written);
	tcase_add_test(tcase,
	               supervisors_take_of_the_defaults_what_fits_but_not_the_shutdown);
	tcase_add_test(tcase, a_replaced_backoff_is_replaced_whole);
	tcase_add_loop_test(tcase, names_in_braces_are_expanded, 0,
	                    (int)ARRAY_SIZE(expansions));
	tcase_add_test(tcase, a_parameter_cannot_become_two_words);
	tcase_add_test(tcase, every_value_may_be_a_parameter);
	tcase_add_test(tcase, replicas_are_named_and_counted);
	tcase_add_test(tcase, what_has_no_replicas_today_is_checked_all_the_same);
	tcase_add_test(tcase, nothing_of_a_supervisor_without_replicas_is_in_the_tree);
	tcase_add_test(tcase, a_supervisor_can_be_a_template_with_replicas);
	tcase_add_test(tcase, parents_come_before_children_and_siblings_in_file_order);
	tcase_add_test(tcase, included_files_add_children_and_templates);
	tcase_add_test(tcase, a_file_is_included_once);
	tcase_add_test(tcase, faults_of_all_files_are_reported_in_their_order);
	tcase_add_test(tcase, a_broken_include_does_not_hide_other_faults);
	tcase_add_test(tcase, the_depth_of_the_tree_is_bounded);
	tcase_add_test(tcase, the_number_of_actors_is_bounded);
	tcase_add_test(tcase, a_text_cannot_grow_without_bound);
	tcase_add_test(tcase, long_names_and_paths_are_refused);
	suite_add_tcase(suite, tcase);
	return suite;
}
