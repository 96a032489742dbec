/* SPDX-License-Identifier: ISC */
/* way.c - a search for circles, from place to place along edges, without recursion. */
#include "config.h"

#include "conf/text/way.h"

#include <stdlib.h>

enum visit { NOT_SEEN, ON_THE_WAY, DONE };

/* Follow the edges from a place; the places reached are done afterwards. */
static void
follow(struct way *way, uint32_t first)
{
	way->at[0] = first;
	way->n = 1;
	while (way->n > 0) {
		const uint32_t place = way->at[way->n - 1];
		uint32_t next;

		way->visits[place] = ON_THE_WAY;
		if (!way->edge(way->data, place, way->tried[place]++, &next)) {
			way->visits[place] = DONE;
			way->n--;
		} else if (next == WAY_NONE || way->visits[next] == DONE) {
			continue;
		} else if (way->visits[next] == ON_THE_WAY) {
			way->on_circle(way->data, next);
		} else {
			way->at[way->n++] = next;
		}
	}
}

/* Find every circle; false: no memory. */
bool
way_search(struct way *way, uint32_t n_places)
{
	way->visits = calloc(n_places, 1);
	way->tried = calloc(n_places, sizeof(*way->tried));
	way->at = calloc(n_places, sizeof(*way->at));
	bool has_memory = way->visits != NULL && way->tried != NULL && way->at != NULL;
	for (uint32_t place = 0; has_memory && place < n_places; place++)
		if (way->visits[place] == NOT_SEEN)
			follow(way, place);
	free(way->visits);
	free(way->tried);
	free(way->at);
	return has_memory;
}

/* Which of the places on the way is that? */
uint32_t
way_find(const struct way *way, uint32_t place)
{
	uint32_t i = 0;

	while (way->at[i] != place)
		i++;
	return i;
}
