/* SPDX-License-Identifier: ISC */
/* cleanup.h - locals that are given back where their block ends.
 *
 *	CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
 *	CLEANUP(strbuf_done) struct strbuf text = STRBUF(TEXT_MAX);
 *	CLEANUP_FREE char *name = strdup(from);
 *
 * The call, with the address of the local, is the last thing that happens in the block:
 * behind its last statement, at a return (once the returned value is known), at a break,
 * continue or goto that leaves it; the last local goes first.  Never at _exit(2), exec or
 * longjmp: not for what has to be done before those.
 *
 * The local has a value from the start, and one for which the call does nothing where
 * there is nothing to give back.  What is handed on is taken from it: strbuf_take(), or
 * the local set to NULL or -1.  Of jansson's values json_auto_t is the same.
 */
#ifndef BASE_CLEANUP_H
#define BASE_CLEANUP_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CLEANUP(done) __attribute__((cleanup(done)))
#define CLEANUP_DIR   CLEANUP(cleanup_dir)
#define CLEANUP_FILE  CLEANUP(cleanup_file)
#define CLEANUP_FREE  CLEANUP(cleanup_free)
/* For rooms that do without os, which has fd_close(); -1 is none. */
#define CLEANUP_CLOSE CLEANUP(cleanup_close)

static inline void
cleanup_dir(DIR **dir)
{
	if (*dir != NULL)
		(void)closedir(*dir);
}

static inline void
cleanup_file(FILE **file)
{
	if (*file != NULL)
		(void)fclose(*file);
}

/* Free what a pointer of any type points to. */
static inline void
cleanup_free(void *at)
{
	void *memory;

	memcpy(&memory, at, sizeof(memory));
	free(memory);
}

static inline void
cleanup_close(const int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}

#endif
