/* SPDX-License-Identifier: ISC */
/* exits.c - how the walker's children ended: a ring that outlives every guardian. */
#include "config.h"

#include "ledger/exits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "os/self/fd.h"

/* Two mappings, for the two sides may not write the same; a multiple of every page size.
 */
#define PART_BYTES  65536
#define EXITS_MAGIC UINT64_C(0x7375706465786974)

/* What the guardian writes. */
struct exits_reader {
	_Atomic uint64_t taken; /* records since ever */
	_Atomic uint64_t pulse; /* odd in a turn; 0: none was begun yet */
};

/* What the walker writes. */
struct exits_writer {
	uint64_t magic;
	uint32_t max, record_bytes;
	_Atomic uint64_t added;   /* records since ever */
	_Atomic uint64_t resting; /* odd: the guardian is to say that it wakes up */
	struct reap ring[EXITS_MAX];
};

#define FILE_BYTES ((off_t)(PART_BYTES + sizeof(struct exits_writer)))
#define SEALS      (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

_Static_assert(sizeof(struct exits_reader) <= PART_BYTES, "the parts do not overlap");
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "a lock would be held by the dead");

struct exits {
	int fd;
	struct exits_reader *reader;
	struct exits_writer *writer;
	uint64_t told; /* the value of `resting` for which the walker was told */
};

/* `writer`: how that part may be used, as in mmap(2).  Takes fd, also on failure. */
static struct exits *
map(int take_fd, int writer, struct err *err)
{
	struct exits *exits = calloc(1, sizeof(*exits));
	void *parts[2] = {MAP_FAILED, MAP_FAILED};

	if (exits != NULL) {
		parts[0] = mmap(NULL, sizeof(struct exits_reader), PROT_READ | PROT_WRITE,
		                MAP_SHARED, take_fd, 0);
		parts[1] = mmap(NULL, sizeof(struct exits_writer), writer, MAP_SHARED,
		                take_fd, PART_BYTES);
	}
	if (parts[0] == MAP_FAILED || parts[1] == MAP_FAILED) {
		err_set(err, errno, "map the record of ended processes");
		if (parts[0] != MAP_FAILED)
			(void)munmap(parts[0], sizeof(struct exits_reader));
		if (parts[1] != MAP_FAILED)
			(void)munmap(parts[1], sizeof(struct exits_writer));
		(void)close(take_fd);
		free(exits);
		return NULL;
	}
	*exits = (struct exits){.fd = take_fd, .reader = parts[0], .writer = parts[1]};
	return exits;
}

/*
 * The walker's side: a new ring, empty, all of its memory there already, so that no
 * write can fail later.  NULL with a sentence.
 */
struct exits *
exits_new(struct err *err)
{
	int fd = fd_raise(memfd_create("supd-exits", MFD_CLOEXEC | MFD_ALLOW_SEALING));

	if (fd < 0 || fallocate(fd, 0, 0, FILE_BYTES) < 0 ||
	    fcntl(fd, F_ADD_SEALS, SEALS) < 0) {
		err_set(err, errno, "make the record of ended processes");
		fd_close(&fd);
		return NULL;
	}
	struct exits *exits = map(fd, PROT_READ | PROT_WRITE, err);
	if (exits == NULL)
		return NULL;
	exits->writer->max = EXITS_MAX;
	exits->writer->record_bytes = sizeof(struct reap);
	exits->writer->magic = EXITS_MAGIC;
	return exits;
}

static bool
is_whole(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_size == FILE_BYTES &&
	       (fcntl(fd, F_GET_SEALS) & SEALS) == SEALS;
}

static struct exits *
reopen(int take_fd, int writer, struct err *err)
{
	if (!is_whole(take_fd)) {
		err_set(err, 0, "this is no record of ended processes");
		(void)close(take_fd);
		return NULL;
	}
	struct exits *exits = map(take_fd, writer, err);
	if (exits != NULL &&
	    (exits->writer->magic != EXITS_MAGIC || exits->writer->max != EXITS_MAX ||
	     exits->writer->record_bytes != sizeof(struct reap))) {
		err_set(err, 0, "the record of ended processes is of another version");
		exits_free(exits);
		return NULL;
	}
	return exits;
}

/*
 * Map the walker's side of the ring again, which it made before it executed itself.
 * Takes the descriptor, also when it fails.  NULL with a sentence.
 */
struct exits *
exits_resume(int take_fd, struct err *err)
{
	return reopen(take_fd, PROT_READ | PROT_WRITE, err);
}

/*
 * The guardian's side of a ring that the walker made; what its predecessor did not take
 * is there.  Takes the descriptor, also when it fails.  NULL with a sentence.
 */
