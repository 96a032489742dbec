/* SPDX-License-Identifier: ISC */
/* suggest.h - "did you mean": the known name that is nearest to a mistyped one. */
#ifndef BASE_SUGGEST_H
#define BASE_SUGGEST_H

#include <stddef.h>

#define SUGGEST_LEN_MAX 63

/* Begin with the word, the rest is zero, and feed it one candidate after the other;
 * `best` is NULL while none is near enough. */
struct suggest {
	const char *word, *best;
	size_t distance;
};

void suggest_try(struct suggest *suggest, const char *candidate);
size_t suggest_distance(const char *a, const char *b);

#endif
