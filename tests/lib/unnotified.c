/* SPDX-License-Identifier: ISC */
/* unnotified.c - to be preloaded: no directory can be watched by F_NOTIFY of fcntl(2). */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

/* F_NOTIFY is an extension: config.h asks for all of them. */
static int
pass_on(int fd, int what, long with)
{
	if (what == F_NOTIFY) {
		errno = EINVAL;
		return -1;
	}
	return (int)syscall(SYS_fcntl, fd, what, with);
}

#define REPLACE(name)                          \
	int name(int fd, int what, ...)        \
	{                                      \
		va_list with;                  \
		long one;                      \
                                               \
		va_start(with, what);          \
		one = va_arg(with, long);      \
		va_end(with);                  \
		return pass_on(fd, what, one); \
	}

REPLACE(fcntl)
REPLACE(fcntl64)
