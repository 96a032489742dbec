/* SPDX-License-Identifier: ISC */
/* ansi.c - output of programs for a terminal: their colours may pass, nothing else does.
 */
#include "config.h"

#include "base/ansi.h"

#include <ctype.h>
#include <string.h>

#include "base/assert.h"
#include "base/sum.h"

/* A colour by its number has 2 more parameters, one by its parts has 4. */
#define PARAMETERS_MAX 16
#define SEQUENCE_MAX   64

/* One parameter at *p, "" is 0; -1: it is none, or too large. */
static int
take_parameter(const char **p, const char *end)
{
	int value = 0;

	for (; *p < end && isdigit((unsigned char)**p); (*p)++) {
		value = value * 10 + (**p - '0');
		if (value > 255)
			return -1;
	}
	return value;
}

/* True for what changes how text looks and lets it be seen: not blinking, not hidden. */
static bool
is_look(int value)
{
	return value <= 4 || value == 7 || (value >= 21 && value <= 24) || value == 27 ||
	       (value >= 30 && value <= 49 && value != 38 && value != 48) ||
	       (value >= 90 && value <= 107 && (value < 98 || value > 99));
}

/* True if the parameters only choose colours and weights. */
static bool
are_looks(const int *values, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (values[i] != 38 && values[i] != 48) {
			if (!is_look(values[i]))
				return false;
			continue;
		}
		if (i + 2 < n && values[i + 1] == 5)
			i += 2;
		else if (i + 4 < n && values[i + 1] == 2)
			i += 4;
		else
			return false;
	}
	return true;
}

/*
 * How many bytes at p are one sequence that only chooses colours, boldness and the like
 * of the text behind it ("ESC [ 31 m"); 0: there is none.
 */
size_t
ansi_colour_length(const char *p, const char *end)
{
	const char *start = p;
	int values[PARAMETERS_MAX];
	size_t n = 0;

	if (end - p > SEQUENCE_MAX)
		end = p + SEQUENCE_MAX;
	if (end - p < 3 || p[0] != '\x1b' || p[1] != '[')
		return 0;
	p++;
	do {
		p++;
		if (n == PARAMETERS_MAX)
			return 0;
		values[n] = take_parameter(&p, end);
		if (values[n++] < 0)
			return 0;
	} while (p < end && *p == ';');
	if (p == end || *p != 'm' || !are_looks(values, n))
		return 0;
	return (size_t)(p - start) + 1;
}

/* True if the sequence ends all colours and attributes: "ESC [ m" or "ESC [ 0 m". */
static bool
is_reset(const char *p, size_t len)
{
	return len == 3 || (len == 4 && p[2] == '0');
}

/* How many bytes at p a terminal may get as they are; 0: they have to be escaped. */
static size_t
harmless_length(const char *p, const char *end)
{
	if (*p == '\t')
		return 1;
	return strbuf_control_length(p, end) > 0 ? 0 : strbuf_utf8_length(p, end);
}

/*
 * Append a line that a program wrote: tabs as they are, of what overwrites itself (CR)
 * the end, control characters and bytes that are not UTF-8 as escapes to be read.  With
 * `colours` its colours pass, and end with the line; without, they are left out.
 */
void
ansi_add_output(struct strbuf *sb, const char *text, size_t len, bool colours)
{
	const char *end = text + len;
	bool coloured = false;

	while (end > text && end[-1] == '\r')
		end--;
	const char *begin = end > text ? memrchr(text, '\r', (size_t)(end - text)) : NULL;
	text = begin != NULL ? begin + 1 : text;
	while (text < end) {
		size_t n = harmless_length(text, end);
		const size_t colour = n == 0 ? ansi_colour_length(text, end) : 0;

		if (colour > 0) {
			coloured = colours && !is_reset(text, colour);
			n = colour;
		} else if (n == 0) {
			strbuf_addf(sb, "\\x%02x", (unsigned char)*text++);
			continue;
		}
		if (colour == 0 || colours)
			strbuf_add(sb, text, n);
		text += n;
	}
	if (coloured)
		strbuf_adds(sb, ANSI_RESET);
}

/* The colour of the n-th name, so that neighbours differ: the sequence that begins it, a
 * constant; ANSI_RESET ends it. */
const char *
ansi_of_number(size_t n)
{
	/* Red is left for failures. */
	static const char *const colours[] = {
	    "\x1b[36m", "\x1b[33m", "\x1b[32m", "\x1b[35m", "\x1b[34m",
	    "\x1b[96m", "\x1b[93m", "\x1b[92m", "\x1b[95m", "\x1b[94m",
	};

	return colours[n % ARRAY_SIZE(colours)];
}

/* The colour of an actor of which only the name is known: a name has one colour. */
const char *
ansi_of_name(const char *name)
{
	return ansi_of_number(fnv_text(name));
}
