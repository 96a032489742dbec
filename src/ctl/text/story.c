/* SPDX-License-Identifier: ISC */
/* story.c - the story of an actor as supd tells it, in the reader's own form: times of
 * the time zone here, users by their names.  supd itself asks no database of users.
 */
#include "config.h"

#include "ctl/text/story.h"

#include <ctype.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "ctl/wire/print.h"

#define TIME_MAX 40

/* How long a time of RFC 3339 is that begins here; 0: none does. */
static size_t
time_length(const char *text, const char *end)
{
	static const char form[] = "dddd-dd-ddTdd:dd:dd";
	size_t n = 0;

	for (; form[n] != '\0'; n++)
		if (text + n >= end || (form[n] == 'd' ? !isdigit((unsigned char)text[n])
		                                       : text[n] != form[n]))
			return 0;
	if (text + n < end && text[n] == '.')
		for (n++; text + n < end && isdigit((unsigned char)text[n]);)
			n++;
	return text + n < end && text[n] == 'Z' && n < TIME_MAX - 1 ? n + 1 : 0;
}

static size_t
print_time(struct strbuf *sb, const char *text, const char *end)
{
	const size_t n = time_length(text, end);
	char copy[TIME_MAX];

	if (n == 0)
		return 0;
	memcpy(copy, text, n);
	copy[n] = '\0';
	print_when(sb, copy, true);
	return n;
}

/* "uid 1000" as "user alice", where the user is known; how long it was, or 0. */
static size_t
print_user(struct strbuf *sb, const char *text, const char *end)
{
	static const char mark[] = "uid ";
	const size_t len = sizeof(mark) - 1;
	size_t n = len;

	if ((size_t)(end - text) <= len || memcmp(text, mark, len) != 0)
		return 0;
	while (text + n < end && isdigit((unsigned char)text[n]))
		n++;
	if (n == len)
		return 0;
	const struct passwd *user = getpwuid((uid_t)strtoul(text + len, NULL, 10));
	if (user == NULL)
		return 0;
	strbuf_adds(sb, "user ");
	print_text(sb, user->pw_name, strlen(user->pw_name));
	return n;
}

static void
print_line(struct strbuf *sb, const char *text, const char *end)
{
	/* What the process itself has written stays as it is. */
	const bool is_quoted = end - text >= 4 && memcmp(text, "  | ", 4) == 0;
	const char *begin = text;

	while (!is_quoted && text < end) {
		CLEANUP(strbuf_done) struct strbuf form = STRBUF(TIME_MAX * 8);
		size_t n = 0;

		/* Behind a digit or a letter neither begins. */
		if (text == begin || !isalnum((unsigned char)text[-1]))
			n = print_time(&form, text, end);
		if (n == 0 && (text == begin || !isalnum((unsigned char)text[-1])))
			n = print_user(&form, text, end);
		if (n > 0) {
			print_text(sb, begin, (size_t)(text - begin));
			strbuf_add(sb, strbuf_str(&form), form.len);
			begin = text + n;
		}
		text += n > 0 ? n : 1;
	}
	print_text(sb, begin, (size_t)(end - begin));
	strbuf_addc(sb, '\n');
}

/* Print each line of the story, safe for a terminal. */
void
story_print(struct strbuf *sb, const char *text, size_t len)
{
	const char *end = text + len;

	while (text < end) {
		const char *line_end = memchr(text, '\n', (size_t)(end - text));

		if (line_end == NULL)
			line_end = end;
		print_line(sb, text, line_end);
		text = line_end + 1;
	}
}
