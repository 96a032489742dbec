/* SPDX-License-Identifier: ISC */
/* gzip.h - gzip(1) between two descriptors, in a process with no other rights. */
#ifndef LOGD_GZIP_H
#define LOGD_GZIP_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

/* The absolute name of the program. */
struct gzip {
	char file[PATH_MAX];
};

bool gzip_find(struct gzip *ret);
pid_t gzip_start(const struct gzip *gzip, const char *mode, int in, int out);

#endif