struct exits *
exits_open(int take_fd, struct err *err)
{
	struct exits *exits = reopen(take_fd, PROT_READ, err);

	if (exits == NULL)
		return NULL;
	uint64_t added =
	    atomic_load_explicit(&exits->writer->added, memory_order_acquire);
	uint64_t taken =
	    atomic_load_explicit(&exits->reader->taken, memory_order_relaxed);
	/* A predecessor that wrote at random may have spoiled both counters. */
	if (added - taken > EXITS_MAX)
		atomic_store_explicit(&exits->reader->taken, added, memory_order_release);
	return exits;
}

/* Unmap and close; the records stay for other holders of the descriptor. */
void
exits_free(struct exits *exits)
{
	if (exits == NULL)
		return;
	(void)munmap(exits->reader, sizeof(*exits->reader));
	(void)munmap(exits->writer, sizeof(*exits->writer));
	(void)close(exits->fd);
	free(exits);
}

/* The descriptor, to be passed on; it stays ours. */
int
exits_fd(const struct exits *exits)
{
	return exits->fd;
}

/* Walker: true if there is no room for a record. */
bool
exits_is_full(const struct exits *exits)
{
	/* Acquire: what was taken has been read before it is overwritten. */
	return atomic_load_explicit(&exits->writer->added, memory_order_relaxed) -
	           atomic_load_explicit(&exits->reader->taken, memory_order_acquire) >=
	       EXITS_MAX;
}

/*
 * Walker: add a record.  It is there when this returns and not before, whatever happens
 * in between.  false when the ring is full: leave the child a zombie.
 */
bool
exits_add(struct exits *exits, const struct reap *reap)
{
	uint64_t added =
	    atomic_load_explicit(&exits->writer->added, memory_order_relaxed);

	if (exits_is_full(exits))
		return false;
	exits->writer->ring[added % EXITS_MAX] = *reap;
	atomic_store_explicit(&exits->writer->added, added + 1, memory_order_release);
	return true;
}

/* Guardian: the oldest record that was not taken; false when there is none. */
bool
exits_peek(const struct exits *exits, struct reap *ret)
{
	uint64_t taken =
	    atomic_load_explicit(&exits->reader->taken, memory_order_relaxed);

	if (taken == atomic_load_explicit(&exits->writer->added, memory_order_acquire))
		return false;
	*ret = exits->writer->ring[taken % EXITS_MAX];
	return true;
}

/*
 * Guardian: free the place of the record that exits_peek() gave, once the record is
 * written elsewhere.  A guardian that dies between the two steps sees the record again.
 */
void
exits_take(struct exits *exits)
{
	uint64_t taken =
	    atomic_load_explicit(&exits->reader->taken, memory_order_relaxed);

	ASSERT(taken !=
	       atomic_load_explicit(&exits->writer->added, memory_order_acquire));
	atomic_store_explicit(&exits->reader->taken, taken + 1, memory_order_release);
}

/* ---- the pulse --------------------------------------------------------------------- */

/* Walker: another guardian begins. */
void
exits_new_pulse(struct exits *exits)
{
	exits_rouse(exits);
	atomic_store(&exits->reader->pulse, 0);
}

/* Walker: true if the guardian sleeps between two turns; then it will say when it wakes
 * up. */
bool
exits_let_rest(struct exits *exits)
{
	const uint64_t pulse = atomic_load(&exits->reader->pulse);

	if (pulse == 0 || pulse % 2 != 0)
		return false;
	atomic_store(&exits->writer->resting, atomic_load(&exits->writer->resting) | 1);
	/* In this order, and the guardian in the other: one sees what the other wrote. */
	if (atomic_load(&exits->reader->pulse) == pulse)
		return true;
	exits_rouse(exits);
	return false;
}

/* Walker: the guardian need not say anything any more. */
void
exits_rouse(struct exits *exits)
{
	const uint64_t resting = atomic_load(&exits->writer->resting);

	atomic_store(&exits->writer->resting, resting + resting % 2);
}

/* Guardian: a turn begins.  True if the walker has to be told, before anything else that
 * may take long. */
bool
exits_wake(struct exits *exits)
{
	atomic_store(&exits->reader->pulse, atomic_load(&exits->reader->pulse) | 1);
	uint64_t resting = atomic_load(&exits->writer->resting);
	if (resting % 2 == 0 || resting == exits->told)
		return false;
	exits->told = resting;
	return true;
}

/* Guardian: the turn is over, unless none had begun. */
void
exits_sleep(struct exits *exits)
{
	const uint64_t pulse = atomic_load(&exits->reader->pulse);

	/* 0 is left for a guardian that has not turned. */
	atomic_store(&exits->reader->pulse, (pulse | 1) + 1);
}
