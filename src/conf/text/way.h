/* SPDX-License-Identifier: ISC */
/* way.h - a search for circles, from place to place along edges, without recursion
 * (private to conf/).
 *
 * Places and edges are numbers.  The memory is way_search()'s own, and gone afterwards.
 */
#ifndef CONF_WAY_H
#define CONF_WAY_H

#include <stdbool.h>
#include <stdint.h>

#define WAY_NONE UINT32_MAX

/* Where the n-th edge of a place leads to, WAY_NONE: nowhere; false: there is none. */
typedef bool way_edge(void *data, uint32_t place, uint32_t n, uint32_t *ret);

/* The last edge that was tried leads back to a place that is on the way. */
typedef void way_circle(void *data, uint32_t back);

struct way {
	way_edge *edge;
	way_circle *on_circle;
	void *data;
	unsigned char *visits; /* by place, private to way.c */
	uint32_t *tried;       /* by place: how many of its edges */
	uint32_t *at;          /* the places on the way, from the first to the last */
	uint32_t n;
};

bool way_search(struct way *way, uint32_t n_places);
uint32_t way_find(const struct way *way, uint32_t place);

#endif
