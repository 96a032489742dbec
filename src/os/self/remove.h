/* SPDX-License-Identifier: ISC */
/* remove.h - remove a directory with all its content, a little at a time.
 *
 * The content may be as large, deep and strange as its author likes: links are removed
 * and never followed, mounts stay, depth costs no memory.
 */
#ifndef OS_SELF_REMOVE_H
#define OS_SELF_REMOVE_H

/*
 * Remove at most so many entries of directory `name` of `dir_fd`, and in the end itself.
 * 0: it is gone, or never was; 1: call again; -errno: what is left cannot be removed.
 */
int os_remove_some(int dir_fd, const char *name, unsigned int budget);

#endif
