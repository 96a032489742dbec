/* SPDX-License-Identifier: ISC */
/* strbuf.c - a growing string with a limit. */
#include "config.h"

#include "base/strbuf.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

/* Text becomes JSON in blocks of so many bytes, or a few more. */
#define JSON_BLOCK 256

/* An empty buffer that will hold up to `limit` bytes, its NUL not counted. */
void
strbuf_init(struct strbuf *sb, size_t limit)
{
	*sb = STRBUF(limit);
}

/* The same in memory of the caller, with room for a NUL: nothing is allocated, and there
 * is nothing for strbuf_done(). */
void
strbuf_borrow(struct strbuf *sb, char *memory, size_t size)
{
	*sb = (struct strbuf){.data = memory, .cap = size, .limit = size - 1};
	memory[0] = '\0';
}

/* Give back the memory; the buffer is empty and usable again. */
void
strbuf_done(struct strbuf *sb)
{
	free(sb->data);
	strbuf_init(sb, sb->limit);
}

/* Forget the content and keep the memory. */
void
strbuf_clear(struct strbuf *sb)
{
	sb->len = 0;
	sb->failed = false;
	if (sb->data != NULL)
		sb->data[0] = '\0';
}

/* Forget what stands behind the first `len` bytes. */
void
strbuf_truncate(struct strbuf *sb, size_t len)
{
	if (len >= sb->len)
		return;
	sb->len = len;
	sb->data[len] = '\0';
}

/* Make room for so many bytes more; false, and the text has failed: beyond its limit, or
 * no memory. */
static bool
grow(struct strbuf *sb, size_t more)
{
	size_t cap = sb->cap == 0 ? 64 : sb->cap;

	if (sb->failed || more > sb->limit - sb->len) {
		sb->failed = true;
		return false;
	}
	while (cap <= sb->len + more)
		cap *= 2;
	char *data = realloc(sb->data, cap);
	if (data == NULL) {
		sb->failed = true;
		return false;
	}
	sb->data = data;
	sb->cap = cap;
	return true;
}

static inline bool
reserve(struct strbuf *sb, size_t more)
{
	return (!sb->failed && more <= sb->limit - sb->len && sb->len + more < sb->cap) ||
	       grow(sb, more);
}

/* Append len bytes. */
void
strbuf_add(struct strbuf *sb, const void *data, size_t len)
{
	if (!reserve(sb, len))
		return;
	if (len > 0)
		memcpy(sb->data + sb->len, data, len);
	sb->len += len;
	sb->data[sb->len] = '\0';
}

/* Append one byte. */
void
strbuf_addc(struct strbuf *sb, char c)
{
	if (!reserve(sb, 1))
		return;
	sb->data[sb->len++] = c;
	sb->data[sb->len] = '\0';
}

/* The length of the UTF-8 character at p, before end, or 0: there is none (RFC 3629). */
size_t
strbuf_utf8_length(const char *p, const char *end)
{
	const unsigned char *u = (const unsigned char *)p;
	size_t len = 0;

	if (u[0] < 0x80)
		return 1;
	if (u[0] >= 0xc2 && u[0] <= 0xdf)
		len = 2;
	else if (u[0] >= 0xe0 && u[0] <= 0xef)
		len = 3;
	else if (u[0] >= 0xf0 && u[0] <= 0xf4)
		len = 4;
	if (len > (size_t)(end - p))
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((u[i] & 0xc0) != 0x80)
			return 0;
	if ((u[0] == 0xe0 && u[1] < 0xa0) || (u[0] == 0xed && u[1] > 0x9f))
		return 0;
	if ((u[0] == 0xf0 && u[1] < 0x90) || (u[0] == 0xf4 && u[1] > 0x8f))
		return 0;
	return len;
}

