/* SPDX-License-Identifier: ISC */
/* additions_log.c - the log of what was added at run time, in memory that the walker
 * keeps.
 */
#include "config.h"

#include "daemon/reload/additions_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/cleanup.h"
#include "base/sum.h"
#include "conf/text/conf.h"
#include "daemon/reload/reload.h"
#include "daemon/state/actors.h"
#include "daemon/state/engine.h"
#include "daemon/state/keeper.h"
#include "daemon/state/post.h"
#include "daemon/state/recording.h"
#include "ledger/handover.h"
#include "ledger/ledger.h"
#include "ledger/link.h"
#include "os/self/fd.h"

#define LOG_MAGIC     UINT64_C(0x646e656464617573)
#define LOG_BYTES_MIN (128 * 1024)
#define LOG_ALIGN     8

/* The memory that the walker keeps; the entries follow. */
struct additions_log {
	uint64_t magic;
	uint64_t bytes;        /* of all, this included */
	_Atomic uint64_t used; /* of all: what is behind was never finished */
};

static size_t
aligned(size_t bytes)
{
	return (bytes + LOG_ALIGN - 1) / LOG_ALIGN * LOG_ALIGN;
}

static struct log_entry *
entry_at(const struct additions *additions, uint64_t at)
{
	return (struct log_entry *)((char *)additions->log + at);
}

static uint64_t
entry_sum(const struct log_entry *entry)
{
	return sum_bytes(entry->incarnations,
	                 entry->bytes - offsetof(struct log_entry, incarnations),
	                 entry->id);
}

void
additions_log_close(struct additions *additions)
{
	if (additions->log != NULL)
		(void)munmap(additions->log, additions->log->bytes);
	additions->log = NULL;
	fd_close(&additions->log_fd);
}

static int
log_map(int fd, size_t bytes, struct additions_log **ret)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (memory == MAP_FAILED)
		return -errno;
	*ret = memory;
	return 0;
}

