/* SPDX-License-Identifier: ISC */
/* pattern.c - POSIX extended regular expressions that lines are matched with. */
#include "config.h"

#include "base/pattern.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is compiled, in characters: a repetition of a repetition multiplies it. */
#define SIZE_MAX_COMPILED 1000

/* Repetitions of what may match nothing, as in "(a*)+": with each of them the library
 * doubles its time, and where they are in each other it takes for ever.  "?" is none. */
#define SPINS_MAX         8
#define SIZE_MAX_SPINNING 500

/* An expression, or a part of it. */
struct extent {
	size_t size;
	size_t spins; /* repetitions of what may match nothing, written out */
	bool empty;   /* may the branch match nothing? */
	bool earlier; /* may a branch before it? */
};

/* State of compiled() after the text so far. */
struct measure {
	struct extent outer[PATTERN_MAX + 1]; /* before the groups that are open */
	size_t depth;
	struct extent now;
	struct extent atom; /* what a repetition repeats */
	bool before;        /* was the branch empty before the atom? */
};

/* The larger of the one or two numbers in "{2,5}" or "{,5}"; 1 for what is none, and no
 * more than is refused anyway. */
static unsigned long
repeats(const char *brace)
{
	unsigned long most = 1;

	for (const char *at = brace + 1 + (brace[1] == ','); *at >= '0' && *at <= '9';) {
		char *end;
		unsigned long n = strtoul(at, &end, 10);

		most = n > most ? n : most;
		at = *end == ',' ? end + 1 : end;
	}
	return most <= SIZE_MAX_COMPILED ? most : SIZE_MAX_COMPILED + 1;
}

/* The end of a bracket expression that begins at `at`: its "]", or the end of the text.
 * One in "[:alpha:]", "[.-.]" or "[=a=]" is none. */
static const char *
bracket_end(const char *at)
{
	at += at[1] == '^' ? 2 : 1;
	if (*at == ']')
		at++;
	for (; *at != '\0' && *at != ']'; at++) {
		const char end[] = {at[1], ']', '\0'};
		const char *found = NULL;

		if (*at == '[' && at[1] != '\0' && strchr(":.=", at[1]) != NULL)
			found = strstr(at + 2, end);
		if (found != NULL)
			at = found + 1;
	}
	return at;
}

static void
add_atom(struct measure *m, struct extent atom)
{
	m->before = m->now.empty;
	m->atom = atom;
	m->now.size += atom.size;
	m->now.spins += atom.spins;
	m->now.empty = m->now.empty && atom.empty;
}

/* The repetition at `at`: "+" and braces are written out, as the library does. */
static void
repeat_atom(struct measure *m, const char *at)
{
	const size_t digits = *at == '{' ? strspn(at + 1, "0123456789") : 0;
	const bool open = *at == '{' && strncmp(at + 1 + digits, ",}", 2) == 0;
	const size_t times = *at == '+' ? 2 : *at == '{' ? repeats(at) + open : 1;

	size_t spins = m->atom.spins * times;

	if (m->atom.empty && *at != '?')
		spins += m->atom.spins > 0 ? SPINS_MAX + 1 : *at == '{' ? times : 1;
	m->now.size += m->atom.size * (times - 1);
	m->now.spins += spins - m->atom.spins;
	m->atom.size *= times;
	m->atom.spins = spins;
	if (*at == '*' || *at == '?' || (*at == '{' && strspn(at + 1, "0") == digits))
		m->atom.empty = true;
	m->now.empty = m->before && m->atom.empty;
}

/* The extent of the expression; more than SIZE_MAX_COMPILED are not counted further.
 * ret_closed: a parenthesis closes what none has opened. */
static struct extent
compiled(const char *text, bool *ret_closed)
{
	struct measure m = {.now = {.empty = true}};

	*ret_closed = false;
	for (const char *at = text; *at != '\0' && m.now.size <= SIZE_MAX_COMPILED;
	     at++) {
		*ret_closed = *ret_closed || (*at == ')' && m.depth == 0);
		if (*at == '(') {
			m.outer[m.depth++] = m.now;
			m.now = (struct extent){.empty = true};
		} else if (*at == ')' && m.depth > 0) {
			struct extent group = m.now;

			group.size += group.size == 0;
			group.empty = m.now.empty || m.now.earlier;
			m.now = m.outer[--m.depth];
			add_atom(&m, group);
		} else if (*at == '|') {
			m.now.size++;
			m.now.earlier = m.now.earlier || m.now.empty;
			m.now.empty = true;
		} else if (strchr("*?+{", *at) != NULL) {
			repeat_atom(&m, at);
		} else {
			bool anchor = *at == '^' || *at == '$';

			if (*at == '\\' && at[1] != '\0')
				anchor = strchr("<>bB`'", *++at) != NULL;
			else if (*at == '[')
				at = bracket_end(at);
			add_atom(&m, (struct extent){.size = 1, .empty = anchor});
		}
		if (*at == '{') {
			at += strspn(at + 1, "0123456789,");
			at += at[1] == '}';
		}
		if (*at == '\0')
			break;
	}
	return m.now;
}

