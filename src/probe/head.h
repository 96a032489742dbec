/* SPDX-License-Identifier: ISC */
/* head.h - the head of an answer of HTTP/1, taken in piece by piece.
 *
 * Only as much of it is understood as a probe needs: the status, and where the head ends.
 * What is announced (1xx) is passed over.  Owns no memory.
 */
#ifndef PROBE_HEAD_H
#define PROBE_HEAD_H

#include <stdbool.h>
#include <stddef.h>

/* The longest head, with all that was announced before it. */
#define HEAD_BYTES_MAX (16 * 1024)

struct head {
	size_t bytes;
	size_t at;     /* in the first line; behind what is understood it stands still */
	int status;    /* as far as it was read */
	bool is_first; /* in the first line */
	bool is_empty; /* of the line nothing but its end has come */
};

void head_init(struct head *head);
int head_take(struct head *head, const char *data, size_t len);

#endif
