/* SPDX-License-Identifier: ISC */
/* spew.c - the writer of the log benchmark: spew RESULTS LINES LINES-A-WRITE
 *
 * Writes numbered lines of 100 bytes to its standard output, as fast as it is let, and
 * waits to be killed.  Its slot of the results file has {pid, time} of before the first.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINE_BYTES 100
#define DIGITS     12

/* A slot of the results file, as bench.py reads it. */
struct slot {
	uint64_t pid;
	uint64_t start_ns;
};

static int
write_all(int fd, const char *data, size_t n)
{
	while (n > 0) {
		ssize_t written = write(fd, data, n);

		if (written < 0 && errno != EINTR)
			return -errno;
		if (written > 0) {
			data += written;
			n -= (size_t)written;
		}
	}
	return 0;
}

static int
stamp(const char *path)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	struct timespec now;
	struct slot slot;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	slot.pid = (uint64_t)getpid();
	slot.start_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	if (fd < 0 || pwrite(fd, &slot, sizeof(slot), 0) != (ssize_t)sizeof(slot))
		return -1;
	return close(fd);
}

static void
number(char *line, unsigned long n)
{
	for (int i = DIGITS - 1; i >= 0; i--) {
		line[i] = (char)('0' + n % 10);
		n /= 10;
	}
}

int
main(int argc, char **argv)
{
	unsigned long lines, each, n = 0;
	char *text;

	if (argc != 4)
		return 2;
	lines = strtoul(argv[2], NULL, 10);
	each = strtoul(argv[3], NULL, 10);
	text = each > 0 && each <= 10000 ? malloc(each * LINE_BYTES) : NULL;
	if (text == NULL || stamp(argv[1]) < 0)
		return 3;
	memset(text, '.', each * LINE_BYTES);
	for (unsigned long i = 0; i < each; i++)
		text[(i + 1) * LINE_BYTES - 1] = '\n';
	while (n < lines) {
		unsigned long now = lines - n < each ? lines - n : each;

		for (unsigned long i = 0; i < now; i++)
			number(text + i * LINE_BYTES, n++);
		if (write_all(STDOUT_FILENO, text, now * LINE_BYTES) < 0)
			return 4;
	}
	for (;;)
		(void)pause();
}
