/* SPDX-License-Identifier: ISC */
/* pattern.c - POSIX extended regular expressions that lines are matched with. */
#include "config.h"

#include "base/pattern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* All numbers in braces multiplied: what is compiled is that much larger. */
#define REPEATS_MAX 1000

/* What is compiled, in characters: a repetition of a repetition multiplies it. */
#define SIZE_MAX_COMPILED 20000

/* The larger of the one or two numbers in "{2,5}"; 1 for what is none. */
static unsigned long
repeats(const char *brace)
{
	unsigned long most = 1;

	for (const char *at = brace + 1; *at >= '0' && *at <= '9';) {
		char *end;
		unsigned long n = strtoul(at, &end, 10);

		most = n > most ? n : most;
		at = *end == ',' ? end + 1 : end;
	}
	return most;
}

/* The end of a bracket expression that begins at `at`: its "]", or the end of the text.
 */
static const char *
bracket_end(const char *at)
{
	at += at[1] == '^' ? 2 : 1;
	if (*at == ']')
		at++;
	while (*at != '\0' && *at != ']')
		at++;
	return at;
}

/* How many characters the expression comes to when "+" and braces are written out, as
 * the library does; more than SIZE_MAX_COMPILED are not counted further. */
static size_t
compiled_size(const char *text)
{
	size_t outer[PATTERN_MAX + 1]; /* sizes before the groups that are open */
	size_t depth = 0;
	size_t sum = 0;
	size_t atom = 0; /* of what a repetition repeats */

	for (const char *at = text; *at != '\0' && sum <= SIZE_MAX_COMPILED; at++) {
		size_t times = *at == '+' ? 2 : *at == '{' ? repeats(at) : 1;

		if (*at == '(') {
			outer[depth++] = sum;
			sum = atom = 0;
		} else if (*at == ')' && depth > 0) {
			atom = sum;
			sum += outer[--depth];
		} else if (times > 1 || strchr("*?+{", *at) != NULL) {
			sum += atom * (times - 1);
			atom *= times;
		} else {
			atom = 1;
			sum++;
		}
		if (*at == '[')
			at = bracket_end(at);
		else if (*at == '{')
			at += strcspn(at, "}");
		else if (*at == '\\')
			at++;
		if (*at == '\0')
			break;
	}
	return sum;
}

/* What the library would take, and take very long for; -EINVAL with a sentence. */
static int
check(const char *text, struct err *why)
{
	unsigned long product = 1;

	if (strlen(text) > PATTERN_MAX) {
		err_set(why, 0, "an expression has at most %d bytes, and here %zu",
		        PATTERN_MAX, strlen(text));
		return -EINVAL;
	}
	for (const char *at = text; *at != '\0'; at++) {
		if (*at == '\\' && at[1] >= '1' && at[1] <= '9') {
			err_set(why, 0, "a back-reference (\\%c) cannot be had here",
			        at[1]);
			return -EINVAL;
		}
		if (*at == '\\' && at[1] != '\0') {
			at++;
			continue;
		}
		if (*at != '{')
			continue;
		product *= repeats(at);
		if (product > REPEATS_MAX) {
			err_set(why, 0,
			        "too many repetitions: the numbers in braces come to "
			        "%lu, at most %d are allowed",
			        product, REPEATS_MAX);
			return -EINVAL;
		}
	}
	if (compiled_size(text) > SIZE_MAX_COMPILED) {
		err_set(why, 0, "too many repetitions of repetitions");
		return -EINVAL;
	}
	return 0;
}

/*
 * Compile an expression; pattern_done() gives it back.  Returns 0, or -EINVAL with a
 * sentence: nothing has to be given back then.
 */
int
pattern_compile(struct pattern *pattern, const char *text, struct err *why)
{
	char reason[160];
	int r = check(text, why);

	pattern->is_there = false;
	if (r < 0)
		return r;
	r = regcomp(&pattern->regex, text, REG_EXTENDED | REG_NOSUB);
	if (r != 0) {
		(void)regerror(r, &pattern->regex, reason, sizeof(reason));
		err_set(why, 0, "`%.100s` is no regular expression: %s", text, reason);
		return -EINVAL;
	}
	pattern->is_there = true;
	return 0;
}

/* Free what pattern_compile() allocated; a pattern that was never compiled is fine. */
void
pattern_done(struct pattern *pattern)
{
	if (pattern->is_there)
		regfree(&pattern->regex);
	pattern->is_there = false;
}

/* Is there a match in this line, which needs no NUL and has no newline? */
bool
pattern_matches(const struct pattern *pattern, const char *line, size_t len)
{
	char text[PATTERN_LINE_MAX + 1];

	if (!pattern->is_there)
		return false;
	if (len > PATTERN_LINE_MAX)
		len = PATTERN_LINE_MAX;
	memcpy(text, line, len);
	/* What is behind a NUL does not count. */
	text[len] = '\0';
	return regexec(&pattern->regex, text, 0, NULL, 0) == 0;
}
