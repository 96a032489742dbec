/* SPDX-License-Identifier: ISC */
/* proc.h - what a process is, as the kernel tells of it. */
#ifndef OS_PROCESS_PROC_H
#define OS_PROCESS_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "os/process/reap.h"

/* The bytes of a mark (SUPD_ID), with its NUL. */
#define PROC_MARK_MAX  64
#define PROC_WCHAN_MAX 64
/* The name of a program is cut by the kernel, to fewer bytes than these. */
#define PROC_PROGRAM_MAX 72

/*
 * What the processes of one life of an actor, or of one task, have as SUPD_ID, and no
 * others: kept as what it is made of, for each actor has one.
 */
struct proc_mark {
	const uint64_t *secret; /* 128 bits, borrowed; NULL: no mark */
	uint32_t slot;          /* of the actor, or PROC_MARK_TASK */
	uint32_t number;        /* of the life, or the place of the task */
};

#define PROC_MARK_TASK UINT32_MAX

struct proc_mark_text {
	char text[PROC_MARK_MAX];
};

struct proc_mark_text proc_mark_text(const struct proc_mark *mark);
bool proc_is_stopped(pid_t pid);
bool proc_is_ending(pid_t pid);
int proc_zombie(pid_t pid, pid_t *ret_parent, struct reap *ret);
bool proc_same_start(uint64_t start, uint64_t other);
void proc_ask_reaped(pid_t pid);
void proc_ask_nobody(void);
int proc_look(pid_t pid, pid_t *ret_parent, uint64_t *ret_start);
uint64_t proc_ticks(void);
bool proc_is_gone(pid_t pid, uint64_t since);
bool proc_has_execed(pid_t pid);
bool proc_program(pid_t pid, char ret[PROC_PROGRAM_MAX]);
bool proc_has_mark(pid_t pid, const char *mark);

#endif
