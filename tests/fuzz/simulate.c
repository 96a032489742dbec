/* SPDX-License-Identifier: ISC */
/* simulate.c - what supd --simulate does with any configuration. */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/assert.h"
#include "daemon/forecast/simulate.h"
#include "tests/fuzz/file.h"
#include "tests/fuzz/fuzz.h"

const unsigned int fuzz_runs = 300;

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int out = dup(STDOUT_FILENO);
	int err = dup(STDERR_FILENO);
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	ASSERT(out >= 0 && err >= 0 && null >= 0);
	(void)fflush(stdout);
	ASSERT(dup2(null, STDOUT_FILENO) == STDOUT_FILENO);
	ASSERT(dup2(null, STDERR_FILENO) == STDERR_FILENO);
	if (fuzz_is_alone(data, size))
		(void)simulate_file(fuzz_file("simulate.yaml", data, size), 1);
	(void)dup2(out, STDOUT_FILENO);
	(void)dup2(err, STDERR_FILENO);
	(void)close(out);
	(void)close(err);
	(void)close(null);
	return 0;
}
