/* SPDX-License-Identifier: ISC */
/* storm.c - kill many processes at once: storm < PIDS
 *
 * Reads process ids, kills all of them in one loop, and prints CLOCK_MONOTONIC
 * nanoseconds of before the first one.
 */
#include "config.h"

#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PIDS_MAX 100000

int
main(void)
{
	int *pids = calloc(PIDS_MAX, sizeof(*pids));
	struct timespec now;
	size_t n = 0;

	if (pids == NULL)
		return 1;
	while (n < PIDS_MAX && scanf("%d", &pids[n]) == 1) {
		if (pids[n] > 1)
			n++;
	}
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	for (size_t i = 0; i < n; i++)
		(void)kill(pids[i], SIGKILL);
	(void)printf("%" PRIu64 "\n",
	             (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
	free(pids);
	return 0;
}
