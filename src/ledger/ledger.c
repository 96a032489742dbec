/* SPDX-License-Identifier: ISC */
/* ledger.c - the memory that survives: made, sealed, mapped, and looked at when found. */
#include "config.h"

#include "ledger/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/sum.h"
#include "ledger/layout.h"
#include "os/self/fd.h"

/* So much memory is taken at once: some milliseconds. */
#define TAKE_BYTES ((size_t)8 << 20)

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static uint64_t
header_sum(const struct header *header)
{
	return sum_bytes(header, offsetof(struct header, sum), LEDGER_MAGIC);
}

/* A memfd with its size for good. */
static int
make_memory(size_t bytes, struct err *err)
{
	int fd = fd_raise(memfd_create("supd-ledger", MFD_CLOEXEC | MFD_ALLOW_SEALING));

	if (fd < 0) {
		err_set(err, errno, "make the ledger");
		return -1;
	}
	if (ftruncate(fd, (off_t)bytes) < 0 || fcntl(fd, F_ADD_SEALS, SEALS) < 0) {
		err_set(err, errno, "memory for a ledger of %zu KiB", bytes / 1024);
		fd_close(&fd);
	}
	return fd;
}

/* A ledger around fd, mapped, and fd is its own; NULL: fd is closed. */
static struct ledger *
map_memory(int take_fd, size_t bytes, struct err *err)
{
	struct ledger *ledger = calloc(1, sizeof(*ledger));

	if (ledger == NULL) {
		err_set(err, ENOMEM, "ledger");
		(void)close(take_fd);
		return NULL;
	}
	ledger->fd = take_fd;
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, take_fd, 0);
	if (memory == MAP_FAILED) {
		err_set(err, errno, "map the ledger of %zu KiB", bytes / 1024);
		ledger_free(ledger);
		return NULL;
	}
	ledger->header = memory;
	ledger->bytes = bytes;
	return ledger;
}

/*
 * Map the pages from here to there that are written before long: both copies of the core,
 * as far as that is known, and the records.  At once it takes a third of the time of a
 * fault for each; where it fails they fault.
 */
static void
touch(const struct ledger *ledger, size_t from, size_t behind)
{
	const struct layout *layout = &ledger->layout;
	const size_t areas[][2] = {
	    {layout->records, layout->tasks},
	    {layout->cores[0], layout->cores[0] + ledger->core_sure},
	    {layout->cores[1], layout->cores[1] + ledger->core_sure},
	};

	for (size_t i = 0; i < sizeof(areas) / sizeof(areas[0]); i++) {
		size_t first = areas[i][0] > from ? areas[i][0] : from;
		const size_t end = areas[i][1] < behind ? areas[i][1] : behind;

		first -= first % (size_t)sysconf(_SC_PAGESIZE);
		if (first < end)
			(void)madvise(ledger_at(ledger, first), end - first,
			              MADV_POPULATE_WRITE);
	}
}

/* Take the memory of the next part of a new ledger, before which it is not to be used:
 * no store can fail later.  1: there is more to be taken; 0; -errno and a sentence. */
int
ledger_take(struct ledger *ledger, struct err *err)
{
	const size_t from = ledger->taken, left = ledger->bytes - from,
	             bytes = left < TAKE_BYTES ? left : TAKE_BYTES;
	int r;

	if (left == 0)
		return 0;
	do
		r = fallocate(ledger->fd, 0, (off_t)from, (off_t)bytes);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return err_set(err, errno, "memory for a ledger of %zu KiB",
		               ledger->bytes / 1024);
	ledger->taken += bytes;
	touch(ledger, from, ledger->taken);
	return ledger->taken < ledger->bytes;
}

/*
 * A new, empty ledger, with the first part of its memory: the others are for
 * ledger_take(), as with many actors each takes some milliseconds.
 *
 * NULL: there is not enough memory or no descriptor, and the sentence says so.
 */
