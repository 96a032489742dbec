/* SPDX-License-Identifier: ISC */
/* environment.h - what a process finds in its environment. */
#ifndef DAEMON_ENVIRONMENT_H
#define DAEMON_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "conf/text/conf.h"
#include "os/spawn/spawn.h"

#define ENVIRONMENT_BYTES_MAX (256 * 1024)
#define ENVIRONMENT_VARS_MAX  4096

/* Built anew for each spawn, in memory that is kept. */
struct environment {
	char **base; /* supd's own, each once, without those of its protocols; borrowed */
	size_t n_base;
	char **vars; /* ENVIRONMENT_VARS_MAX + 1 */
	size_t n;
	size_t n_inherited; /* the first ones: none of them is of supd's protocols */
	char *bytes;        /* ENVIRONMENT_BYTES_MAX, for variables that supd makes up */
	size_t used;
	int failed;       /* -E2BIG: something did not fit */
	size_t own_from;  /* what is behind this in bytes is supd's own … */
	size_t own_until; /* … up to here: no file says otherwise */
	char *room;       /* for one file of variables: ENVFILE_BYTES_MAX + 1 */
};

int environment_init(struct environment *environment, char **own);
void environment_done(struct environment *environment);
void environment_begin(struct environment *environment,
                       const struct conf_process *process);
char *environment_set(struct environment *environment, const char *key,
                      const char *value);
char *environment_add(struct environment *environment, const char *key, const char *fmt,
                      ...) __attribute__((format(printf, 3, 4)));
int environment_end(struct environment *environment, enum spawn_step *ret_step);
int environment_take_file(void *data, const char *path, char *text, size_t len,
                          struct err *err);
const char *environment_get(const struct environment *environment, const char *key);

#endif
