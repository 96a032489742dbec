/* SPDX-License-Identifier: ISC */
/* strbuf.h - a growing string with a limit.
 *
 * Always NUL-terminated once something was added.  Growth beyond `limit` or a failed
 * allocation sets `failed`, after which additions are ignored: check once, at the end.
 */
#ifndef BASE_STRBUF_H
#define BASE_STRBUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct strbuf {
	char *data;
	size_t len, cap, limit;
	bool failed;
};

/* An empty buffer that will hold up to `max` bytes, its NUL not counted. */
#define STRBUF(max) ((struct strbuf){.limit = (max)})

void strbuf_init(struct strbuf *sb, size_t limit);
void strbuf_borrow(struct strbuf *sb, char *memory, size_t size);
void strbuf_done(struct strbuf *sb);
void strbuf_clear(struct strbuf *sb);
void strbuf_truncate(struct strbuf *sb, size_t len);
void strbuf_add(struct strbuf *sb, const void *data, size_t len);
void strbuf_addc(struct strbuf *sb, char c);
void strbuf_addf(struct strbuf *sb, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void strbuf_vaddf(struct strbuf *sb, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));
void strbuf_add_number(struct strbuf *sb, uint64_t n);
void strbuf_add_json(struct strbuf *sb, const char *s);
bool strbuf_is_json_text(const char *text, size_t len);
void strbuf_add_base64(struct strbuf *sb, const char *bytes, size_t len);
void strbuf_add_json_bytes(struct strbuf *sb, const char *text, size_t len);
void strbuf_add_visible(struct strbuf *sb, const char *text, size_t len);
size_t strbuf_control_length(const char *p, const char *end);
size_t strbuf_utf8_length(const char *p, const char *end);
void strbuf_consume(struct strbuf *sb, size_t len);
const char *strbuf_str(const struct strbuf *sb);
char *strbuf_take(struct strbuf *sb);

/* Append a string.  Of one that is written where this is called the length is known. */
static inline void
strbuf_adds(struct strbuf *sb, const char *s)
{
	strbuf_add(sb, s, strlen(s));
}

/* As strbuf_add(), for a length that is known when compiling: a few instructions where
 * there is room.  The status of thousands of actors has a hundred such texts for each. */
static inline void
strbuf_add_fixed(struct strbuf *sb, const char *text, size_t len)
{
	if (sb->failed || len > sb->limit - sb->len || sb->len + len >= sb->cap) {
		strbuf_add(sb, text, len);
		return;
	}
	memcpy(sb->data + sb->len, text, len);
	sb->len += len;
	sb->data[sb->len] = '\0';
}

#endif
