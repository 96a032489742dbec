/* SPDX-License-Identifier: ISC */
/* kept.h - lines that are kept back, to be printed later: the last ones, or backwards.
 *
 * Of each origin so many as are wanted, and of all not more than KEPT_BYTES_MAX: the
 * oldest lines make room for new ones, and are counted.
 */
#ifndef CTL_KEPT_H
#define CTL_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KEPT_BYTES_MAX ((size_t)64 * 1024 * 1024)

/* Where lines come from, all zero at first; has to live as long as the lines. */
struct kept_origin {
	struct kept_line *first, *last;
	int64_t n;
};

struct kept_lines {
	struct kept_line *oldest; /* owned, as all behind it */
	struct kept_line *newest;
	size_t bytes;
	uint64_t left_out; /* lines for which there was no room */
};

typedef void kept_take(void *user, const char *text, size_t len);

int kept_add(struct kept_lines *kept, struct kept_origin *origin, int64_t max,
             const char *text, size_t len);
void kept_each(const struct kept_lines *kept, bool newest_first, kept_take *take,
               void *user);
void kept_done(struct kept_lines *kept);

#endif
