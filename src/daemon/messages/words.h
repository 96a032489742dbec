/* SPDX-License-Identifier: ISC */
/* words.h - the last words of a process: the lines that it wrote before it failed.
 *
 * They are bounded, and valid as JSON whatever the process wrote.
 */
#ifndef DAEMON_WORDS_H
#define DAEMON_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "core/core.h"

struct shell;

#define WORDS_LINES_MAX 10
/* Of all lines together, as they were written. */
#define WORDS_BYTES_MAX 4096

struct words {
	struct {
		const char *text; /* points into what was given */
		size_t len;
	} lines[WORDS_LINES_MAX];
	size_t n;
	size_t bytes;
};

void words_add(struct words *words, const char *data, size_t len, bool is_cut);
void words_json(struct strbuf *out, const struct words *words);
bool words_of_actor(const struct shell *shell, struct ref ref, struct strbuf *out);

#endif