/* What the library would take, and take very long for; -EINVAL with a sentence. */
static int
check(const char *text, struct err *why)
{
	bool is_closed;

	if (strlen(text) > PATTERN_MAX)
		return err_say(why, -EINVAL,
		               "an expression has at most %d bytes, and here %zu",
		               PATTERN_MAX, strlen(text));
	for (const char *at = text; *at != '\0'; at++) {
		if (*at == '\\' && at[1] >= '1' && at[1] <= '9')
			return err_say(why, -EINVAL,
			               "a back-reference (\\%c) cannot be had here",
			               at[1]);
		if (*at == '\\' && at[1] != '\0')
			at++;
	}
	struct extent extent = compiled(text, &is_closed);
	if (is_closed)
		return err_say(why, -EINVAL,
		               "a `)` without its `(`; write \\) for the character");
	if (extent.size > SIZE_MAX_COMPILED)
		return err_say(
		    why, -EINVAL,
		    "too many repetitions: written out, it has more than %d characters",
		    SIZE_MAX_COMPILED);
	if (extent.spins > SPINS_MAX ||
	    (extent.spins > 0 && extent.size > SIZE_MAX_SPINNING))
		return err_say(why, -EINVAL,
		               "too many repetitions of what may match nothing");
	return 0;
}

/*
 * The library tries an expression at each byte of a line, as far as it gets; an anchored
 * one it tries once.  0, or as regcomp().
 */
static int
compile(regex_t *ret, const char *text)
{
	char anchored[PATTERN_MAX + sizeof("^.*()")];

	(void)snprintf(anchored, sizeof(anchored), "^.*(%s)", text);
	return regcomp(ret, anchored, REG_EXTENDED | REG_NOSUB);
}

/*
 * Compile an expression; pattern_done() gives it back.  Returns 0, or -EINVAL or -ENOMEM
 * with a sentence: nothing has to be given back then.
 */
int
pattern_compile(struct pattern *pattern, const char *text, struct err *why)
{
	char reason[160];

	*pattern = (struct pattern){0};
	int r = check(text, why);
	if (r < 0)
		return r;
	r = compile(&pattern->regex, text);
	if (r != 0) {
		(void)regerror(r, &pattern->regex, reason, sizeof(reason));
		return err_say(why, -EINVAL, "`%.100s` is no regular expression: %s",
		               text, reason);
	}
	pattern->text = strdup(text);
	if (pattern->text == NULL) {
		regfree(&pattern->regex);
		return err_set(why, ENOMEM, "an expression");
	}
	return 0;
}

/* Free what pattern_compile() allocated; a pattern that was never compiled is fine. */
void
pattern_done(struct pattern *pattern)
{
	if (pattern->text != NULL)
		regfree(&pattern->regex);
	free(pattern->text);
	pattern->text = NULL;
}

/* Throw away what the library has added to the expression, whenever a line had something
 * new, and would never give back.  Without memory that waits. */
static void
forget_looks(struct pattern *pattern)
{
	regex_t fresh;

	pattern->looked = 0;
	if (compile(&fresh, pattern->text) != 0)
		return;
	regfree(&pattern->regex);
	pattern->regex = fresh;
}

/* True if there is a match in this line, which needs no NUL and has no newline. */
bool
pattern_matches(struct pattern *pattern, const char *line, size_t len)
{
	char text[PATTERN_LINE_MAX + 1];

	if (pattern->text == NULL)
		return false;
	if (len > PATTERN_LINE_MAX)
		len = PATTERN_LINE_MAX;
	if (pattern->looked + len > PATTERN_LINE_MAX)
		forget_looks(pattern);
	pattern->looked += len;
	memcpy(text, line, len);
	/* What is behind a NUL does not count. */
	text[len] = '\0';
	return regexec(&pattern->regex, text, 0, NULL, 0) == 0;
}
