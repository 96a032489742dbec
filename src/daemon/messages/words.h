/* SPDX-License-Identifier: ISC */
/* words.h - the last words of a process: the lines that it wrote before it failed.
 *
 * They are bounded, whatever the process wrote.
 */
#ifndef DAEMON_WORDS_H
#define DAEMON_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/core.h"

struct events;
struct messages;

#define WORDS_LINES_MAX 10
/* Of all lines together, as they were written. */
#define WORDS_BYTES_MAX 4096

struct words {
	struct {
		const char *text; /* points into what was given */
		size_t len;
	} lines[WORDS_LINES_MAX];
	size_t n, bytes;
};

void words_add(struct words *words, const char *data, size_t len, bool is_cut);
void words_of_actor(const struct messages *messages, struct ref ref,
                    struct events *events);

#endif
