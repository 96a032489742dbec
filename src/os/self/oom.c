/* SPDX-License-Identifier: ISC */
/* oom.c - how gladly the kernel ends this process when memory runs out. */
#include "config.h"

#include "os/self/oom.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A descriptor for this process's value; -1: there is no /proc. */
int
oom_open(void)
{
	return open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
}

/* The value; 0, the kernel's default, where it cannot be known. */
int
oom_read(int fd)
{
	char text[OOM_NUMBER_MAX] = "";

	(void)!pread(fd, text, sizeof(text) - 1, 0);
	return atoi(text);
}

/* Have this value; -errno.  Below the lowest that a process with CAP_SYS_RESOURCE has set
 * only with that right: EACCES. */
int
oom_write(int fd, int value)
{
	char text[OOM_NUMBER_MAX];

	oom_print(text, value);
	return pwrite(fd, text, strlen(text), 0) < 0 ? -errno : 0;
}

/* Set this value, or 0 where the value is below what is allowed, unless the present value
 * is lower already.
 */
void
oom_set(int fd, int value)
{
	const int before = oom_read(fd);

	if (value != before && oom_write(fd, value) < 0 && before > 0)
		(void)oom_write(fd, 0);
}

/* A number in decimal, by no call of the C library: for a child of spawn.h, too. */
void
oom_print(char at[OOM_NUMBER_MAX], int number)
{
	unsigned int rest = number < 0 ? -(unsigned int)number : (unsigned int)number;
	char reversed[10];
	size_t n = 0;

	do {
		reversed[n++] = (char)('0' + rest % 10);
		rest /= 10;
	} while (rest > 0);
	if (number < 0)
		*at++ = '-';
	while (n > 0)
		*at++ = reversed[--n];
	*at = '\0';
}
