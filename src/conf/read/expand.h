/* SPDX-License-Identifier: ISC */
/* expand.h - ${name} in texts (private to conf/). */
#ifndef CONF_EXPAND_H
#define CONF_EXPAND_H

#include "conf/read/read.h"

/* The longest text that an expansion may give. */
#define EXPAND_BYTES_MAX (1024 * 1024)

/* The meaning of names: for an actor and, where this scope lacks a name, for the outer
 * scopes. */
struct scope {
	const struct scope *outer;
	const struct yaml *with; /* parameters, or NULL */
	const char *name;        /* ${actor.name}; NULL at the top level */
	const char *path;        /* ${actor.path} */
	const char *replica;     /* ${replica}, or NULL */
};

const struct yaml *expand(struct reader *reader, const struct yaml *node,
                          const struct scope *scope, const struct trail *trail);

#endif
