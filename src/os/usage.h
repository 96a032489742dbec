/* SPDX-License-Identifier: ISC */
/* usage.h - what a process and all its descendants take of the machine, out of /proc.
 *
 * A glance, for people: processes come and go meanwhile.  What left its forefathers is
 * not counted.
 */
#ifndef OS_USAGE_H
#define OS_USAGE_H

#include <stdint.h>
#include <sys/types.h>

/* So many are looked at, and no more. */
#define USAGE_PROCESSES_MAX 256

struct usage {
	uint64_t memory_bytes; /* resident; shared pages count for each */
	uint64_t cpu_usec;     /* of those that live, and of whom they have reaped */
	uint32_t processes;
	uint32_t descriptors;
};

int usage_read(pid_t pid, struct usage *ret);

#endif
