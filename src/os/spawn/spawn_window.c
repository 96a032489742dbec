/* SPDX-License-Identifier: ISC */
/* spawn_window.c - the low numbers, where descriptors wait for the child that gets them.
 *
 * The child copies no more of our table than what is below the last one that it needs.
 * Several children under way take different numbers.
 */
#include "config.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "os/spawn/spawn_child.h"

/*
 * Occupy the free numbers of the window with /dev/null.  So nothing that is opened from
 * now on can land there by accident, and each is a place to stage a descriptor in.
 */
void
spawn_window_fill(struct spawner *spawner)
{
	struct rlimit limit;

	if (fd_limit(&limit) < 0 || limit.rlim_cur < 2 * FD_WINDOW)
		return;
	for (int fd = 3; fd < FD_WINDOW; fd++) {
		int got = fcntl(spawner->null_fd, F_DUPFD_CLOEXEC, fd);

		if (got < 0)
			return;
		if (got >= FD_WINDOW) {
			(void)close(got);
			return;
		}
		spawner->is_slot[got] = true;
		spawner->n_slots++;
		fd = got;
	}
}

/* Let go of the numbers from this on. */
void
spawn_window_empty(struct spawner *spawner, int from)
{
	for (int fd = from; fd < FD_WINDOW; fd++) {
		if (!spawner->is_slot[fd] || spawner->is_taken[fd])
			continue;
		(void)close(fd);
		spawner->is_slot[fd] = false;
		spawner->n_slots--;
	}
}

/*
 * Give up most of the window: its numbers are needed for something else.  A child with
 * more descriptors than the rest has room for takes longer to start then.  Numbers of
 * children under way stay.
 */
void
os_spawn_give_window(struct spawner *spawner)
{
	spawn_window_empty(spawner, SPAWN_WINDOW_LEAST);
}

/* Put /dev/null back where a descriptor was staged. */
void
spawn_window_unstage(struct spawner *spawner, struct spawn_place *place)
{
	const struct spawn_child *child = &place->child;

	for (size_t i = 0; i < child->spawn->n_fds; i++) {
		if (place->stage[i] == STAGE_NOT)
			continue;
		if (place->stage[i] == STAGE_COPY)
			(void)dup3(spawner->null_fd, child->from[i], O_CLOEXEC);
		spawner->is_taken[child->from[i]] = false;
		place->stage[i] = STAGE_NOT;
	}
}

/* The next number that no child has, from `fd` on; FD_WINDOW: there is none. */
static int
next_slot(const struct spawner *spawner, int fd)
{
	while (fd < FD_WINDOW && (!spawner->is_slot[fd] || spawner->is_taken[fd]))
		fd++;
	return fd;
}

/*
 * Put what the child needs into the window, above the numbers it will have.  The child
 * renames them once the table is its own.  false: the window is too small; the child
 * copies all of the table.
 */
bool
spawn_window_stage(struct spawner *spawner, struct spawn_place *place)
{
	struct spawn_child *child = &place->child;
	const struct spawn *spawn = child->spawn;
	int slot = (int)spawn->n_fds;

	memset(place->stage, STAGE_NOT, spawn->n_fds);
	child->keep = slot;
	for (size_t i = 0; i < spawn->n_fds; i++) {
		child->from[i] = spawn->fds[i];
		if (spawn->fds[i] == (int)i || spawn->fds[i] == SPAWN_FD_CLOSED)
			continue;
		if (i > 0 && spawn->fds[i] == spawn->fds[i - 1] &&
		    child->from[i - 1] >= (int)spawn->n_fds) {
			child->from[i] = child->from[i - 1];
			continue;
		}
		slot = next_slot(spawner, slot);
		if (slot >= FD_WINDOW)
			return false;
		/* What was not asked for is there already: a slot is /dev/null. */
		if (spawn->fds[i] >= 0 && dup3(spawn->fds[i], slot, O_CLOEXEC) < 0)
			return false;
		child->from[i] = slot;
		place->stage[i] = spawn->fds[i] >= 0 ? STAGE_COPY : STAGE_NULL;
		spawner->is_taken[slot] = true;
		child->keep = ++slot;
	}
	return true;
}
