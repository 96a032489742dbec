/* SPDX-License-Identifier: ISC */
/* journalctl.h - what actors wrote to the journal, by journalctl(1), as the user that we
 * are.
 *
 * supd tells which actors have their output there; it reads no journal itself.
 */
#ifndef CTL_JOURNALCTL_H
#define CTL_JOURNALCTL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "ctl/text/log_text.h"
#include "ctl/wire/ctl.h"

struct journal {
	FILE *stream; /* of a journalctl that runs; NULL: it does not */
	pid_t pid;
	char *data; /* of the newest line, as getline(3) */
	size_t size;
	struct strbuf text; /* its strings */
	struct log_line line;
	bool has_line;
};

int journal_open(struct journal *journal, struct ctl *ctl, char **paths, size_t n,
                 const char *since, int64_t lines, bool follow);
bool journal_peek(struct journal *journal);
void journal_take(struct journal *journal);
void journal_close(struct journal *journal);

#endif
