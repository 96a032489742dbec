/* SPDX-License-Identifier: ISC */
/* hang_fuse.h - a file system that hangs, and the child that uses it. */
#ifndef TESTS_LIB_HANG_FUSE_H
#define TESTS_LIB_HANG_FUSE_H

/* Its exit status where it cannot be mounted because the kernel lacks or forbids it. */
#define HANG_FUSE_LACKS 77

/* Say what failed, and why, and end. */
void hang_fuse_fail(const char *what);

/* Do what MODE asks for with the file below that directory. */
void hang_fuse_child(const char *dir, char **mode);

#endif
