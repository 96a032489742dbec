/* SPDX-License-Identifier: ISC */
/* packed.h - how a configuration lies in one block without pointers (private to conf/).
 *
 * A block is a head, then everything that has a size of its own, then all texts, each of
 * them once.  What points to a text holds 1 and its place among the texts, what points to
 * an array the place of that in the block, what points to a process or a spec of several
 * actors 1 and its place among them; 0 is NULL.  Arrays lie in the order in which they
 * are met on the one way through the configuration that both sides take: so for the
 * reader there is only one right place for each.  Why it is copied: DECISIONS 75.
 */
#ifndef CONF_PACKED_H
#define CONF_PACKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/text/conf.h"

/* Count up when something in struct conf, or below, means something else than before. */
#define PACKED_VERSION 10

#define PACKED_MAGIC UINT64_C(0x6e657a6f72665573)

struct packed_head {
	uint64_t magic;
	/* result of packed_layout() in the binary that wrote the block */
	uint64_t layout;
	uint64_t bytes; /* of all, this included */
	uint64_t texts; /* where they begin */
	uint64_t sum;   /* of what follows the head */
};

struct packed_shape;

/* A member that is a text. */
struct packed_text {
	size_t offset;
	bool required;
};

/* A member that points to an array, and the member with its length. */
struct packed_array {
	size_t offset, count_offset;
	size_t count_size; /* 0: there is none, the array ends with NULL */
	const struct packed_shape *of;
};

/* The pointers of a struct; all other members are copied as bytes. */
struct packed_shape {
	size_t size;
	const struct packed_text *texts;
	size_t n_texts;
	const struct packed_array *arrays;
	size_t n_arrays;
};

/* How much of a struct conf is packed: behind it is what is private, and made anew. */
#define PACKED_CONF_BYTES offsetof(struct conf, by_path)

/* Everything in the block begins at a multiple of this. */
#define PACKED_ALIGN 8

/* One on the way through a configuration. */
struct packed_visitor {
	/* n things of a shape lie at `at`: see to their texts. */
	int (*on_things)(struct packed_visitor *visitor, const struct packed_shape *shape,
	                 size_t at, size_t n);
	/* The struct at `at` has this array: say where it lies and how long it is. */
	int (*on_array)(struct packed_visitor *visitor, const struct packed_array *array,
	                size_t at, size_t *ret_at, size_t *ret_n);
};

extern const struct packed_shape packed_process, packed_spec;

int packed_visit_thing(struct packed_visitor *visitor, const struct packed_shape *shape,
                       size_t at);
int packed_visit(struct packed_visitor *visitor, size_t at);
uint64_t packed_layout(void);
size_t packed_count(const struct packed_array *array, const void *thing);
size_t packed_align(size_t bytes);

#endif
