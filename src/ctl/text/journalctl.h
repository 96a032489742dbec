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

/* What of the journal is wanted. */
struct journal_query {
	const char *socket; /* SUPD_SOCKET of the entries */
	char **paths;
	size_t n_paths;
	const char *since; /* RFC 3339, or "" */
	int64_t lines;     /* the last so many; -1: all */
	bool follow;
};

int journal_open(struct journal *journal, struct ctl *ctl,
                 const struct journal_query *query);
bool journal_peek(struct journal *journal);
void journal_take(struct journal *journal);
void journal_close(struct journal *journal);

#endif
