/* SPDX-License-Identifier: ISC */
/* reader_source.c - all that one actor said, from file to file. */
#include "config.h"

#include "logd/read/reader_source.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* How many numbers in a row may be missing: files are renamed one after the other. */
#define MISSES_MAX 3
/* How often a file that was renamed meanwhile is looked for again. */
#define TRIES_MAX 100
/* The clock of files is a little behind the one that lines are dated with. */
#define MTIME_SLACK_US 1000000

/* ---- files by their numbers -------------------------------------------------------- */

/* The name of file n; false: it is too long. */
static bool
name_of(const struct source *source, uint32_t n, bool packed, char buf[PATH_MAX])
{
	int len = n == 0 ? snprintf(buf, PATH_MAX, "%s", source->name)
	                 : snprintf(buf, PATH_MAX, "%s.%" PRIu32 "%s", source->name, n,
	                            packed ? ".gz" : "");

	return len > 0 && len < PATH_MAX;
}

/* True if a file with this number exists; ret and ret_packed say which. */
static bool
stat_number(const struct source *source, uint32_t n, struct stat *ret, bool *ret_packed)
{
	char name[PATH_MAX];

	*ret_packed = false;
	if (name_of(source, n, false, name) && stat(name, ret) == 0)
		return true;
	*ret_packed = true;
	return n > 0 && name_of(source, n, true, name) && stat(name, ret) == 0;
}

/* The next existing file, n or an older number; false: no more files. */
static bool
next_number(const struct source *source, uint32_t *n, struct stat *ret, bool *ret_packed)
{
	for (uint32_t misses = 0; misses < MISSES_MAX; misses++, (*n)++) {
		if (*n > 0 && source->format == READER_FOREIGN)
			return false;
		if (stat_number(source, *n, ret, ret_packed))
			return true;
	}
	return false;
}

/* Open file n at its beginning; -ENOENT if no file has that number. */
static int
open_number(const struct source *source, uint32_t n, struct reader_file *file)
{
	char name[PATH_MAX];
	int r = -ENOENT;

	reader_file_close(file);
	if (name_of(source, n, false, name))
		r = reader_file_open(file, name, false, source->owner);
	if (r == -ENOENT && n > 0 && name_of(source, n, true, name))
		r = reader_file_open(file, name, true, source->owner);
	if (r == 0)
		reader_file_find_mark(file);
	return r;
}

/* Open the oldest file that was written at `since_us` or later; 0 if there is one. */
static int
open_oldest(struct source *source, uint64_t since_us)
{
	unsigned int tries = 0;
	uint32_t found;
	ino_t inode;
	int r;

	do {
		struct stat st;
		bool packed;

		found = UINT32_MAX;
		inode = 0;
		for (uint32_t n = 0; next_number(source, &n, &st, &packed); n++) {
			if ((uint64_t)st.st_mtime * 1000000 + MTIME_SLACK_US < since_us)
				break;
			found = n;
			inode = st.st_ino;
		}
		if (found == UINT32_MAX)
			return -ENOENT;
		r = open_number(source, found, &source->file);
		/* It may have another number by now. */
	} while (++tries < TRIES_MAX &&
	         (r == -ENOENT || (r == 0 && source->file.inode != inode)));
	return r;
}

/* ---- where to begin ---------------------------------------------------------------- */

static int
begin_at_end(struct source *source)
{
	struct stat st;
	uint32_t n = 0;
	bool packed;
	int r = -ENOENT;

	if (next_number(source, &n, &st, &packed))
		r = open_number(source, n, &source->file);
	return r == 0 ? reader_file_seek_end(&source->file) : r;
}

/* Take lines that are not wanted. */
static int
skip_lines(struct source *source, uint64_t n)
{
	struct reader_file *file = &source->file;
	const char *text;
	size_t len;
	int r = 1;

	for (; n > 0 && r > 0; n--) {
		r = reader_file_next(file, &text, &len);
		if (r > 0)
			reader_file_take(file,
			                 len < file->len - file->start ? len + 1 : len);
	}
	return r < 0 ? r : 0;
}

/* The last so many lines, of as many files as they are in. */
static int
begin_at_tail(struct source *source, uint64_t lines, uint64_t since_us)
{
	struct stat st;
	uint64_t left = lines, found = 0;
	bool packed;

	for (uint32_t n = 0; next_number(source, &n, &st, &packed); n++) {
		if ((uint64_t)st.st_mtime * 1000000 + MTIME_SLACK_US < since_us)
			break;
		int r = open_number(source, n, &source->file);
		if (r == 0)
			r = reader_file_seek_tail(&source->file, left, &found);
		if (r == -ENOENT)
			continue;
		if (r < 0 || (found >= left && !packed))
			return r;
		if (found >= left) {
			r = open_number(source, n, &source->file);
			return r == 0 ? skip_lines(source, found - left) : r;
		}
		left -= found;
	}
	/* Fewer than that: everything. */
	return open_oldest(source, since_us);
}

