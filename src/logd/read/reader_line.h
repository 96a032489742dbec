/* SPDX-License-Identifier: ISC */
/* reader_line.h - one line of an actor's log: when, on which stream, what.
 *
 * Points into the line and lives as long as it.  Whatever the line contains, the answer
 * that is made of it is valid JSON.
 */
#ifndef LOGD_READER_LINE_H
#define LOGD_READER_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "logd/read/reader.h"

/* "2026-11-21T09:12:33.123Z" */
#define READER_TIME_LEN 24

struct reader_line {
	const char *time;   /* READER_TIME_LEN characters, or NULL */
	const char *stream; /* NULL: as the source has it */
	size_t stream_len;
	const char *text;
	size_t len;
	bool is_json; /* the text is what stands between the quotes of JSON */
};

bool reader_time_is(const char *text, size_t len);
void reader_line_parse(struct reader_line *ret, enum reader_format format,
                       const char *text, size_t len);
void reader_line_add(struct strbuf *out, const struct reader_line *line, const char *path,
                     const char *stream, const char *position);

#endif
