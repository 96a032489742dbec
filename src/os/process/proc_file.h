/* SPDX-License-Identifier: ISC */
/* proc_file.h - what /proc says of one process; for the files of os/ only. */
#ifndef OS_PROCESS_PROC_FILE_H
#define OS_PROCESS_PROC_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "os/process/proc.h"

/* A flag: the process ends, and may have lost its environment before its children
 * (PF_EXITING). */
#define PROC_IS_EXITING   0x4
#define PROC_IS_OF_KERNEL 0x200000

/* The fields of /proc/PID/stat that are used. */
struct proc_stat {
	char state;
	pid_t parent;
	pid_t session;
	pid_t tracer; /* of proc_stat_rough() alone; 0: none */
	uid_t uid;    /* the same; the real user */
	unsigned int flags;
	int threads; /* living threads; the first thread counts until it is reaped */
	/* clock ticks since boot, 0: not told; with the pid this identifies the process
	 */
	uint64_t start;
	uint64_t cpu_ticks; /* of all threads, and of reaped children */
	int64_t resident_pages;
	bool is_bare;  /* its environment is empty, and not only because of an exec */
	int exit_code; /* of a zombie, as of waitpid(2); 0 where it is hidden from us */
};

/* Take in one child; what is not 0 ends the listing, and is returned. */
typedef int proc_take_child(pid_t child, void *arg);

int proc_stat_read(pid_t pid, struct proc_stat *ret);
int proc_stat_direct(pid_t pid, struct proc_stat *ret);
int proc_stat_rough(pid_t pid, struct proc_stat *ret);
int proc_resident_read(pid_t pid, uint64_t *ret);
int proc_uid_read(pid_t pid, uid_t *ret);
bool proc_stat_is_dead(const struct proc_stat *stat);
bool proc_stat_is_executing(const struct proc_stat *stat);
int proc_mark_read(pid_t pid, char ret[PROC_MARK_MAX]);
int proc_environ_open(pid_t pid);
int proc_mark_direct(pid_t pid, char ret[PROC_MARK_MAX]);
void proc_wchan_read(pid_t pid, char ret[PROC_WCHAN_MAX]);
void proc_wchan_direct(pid_t pid, char ret[PROC_WCHAN_MAX]);
int proc_children_again(int *fd, pid_t pid, proc_take_child *take, void *arg);
int proc_children(pid_t pid, int n_threads, proc_take_child *take, void *arg);

#endif
