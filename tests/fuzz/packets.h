/* SPDX-License-Identifier: ISC */
/* packets.h - the bytes of a target as packets with descriptors. */
#ifndef TESTS_FUZZ_PACKETS_H
#define TESTS_FUZZ_PACKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct packets {
	const uint8_t *at;
	size_t left;
};

bool packets_send(struct packets *packets, int fd);

/* The lowest free descriptors, at 0 and at FD_WINDOW: others when some were lost. */
struct free_fds {
	int low;
	int high;
};

struct free_fds free_fds(void);
void free_fds_check(const struct free_fds *before);

#endif
