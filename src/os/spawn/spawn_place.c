/* SPDX-License-Identifier: ISC */
/* spawn_place.c - memory for a start: the stack of the child, and what it reads.
 *
 * A child that shares our memory and does not end, even when killed (state D), keeps its
 * place: the kernel may still write where the child's system call said, and a 0 into
 * `lives`.
 */
#include "config.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "os/spawn/spawn_child.h"

enum { STACK_SIZE = 64 * 1024, GUARD_SIZE = 64 * 1024 };

/* The lowest byte of the stack; it ends where the place begins. */
char *
spawn_place_stack(const struct spawn_place *place)
{
	const uintptr_t end = ((uintptr_t)(place + 1) + 63) / 64 * 64;

	return (char *)(end - STACK_SIZE);
}

static void
place_free(struct spawn_place *place)
{
	(void)munmap(place->child.shared, sizeof(*place->child.shared));
	(void)munmap(spawn_place_stack(place) - GUARD_SIZE, GUARD_SIZE + STACK_SIZE);
}

/* A new place; NULL with errno. */
static struct spawn_place *
place_new(void)
{
	const int prot = PROT_READ | PROT_WRITE;
	const size_t size = (sizeof(struct spawn_place) + 63) / 64 * 64;
	/* Shared, so that it also works where the child has a copy of our memory. */
	void *shared = mmap(NULL, sizeof(struct spawn_shared), prot,
	                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char *map = mmap(NULL, GUARD_SIZE + STACK_SIZE, prot,
	                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);

	if (shared == MAP_FAILED || map == MAP_FAILED ||
	    mprotect(map, GUARD_SIZE, PROT_NONE) < 0) {
		if (shared != MAP_FAILED)
			(void)munmap(shared, sizeof(struct spawn_shared));
		if (map != MAP_FAILED)
			(void)munmap(map, GUARD_SIZE + STACK_SIZE);
		return NULL;
	}
	struct spawn_place *place =
	    (struct spawn_place *)(void *)(map + GUARD_SIZE + STACK_SIZE - size);
	place->child.shared = shared;
	return place;
}

/* Take back the places of children that have let go of our memory at last. */
static void
places_sift(struct spawner *spawner)
{
	struct spawn_place **at = &spawner->hung;

	while (*at != NULL) {
		struct spawn_place *place = *at;

		if (atomic_load(&place->child.lives) != 0) {
			at = &place->next;
			continue;
		}
		*at = place->next;
		spawner->n_hung--;
		spawn_memory_left(spawner, place);
		place_free(place);
	}
}

/* A place for the next child; NULL with errno. */
struct spawn_place *
spawn_place_take(struct spawner *spawner)
{
	struct spawn_place *place = spawner->free;

	if (spawner->hung != NULL)
		places_sift(spawner);
	if (place == NULL)
		return place_new();
	spawner->free = place->next;
	return place;
}

/* The start is over. */
void
spawn_place_give(struct spawner *spawner, struct spawn_place *place)
{
	place->next = spawner->free;
	spawner->free = place;
}

/* The child hangs in its place. */
void
spawn_place_leave(struct spawner *spawner, struct spawn_place *place)
{
	place->next = spawner->hung;
	spawner->hung = place;
	spawner->n_hung++;
}

/* Give back all places but those of children that hang. */
void
spawn_places_free(struct spawner *spawner)
{
	places_sift(spawner);
	while (spawner->free != NULL) {
		struct spawn_place *place = spawner->free;

		spawner->free = place->next;
		place_free(place);
	}
}
