/* SPDX-License-Identifier: ISC */
/* convert_settings.h - what settings of other supervisors are called here. */
#ifndef DAEMON_CONVERT_SETTINGS_H
#define DAEMON_CONVERT_SETTINGS_H

#include <stddef.h>

/* Mappings that several settings make together. */
enum part {
	PART_NONE,
	PART_ENVIRONMENT,
	PART_FILES,
	PART_HOOKS,
	PART_BACKOFF,
	PART_LIMITS,
	PART_CGROUP,
	PART_SUCCESS,
	PART_MAX
};
/* How a value is taken over. */
enum form {
	AS_COMMAND,
	AS_TEXT,
	AS_DURATION,
	AS_SIGNAL,
	AS_VARIABLES,
	AS_CODES,
	AS_NOTHING, /* it holds in any case */
};

struct setting {
	const char *theirs;
	const char *value; /* only with this value; NULL: with any */
	enum part part;
	const char *ours; /* "key", or "key: value" where a value is named */
	enum form form;
};

extern const struct setting convert_supervisord[];
extern const size_t convert_n_supervisord;
extern const struct setting convert_systemd[];
extern const size_t convert_n_systemd;

#endif
