/* SPDX-License-Identifier: ISC */
/* file.h - a configuration file as text (private to conf/). */
#ifndef CONF_FILE_H
#define CONF_FILE_H

#include <stddef.h>
#include <sys/stat.h>

#include "base/err.h"
#include "conf/text/arena.h"

struct file_text {
	char *text;
	size_t len;
	struct stat stat;
};

int file_read(struct arena *arena, const char *path, size_t bytes_max,
              struct file_text *ret, struct err *err);

#endif
