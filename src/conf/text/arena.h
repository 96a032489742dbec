/* SPDX-License-Identifier: ISC */
/* arena.h - memory that is given back all at once.
 *
 * What comes from an arena is zeroed, aligned for anything, and lives until
 * arena_done().  Past the limit, or without memory, `failed` is set for good and NULL
 * comes back.  Arenas are not thread-safe and never shrink.
 */
#ifndef CONF_ARENA_H
#define CONF_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct arena {
	struct arena_chunk *newest;
	size_t used; /* bytes handed out */
	size_t limit;
	bool failed;
};

/* An empty arena for up to `max` bytes. */
#define ARENA(max) ((struct arena){.limit = (max)})

void arena_done(struct arena *arena);
void *arena_alloc(struct arena *arena, size_t n, size_t size);
char *arena_copy(struct arena *arena, const char *text, size_t len);
char *arena_dup(struct arena *arena, const char *text);
char *arena_printf(struct arena *arena, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
