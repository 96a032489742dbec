/* SPDX-License-Identifier: ISC */
/* span.c - a piece of JSON text that is borrowed. */
#include "config.h"

#include "ctl/wire/span.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

/* True if this value is an object, rather than null or nothing. */
bool
span_is_object(struct span span)
{
	return span.at != NULL && span.len > 0 && span.at[0] == '{';
}

/* Four hexadecimal digits, or -1. */
static int32_t
read_hex4(const char *p, const char *end)
{
	int32_t n = 0;

	if (end - p < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		static const char digits[] = "0123456789abcdef";
		const char *digit = strchr(digits, p[i] | 0x20);

		if (p[i] == '\0' || digit == NULL || digit == digits + 16)
			return -1;
		n = n * 16 + (int32_t)(digit - digits);
	}
	return n;
}

static void
add_utf8(struct strbuf *out, uint32_t c)
{
	static const unsigned char heads[] = {0, 0xc0, 0xe0, 0xf0};
	const unsigned int more = (c >= 0x80) + (c >= 0x800) + (c >= 0x10000);

	strbuf_addc(out, (char)(heads[more] | c >> 6 * more));
	for (unsigned int i = more; i-- > 0;)
		strbuf_addc(out, (char)(0x80 | (c >> 6 * i & 0x3f)));
}

/* The character of a \u escape, p behind the u; *ret_used: how much of the text it is. */
static uint32_t
read_unicode(const char *p, const char *end, size_t *ret_used)
{
	int32_t high = read_hex4(p, end);

	*ret_used = high < 0 ? 0 : 4;
	if (high < 0xd800 || high > 0xdfff)
		return high <= 0 ? 0xfffd : (uint32_t)high;
	if (end - p < 10 || p[4] != '\\' || p[5] != 'u')
		return 0xfffd;
	int32_t low = read_hex4(p + 6, end);
	if (high > 0xdbff || low < 0xdc00 || low > 0xdfff)
		return 0xfffd;
	*ret_used = 10;
	return 0x10000 + ((uint32_t)(high - 0xd800) << 10) + (uint32_t)(low - 0xdc00);
}

/*
 * The text that a string of scan_string() stands for; what cannot be is U+FFFD.  The
 * metrics of thousands of actors are such strings, with a hundred escapes for each.
 */
void
span_decode(struct span span, struct strbuf *out)
{
	static const char letters[UCHAR_MAX + 1] = {
	    ['b'] = '\b', ['f'] = '\f', ['n'] = '\n', ['r'] = '\r', ['t'] = '\t'};
	const char *p = span.at, *from = p, *escape;
	const char *end = span.at + span.len;

	if (span.len == 0)
		return;
	while ((escape = memchr(p, '\\', (size_t)(end - p))) != NULL &&
	       end - escape > 1) {
		const char letter = letters[(unsigned char)escape[1]];
		size_t used = 0;

		strbuf_add_fixed(out, from, (size_t)(escape - from));
		from = p = escape + 2;
		if (escape[1] == 'u') {
			add_utf8(out, read_unicode(p, end, &used));
			from = p += used;
		} else if (letter != '\0') {
			strbuf_addc(out, letter);
		} else {
			/* A quote stands for itself, before what follows. */
			from = escape + 1;
		}
	}
	strbuf_add(out, from, (size_t)(end - from));
}

/* The text of the string, to be freed; NULL: no memory. */
char *
span_copy(struct span span)
{
	struct strbuf text = STRBUF(span.len + 1);

	span_decode(span, &text);
	return strbuf_take(&text);
}

/* Append the bytes that a span has in base64; what follows a character of another kind,
 * such as the filling at its end, is left out. */
void
span_decode_base64(struct span span, struct strbuf *out)
{
	static const char digits[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	    "0123456789+/";
	uint32_t bits = 0;
	unsigned int n = 0;

	for (size_t i = 0; i < span.len; i++) {
		const char *digit = memchr(digits, span.at[i], sizeof(digits) - 1);

		if (digit == NULL)
			return;
		bits = bits << 6 | (uint32_t)(digit - digits);
		n += 6;
		if (n < 8)
			continue;
		n -= 8;
		strbuf_addc(out, (char)(bits >> n & 0xff));
	}
}