struct position {
	uint64_t inode, mark, offset;
};

static bool
parse_position(const char *text, struct position *ret)
{
	int len = -1;

	return sscanf(text, "%" SCNx64 ".%" SCNx64 ".%" SCNu64 "%n", &ret->inode,
	              &ret->mark, &ret->offset, &len) == 3 &&
	       len >= 0 && text[len] == '\0' && ret->offset <= INT64_MAX;
}

static bool
is_at(const struct source *source, const struct position *position, bool by_mark)
{
	const struct reader_file *file = &source->file;

	if (by_mark)
		return position->mark != 0 && file->mark == position->mark;
	return file->inode == position->inode &&
	       (position->mark == 0 || file->mark == position->mark);
}

/* Open the file of a position, which may have been renamed or packed since. */
static int
find_position(struct source *source, const struct position *position, bool by_mark)
{
	struct stat st;
	bool packed;

	for (uint32_t n = 0; next_number(source, &n, &st, &packed); n++) {
		if (!by_mark && st.st_ino != position->inode)
			continue;
		int r = open_number(source, n, &source->file);
		if (r < 0 && r != -ENOENT)
			return r;
		if (r == 0 && is_at(source, position, by_mark))
			return 0;
	}
	return -ENOENT;
}

/* Where another call left off.  If that file is gone everything that is there is new. */
static int
begin_at_position(struct source *source)
{
	struct position position;

	if (strcmp(source->position, READER_END) == 0)
		return begin_at_end(source);
	if (!parse_position(source->position, &position))
		return -EBADMSG;
	int r = find_position(source, &position, false);
	if (r == -ENOENT)
		r = find_position(source, &position, true);
	if (r == -ENOENT)
		return open_oldest(source, 0);
	return r == 0 ? reader_file_seek(&source->file, position.offset) : r;
}

/* The last lines or all of them, of files that were written since then. */
static int
begin_in_past(struct source *source, const struct source_start *start)
{
	source->skipping = start->since != NULL && source->format != READER_PLAIN &&
	                   source->format != READER_FOREIGN;
	/* If all files are older, reading begins with the lines to come.  So the end is
	 * noted before the files are looked at: a line, or the first file, may come
	 * meanwhile. */
	if (start->since != NULL)
		(void)begin_at_end(source);
	struct reader_file end = source->file;
	reader_file_init(&source->file);
	int r = start->lines > 0
	            ? begin_at_tail(source, (uint64_t)start->lines, start->since_us)
	            : open_oldest(source, start->since_us);
	if (r == -ENOENT && end.fd >= 0) {
		source->file = end;
		return 0;
	}
	reader_file_done(&end);
	return r;
}

/* Find the beginning; that nothing was logged yet is not an error. */
int
source_begin(struct source *source, const struct source_start *start)
{
	int r;

	source->skipping = false;
	if (source->position[0] != '\0')
		r = begin_at_position(source);
	else if (start->lines == 0)
		r = begin_at_end(source);
	else
		r = begin_in_past(source, start);
	if (r < 0)
		reader_file_close(&source->file);
	return r == -ENOENT ? 0 : r;
}

/* ---- from file to file ------------------------------------------------------------- */

/* The number that the open file has now; 0: it is gone. */
static uint32_t
find_own_number(const struct source *source)
{
	struct reader_file other;
	struct stat st;
	bool packed;
	uint32_t found = 0;

	for (uint32_t n = 1; next_number(source, &n, &st, &packed); n++)
		if (st.st_ino == source->file.inode)
			return n;
	if (source->file.mark == 0)
		return 0;
	/* Packed while we read it? */
	reader_file_init(&other);
	for (uint32_t n = 1; found == 0 && next_number(source, &n, &st, &packed); n++) {
		if (packed && open_number(source, n, &other) == 0 &&
		    other.mark == source->file.mark)
			found = n;
	}
	reader_file_done(&other);
	return found;
}

/*
 * Open the next file after number n; -ENOENT if there is none yet.  While files get other
 * numbers one is missing in the midst of them, and another a moment later: what was
 * passed over must be missing still when the next one is open, or all is looked at again.
 */
static int
open_newer(const struct source *source, uint32_t n, struct reader_file *file)
{
	uint32_t at = n;
	int r = -ENOENT;

	while (at > 0 && r == -ENOENT) {
		r = open_number(source, --at, file);
		for (uint32_t passed = at + 1; passed < n && r == 0; passed++) {
			struct stat st;
			bool packed;

			if (stat_number(source, passed, &st, &packed))
				r = -EAGAIN;
		}
	}
	return r;
}

