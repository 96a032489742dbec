/* SPDX-License-Identifier: ISC */
/* unwritten.h - keys of actors that are not in the files, kept once for all actors that
 * have the same (private to conf/).
 */
#ifndef CONF_UNWRITTEN_H
#define CONF_UNWRITTEN_H

#include "conf/text/arena.h"
#include "conf/text/conf.h"

/* More keys than an actor can have. */
#define UNWRITTEN_MAX 256

/* Where the sets of such keys are, by their sum; the configuration has room for `cap`. */
struct unwritten_sets {
	struct map by_sum;
	size_t cap;
};

/* A key that is not in the file.  Names are those of the one table of keys. */
struct unwritten {
	const char *name;
	const char *below; /* NULL: the name is all of it */
	const char *value;
	enum conf_effect effect;
};

uint32_t unwritten_share(struct conf *conf, struct unwritten_sets *sets,
                         const struct unwritten *keys, size_t n);

#endif