/* Append formatted text. */
void
strbuf_vaddf(struct strbuf *sb, const char *fmt, va_list ap)
{
	const size_t room = sb->failed ? 0 : sb->cap - sb->len;
	va_list again;

	/* Mostly there is room, and it is not formatted a second time. */
	va_copy(again, ap);
	int n = vsnprintf(room > 0 ? sb->data + sb->len : NULL, room, fmt, again);
	va_end(again);
	if (n >= 0 && (size_t)n < room && (size_t)n <= sb->limit - sb->len) {
		sb->len += (size_t)n;
		return;
	}
	if (room > 0)
		sb->data[sb->len] = '\0';
	/* No such characters, or printf(3) had no memory of its own. */
	if (n < 0)
		sb->failed = true;
	if (n < 0 || !reserve(sb, (size_t)n))
		return;
	(void)vsnprintf(sb->data + sb->len, (size_t)n + 1, fmt, ap);
	sb->len += (size_t)n;
}

/* Append formatted text. */
void
strbuf_addf(struct strbuf *sb, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(sb, fmt, ap);
	va_end(ap);
}

/* Append a decimal number; lists of thousands need it cheaper than a format. */
void
strbuf_add_number(struct strbuf *sb, uint64_t n)
{
	char digits[20];
	size_t at = sizeof(digits);

	if (n < 10) {
		strbuf_addc(sb, (char)('0' + n));
		return;
	}
	do {
		digits[--at] = (char)('0' + n % 10);
		n /= 10;
	} while (n > 0);
	strbuf_add(sb, digits + at, sizeof(digits) - at);
}

/* Append a string as JSON, quotes included: see strbuf_add_json_bytes(). */
void
strbuf_add_json(struct strbuf *sb, const char *s)
{
	strbuf_add_json_bytes(sb, s, strlen(s));
}

/* A character that does not stand for itself in JSON, as JSON has it, or U+FFFD. */
static char *
put_escape(char *to, unsigned char c)
{
	if (c == '"' || c == '\\' || c == '\n')
		return mempcpy(to, (const char[]){'\\', c == '\n' ? 'n' : (char)c}, 2);
	const char code[] = {
	    '\\', 'u', '0', '0', (char)('0' + (c >> 4)), "0123456789abcdef"[c & 15]};
	return c > 0 && c < 0x20 ? mempcpy(to, code, sizeof(code))
	                         : mempcpy(to, "\xef\xbf\xbd", 3);
}

/*
 * How many bytes from p on, before end, need no escape in JSON: up to eight of ASCII, or
 * one character.  Eight are looked at together: the subtractions set the highest bit of
 * the first byte that is not plain, and perhaps of bytes behind it, which the next call
 * looks at.
 */
static inline size_t
plain_length(const char *p, const char *end)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	uint64_t bytes = 0;

	if (end - p >= 8) {
		memcpy(&bytes, p, sizeof(bytes));
		bytes = le64toh(bytes);
		bytes = (bytes | (bytes - ones * 0x20) | ((bytes ^ ones * '"') - ones) |
		         ((bytes ^ ones * '\\') - ones)) &
		        ones * 0x80;
		if ((bytes & 0x80) == 0)
			return bytes == 0 ? 8 : (size_t)__builtin_ctzll(bytes) / 8;
	}
	if ((unsigned char)*p >= 0x80)
		return strbuf_utf8_length(p, end);
	return (unsigned char)*p >= 0x20 && *p != '"' && *p != '\\';
}

/*
 * Append text, which may contain anything, as a JSON string, quotes included.  Bytes that
 * are not UTF-8 become U+FFFD, so that whatever a program or a file name contains, the
 * result is valid JSON; NUL as well, which many readers of JSON refuse.
 */
