/* SPDX-License-Identifier: ISC */
/* attributes.h - what the kernel is to grant to a process, and what to take away from it.
 *
 * What is not set is inherited.  Numbers are the kernel's own.
 */
#ifndef BASE_ATTRIBUTES_H
#define BASE_ATTRIBUTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attributes {
	bool has_nice, has_oom_score_adj, has_scheduler;
	bool has_io_priority, has_bounding, has_ambient;
	bool no_new_privileges;
	int nice, oom_score_adj;
	int policy; /* SCHED_x */
	int priority;
	int io_priority;     /* as in ioprio_set(2) */
	unsigned long *cpus; /* as in sched_setaffinity(2); NULL: inherited */
	size_t n_cpus;       /* words of it */
	uint64_t bounding;   /* capabilities that can be had at all: bit n is number n */
	/* and the ambient ones, which a process keeps under any user */
	uint64_t ambient;
};

#endif
