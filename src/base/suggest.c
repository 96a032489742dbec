/* SPDX-License-Identifier: ISC */
/* suggest.c - "did you mean": the known name that is nearest to a mistyped one. */
#include "config.h"

#include "base/suggest.h"

#include <stdint.h>
#include <string.h>

#include "base/bounds.h"

/*
 * How many letters must be inserted, deleted, replaced or swapped with their neighbour
 * to turn a into b (optimal string alignment); SIZE_MAX for names longer than
 * SUGGEST_LEN_MAX.
 */
size_t
suggest_distance(const char *a, const char *b)
{
	size_t rows[3][SUGGEST_LEN_MAX + 1];
	size_t a_len = strlen(a), b_len = strlen(b);

	if (a_len > SUGGEST_LEN_MAX || b_len > SUGGEST_LEN_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= b_len; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		size_t *row = rows[i % 3];
		const size_t *above = rows[(i - 1) % 3], *above2 = rows[(i + 1) % 3];

		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			size_t differs = a[i - 1] != b[j - 1];

			row[j] = SMALLER(above[j], row[j - 1]) + 1;
			row[j] = SMALLER(row[j], above[j - 1] + differs);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1])
				row[j] = SMALLER(row[j], above2[j - 2] + 1);
		}
	}
	return rows[a_len % 3][b_len];
}

/*
 * One letter in three may be wrong, and of the candidate more than half must be right; of
 * equally near candidates the first one stays.
 */
void
suggest_try(struct suggest *suggest, const char *candidate)
{
	size_t distance = suggest_distance(suggest->word, candidate);

	if (distance <= strlen(suggest->word) / 3 + 1 &&
	    2 * distance < strlen(candidate) &&
	    (suggest->best == NULL || distance < suggest->distance)) {
		suggest->best = candidate;
		suggest->distance = distance;
	}
}
