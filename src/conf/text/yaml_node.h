/* SPDX-License-Identifier: ISC */
/* yaml_node.h - a YAML document as a tree that knows where each piece stands (private to
 * conf/).
 *
 * Nodes live in an arena and are never changed once they are built,
 * but for what their text was found to stand for.  An alias shares the
 * node of its anchor, so the tree may be a graph, but never a circle; `weight` says how
 * large it is when written out in full.
 */
#ifndef CONF_YAML_NODE_H
#define CONF_YAML_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/text/arena.h"
#include "conf/text/reports.h"

/* How deep mappings and lists may nest: two levels for each level of the tree. */
#define NODE_HEIGHT_MAX 256
/* How many nodes all aliases of a file together may stand for. */
#define NODE_ALIASED_MAX 1000000

enum node_type { NODE_TEXT, NODE_LIST, NODE_MAP };

/* What a text stands for; which member counts follows from the type. */
struct value {
	int word;        /* index into the type's words, or -1 */
	uint64_t number; /* anything that is not a word */
};

struct yaml {
	enum node_type type;
	bool plain;    /* text: written without quotes */
	bool bad;      /* text: found wrong and reported already */
	bool dollar;   /* the node or a node below has a '$' */
	bool is_shell; /* key `command`: written as `shell`, its value is for /bin/sh */
	bool used;     /* key of a parameter: a ${…} has asked for it */
	uint32_t file; /* index into the list of files */
	uint32_t line, column;
	uint32_t weight; /* nodes from here down, aliases written out; saturates */
	uint32_t height; /* 1: text */
	const char *text;
	size_t n;
	union {
		const struct yaml **items; /* list */
		struct node_pair *pairs;   /* map */
		struct value value;        /* text: the value of `scanned_as` */
	};
	const struct schema_type *scanned_as; /* text: NULL until it was scanned */
};

struct node_pair {
	const struct yaml *key; /* always text */
	const struct yaml *value;
};

/* Input and output of yaml_parse(). */
struct yaml_source {
	const char *name;
	uint32_t file;
	const char *text;
	size_t len;
	struct arena *arena;
	struct conf_reports *reports;
};

/* A list stands for its items, a text or a mapping that may be a list for itself. */
static inline size_t
node_n_items(const struct yaml *node)
{
	return node->type == NODE_LIST ? node->n : 1;
}

static inline const struct yaml *
node_item(const struct yaml *node, size_t i)
{
	return node->type == NODE_LIST ? node->items[i] : node;
}

int yaml_parse(const struct yaml_source *source, const struct yaml **ret_root);

const struct yaml *node_get(const struct yaml *map, const char *key);
const struct yaml *node_key(const struct yaml *map, const char *key);
void node_use(const struct yaml *key);
bool node_is_empty(const struct yaml *node);
bool node_is_unindented(const struct yaml *map, const char *name);
bool node_is_name(const struct yaml *node);
const char *node_type_name(const struct yaml *node);
struct yaml *node_new(struct arena *arena, enum node_type type, const struct yaml *at);
struct yaml *node_with_room(struct arena *arena, enum node_type type,
                            const struct yaml *at, size_t n);
struct yaml *node_copy_map(struct arena *arena, const struct yaml *map, size_t more);
struct yaml *node_text(struct arena *arena, const struct yaml *at, const char *text);
void node_count_part(struct yaml *whole, const struct yaml *part);
const struct yaml *node_merge(struct arena *arena, const struct yaml *base,
                              const struct yaml *over);

#endif
