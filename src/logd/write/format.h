/* SPDX-License-Identifier: ISC */
/* format.h - what a stream said, as lines of a log: pure, and given piece by piece.
 *
 * Each function takes a piece and says how many bytes of it were used; the rest comes
 * again with what follows it.  None but format_plain() copies the piece as it is; the
 * others append to `out`.
 */
#ifndef LOGD_FORMAT_H
#define LOGD_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/* A line that is longer is cut into parts, where a line must be complete. */
#define FORMAT_LINE_MAX (48 * 1024)

struct format {
	struct strbuf *out;
	uint64_t room;      /* how much the file may take */
	const char *time;   /* RFC 3339 */
	const char *stream; /* its name */
	bool is_new;        /* nothing is in the file */
	bool in_line;       /* the file ends with a part of a line of this stream; set */
	bool is_full;       /* set: what comes next is for another file */
	bool flush;         /* the last line is one although no newline ends it */
};

size_t format_plain(struct format *format, const char *data, size_t len);
size_t format_text(struct format *format, const char *data, size_t len);
size_t format_json(struct format *format, const char *data, size_t len);
size_t format_line(const char *data, size_t len, bool flush, size_t *ret_text);

#endif
