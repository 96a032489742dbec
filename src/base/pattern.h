/* SPDX-License-Identifier: ISC */
/* pattern.h - POSIX extended regular expressions that lines are matched with.
 *
 * Bounded: in its length, in how often something may be repeated, and without
 * back-references, so that a match takes time in proportion to the line.
 */
#ifndef BASE_PATTERN_H
#define BASE_PATTERN_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define PATTERN_MAX      500  /* bytes, without the NUL */
#define PATTERN_LINE_MAX 8192 /* of a line that is longer only the beginning counts */

struct pattern {
	regex_t regex;
	bool is_there;
};

int pattern_compile(struct pattern *pattern, const char *text, struct err *why);
void pattern_done(struct pattern *pattern);
bool pattern_matches(const struct pattern *pattern, const char *line, size_t len);

#endif
