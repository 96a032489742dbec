/* SPDX-License-Identifier: ISC */
/* shell_words.c - a command line split by the shell's quoting rules, and nothing else of
 * it. */
#include "config.h"

#include "conf/text/shell_words.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct splitter {
	const char *from;
	char *to;         /* the words one after the other, each with its NUL */
	const char *open; /* where a quote that is not closed yet began */
};

/* Inside '…' everything stands for itself. */
static void
take_single_quoted(struct splitter *splitter)
{
	splitter->open = splitter->from++;
	while (*splitter->from != '\0' && *splitter->from != '\'')
		*splitter->to++ = *splitter->from++;
	if (*splitter->from != '\'')
		return;
	splitter->from++;
	splitter->open = NULL;
}

/* Inside "…" a backslash counts only before $ ` " \ and the end of a line. */
static void
take_double_quoted(struct splitter *splitter)
{
	splitter->open = splitter->from++;
	while (*splitter->from != '\0' && *splitter->from != '"') {
		if (splitter->from[0] == '\\' && splitter->from[1] != '\0' &&
		    strchr("$`\"\\\n", splitter->from[1]) != NULL) {
			splitter->from++;
			if (*splitter->from == '\n') {
				splitter->from++;
				continue;
			}
		}
		*splitter->to++ = *splitter->from++;
	}
	if (*splitter->from != '"')
		return;
	splitter->from++;
	splitter->open = NULL;
}

static void
take_backslash(struct splitter *splitter)
{
	splitter->from++;
	if (*splitter->from == '\0')
		*splitter->to++ = '\\';
	else if (*splitter->from == '\n')
		splitter->from++;
	else
		*splitter->to++ = *splitter->from++;
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

/* Copy up to the end of the word; true if there was one. */
static bool
take_word(struct splitter *splitter)
{
	bool any = false;

	while (is_blank(*splitter->from))
		splitter->from++;
	while (*splitter->from != '\0' && !is_blank(*splitter->from)) {
		any = true;
		if (*splitter->from == '\'')
			take_single_quoted(splitter);
		else if (*splitter->from == '"')
			take_double_quoted(splitter);
		else if (*splitter->from == '\\')
			take_backslash(splitter);
		else
			*splitter->to++ = *splitter->from++;
	}
	if (any)
		*splitter->to++ = '\0';
	return any;
}

/*
 * Split as POSIX sh would (XCU 2.2 Quoting, 2.6.5 without the expansions): blanks
 * separate, '…', "…" and \ quote.  *ret_words is NULL-terminated and lives in the arena.
 * -EINVAL: a quote is not closed, or there are more than WORDS_MAX words.
 */
int
words_split(struct arena *arena, const char *text, char ***ret_words, size_t *ret_n,
            struct err *err)
{
	struct splitter splitter = {.from = text};
	char *all = arena_alloc(arena, strlen(text) + 2, 1);
	size_t n = 0;

	if (all == NULL)
		return -ENOMEM;
	splitter.to = all;
	while (take_word(&splitter) && splitter.open == NULL)
		n++;
	if (splitter.open != NULL)
		return err_say(err, -EINVAL, "the quote %c before `%.40s` is not closed",
		               *splitter.open, splitter.open + 1);
	if (n > WORDS_MAX)
		return err_say(err, -EINVAL, "more than %d words", WORDS_MAX);
	char **words = arena_alloc(arena, n + 1, sizeof(*words));
	if (words == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		words[i] = all;
		all += strlen(all) + 1;
	}
	*ret_words = words;
	*ret_n = n;
	return 0;
}

/* ---- what only a shell understands ---- */

static size_t
name_length(const char *text)
{
	size_t n = 0;

	if (isdigit((unsigned char)text[0]))
		return 0;
	while (isalnum((unsigned char)text[n]) || text[n] == '_')
		n++;
	return n;
}

/* The length of what a shell would replace at a `$`, "$$" being one; 0: nothing. */
static size_t
expansion_length(const char *text)
{
	const size_t dollars = text[1] == '$' ? 2 : 1;
	const size_t name = name_length(text + dollars);

	if (name > 0)
		return dollars + name;
	/* ${name} is replaced by supd. */
	if (text[dollars] == '(' || (dollars == 2 && text[2] == '{'))
		return dollars + 1;
	return 0;
}

/* The length of an operator at the text, outside of quotes; 0: there is none. */
static size_t
operator_length(const char *begin, const char *text)
{
	if (strchr("|<>;*`", *text) != NULL)
		return text[1] == text[0] ? 2 : 1;
	if (*text != '&')
		return 0;
	if (text[1] == '&')
		return 2;
	/* As a word of its own: else it may be a part of a URL. */
	return (text == begin || is_blank(text[-1])) &&
	       (text[1] == '\0' || is_blank(text[1]));
}

/*
 * True if the command looks as if it were meant for a shell.  Then the first that only a
 * shell understands is in ret_what, as far as it fits.  What is quoted stands for
 * itself.
 */
bool
words_want_shell(const char *text, char *ret_what, size_t size)
{
	const size_t name = name_length(text);
	const char *at = text;
	char quote = '\0';
	size_t len = name > 0 && text[name] == '=' ? name + 1 : 0;

	while (len == 0 && *at != '\0') {
		if (*at == '\\' && quote != '\'' && at[1] != '\0') {
			at += 2;
			continue;
		}
		if (*at == '$' && at[1] == '{' && quote != '\'')
			at += strcspn(at, "}");
		else if (*at == '$' && quote != '\'')
			len = expansion_length(at);
		else if (*at == quote)
			quote = '\0';
		else if (quote == '\0' && (*at == '\'' || *at == '"'))
			quote = *at;
		else if (quote == '\0')
			len = operator_length(text, at);
		at += len == 0 && *at != '\0';
	}
	if (len > 0)
		(void)snprintf(ret_what, size, "%.*s", (int)len, at);
	return len > 0;
}