struct ledger *
ledger_begin(const struct ledger_size *size, struct err *err)
{
	struct layout layout;

	layout_of(size, &layout);
	int fd = make_memory(layout.bytes, err);
	if (fd < 0)
		return NULL;
	struct ledger *ledger = map_memory(fd, layout.bytes, err);
	if (ledger == NULL)
		return NULL;
	ledger->layout = layout;
	ledger->core_sure = size->core_sure;
	int r = ledger_take(ledger, err);
	if (r >= 0 && map_reserve(&ledger->past, LEDGER_PAST_MAX) < 0)
		r = err_set(err, ENOMEM, "index of the ledger");
	if (r < 0) {
		ledger_free(ledger);
		return NULL;
	}
	*ledger->header = (struct header){
	    .magic = LEDGER_MAGIC,
	    .version = LEDGER_VERSION,
	    .slots = size->slots,
	    .shape = layout_shape(),
	    .bytes = layout.bytes,
	    .core_bytes = size->core_bytes,
	    .events_bytes = size->events_bytes,
	    .journal = size->journal,
	};
	ledger->header->sum = header_sum(ledger->header);
	return ledger;
}

/* The ledger of ledger_begin(), or NULL: with all of its memory.  NULL: there is not
 * enough, the ledger is freed, and the sentence says so. */
struct ledger *
ledger_complete(struct ledger *take_ledger, struct err *err)
{
	int r = take_ledger != NULL;

	while (r > 0)
		r = ledger_take(take_ledger, err);
	if (r == 0)
		return take_ledger;
	ledger_free(take_ledger);
	return NULL;
}

/*
 * A new, empty ledger, with all of its memory, whatever of it will be used.  It counts
 * once the core was put at ledger_core() and ledger_checkpoint() was called.  NULL as
 * ledger_begin().
 */
struct ledger *
ledger_new(const struct ledger_size *size, struct err *err)
{
	return ledger_complete(ledger_begin(size, err), err);
}

/* How large the memory behind fd is; 0: it is none that could be mapped without danger.
 */
static size_t
memory_bytes(int fd, struct err *err)
{
	const int needed = F_SEAL_SHRINK | F_SEAL_GROW;
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	if (seals < 0 || (seals & needed) != needed || fstat(fd, &st) < 0) {
		err_set(err, 0, "the ledger is not a sealed memfd");
		return 0;
	}
	if (st.st_size < (off_t)sizeof(struct header)) {
		err_set(err, 0, "the ledger has %jd bytes only", (intmax_t)st.st_size);
		return 0;
	}
	return (size_t)st.st_size;
}

/* True if this is a ledger, of a version that this supd reads. */
static bool
check_header(const struct header *header, size_t bytes, struct err *err)
{
	if (header->magic != LEDGER_MAGIC)
		err_set(err, 0, "this is not a ledger");
	else if (header->version != LEDGER_VERSION)
		err_set(err, 0,
		        "the ledger is of version %" PRIu32
		        ", this supd reads %d: stop supd with its actors, and start "
		        "it anew",
		        header->version, LEDGER_VERSION);
	else if (header->sum != header_sum(header))
		err_set(err, 0, "the ledger's header is damaged: wrong checksum");
	else if (header->shape != layout_shape())
		err_set(err, 0,
		        "the ledger was written by a supd that was built otherwise");
	else if (header->bytes != bytes)
		err_set(err, 0, "the ledger has %zu bytes instead of %" PRIu64, bytes,
		        header->bytes);
	else if (atomic_load(&header->commit) == 0)
		err_set(err, 0, "the ledger was never completed");
	else
		return true;
	return false;
}

/*
 * The ledger of another process, in fd, which is the ledger's from now on, or closed.
 * Changes nothing in it: its guardian may run, and write to it.
 *
 * NULL: it cannot be read by this supd, and the sentence says why.  What is in it is
 * looked at when it is asked for: see ledger_restore(), ledger_read().
 */
