/* SPDX-License-Identifier: ISC */
/* print.h - standard output: buffered, coloured where that is wanted, and safe.
 *
 * A control character from a program or a file name never reaches a terminal as such.
 * Everything is collected in `buf`; print_flush() writes it.  A reader that went away is
 * no error: `closed` says that no reader is left.
 */
#ifndef CTL_PRINT_H
#define CTL_PRINT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "ctl/wire/scan.h"

#define OUT_BYTES_MAX   (256 * 1024 * 1024)
#define OUT_FLUSH_BYTES (32 * 1024)

struct out {
	int fd;
	struct strbuf buf;
	bool colour, terminal, utf8, closed;
	int error; /* errno of a write that failed, or 0 */
};

enum colour {
	COLOUR_NONE,
	COLOUR_GOOD,
	COLOUR_BAD,
	COLOUR_BUSY,
	COLOUR_DIM,
	COLOUR_BOLD
};

void print_init(struct out *out, int fd);
void print_flush(struct out *out);
void print_flush_if_full(struct out *out);

void print_coloured(struct out *out, enum colour colour, const char *text, size_t len);
void print_colour(struct out *out, enum colour colour, const char *text);
void print_pad(struct strbuf *sb, size_t used, size_t width);
size_t print_width(const char *text, size_t len);

void print_text(struct strbuf *sb, const char *text, size_t len);
void print_lines(struct strbuf *sb, const char *text, size_t len, const char *indent);
void print_span(struct strbuf *sb, struct span span);
void print_age(struct strbuf *sb, uint64_t ms);
void print_bytes(struct strbuf *sb, uint64_t bytes);
void print_when(struct strbuf *sb, const char *rfc3339, bool with_ms);
void print_quoted(struct out *out, const char *text);
void print_json(struct out *out, struct span json);
void print_json_line(struct out *out, struct span json);

#endif
