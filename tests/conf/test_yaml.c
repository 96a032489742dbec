/* SPDX-License-Identifier: ISC */
/* test_yaml.c - what YAML itself allows: anchors, merge keys, bounds, syntax. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/conf/support.h"

START_TEST(an_alias_has_the_value_of_its_anchor)
{
	struct conf *conf = load_text("children:\n"
	                              "  a: {command: &c [sleep, '1']}\n"
	                              "  b: {command: *c}\n");

	ck_assert_str_eq(actor_at(conf, "/user/b")->argv[1], "1");
	conf_free(conf);
}
END_TEST

START_TEST(a_merge_key_gives_what_is_not_written)
{
	struct conf *conf =
	    load_text("children:\n"
	              "  a: &a {command: [x], shutdown: 7s, description: A}\n"
	              "  b: {description: B, <<: *a}\n");

	ck_assert_str_eq(key_of(conf, "/user/b", "description"), "\"B\"");
	ck_assert_str_eq(key_of(conf, "/user/b", "shutdown"), "\"7s\"");
	conf_free(conf);
}
END_TEST

START_TEST(of_a_list_of_merged_mappings_the_first_wins)
{
	struct conf *conf = load_text("templates:\n"
	                              "  x: &x {shutdown: 1s}\n"
	                              "  y: &y {shutdown: 2s, description: y}\n"
	                              "children:\n"
	                              "  a: {<<: [*x, *y], command: [x]}\n");

	ck_assert_str_eq(key_of(conf, "/user/a", "shutdown"), "\"1s\"");
	ck_assert_str_eq(key_of(conf, "/user/a", "description"), "\"y\"");
	conf_free(conf);
}
END_TEST

START_TEST(a_quoted_merge_key_is_no_merge_key)
{
	expect_fault("children:\n  a: {command: [x], \"<<\": {shutdown: 1s}}\n",
	             "2:21: error: children.a.<<", "unknown key `<<`");
}
END_TEST

static const struct {
	const char *text;
	const char *expected;
} syntax[] = {
    {"children:\n  a: {command: [x]\n", "3:1: error: children.a: not valid YAML: a `,` "
                                        "or the closing `}` is missing (while parsing a "
                                        "flow mapping that begins at line 2)"},
    {"children:\n\ta: {}\n", "2:1: error: children: not valid YAML: this character "
                             "cannot stand here; quote the text, and "
                             "indent with spaces, not tabs"},
    {"children:\n  a: b: c\n", "2:7: error: children: not valid YAML: a second `:` in "
                               "this line; quote the text, or mend the "
                               "indentation"},
    {"children:\n  a: \"x\n", "3:1: error: children.a: not valid YAML: the file ends in "
                              "the middle of a quoted text (while "
                              "scanning a quoted scalar that begins at line 2)"},
    {"children:\n  \xff: x\n", "2:3: error: not valid YAML: a byte that is not UTF-8"},
    {"children:\n  a: x\x01\n",
     "2:7: error: not valid YAML: a control character; a file is plain UTF-8"},
    {"children: {}\n---\nchildren: {}\n",
     "2:1: error: a second document begins here; a file holds one"},
    {"children: {}\nstart: parallel\nchildren: {}\n",
     "3:1: error: children: the key `children` is written twice, first at line 1"},
    {"children: {}\n? [a, b]\n: c\n",
     "2:3: error: a list cannot be a key; a key is a plain word"},
    {"children: *none\n",
     "1:11: error: children: the alias `*none` has no anchor `&none` before it"},
    {"children: &a {b: *a}\n",
     "1:18: error: children.b: the alias `*a` stands inside the very thing it names"},
    {"children: {a: {<<: [1, 2], command: [x]}}\n",
     "1:20: error: children.a.<<: `<<` takes a mapping or a list of mappings, not a "
     "list"},
    {"children: {a: {command: [\"a\\0b\"]}}\n",
     "1:26: error: children.a.command[0]: a text cannot hold a NUL character"},
    {"children: !include {}\n", "1:11: error: children: the tag `!include` means nothing "
                                "here; quote the text if it begins "
                                "with `!`"},
    {"- a\n- b\n",
     "1:1: error: a list instead of a mapping with `children` and other keys"},
    {"just a text\n",
     "1:1: error: a text instead of a mapping with `children` and other keys"},
};

START_TEST(what_is_not_yaml_is_said_in_words)
{
	char expected[512];

	(void)snprintf(expected, sizeof(expected), "main.yaml:%s", syntax[_i].expected);
	expect_first(syntax[_i].text, expected);
}
END_TEST

START_TEST(an_empty_file_is_refused)
{
	expect_errors("# nothing\n",
	              "main.yaml: error: the file is empty; write at least "
	              "`children: {}`\n");
}
END_TEST

START_TEST(a_billion_laughs_are_refused)
{
	struct strbuf text;

	strbuf_init(&text, 1 << 20);
	strbuf_adds(&text, "x0: &x0 [a, a, a, a, a, a, a, a, a, a]\n");
	for (int i = 1; i < 12; i++)
		strbuf_addf(
		    &text, "x%d: &x%d [*x%d, *x%d, *x%d, *x%d, *x%d, *x%d, *x%d, *x%d]\n",
		    i, i, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
	strbuf_adds(&text, "children: {}\n");
	expect_fault(strbuf_str(&text), "7:15: error",
	             "the aliases up to here stand for more than 1000000 nodes");
	strbuf_done(&text);
}
END_TEST

START_TEST(what_is_nested_too_deep_is_refused)
{
	struct strbuf text;

	strbuf_init(&text, 1 << 20);
	strbuf_adds(&text, "children: ");
	for (int i = 0; i < 900; i++)
		strbuf_addc(&text, '[');
	expect_fault(strbuf_str(&text), "1:266: error",
	             "nested deeper than 256 levels of lists and mappings");
	strbuf_done(&text);
}
END_TEST

START_TEST(aliases_cannot_nest_deeper_than_the_bound_either)
{
	struct strbuf text;

	strbuf_init(&text, 1 << 20);
	strbuf_adds(&text, "a: &a ");
	for (int i = 0; i < 200; i++)
		strbuf_addc(&text, '[');
	for (int i = 0; i < 200; i++)
		strbuf_addc(&text, ']');
	strbuf_adds(&text, "\nb: ");
	for (int i = 0; i < 100; i++)
		strbuf_addc(&text, '[');
	strbuf_adds(&text, "*a");
	expect_fault(strbuf_str(&text), "2:104: error", "nested deeper than 256 levels");
	strbuf_done(&text);
}
END_TEST

START_TEST(a_file_that_is_not_there_is_named)
{
	struct conf_reports reports;

	ck_assert_ptr_null(load_main(false, &reports));
	ck_assert_uint_eq(reports.n, 1);
	ck_assert_uint_eq(reports.at[0].line, 0);
	ck_assert_ptr_nonnull(strstr(reports.at[0].message, "No such file"));
	conf_reports_done(&reports);
}
END_TEST

START_TEST(a_directory_is_no_configuration)
{
	struct conf_options options = {0};
	struct conf_reports reports = {0};

	ck_assert_ptr_null(conf_load(support_path("."), &options, &reports));
	ck_assert_uint_eq(reports.n, 1);
	ck_assert_ptr_nonnull(strstr(reports.at[0].message, "is not a regular file"));
	conf_reports_done(&reports);
}
END_TEST

Suite *
suite_yaml(void)
{
	Suite *suite = suite_create("yaml");
	TCase *tcase = new_case("yaml");

	tcase_add_test(tcase, an_alias_has_the_value_of_its_anchor);
	tcase_add_test(tcase, a_merge_key_gives_what_is_not_written);
	tcase_add_test(tcase, of_a_list_of_merged_mappings_the_first_wins);
	tcase_add_test(tcase, a_quoted_merge_key_is_no_merge_key);
	tcase_add_loop_test(tcase, what_is_not_yaml_is_said_in_words, 0,
	                    (int)(sizeof(syntax) / sizeof(syntax[0])));
	tcase_add_test(tcase, an_empty_file_is_refused);
	tcase_add_test(tcase, a_billion_laughs_are_refused);
	tcase_add_test(tcase, what_is_nested_too_deep_is_refused);
	tcase_add_test(tcase, aliases_cannot_nest_deeper_than_the_bound_either);
	tcase_add_test(tcase, a_file_that_is_not_there_is_named);
	tcase_add_test(tcase, a_directory_is_no_configuration);
	suite_add_tcase(suite, tcase);
	return suite;
}
