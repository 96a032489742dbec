/* SPDX-License-Identifier: ISC */
/* terminal.h - what of supctl needs libraries for terminals: in a program of its own.
 *
 * To load libedit and ncurses takes as long as most verbs do.  supctl is linked with
 * neither: for a page and for a prompt it executes supctl-terminal, which is supctl with
 * both.
 */
#ifndef CTL_TERMINAL_H
#define CTL_TERMINAL_H

#include <limits.h>

#include "ctl/page/rows.h"

/* What supctl-terminal has of the libraries it was built with. */
struct terminal {
	/* The page of `supctl top`, to supctl's exit status; NULL without ncurses. */
	int (*run_page)(struct ctl *ctl, enum sort_key sort);
	/* Lines that are edited, each to be freed; NULL without libedit. */
	void (*begin_lines)(struct ctl *ctl);
	char *(*read_line)(const char *prompt);
	void (*end_lines)(void);
};

bool terminal_find_beside(char ret[PATH_MAX], const char *name);
int terminal_execute(const struct ctl *ctl);

#endif
