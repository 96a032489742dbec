/* SPDX-License-Identifier: ISC */
/* pattern.h - POSIX extended regular expressions that lines are matched with.
 *
 * Bounded: in its length, in how often something may be repeated, in how much of a line
 * is looked at, each byte once, and without back-references.  What the library keeps of
 * lines, a state for each byte at worst, is thrown away in time.
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
	char *text;    /* NULL: there is no expression */
	size_t looked; /* bytes, since the expression was compiled */
};

int pattern_compile(struct pattern *pattern, const char *text, struct err *why);
void pattern_done(struct pattern *pattern);
bool pattern_matches(struct pattern *pattern, const char *line, size_t len);

#endif
