/* SPDX-License-Identifier: ISC */
/* link_ends.h - both ends of a link, and the descriptors of this process. */
#ifndef TESTS_LEDGER_LINK_ENDS_H
#define TESTS_LEDGER_LINK_ENDS_H

#include <check.h>
#include <dirent.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WALKER, GUARDIAN };

static inline int
count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir) != NULL)
		n++;
	(void)closedir(dir);
	return n;
}

static inline int
some_file(void)
{
	int fd = memfd_create("some", MFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	return fd;
}

static inline ino_t
inode(int fd)
{
	struct stat st;

	ck_assert_int_eq(fstat(fd, &st), 0);
	return st.st_ino;
}

static inline void
close_both(int fds[2])
{
	(void)close(fds[0]);
	(void)close(fds[1]);
}

#endif
