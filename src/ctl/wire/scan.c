/* SPDX-License-Identifier: ISC */
/* scan.c - read JSON text in place, from left to right. */
#include "config.h"

#include "ctl/wire/scan.h"

#include <limits.h>
#include <string.h>

/* Begin at the start of the text, which is borrowed. */
void
scan_init(struct scan *scan, struct span text)
{
	*scan = (struct scan){text.at, text.at + text.len, text.at == NULL};
}

/* Something else was expected: there is nothing more to be read. */
static void
fail(struct scan *scan)
{
	scan->bad = true;
	scan->p = scan->end;
}

static inline bool
is_blank(char c)
{
	return c <= ' ' && (c == ' ' || c == '\n' || c == '\t' || c == '\r');
}

/* The next character that is no white space, or NUL at the end. */
static inline char
peek(struct scan *scan)
{
	while (scan->p < scan->end && is_blank(*scan->p))
		scan->p++;
	return scan->p < scan->end ? *scan->p : '\0';
}

static bool
expect(struct scan *scan, char c)
{
	if (peek(scan) != c) {
		fail(scan);
		return false;
	}
	scan->p++;
	return true;
}

/* Go on behind this word if it stands here; else false. */
static inline bool
accept_word(struct scan *scan, const char *word)
{
	const size_t len = strlen(word);

	if ((size_t)(scan->end - scan->p) < len || memcmp(scan->p, word, len) != 0)
		return false;
	scan->p += len;
	return true;
}

static inline bool
accept_null(struct scan *scan)
{
	if (peek(scan) != 'n')
		return false;
	if (!accept_word(scan, "null"))
		fail(scan);
	return !scan->bad;
}

/* True if the quote at p is escaped, by an odd number of backslashes.  Not before
 * start. */
static bool
is_escaped(const char *start, const char *p)
{
	bool escaped = false;

	while (p > start && *--p == '\\')
		escaped = !escaped;
	return escaped;
}

/* The quote that ends the string of which the text begins at start, behind another quote;
 * NULL if there is none. */
static inline const char *
find_quote(const char *start, const char *end)
{
	const char *quote = memchr(start, '"', (size_t)(end - start));

	while (quote != NULL && quote[-1] == '\\' && is_escaped(start, quote)) {
		quote++;
		quote = memchr(quote, '"', (size_t)(end - quote));
	}
	return quote;
}

/* Read the string that has to begin at scan->p. */
static inline struct span
take_string(struct scan *scan)
{
	const char *start = scan->p + 1, *quote = NULL;

	if (scan->p < scan->end && *scan->p == '"')
		quote = find_quote(start, scan->end);
	if (quote == NULL) {
		fail(scan);
		return (struct span){NULL, 0};
	}
	scan->p = quote + 1;
	return (struct span){start, (size_t)(quote - start)};
}

/* Go on to what follows in an object or array with this end; false: behind the end. */
static inline bool
goes_on(struct scan *scan, char end)
{
	const char c = peek(scan);

	if (c == end || c == ',')
		scan->p++;
	return c != end;
}

/* Enter an object; scan_member() goes through it. */
void
scan_object(struct scan *scan)
{
	(void)expect(scan, '{');
}

/* Go to the next member of the object: its name, with the value to be read next; false:
 * its end. */
bool
scan_member(struct scan *scan, struct span *ret_name)
{
	if (!goes_on(scan, '}'))
		return false;
	(void)peek(scan);
	*ret_name = take_string(scan);
	return expect(scan, ':');
}

/* Enter an array; scan_element() goes through it. */
void
scan_array(struct scan *scan)
{
	(void)expect(scan, '[');
}

/* True if there is another element, to be read next. */
bool
scan_element(struct scan *scan)
{
	return goes_on(scan, ']') && peek(scan) != '\0';
}

/* A string without its quotes, escapes as they are (span_decode()); none for null. */
struct span
scan_string(struct scan *scan)
{
	return accept_null(scan) ? (struct span){NULL, 0} : take_string(scan);
}

/* An integer; null leaves *ret as it was. */
void
scan_int(struct scan *scan, int64_t *ret)
{
	const char *start, *p, *const end = scan->end;
	int64_t n = 0;

	if (accept_null(scan))
		return;
	bool negative = scan->p < end && *scan->p == '-';
	start = scan->p + negative;
	for (p = start; p < end && *p >= '0' && *p <= '9' && n <= (INT64_MAX - 9) / 10;
	     p++)
		n = n * 10 + (*p - '0');
	scan->p = p;
	if (p == start ||
	    (p < end && *p != ',' && *p != '}' && strchr("0123456789.eE", *p) != NULL))
		fail(scan);
	else
		*ret = negative ? -n : n;
}

/* true or false; null leaves *ret as it was. */
void
scan_bool(struct scan *scan, bool *ret)
{
	if (accept_null(scan))
		return;
	if (accept_word(scan, "true"))
		*ret = true;
	else if (accept_word(scan, "false"))
		*ret = false;
	else
		fail(scan);
}