struct ledger *
ledger_open(int take_fd, struct err *err)
{
	int fd = fd_raise(take_fd);
	size_t bytes = memory_bytes(fd, err);
	struct ledger_size size;

	if (bytes == 0) {
		(void)close(fd);
		return NULL;
	}
	struct ledger *ledger = map_memory(fd, bytes, err);
	if (ledger == NULL)
		return NULL;
	if (check_header(ledger->header, bytes, err)) {
		ledger_size(ledger, &size);
		layout_of(&size, &ledger->layout);
		if (ledger->layout.bytes != bytes)
			err_set(err, 0, "the ledger's parts do not have its %zu bytes",
			        bytes);
		else if (past_index(ledger) < 0)
			err_set(err, ENOMEM, "index of the ledger");
		else
			return ledger;
	}
	ledger_free(ledger);
	return NULL;
}

/* Unmap and close; the content stays for other holders of the descriptor. */
void
ledger_free(struct ledger *ledger)
{
	if (ledger == NULL)
		return;
	if (ledger->header != NULL)
		(void)munmap(ledger->header, ledger->bytes);
	fd_close(&ledger->fd);
	map_done(&ledger->past);
	free(ledger);
}

/* The descriptor, to be handed on; it stays the ledger's. */
int
ledger_fd(const struct ledger *ledger)
{
	return ledger->fd;
}

/* How large it was made. */
void
ledger_size(const struct ledger *ledger, struct ledger_size *ret)
{
	*ret = (struct ledger_size){
	    .slots = ledger->header->slots,
	    .journal = ledger->header->journal,
	    .core_bytes = ledger->header->core_bytes,
	    .events_bytes = ledger->header->events_bytes,
	};
}

/* Memory of the ring of events, events_bytes of it; zero at first. */
void *
ledger_events(const struct ledger *ledger)
{
	return ledger_at(ledger, ledger->layout.events);
}

/* Memory of the commands that were accepted, LEDGER_TOKENS_BYTES; zero at first. */
void *
ledger_tokens(const struct ledger *ledger)
{
	return ledger_at(ledger, ledger->layout.tokens);
}

/* Pages that were never used are holes to the kernel, though their memory was taken:
 * they are not looked at, which would fault for each of them, and not used here either.
 */
static void
copy_area(struct ledger *ledger, size_t to, const struct ledger *old, size_t from,
          size_t bytes)
{
	const size_t end = from + bytes;
	off_t data = lseek(old->fd, (off_t)from, SEEK_DATA), hole;

	for (; data >= 0 && (size_t)data < end; data = lseek(old->fd, hole, SEEK_DATA)) {
		const size_t at = (size_t)data;

		hole = lseek(old->fd, data, SEEK_HOLE);
		memcpy(ledger_at(ledger, to + at - from), ledger_at(old, at),
		       ((size_t)hole < end ? (size_t)hole : end) - at);
	}
}

/*
 * Everything of another ledger but its core, its journal, and the records of its slots,
 * which the guardian knows, to a new one that has at least as many slots and as much
 * memory for events; before its core is put into it.
 * Checkpoints are numbered on: what is copied names some of the old ones, and must not
 * mean one of the new ones.
 */
void
ledger_copy(struct ledger *ledger, const struct ledger *old)
{
	const struct layout *to = &ledger->layout, *from = &old->layout;
	size_t slots = old->header->slots;

	ASSERT(ledger->header->slots >= slots);
	ASSERT(ledger->header->events_bytes >= old->header->events_bytes);
	copy_area(ledger, to->facts, old, from->facts, sizeof(struct ledger_facts));
	copy_area(ledger, to->tasks, old, from->tasks,
	          LEDGER_TASKS_MAX * sizeof(struct ledger_task));
	copy_area(ledger, to->statuses, old, from->statuses, slots * LEDGER_STATUS_MAX);
	copy_area(ledger, to->past, old, from->past, sizeof(struct past_ring));
	copy_area(ledger, to->events, old, from->events, old->header->events_bytes);
	copy_area(ledger, to->tokens, old, from->tokens, LEDGER_TOKENS_BYTES);
	memcpy(ledger->header->spawns, old->header->spawns, sizeof(old->header->spawns));
	journal_number_on(ledger, old);
	/* Its memory was taken when the ledger was made. */
	if (old->past.n > 0)
		(void)past_index(ledger);
}
