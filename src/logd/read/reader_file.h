/* SPDX-License-Identifier: ISC */
/* reader_file.h - one file of an actor's log, read line by line, packed or not. */
#ifndef LOGD_READER_FILE_H
#define LOGD_READER_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct reader_file {
	int fd; /* -1: none is open */
	bool is_packed;
	pid_t unpacker;  /* as long as it runs, or 0 */
	int error;       /* its end: -EIO, or 0 */
	uint64_t inode;  /* of the file itself */
	uint64_t offset; /* of the next byte that is not taken yet, unpacked */
	uint64_t mark;   /* checksum of the first line, 0: no line yet */
	uint64_t words;  /* the same without digits: what is written anew keeps it */
	char *data;
	size_t start; /* of what is not taken yet */
	size_t len, cap;
	bool is_cut; /* the last line was a piece of one */
};

void reader_file_init(struct reader_file *file);
int reader_file_open(struct reader_file *file, const char *path, bool packed,
                     const char *owner);
void reader_file_close(struct reader_file *file);
void reader_file_done(struct reader_file *file);
int reader_file_seek(struct reader_file *file, uint64_t offset);
int reader_file_next(struct reader_file *file, const char **ret, size_t *ret_len);
size_t reader_file_rest(const struct reader_file *file, const char **ret);
void reader_file_take(struct reader_file *file, size_t len);
void reader_file_find_mark(struct reader_file *file);
int reader_file_seek_tail(struct reader_file *file, uint64_t lines, uint64_t *ret_found);
int reader_file_seek_end(struct reader_file *file);

#endif
