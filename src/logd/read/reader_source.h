/* SPDX-License-Identifier: ISC */
/* reader_source.h - all that one actor said, from file to file.
 *
 * FILE is the newest, FILE.1 the one before it, and so on; with .gz behind it when it is
 * packed.  They are renamed while they are read: where to go on is looked up by what a
 * file is, never by its number.
 */
#ifndef LOGD_READER_SOURCE_H
#define LOGD_READER_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "logd/read/reader_file.h"
#include "logd/read/reader_line.h"

/* "INODE.MARK.OFFSET" */
#define SOURCE_POSITION_MAX 64

struct source {
	const char *path; /* of the actor; texts are borrowed */
	const char *stream;
	const char *name; /* of the newest file */
	const char *position;
	enum reader_format format;
	/* the user that the file is read as, see reader_owner.h */
	const char *owner;
	const char *socket; /* journal: that of its entries; "": there is no journal */

	struct reader_file file;
	struct reader_line head; /* the next line, if has_head */
	size_t head_bytes;
	bool has_head;
	bool skipping;                  /* lines before `since` */
	char time[READER_TIME_LEN + 1]; /* time of the newest line that has a time */

	/* reader_watch.c */
	bool is_changed;  /* there may be something new */
	uint64_t watched; /* inode of the file that is watched, 0: none */
	int file_watch, directory_watch;
};

/* What to begin with, if there is no position. */
struct source_start {
	int64_t lines;     /* the last so many; -1: all */
	const char *since; /* as READER_TIME_LEN says, or NULL */
	uint64_t since_us;
};

int source_begin(struct source *source, const struct source_start *start);
int source_peek(struct source *source, const char *since, bool follow);
void source_take(struct source *source);
void source_position(struct source *source, char buf[SOURCE_POSITION_MAX]);

#endif
