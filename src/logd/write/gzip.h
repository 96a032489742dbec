/* SPDX-License-Identifier: ISC */
/* gzip.h - pack and unpack as gzip(1) does, in a process that can do nothing else. */
#ifndef LOGD_GZIP_H
#define LOGD_GZIP_H

#include <sys/types.h>

enum gzip_mode { GZIP_PACK, GZIP_UNPACK };

pid_t gzip_start(enum gzip_mode mode, int in, int out);

#endif
