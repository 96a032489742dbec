/* SPDX-License-Identifier: ISC */
/* test_ansi.c - which sequences pass to a terminal: colours, nothing else. */
#include "config.h"

#include <check.h>
#include <string.h>

#include "base/ansi.h"
#include "base/assert.h"
#include "tests/lib/check_main.h"

static void
expect(const char *text, size_t len, bool colours, const char *expected)
{
	struct strbuf sb;

	strbuf_init(&sb, 4096);
	ansi_add_output(&sb, text, len, colours);
	ck_assert_str_eq(strbuf_str(&sb), expected);
	strbuf_done(&sb);
}

START_TEST(colours_pass_and_end_with_the_line)
{
	static const char *const cases[] = {
	    "\x1b[31mred\x1b[0m, \x1b[1;32mgreen\x1b[m plain",
	    "\x1b[38;5;200;48;2;1;2;3mx\x1b[0m",
	    "\x1b[;97m\tx\x1b[39;49m\x1b[0m",
	    "plain \xc3\xbc",
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		expect(cases[i], strlen(cases[i]), true, cases[i]);
	expect("\x1b[31mred", 8, true, "\x1b[31mred\x1b[0m");
	expect("\x1b[0m\x1b[1mx", 9, true, "\x1b[0m\x1b[1mx\x1b[0m");
	expect("", 0, true, "");
}
END_TEST

START_TEST(colours_that_are_not_wanted_are_left_out)
{
	expect("\x1b[31mred\x1b[0m\tx", 14, false, "red\tx");
}
END_TEST

START_TEST(everything_else_is_made_visible)
{
	static const struct {
		const char *text;
		const char *expected;
	} cases[] = {
	    {"\x1b[2J", "\\x1b[2J"},
	    {"\x1b[8mhidden", "\\x1b[8mhidden"},
	    {"\x1b[5mx", "\\x1b[5mx"},
	    {"\x1b[31", "\\x1b[31"},
	    {"\x1b[31;", "\\x1b[31;"},
	    {"\x1b", "\\x1b"},
	    {"\x1b[", "\\x1b["},
	    {"\x1b[?25l", "\\x1b[?25l"},
	    {"\x1b[>4;2m", "\\x1b[>4;2m"},
	    {"\x1b[38;5m", "\\x1b[38;5m"},
	    {"\x1b[38;9;1m", "\\x1b[38;9;1m"},
	    {"\x1b[38;2;1;2m", "\\x1b[38;2;1;2m"},
	    {"\x1b[256m", "\\x1b[256m"},
	    {"\x1b[10;1m", "\\x1b[10;1m"},
	    {"\x1b]0;x\a", "\\x1b]0;x\\x07"},
	    {"\xc2\x9b"
	     "31m",
	     "\\xc2\\x9b31m"},
	    {"\x1b[1\x1b[31mx", "\\x1b[1\x1b[31mx\x1b[0m"},
	    {"a\rb\x7f\n", "b\\x7f\\x0a"},
	    {"a\rb\r\r", "b"},
	    {"\r", ""},
	    {"\x1b[31 m", "\\x1b[31 m"},
	};
	char many[256] = "\x1b[";

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		expect(cases[i].text, strlen(cases[i].text), true, cases[i].expected);
	for (size_t i = 0; i < 40; i++)
		(void)strcat(many, "1;");
	(void)strcat(many, "m");
	ck_assert_uint_eq(ansi_colour_length(many, many + strlen(many)), 0);
}
END_TEST

START_TEST(a_name_has_always_the_same_colour)
{
	const char *colour = ansi_of_name("/user/web");

	ck_assert_str_eq(colour, ansi_of_name("/user/web"));
	ck_assert_uint_eq(ansi_colour_length(colour, colour + strlen(colour)),
	                  strlen(colour));
	ck_assert_str_ne(colour, ANSI_RESET);
}
END_TEST

CHECK_MAIN("ansi", colours_pass_and_end_with_the_line,
           colours_that_are_not_wanted_are_left_out, everything_else_is_made_visible,
           a_name_has_always_the_same_colour)