/* Zeroed memory of that size, allocated in full. */
static int
log_new(size_t bytes, int *ret_fd, struct additions_log **ret)
{
	int fd = memfd_create("supd-additions", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct additions_log *log = NULL;

	if (fd < 0)
		return -errno;
	int r = -posix_fallocate(fd, 0, (off_t)bytes);
	if (r == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0)
		r = -errno;
	if (r == 0)
		r = log_map(fd, bytes, &log);
	if (log == NULL) {
		(void)close(fd);
		return r;
	}
	log->magic = LOG_MAGIC;
	log->bytes = bytes;
	atomic_store(&log->used, aligned(sizeof(*log)));
	*ret = log;
	*ret_fd = fd;
	return 0;
}

uint64_t
additions_log_append(struct additions_log *log, const struct log_entry *entry)
{
	uint64_t at = atomic_load(&log->used);

	ASSERT(at + entry->bytes <= log->bytes);
	memcpy((char *)log + at, entry, entry->bytes);
	atomic_store_explicit(&log->used, at + entry->bytes, memory_order_release);
	return at;
}

static size_t
log_room(const struct additions *additions)
{
	const struct additions_log *log = additions->log;

	return log == NULL ? 0 : log->bytes - atomic_load(&log->used);
}

int
additions_log_make_room(struct reloader *reloader, size_t more)
{
	struct additions *additions = reloader->additions;
	size_t bytes =
	    aligned(sizeof(struct additions_log)) + 2 * (additions->live_bytes + more);
	struct additions_log *log = NULL;
	int fd = -1;

	if (log_room(additions) >= more)
		return 0;
	if (additions->live_bytes + more > ADDITIONS_BYTES_MAX)
		return -EDQUOT;
	int r = log_new(bytes < LOG_BYTES_MIN ? LOG_BYTES_MIN : bytes, &fd, &log);
	if (r < 0)
		return r;
	post_checkpoint(reloader->post);
	for (uint32_t i = 0; i < additions->n; i++)
		additions->at[i]->at =
		    additions_log_append(log, entry_at(additions, additions->at[i]->at));
	keeper_keep(reloader->keeper,
	            VAULT_KEY(VAULT_ADDITIONS, additions->generation + 1), fd);
	if (additions->log != NULL)
		keeper_release(reloader->keeper,
		               VAULT_KEY(VAULT_ADDITIONS, additions->generation));
	additions->generation++;
	additions_log_close(additions);
	additions->log = log;
	additions->log_fd = fd;
	return 0;
}

/* How many of each name there will have been. */
static void
set_incarnations(const struct reloader *reloader, const struct conf *conf,
                 struct log_entry *entry)
{
	for (uint32_t i = 0; i < conf->n_actors; i++) {
		const char *path = conf->actors[i].path;
		struct ref predecessor = actors_find(reloader->actors, path);
		uint32_t incarnation = ledger_past(reloader->recording->ledger, path);

		if (predecessor.slot != REF_NONE.slot)
			incarnation =
			    core_incarnation(reloader->engine->core, predecessor);
		entry->incarnations[i] = incarnation + 1;
	}
}

struct log_entry *
additions_log_make(struct reloader *reloader, const struct conf *conf, struct err *err)
{
	size_t frozen;
	CLEANUP_FREE void *block = NULL;

	if (conf_pack_block(conf, &block, &frozen, err) < 0)
		return NULL;
	struct log_entry *entry =
	    err_calloc(aligned(sizeof(*entry) + frozen), err, "an actor to be added");
	if (entry == NULL)
		return NULL;
	entry->id = reloader->additions->next_id++;
	entry->frozen = frozen;
	entry->bytes = aligned(sizeof(*entry) + frozen);
	set_incarnations(reloader, conf, entry);
	memcpy(entry + 1, block, frozen);
	entry->sum = entry_sum(entry);
	return entry;
}

const struct log_entry *
additions_log_entry(const struct additions *additions, uint64_t at, uint64_t used,
                    struct err *err)
{
	const struct log_entry *entry = entry_at(additions, at);

	if (used - at >= sizeof(*entry) && entry->bytes <= used - at &&
	    entry->bytes >= sizeof(*entry) &&
	    entry->frozen <= entry->bytes - sizeof(*entry) &&
	    entry->sum == entry_sum(entry))
		return entry;
	err_set(err, 0, "what was added at run time is damaged");
	return NULL;
}

uint64_t
additions_log_first(const struct additions *additions, uint64_t *ret_used)
{
	*ret_used = atomic_load(&additions->log->used);
	return aligned(sizeof(*additions->log));
}

/* Take the newest log that the walker kept, and drop all others. */
static int
take_log(struct reloader *reloader)
{
	const struct handover *handover = keeper_handover(reloader->keeper);
	uint64_t newest = 0;

	for (size_t i = 0; i < handover->n; i++)
		if (VAULT_KIND_OF(handover->vault[i].key) == VAULT_ADDITIONS &&
		    handover->vault[i].key > newest)
			newest = handover->vault[i].key;
	for (size_t i = 0; i < handover->n; i++)
		if (VAULT_KIND_OF(handover->vault[i].key) == VAULT_ADDITIONS &&
		    handover->vault[i].key != newest)
			keeper_release(reloader->keeper, handover->vault[i].key);
	if (newest == 0)
		return -1;
	reloader->additions->generation = newest & ~VAULT_KEY(0xff, 0);
	return keeper_take(reloader->keeper, newest);
}

int
additions_log_adopt(struct reloader *reloader, struct err *err)
{
	struct additions *additions = reloader->additions;
	struct stat stat_buf;
	int fd = take_log(reloader);

	if (fd < 0)
		return 0;
	additions->log_fd = fd;
	if (fstat(fd, &stat_buf) < 0 ||
	    stat_buf.st_size < (off_t)sizeof(struct additions_log))
		return err_say(err, -EBADMSG, "what was added at run time is not whole");
	int r = log_map(fd, (size_t)stat_buf.st_size, &additions->log);
	if (r < 0)
		return err_set(err, -r, "what was added at run time");
	if (additions->log->magic != LOG_MAGIC ||
	    additions->log->bytes != (uint64_t)stat_buf.st_size ||
	    atomic_load(&additions->log->used) > additions->log->bytes) {
		(void)munmap(additions->log, (size_t)stat_buf.st_size);
		additions->log = NULL;
		return err_say(err, -EBADMSG, "what was added at run time is damaged");
	}
	return 1;
}