/* Past a number or a word. */
static void
skip_word(struct scan *scan)
{
	static const bool is_behind[UCHAR_MAX + 1] = {
	    [' '] = true, ['\n'] = true, ['\t'] = true, ['\r'] = true,
	    [','] = true, [':'] = true,  ['}'] = true,  [']'] = true};
	const char *p = scan->p, *const end = scan->end;

	while (p < end && !is_behind[(unsigned char)*p])
		p++;
	if (p == scan->p)
		fail(scan);
	else
		scan->p = p;
}

/* Past an object or an array: brackets must match. */
static void
skip_parts(struct scan *scan)
{
	static const bool is_part[UCHAR_MAX + 1] = {
	    ['"'] = true, ['{'] = true, ['}'] = true, ['['] = true, [']'] = true};
	const char *p = scan->p, *const end = scan->end;
	char closing[SCAN_DEPTH_MAX];
	size_t depth = 0;

	do {
		while (p < end && !is_part[(unsigned char)*p])
			p++;
		char c = p < end ? *p++ : '\0';
		if (c == '"' && (p = find_quote(p, end)) != NULL)
			p++;
		else if ((c == '{' || c == '[') && depth < SCAN_DEPTH_MAX)
			closing[depth++] = c == '{' ? '}' : ']';
		else if (depth > 0 && c == closing[depth - 1])
			depth--;
		else
			p = NULL;
	} while (depth > 0 && p != NULL);
	if (p == NULL)
		fail(scan);
	else
		scan->p = p;
}

/*
 * Skip any value; the span is the whole value.  The text between its brackets is not
 * checked, as the caller that needs it scans it.
 */
struct span
scan_value(struct scan *scan)
{
	char c = peek(scan);
	const char *start = scan->p;

	if (c == '{' || c == '[')
		skip_parts(scan);
	else if (c == '"')
		(void)take_string(scan);
	else
		skip_word(scan);
	return scan->bad ? (struct span){NULL, 0}
	                 : (struct span){start, (size_t)(scan->p - start)};
}

/* The member of this name, or NULL. */
static const struct scan_field *
find_field(const struct scan_field *fields, size_t n, struct span name)
{
	for (size_t i = 0; i < n; i++)
		if (fields[i].len == name.len + sizeof("\"\":") - 1 &&
		    memcmp(fields[i].text + 1, name.at, name.len) == 0)
			return &fields[i];
	return NULL;
}

/*
 * Go on to the value of the next member if it is one of these and stands there without
 * blanks, as supd writes it; else NULL.  Where it is, its first letter tells most others
 * from it.
 */
static inline const struct scan_field *
accept_member(struct scan *scan, const struct scan_field *fields, size_t n)
{
	const char *quote = scan->p + (scan->p < scan->end && *scan->p == ',');
	const size_t left = (size_t)(scan->end - quote);

	if (left < sizeof("\"\":") || *quote != '"')
		return NULL;
	for (const struct scan_field *field = fields; field < fields + n; field++) {
		if (field->text[1] == quote[1] && field->len <= left &&
		    memcmp(quote, field->text, field->len) == 0) {
			scan->p = quote + field->len;
			return field;
		}
	}
	return NULL;
}

/*
 * Read an object into a struct, which the caller has filled with what holds for members
 * that are absent or null.  Members that the table does not have are passed over.
 */
void
scan_fields(struct scan *scan, const struct scan_field *fields, size_t n, void *ret)
{
	const struct scan_field *field;
	struct span name;
	size_t next = 0;

	scan_object(scan);
	while (true) {
		/* Members come in the order of the table as a rule. */
		field = accept_member(scan, fields + next, n - next);
		if (field == NULL && !scan_member(scan, &name))
			return;
		if (field == NULL)
			field = find_field(fields, n, name);
		if (field == NULL) {
			(void)scan_value(scan);
			continue;
		}
		next = (size_t)(field - fields) + 1;
		char *to = (char *)ret + field->offset;
		switch (field->type) {
		case SCAN_STRING:
			*(struct span *)(void *)to = scan_string(scan);
			break;
		case SCAN_INT:
			scan_int(scan, (int64_t *)(void *)to);
			break;
		case SCAN_BOOL:
			scan_bool(scan, (bool *)(void *)to);
			break;
		case SCAN_RAW:
			*(struct span *)(void *)to = scan_value(scan);
			break;
		case SCAN_OBJECT:
			*(bool *)(void *)to = peek(scan) == '{';
			if (*(bool *)(void *)to)
				scan_fields(scan, field->inner, field->n_inner, to);
			else
				(void)scan_value(scan);
			break;
		case SCAN_NOTHING:
			(void)scan_value(scan);
			break;
		}
	}
}

/* Read a text that is one object, as scan_fields() does; false: it is malformed, or there
 * is none. */
bool
scan_read(struct span text, const struct scan_field *fields, size_t n, void *ret)
{
	struct scan scan;

	scan_init(&scan, text);
	scan_fields(&scan, fields, n, ret);
	return !scan.bad;
}
