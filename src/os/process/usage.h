/* SPDX-License-Identifier: ISC */
/* usage.h - what the processes of an actor take of the machine.
 *
 * A glance, for people: processes come and go meanwhile.  From /proc the figures are
 * those of a process and all its descendants, without those that left the family; with a
 * cgroup they are those of all its processes, and where the kernel keeps the account
 * itself also of dead ones.
 */
#ifndef OS_PROCESS_USAGE_H
#define OS_PROCESS_USAGE_H

#include <stdint.h>
#include <sys/types.h>

#include "os/process/containment.h"

/* The most processes of an actor that are looked at. */
#define USAGE_PROCESSES_MAX 256

struct usage {
	uint64_t
	    memory_bytes; /* resident; without a controller shared pages count for each */
	uint64_t cpu_usec; /* of living processes, and of their reaped children */
	uint32_t processes;
	uint32_t descriptors;
	bool has_io; /* the io controller counts it */
	uint64_t read_bytes;
	uint64_t write_bytes;
};

int usage_read(const struct containment *c, const struct cgroup_root *root, pid_t pid,
               struct usage *ret);

#endif
