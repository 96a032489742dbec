/* SPDX-License-Identifier: ISC */
/* rotate.c - log files that were set aside: FILE.1 is the newest, FILE.2 or FILE.2.gz...
 *
 * Setting one aside is a row of renames from the oldest to the newest.  Killed between
 * two of them it leaves a number free, into which the next one moves what is before it:
 * so nothing is undone, and no file is lost or replaced.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "logd/write/sink.h"
#include "os/self/clock.h"

/* Numbers beyond this are never looked at. */
#define NUMBERS_MAX 100000
/* How many free numbers in a row are looked past: deaths leave one or two, people perhaps
 * more.
 */
#define FREE_MAX 100

/* The name of a file that was set aside; false where it would be too long. */
static bool
name_of(const struct sink *sink, unsigned int number, bool packed, char ret[PATH_MAX])
{
	int n =
	    snprintf(ret, PATH_MAX, "%s.%u%s", sink->path, number, packed ? ".gz" : "");

	return n > 0 && n < PATH_MAX;
}

/*
 * True if a file has this number.  If two have it, the second is the compressed copy of
 * the first and has its time to the nanosecond: then the copy is complete, and the plain
 * file is removed.  A compressed file with another time was put in place by a process
 * that was killed, when its number belonged to another file already: that file still
 * exists under its new number.
 */
static bool
exists(const struct sink *sink, unsigned int number, char ret_name[PATH_MAX],
       struct stat *ret)
{
	char packed[PATH_MAX];
	struct stat st;

	if (!name_of(sink, number, true, packed) ||
	    !name_of(sink, number, false, ret_name))
		return false;
	if (lstat(packed, &st) < 0)
		return lstat(ret_name, ret) == 0;
	if (lstat(ret_name, ret) == 0) {
		const bool is_same = st.st_mtim.tv_sec == ret->st_mtim.tv_sec &&
		                     st.st_mtim.tv_nsec == ret->st_mtim.tv_nsec;

		(void)unlink(is_same ? ret_name : packed);
		if (!is_same)
			return true;
	}
	(void)snprintf(ret_name, PATH_MAX, "%s", packed);
	*ret = st;
	return true;
}

/* How large a file of this log may become; UINT64_MAX: without limit. */
uint64_t
sink_limit(const struct sink *sink)
{
	uint64_t limit = sink->log.max_size > 0 ? sink->log.max_size : UINT64_MAX;

	if (sink->log.total > 0 && sink->log.total < limit)
		limit = sink->log.total;
	return limit;
}

/* Move what has `number` one further, compressed or not.  0 or -errno. */
static int
move_up(const struct sink *sink, unsigned int number)
{
	char from[PATH_MAX], to[PATH_MAX];

	for (int packed = 0; packed <= 1; packed++) {
		if (!name_of(sink, number, packed, from) ||
		    !name_of(sink, number + 1, packed, to))
			return -ENAMETOOLONG;
		if (rename(from, to) < 0 && errno != ENOENT)
			return -errno;
	}
	return 0;
}

/*
 * Set the file aside; the next sink_open() makes a new one.
 *
 * Returns 0; -EBUSY while the last one that was set aside is being compressed; another
 * -errno where it cannot be done: the file goes on then.
 */
int
sink_rotate(struct sink *sink)
{
	unsigned int gap = 1;
	char name[PATH_MAX];
	struct stat st;

	if (sink->packer > 0)
		return -EBUSY;
	while (gap <= sink->log.keep && exists(sink, gap, name, &st))
		gap++;
	if (gap > sink->log.keep && sink->log.keep > 0) {
		gap = sink->log.keep;
		if (exists(sink, gap, name, &st) && unlink(name) < 0)
			return -errno;
	}
	for (unsigned int i = gap - 1; i >= 1 && sink->log.keep > 0; i--) {
		int r = move_up(sink, i);

		if (r < 0)
			return r;
	}
	if (sink->log.keep == 0) {
		if (unlink(sink->path) < 0)
			return -errno;
	} else {
		if (!name_of(sink, 1, false, name))
			return -ENAMETOOLONG;
		if (rename(sink->path, name) < 0)
			return -errno;
	}
	sink_close(sink);
	sink_tidy(sink);
	sink->pack_due = true;
	return 0;
}

/* Remove what is too old, too much or too many of what was set aside. */
void
sink_tidy(struct sink *sink)
{
	const uint64_t now_s = clock_wall_us() / 1000000;
	const uint64_t limit = sink_limit(sink);
	uint64_t sum = limit == UINT64_MAX ? 0 : limit;
	unsigned int n_free = 0;
	char name[PATH_MAX];
	struct stat st;

	sink->aged_ms = clock_mono_ms();
	if (sink->packer > 0)
		return;
	for (unsigned int i = 1; i < NUMBERS_MAX; i++) {
		if (!exists(sink, i, name, &st)) {
			if (i > sink->log.keep || ++n_free == FREE_MAX)
				return;
			continue;
		}
		n_free = 0;
		sum += (uint64_t)st.st_size;
		bool is_old = sink->log.max_age_ms > 0 &&
		              (uint64_t)st.st_mtime + sink->log.max_age_ms / 1000 < now_s;
		/* What cannot be removed stays; the next time it may be possible. */
		if (i > sink->log.keep || is_old ||
		    (sink->log.total > 0 && sum > sink->log.total))
			(void)unlink(name);
	}
}