/* Read on in another file. */
static void
change_file(struct source *source, struct reader_file *take_file)
{
	reader_file_done(&source->file);
	source->file = *take_file;
}

/* To the next newer file; 1, or 0 if there is none yet. */
static int
open_next_file(struct source *source)
{
	struct reader_file next;
	uint32_t n;
	int r;

	if (source->file.fd < 0) {
		r = open_oldest(source, 0);
		if (r == -ENOENT)
			return 0;
		return r == 0 ? 1 : r;
	}
	reader_file_init(&next);
	reader_file_find_mark(&source->file);
	do {
		/* Renamed meanwhile: what was opened may be one too far. */
		n = source->format == READER_FOREIGN ? 1 : find_own_number(source);
		r = n == 0 ? -ESTALE : open_newer(source, n, &next);
	} while (r == -EAGAIN || (r == 0 && source->format != READER_FOREIGN &&
	                          find_own_number(source) != n));
	if (r == 0) {
		change_file(source, &next);
		return 1;
	}
	reader_file_done(&next);
	/* It was removed: the oldest that is left is the next. */
	if (r == -ESTALE)
		r = open_oldest(source, 0) == 0 ? 1 : -ENOENT;
	return r == -ENOENT ? 0 : r;
}

/*
 * The file became shorter.  Either the log process takes back what it wrote and writes
 * the same again, which changes nothing but times; or the file was emptied by hand, and
 * reading begins anew: 1.
 */
static int
check_shorter(struct source *source, const struct stat *st)
{
	struct reader_file *file = &source->file;
	uint64_t mark = file->mark;
	uint64_t words = file->words;

	if ((uint64_t)st->st_size >= file->offset + (file->len - file->start))
		return 0;
	file->mark = 0;
	reader_file_find_mark(file);
	if (file->mark != 0 && file->words != words)
		return reader_file_seek(file, 0) == 0 ? 1 : -EIO;
	if (file->mark == 0)
		file->mark = mark;
	file->words = words;
	return reader_file_seek(file, file->offset);
}

/* At the end of the file: true if it is the newest. */
static bool
is_newest(const struct source *source, struct stat *ret)
{
	return source->file.fd >= 0 && !source->file.is_packed &&
	       stat(source->name, ret) == 0 && ret->st_ino == source->file.inode;
}

/* The next line, wherever it is: 1, 0, -errno. */
static int
next_line(struct source *source, bool follow, const char **text, size_t *len)
{
	struct reader_file *file = &source->file;

	for (;;) {
		struct stat st;
		int r = file->fd < 0 ? 0 : reader_file_next(file, text, len);

		if (r != 0)
			return r;
		if (is_newest(source, &st)) {
			*len = follow ? 0 : reader_file_rest(file, text);
			if (*len > 0)
				return 1;
			r = check_shorter(source, &st);
			if (r <= 0)
				return r;
			continue;
		}
		/* The lines written up to the renaming. */
		r = file->fd < 0 ? 0 : reader_file_next(file, text, len);
		if (r != 0)
			return r;
		*len = file->fd < 0 ? 0 : reader_file_rest(file, text);
		if (*len > 0)
			return 1;
		r = open_next_file(source);
		if (r <= 0)
			return r;
	}
}

/* True if neither this line nor one before it is as new as `since`. */
static bool
is_skipped(struct source *source, const char *since)
{
	if (source->skipping && source->head.time != NULL &&
	    memcmp(source->head.time, since, READER_TIME_LEN) >= 0)
		source->skipping = false;
	return source->skipping;
}

/* Have the next line in `head`: 1; 0 if there is none, or none yet; -errno. */
int
source_peek(struct source *source, const char *since, bool follow)
{
	while (!source->has_head) {
		struct reader_file *file = &source->file;
		const char *text;
		size_t len;
		int r = next_line(source, follow, &text, &len);

		if (r <= 0)
			return r;
		source->head_bytes = len < file->len - file->start ? len + 1 : len;
		reader_line_parse(&source->head, source->format, text, len);
		source->has_head = !is_skipped(source, since);
		if (!source->has_head)
			reader_file_take(file, source->head_bytes);
	}
	return 1;
}

/* The line in `head` is done with; it stays readable until the next source_peek(). */
void
source_take(struct source *source)
{
	if (source->head.time != NULL)
		memcpy(source->time, source->head.time, READER_TIME_LEN);
	reader_file_take(&source->file, source->head_bytes);
	source->has_head = false;
}

/* The place behind what was taken, for a later source_begin(). */
void
source_position(struct source *source, char buf[SOURCE_POSITION_MAX])
{
	struct reader_file *file = &source->file;

	if (file->fd >= 0)
		reader_file_find_mark(file);
	(void)snprintf(buf, SOURCE_POSITION_MAX, "%" PRIx64 ".%" PRIx64 ".%" PRIu64,
	               file->inode, file->mark, file->offset);
}
