/* SPDX-License-Identifier: ISC */
/* scan.c - read JSON text in place, from left to right. */
#include "config.h"

#include "ctl/scan.h"

#include <string.h>

/* Begin at the start of the text, which is borrowed. */
void
scan_init(struct scan *scan, struct span text)
{
	scan->p = text.at;
	scan->end = text.at + text.len;
	scan->bad = text.at == NULL;
}

/* The next character that is no white space, or NUL at the end. */
static char
peek(struct scan *scan)
{
	if (scan->bad)
		return '\0';
	while (scan->p < scan->end && (*scan->p == ' ' || *scan->p == '\n' ||
	                               *scan->p == '\t' || *scan->p == '\r'))
		scan->p++;
	return scan->p < scan->end ? *scan->p : '\0';
}

static bool
expect(struct scan *scan, char c)
{
	if (peek(scan) != c) {
		scan->bad = true;
		return false;
	}
	scan->p++;
	return true;
}

static bool
accept_null(struct scan *scan)
{
	if (peek(scan) != 'n')
		return false;
	if (scan->end - scan->p < 4 || memcmp(scan->p, "null", 4) != 0) {
		scan->bad = true;
		return false;
	}
	scan->p += 4;
	return true;
}

/* Past the end of the string whose opening quote is at scan->p. */
static void
skip_string(struct scan *scan)
{
	const char *p = scan->p + 1;

	while (p < scan->end && *p != '"')
		p += *p == '\\' && p + 1 < scan->end ? 2 : 1;
	if (p >= scan->end) {
		scan->bad = true;
		return;
	}
	scan->p = p + 1;
}

/* Enter an object; scan_member() goes through it. */
void
scan_object(struct scan *scan)
{
	(void)expect(scan, '{');
}

/* The next member of the object: its name, with the value to be read next. */
bool
scan_member(struct scan *scan, struct span *ret_name)
{
	char c = peek(scan);

	if (c == '}') {
		scan->p++;
		return false;
	}
	if (c == ',')
		scan->p++;
	*ret_name = scan_string(scan);
	if (ret_name->at == NULL)
		scan->bad = true;
	return expect(scan, ':');
}

/* Enter an array; scan_element() goes through it. */
void
scan_array(struct scan *scan)
{
	(void)expect(scan, '[');
}

/* Is there another element, to be read next? */
bool
scan_element(struct scan *scan)
{
	char c = peek(scan);

	if (c == ']') {
		scan->p++;
		return false;
	}
	if (c == ',')
		scan->p++;
	return !scan->bad && peek(scan) != '\0';
}

/* A string without its quotes, escapes as they are (span_decode()); none for null. */
struct span
scan_string(struct scan *scan)
{
	const char *start;

	if (accept_null(scan))
		return (struct span){NULL, 0};
	if (peek(scan) != '"') {
		scan->bad = true;
		return (struct span){NULL, 0};
	}
	start = scan->p + 1;
	skip_string(scan);
	if (scan->bad)
		return (struct span){NULL, 0};
	return (struct span){start, (size_t)(scan->p - start) - 1};
}

/* An integer; null leaves *ret as it was. */
void
scan_int(struct scan *scan, int64_t *ret)
{
	bool negative;
	int64_t n = 0;
	const char *start;

	if (accept_null(scan))
		return;
	negative = peek(scan) == '-';
	if (negative)
		scan->p++;
	start = scan->p;
	while (scan->p < scan->end && *scan->p >= '0' && *scan->p <= '9' &&
	       n <= (INT64_MAX - 9) / 10)
		n = n * 10 + (*scan->p++ - '0');
	if (scan->bad || scan->p == start ||
	    (scan->p < scan->end && strchr("0123456789.eE", *scan->p) != NULL))
		scan->bad = true;
	else
		*ret = negative ? -n : n;
}

/* true or false; null leaves *ret as it was. */
void
scan_bool(struct scan *scan, bool *ret)
{
	size_t left;

	if (accept_null(scan))
		return;
	(void)peek(scan);
	left = (size_t)(scan->end - scan->p);
	if (!scan->bad && left >= 4 && memcmp(scan->p, "true", 4) == 0) {
		*ret = true;
		scan->p += 4;
	} else if (!scan->bad && left >= 5 && memcmp(scan->p, "false", 5) == 0) {
		*ret = false;
		scan->p += 5;
	} else {
		scan->bad = true;
	}
}

/* Past a number or a word. */
static void
skip_plain(struct scan *scan)
{
	const char *start = scan->p;

	while (scan->p < scan->end && strchr(" \t\r\n,:[]{}\"", *scan->p) == NULL)
		scan->p++;
	if (scan->p == start)
		scan->bad = true;
}

/*
 * Past any value; the span is the whole of it.  Brackets must match; what is between
 * them is not looked at closely, since whoever wants it scans it.
 */
struct span
scan_value(struct scan *scan)
{
	char closing[SCAN_DEPTH_MAX];
	size_t depth = 0;
	const char *start;

	(void)peek(scan);
	start = scan->p;
	do {
		char c = peek(scan);

		if (c == '{' || c == '[') {
			if (depth == SCAN_DEPTH_MAX) {
				scan->bad = true;
				break;
			}
			closing[depth++] = c == '{' ? '}' : ']';
			scan->p++;
		} else if (depth > 0 && c == closing[depth - 1]) {
			depth--;
			scan->p++;
		} else if (c == '"') {
			skip_string(scan);
		} else if (depth > 0 && (c == ',' || c == ':')) {
			scan->p++;
		} else {
			skip_plain(scan);
		}
	} while (depth > 0 && !scan->bad);
	if (scan->bad)
		return (struct span){NULL, 0};
	return (struct span){start, (size_t)(scan->p - start)};
}

/* Members come in the order of the table as a rule, so the search begins at `next`. */
static const struct scan_field *
find_field(const struct scan_field *fields, size_t n, size_t next, struct span name)
{
	for (size_t i = 0; i < n; i++) {
		const struct scan_field *field = &fields[(next + i) % n];

		if (span_is(name, field->name))
			return field;
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
	struct span name;
	size_t next = 0;

	scan_object(scan);
	while (scan_member(scan, &name)) {
		const struct scan_field *field = find_field(fields, n, next, name);
		char *to;

		if (field == NULL) {
			(void)scan_value(scan);
			continue;
		}
		next = (size_t)(field - fields) + 1;
		to = (char *)ret + field->offset;
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
		}
	}
}
