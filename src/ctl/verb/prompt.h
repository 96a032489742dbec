/* SPDX-License-Identifier: ISC */
/* prompt.h - the lines of `supctl shell`. */
#ifndef CTL_PROMPT_H
#define CTL_PROMPT_H

#include <stddef.h>

struct ctl;

/* Words of a line, with the options that every verb of the shell gets. */
#define SHELL_WORDS_MAX 256

struct shell_words {
	/* of the line, or the shell's options; ends with NULL */
	char *at[SHELL_WORDS_MAX + 1];
	size_t n;
};

/* verb_shell.c */
const char *shell_split(char *line, struct shell_words *words);
void shell_begin_words(const struct ctl *ctl, struct shell_words *words);

/* shell_edit.c */
void edit_begin(struct ctl *ctl);
char *edit_line(const char *prompt);
void edit_end(void);

#endif
