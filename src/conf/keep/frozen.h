/* SPDX-License-Identifier: ISC */
/* frozen.h - how a configuration lies in one block without pointers (private to conf/).
 *
 * A block is a head, then everything that has a size of its own, then all texts, each of
 * them once.  What points to a text holds 1 and its place among the texts, what points to
 * an array the place of that in the block; 0 is NULL.  Arrays lie in the order in which
 * they are met on the one way through the configuration that both sides take: so for the
 * reader there is only one right place for each.
 */
#ifndef CONF_FROZEN_H
#define CONF_FROZEN_H

#include "conf/text/conf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Count up when something in struct conf, or below, means something else than before. */
#define FROZEN_VERSION 3

#define FROZEN_MAGIC UINT64_C(0x6e657a6f72665573)

struct frozen_head {
	uint64_t magic;
	/* result of frozen_layout() in the binary that wrote the block */
	uint64_t layout;
	uint64_t bytes;  /* of all, this included */
	uint64_t texts;  /* where they begin */
	uint64_t sum;    /* of what follows the head */
};

struct frozen_shape;

/* A member that is a text. */
struct frozen_text {
	size_t offset;
	bool required;
};

/* A member that points to an array, and the member with its length. */
struct frozen_array {
	size_t offset;
	size_t count_offset;
	size_t count_size; /* 0: there is none, the array ends with NULL */
	const struct frozen_shape *of;
};

/* The pointers of a struct; all other members are copied as bytes. */
struct frozen_shape {
	size_t size;
	const struct frozen_text *texts;
	size_t n_texts;
	const struct frozen_array *arrays;
	size_t n_arrays;
};

extern const struct frozen_shape frozen_conf;
extern const struct frozen_shape frozen_actor;

/* Everything in the block begins at a multiple of this. */
#define FROZEN_ALIGN 8

/* One on the way through a configuration. */
struct frozen_visitor {
	/* n things of a shape lie at `at`: see to their texts. */
	int (*on_things)(struct frozen_visitor *visitor, const struct frozen_shape *shape,
	                 size_t at, size_t n);
	/* The struct at `at` has this array: say where it lies and how long it is. */
	int (*on_array)(struct frozen_visitor *visitor, const struct frozen_array *array,
	                size_t at, size_t *ret_at, size_t *ret_n);
};

int frozen_visit(struct frozen_visitor *visitor, size_t at);
uint64_t frozen_layout(void);
size_t frozen_count(const struct frozen_array *array, const void *thing);
size_t frozen_align(size_t bytes);

#endif
