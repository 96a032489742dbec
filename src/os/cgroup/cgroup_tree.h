/* SPDX-License-Identifier: ISC */
/* cgroup_tree.h - control files, and whole subtrees of cgroups; for cgroup*.c only. */
#ifndef OS_CGROUP_CGROUP_TREE_H
#define OS_CGROUP_CGROUP_TREE_H

#include <stddef.h>
#include <sys/types.h>

int cgroup_read(int directory, const char *file, char *ret, size_t size);
int cgroup_write(int directory, const char *file, const char *text);
int cgroup_tree_remove(const char *path);
int cgroup_tree_each(int directory, const char *path, int (*on_pid)(pid_t pid, void *arg),
                     void *arg);

#endif
