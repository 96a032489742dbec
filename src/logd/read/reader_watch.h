/* SPDX-License-Identifier: ISC */
/* reader_watch.h - wait for more to read, or until the reader of our output is gone. */
#ifndef LOGD_READER_WATCH_H
#define LOGD_READER_WATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "logd/read/reader_source.h"

int watch_open(void);
bool watch_wait(int inotify_fd, int out_fd, struct source *sources, size_t n);

#endif
