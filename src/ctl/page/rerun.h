/* SPDX-License-Identifier: ISC */
/* rerun.h - a verb of supctl, run by this program in a child of its own.
 *
 * So a verb waits, follows and is ended without the program that asked for it.
 */
#ifndef CTL_RERUN_H
#define CTL_RERUN_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/strbuf.h"

struct ctl;

/* A child with what it says, on standard output and error. */
struct rerun {
	pid_t pid; /* 0: none */
	int fd;    /* -1: none, or all was read */
};

pid_t rerun_begin(const struct ctl *ctl, char *const *words, int output, int errors);
int rerun_await(pid_t pid);

int rerun_open(struct rerun *rerun, const struct ctl *ctl, char *const *words);
bool rerun_read(struct rerun *rerun, struct strbuf *sb);
int rerun_close(struct rerun *rerun);
void rerun_kill(struct rerun *rerun);

#endif