void
strbuf_add_json_bytes(struct strbuf *sb, const char *text, size_t len)
{
	const char *const end = text + len;
	char block[JSON_BLOCK + 8];
	char *to = block;

	strbuf_addc(sb, '"');
	while (text < end) {
		const size_t n = plain_length(text, end);

		if (n == 0) {
			to = put_escape(to, (unsigned char)*text++);
		} else {
			/* One move copies eight, for which there is room. */
			if (end - text >= 8)
				memcpy(to, text, 8);
			else
				memcpy(to, text, n);
			to += n;
			text += n;
		}
		if (text == end || to - block > JSON_BLOCK) {
			strbuf_add(sb, block, (size_t)(to - block));
			to = block;
		}
	}
	strbuf_addc(sb, '"');
}

/* True if strbuf_add_json_bytes() keeps every byte of the text. */
bool
strbuf_is_json_text(const char *text, size_t len)
{
	const char *end = text + len;

	while (text < end) {
		size_t n = *text == '\0' ? 0 : strbuf_utf8_length(text, end);

		if (n == 0)
			return false;
		text += n;
	}
	return true;
}

/* Append bytes in base64 (RFC 4648), without quotes. */
void
strbuf_add_base64(struct strbuf *sb, const char *bytes, size_t len)
{
	static const char digits[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	    "0123456789+/";

	for (size_t i = 0; i < len; i += 3) {
		uint32_t bits = (uint32_t)(unsigned char)bytes[i] << 16;
		char group[4];

		if (i + 1 < len)
			bits |= (uint32_t)(unsigned char)bytes[i + 1] << 8;
		if (i + 2 < len)
			bits |= (unsigned char)bytes[i + 2];
		for (unsigned int k = 0; k < 4; k++)
			group[k] = i + k > len ? '=' : digits[bits >> (18 - 6 * k) & 63];
		strbuf_add(sb, group, sizeof(group));
	}
}

/*
 * Is there a control character at p, which is before end?  Its length, 0 if there is
 * none: those of C1 are two bytes in UTF-8.
 */
size_t
strbuf_control_length(const char *p, const char *end)
{
	unsigned char c = (unsigned char)p[0];

	if (c < 0x20 || c == 0x7f)
		return 1;
	return c == 0xc2 && p + 1 < end && (unsigned char)p[1] < 0xa0 ? 2 : 0;
}

/* True if the eight bytes from p on are ASCII without control characters. */
static inline bool
are_visible(const char *p)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	uint64_t bytes;

	memcpy(&bytes, p, sizeof(bytes));
	return ((bytes | (bytes - ones * 0x20) | (bytes + ones)) & ones * 0x80) == 0;
}

/*
 * Append text from outside for people to read, on one line: control characters, which a
 * terminal would obey, are written as escapes.
 */
void
strbuf_add_visible(struct strbuf *sb, const char *text, size_t len)
{
	const char *p = text;
	const char *end = text + len;

	while (p < end) {
		const char *start = p;
		size_t control = 0;

		while (end - p >= 8 && are_visible(p))
			p += 8;
		while (p < end && (control = strbuf_control_length(p, end)) == 0)
			p++;
		strbuf_add(sb, start, (size_t)(p - start));
		if (p == end)
			return;
		if (*p == '\n')
			strbuf_adds(sb, "\\n");
		else if (*p == '\t')
			strbuf_adds(sb, "\\t");
		else
			strbuf_addf(sb, "\\x%02x", (unsigned char)p[control - 1]);
		p += control;
	}
}

/* Drop the first len bytes. */
void
strbuf_consume(struct strbuf *sb, size_t len)
{
	ASSERT(len <= sb->len);
	if (len == 0)
		return;
	memmove(sb->data, sb->data + len, sb->len - len + 1);
	sb->len -= len;
}

/* The content, never NULL; valid until the next change. */
const char *
strbuf_str(const struct strbuf *sb)
{
	return sb->data != NULL ? sb->data : "";
}

/* Hand the content over to the caller, which frees it; NULL after any failure. */
char *
strbuf_take(struct strbuf *sb)
{
	strbuf_add(sb, "", 0);
	char *data = sb->failed ? NULL : sb->data;
	if (data == NULL)
		free(sb->data);
	strbuf_init(sb, sb->limit);
	return data;
}
