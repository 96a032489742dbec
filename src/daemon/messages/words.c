/* SPDX-License-Identifier: ISC */
/* words.c - the last words of a process: the lines that it wrote before it failed. */
#include "config.h"

#include "daemon/messages/words.h"

#include <string.h>

static bool
is_inside_character(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* Put a line in front of the others; false: there is no room. */
static bool
put_first(struct words *words, const char *text, size_t len)
{
	const size_t room = WORDS_BYTES_MAX - words->bytes;

	if (len > 0 && text[len - 1] == '\r')
		len--;
	if (words->n == WORDS_LINES_MAX || (len > room && words->n > 0))
		return false;
	if (len > room) {
		/* The last line alone is too long: its end says the most. */
		text += len - room;
		len = room;
		while (len > 0 && is_inside_character(*text)) {
			text++;
			len--;
		}
	}
	memmove(&words->lines[1], &words->lines[0], words->n * sizeof(words->lines[0]));
	words->lines[0].text = text;
	words->lines[0].len = len;
	words->n++;
	words->bytes += len;
	return true;
}

/*
 * Put the last lines of what was written in front of those that are there already, as
 * many as there is room for; the last one need not have a newline.  With is_cut the text
 * begins anywhere: its first line is taken only if there is no other.
 */
void
words_add(struct words *words, const char *data, size_t len, bool is_cut)
{
	const char *end = data + len;
	bool more = len > 0;

	if (more && end[-1] == '\n')
		end--;
	while (more) {
		const char *newline = memrchr(data, '\n', (size_t)(end - data));
		const char *start = newline != NULL ? newline + 1 : data;

		if (newline == NULL && is_cut && words->n > 0)
			return;
		more = put_first(words, start, (size_t)(end - start)) && newline != NULL;
		end = newline;
	}
}
