/* SPDX-License-Identifier: ISC */
/* places.h - where the runtime directory of a user's supd may be. */
#ifndef VARLINK_PLACES_H
#define VARLINK_PLACES_H

#include <stddef.h>

#define PLACES_MAX 3

/* What of the environment matters; NULL: it is not set. */
struct places_from {
	const char *runtime;   /* XDG_RUNTIME_DIR */
	const char *home;      /* of the user */
	const char *state;     /* XDG_STATE_HOME */
	const char *temporary; /* TMPDIR */
	unsigned int uid;
};

int places_runtime(const struct places_from *from, int which, char *buf, size_t size);

#endif
