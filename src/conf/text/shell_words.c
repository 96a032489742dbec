/* SPDX-License-Identifier: ISC */
/* shell_words.c - a command line split by the shell's quoting rules, and nothing else of
 * it. */
#include "config.h"

#include "conf/text/shell_words.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
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
	char **words;
	size_t n = 0;

	if (all == NULL)
		return -ENOMEM;
	splitter.to = all;
	while (take_word(&splitter) && splitter.open == NULL)
		n++;
	if (splitter.open != NULL) {
		err_set(err, 0, "the quote %c before `%.40s` is not closed",
		        *splitter.open, splitter.open + 1);
		return -EINVAL;
	}
	if (n > WORDS_MAX) {
		err_set(err, 0, "more than %d words", WORDS_MAX);
		return -EINVAL;
	}
	words = arena_alloc(arena, n + 1, sizeof(*words));
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
