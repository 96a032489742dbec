/* SPDX-License-Identifier: ISC */
/* envfile.h - files of KEY=value, as systemd.exec(5) has them under EnvironmentFile=.
 *
 * They are looked at when a configuration is checked, and read at each start.
 */
#ifndef CONF_ENVFILE_H
#define CONF_ENVFILE_H

#include <stddef.h>

#include "base/err.h"

#define ENVFILE_BYTES_MAX (256 * 1024)

/* One variable; both texts are gone when it returns. */
typedef void envfile_fn(void *data, const char *key, const char *value);

/* A file that was read; its text is changed when it is parsed. */
struct envfile_text {
	const char *path;
	char *text; /* with a NUL behind it */
	size_t len;
};

int envfile_parse(const struct envfile_text *read, envfile_fn *on_variable, void *data,
                  struct err *err);
int envfile_read(const char *path, envfile_fn *on_variable, void *data, struct err *err);

#endif
