/* SPDX-License-Identifier: ISC */
/* span.h - a piece of JSON text that is borrowed: a string without its quotes, its
 * escapes as they are, or any value as it stands.
 */
#ifndef CTL_SPAN_H
#define CTL_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/strbuf.h"

/* `at` is NULL where there was null or nothing. */
struct span {
	const char *at;
	size_t len;
};

/* True if the span is exactly this text.  Asked for each member of each actor. */
static inline bool
span_is(struct span span, const char *text)
{
	return span.at != NULL && span.len == strlen(text) &&
	       memcmp(span.at, text, strlen(text)) == 0;
}

bool span_is_object(struct span span);
void span_decode(struct span span, struct strbuf *out);
char *span_copy(struct span span);
void span_decode_base64(struct span span, struct strbuf *out);

#endif
