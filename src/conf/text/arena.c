/* SPDX-License-Identifier: ISC */
/* arena.c - memory that is given back all at once. */
#include "config.h"

#include "conf/text/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bounds.h"

/* The first chunk has so many bytes; each further one is as large as all before it, up to
 * the second number.  Memory of large ones comes zeroed from the kernel. */
#define CHUNK_BYTES_MIN 16384
#define CHUNK_BYTES_MAX (1024 * 1024)

struct arena_chunk {
	struct arena_chunk *older;
	size_t used, cap;
	alignas(max_align_t) unsigned char data[];
};

/* Give everything back; the arena is empty and usable again. */
void
arena_done(struct arena *arena)
{
	struct arena_chunk *chunk = arena->newest;

	while (chunk != NULL) {
		struct arena_chunk *older = chunk->older;

		free(chunk);
		chunk = older;
	}
	*arena = ARENA(arena->limit);
}

static struct arena_chunk *
add_chunk(struct arena *arena, size_t bytes)
{
	size_t cap = SMALLER(LARGER(arena->used, CHUNK_BYTES_MIN), CHUNK_BYTES_MAX);

	cap = bytes > cap / 4 ? bytes : cap;
	struct arena_chunk *chunk = calloc(1, sizeof(*chunk) + cap);
	if (chunk == NULL)
		return NULL;
	chunk->cap = cap;
	if (cap == bytes && arena->newest != NULL) {
		/* A large block of its own goes behind, the newest still has room. */
		chunk->older = arena->newest->older;
		arena->newest->older = chunk;
	} else {
		chunk->older = arena->newest;
		arena->newest = chunk;
	}
	return chunk;
}

/* Room for n things of `size` bytes, zeroed; NULL past the limit or without memory. */
void *
arena_alloc(struct arena *arena, size_t n, size_t size)
{
	const size_t align = alignof(max_align_t);
	struct arena_chunk *chunk = arena->newest;
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes) || bytes > SIZE_MAX / 2)
		arena->failed = true;
	if (arena->failed)
		return NULL;
	bytes = bytes == 0 ? align : (bytes + align - 1) / align * align;
	if (bytes > arena->limit - arena->used)
		chunk = NULL;
	else if (chunk == NULL || bytes > chunk->cap - chunk->used)
		chunk = add_chunk(arena, bytes);
	if (chunk == NULL) {
		arena->failed = true;
		return NULL;
	}
	void *data = chunk->data + chunk->used;
	chunk->used += bytes;
	arena->used += bytes;
	return data;
}

/* A string of len bytes from `text`, NUL added; NULL as arena_alloc(). */
char *
arena_copy(struct arena *arena, const char *text, size_t len)
{
	char *copy = arena_alloc(arena, len + 1, 1);

	if (copy != NULL && len > 0)
		memcpy(copy, text, len);
	return copy;
}

/* A copy of a string; NULL as arena_alloc(). */
char *
arena_dup(struct arena *arena, const char *text)
{
	return arena_copy(arena, text, strlen(text));
}

/* Formatted text; NULL as arena_alloc(). */
char *
arena_printf(struct arena *arena, const char *fmt, ...)
{
	char most[256];
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(most, sizeof(most), fmt, ap);
	va_end(ap);
	if (n < (int)sizeof(most))
		return n < 0 ? NULL : arena_copy(arena, most, (size_t)n);
	char *text = arena_alloc(arena, (size_t)n + 1, 1);
	if (text == NULL)
		return NULL;
	va_start(ap, fmt);
	(void)vsnprintf(text, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return text;
}
