/* SPDX-License-Identifier: ISC */
/* yaml_assembly.h - nodes while they are put together (private to conf/). */
#ifndef CONF_YAML_ASSEMBLY_H
#define CONF_YAML_ASSEMBLY_H

#include "base/map.h"
#include "conf/text/yaml_node.h"

/* A list or mapping that is not complete yet; its parts are pile[first] and on. */
struct frame {
	struct yaml *node;
	const char *anchor;
	size_t first;
};

struct assembly {
	const struct yaml_source *source;
	struct frame frames[NODE_HEIGHT_MAX];
	size_t n_frames;
	const struct yaml **pile;
	size_t n_pile, pile_cap;
	struct map anchor_index;
	const struct yaml **anchors;
	size_t n_anchors, anchors_cap;
	uint64_t aliased;
	size_t n_documents;
	const struct yaml *root;
};

int yaml_complain(const struct assembly *assembly, const char *last, size_t line,
                  size_t column, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
int yaml_fill_map(struct assembly *assembly, const struct frame *frame, struct map *seen);

#endif
