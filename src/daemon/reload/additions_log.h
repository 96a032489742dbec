/* SPDX-License-Identifier: ISC */
/* additions_log.h - the log of what was added at run time, in memory that the walker
 * keeps: from it a successor has the additions.
 */
#ifndef DAEMON_ADDITIONS_LOG_H
#define DAEMON_ADDITIONS_LOG_H

#include "base/err.h"
#include "daemon/reload/additions.h"

/* Before each frozen configuration. */
struct log_entry {
	uint64_t id;
	uint64_t bytes; /* of all, this included */
	uint64_t frozen;
	uint64_t sum; /* of what follows */
	uint32_t incarnations[CORE_ADDED_MAX];
};

/* Have room for so many more bytes: in another log, twice as large as what is in use, to
 * which those that are there move.  Nothing of the journal needs the old one any more.
 * -errno; -EDQUOT: there are too many. */
int additions_log_make_room(struct reloader *reloader, size_t more);

/* The entry of a configuration, with the next number; the caller frees it.  NULL and a
 * sentence: no memory. */
struct log_entry *additions_log_make(struct reloader *reloader, const struct conf *conf,
                                     struct err *err);

/* Put an entry down, for which there is room; returns its place. */
uint64_t additions_log_append(struct additions_log *log, const struct log_entry *entry);

/* Take the newest log that the walker kept: 1; 0: there is none; -errno and a sentence.
 */
int additions_log_adopt(struct reloader *reloader, struct err *err);

/* The place of the first entry, and where the last one ends. */
uint64_t additions_log_first(const struct additions *additions, uint64_t *ret_used);

/* The entry at this place of `used` bytes.  NULL and a sentence: it is damaged. */
const struct log_entry *additions_log_entry(const struct additions *additions,
                                            uint64_t at, uint64_t used, struct err *err);

/* Unmap the log of additions; the walker keeps its memory file. */
void additions_log_close(struct additions *additions);

#endif
