/* SPDX-License-Identifier: ISC */
/* verb_shell.c - shell: a prompt for the verbs of supctl.
 *
 * Each line runs in a child that executes this program again: a verb ends as it does on a
 * command line, and an interrupt ends the verb alone.
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl/page/rerun.h"
#include "ctl/page/terminal.h"
#include "ctl/verb/prompt.h"
#include "ctl/verb/verb.h"

#define PROMPT "supd> "

/* exec(3) takes words that could be changed. */
static char program[] = "supctl";
static char as_json[] = "--output=json";
static char no_color[] = "--no-color";

/* ---- a line ------------------------------------------------------------------------ */

/* Copy a word to `to`, without its quotes; the text behind it, or NULL: a quote is open.
 */
static char *
unquote(char *from, char *to)
{
	char quote = '\0';

	for (; *from != '\0' && (quote != '\0' || strchr(" \t", *from) == NULL); from++) {
		if (*from == quote) {
			quote = '\0';
		} else if (quote == '\0' && (*from == '"' || *from == '\'')) {
			quote = *from;
		} else {
			if (*from == '\\' && quote != '\'' && from[1] != '\0')
				from++;
			*to++ = *from;
		}
	}
	if (quote != '\0')
		return NULL;
	from += *from != '\0';
	*to = '\0';
	return from;
}

/* Add the words of a line, which is changed; an error in words, or NULL. */
const char *
shell_split(char *line, struct shell_words *words)
{
	for (line += strspn(line, " \t"); *line != '\0'; line += strspn(line, " \t")) {
		if (words->n == SHELL_WORDS_MAX)
			return "too many words";
		words->at[words->n++] = line;
		line = unquote(line, line);
		if (line == NULL)
			return "a quote is not closed";
	}
	words->at[words->n] = NULL;
	return NULL;
}

/* The name of the program, and the options that the shell was started with. */
void
shell_begin_words(const struct ctl *ctl, struct shell_words *words)
{
	words->n = 0;
	words->at[words->n++] = program;
	if (ctl->options.json)
		words->at[words->n++] = as_json;
	if (ctl->options.no_color)
		words->at[words->n++] = no_color;
}

/* Run a line; its exit status. */
static int
run_line(const struct ctl *ctl, struct shell_words *words)
{
	pid_t pid = rerun_begin(ctl, words->at, -1, -1);

	if (pid < 0)
		return complain_of(ctl, CTL_FAILED, NULL, "start a process: %s",
		                   strerror((int)-pid));
	return rerun_await(pid);
}

/* ---- the verb ---------------------------------------------------------------------- */

/* The next line as it is, to be freed; NULL at the end. */
static char *
read_plain(const char *prompt)
{
	char *line = NULL;
	size_t size = 0;

	(void)fputs(prompt, stdout);
	(void)fflush(stdout);
	if (getline(&line, &size, stdin) >= 0)
		return line;
	free(line);
	return NULL;
}

/* The next line, to be freed; NULL at the end.  Without a terminal there is no prompt. */
static char *
next_line(const struct terminal *editor, bool is_terminal)
{
	const char *prompt = is_terminal ? PROMPT : "";
	char *line = editor != NULL ? editor->read_line(prompt) : read_plain(prompt);

	if (line != NULL)
		line[strcspn(line, "\n")] = '\0';
	else if (is_terminal)
		(void)fputc('\n', stdout);
	return line;
}

/* Read lines and run them as verbs until the end of standard input, `exit` or `quit`;
 * the exit status of the last line. */
int
verb_shell(struct ctl *ctl, char **names UNUSED, uint32_t n UNUSED)
{
	const bool is_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	const struct terminal *editor = NULL;
	int status = CTL_OK;
	bool ended = false;
	char *line;

	if (is_terminal && ctl->terminal == NULL)
		return terminal_execute(ctl);
	if (is_terminal && ctl->terminal->read_line != NULL)
		editor = ctl->terminal;
	if (editor != NULL)
		editor->begin_lines(ctl);
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGQUIT, SIG_IGN);
	while (!ended && (line = next_line(editor, is_terminal)) != NULL) {
		struct shell_words words;

		shell_begin_words(ctl, &words);
		size_t first = words.n;
		const char *wrong = shell_split(line, &words);
		if (wrong != NULL) {
			complain(ctl, NULL, "%s", wrong);
			status = CTL_USAGE;
		} else if (words.n == first + 1 &&
		           (strcmp(words.at[first], "exit") == 0 ||
		            strcmp(words.at[first], "quit") == 0)) {
			ended = true;
		} else if (words.n > first && words.at[first][0] != '#') {
			status = run_line(ctl, &words);
			/* The terminal shows the key of the interrupt, and no more. */
			if (is_terminal && status > 128)
				(void)fputc('\n', stdout);
		}
		free(line);
	}
	if (editor != NULL)
		editor->end_lines();
	return status;
}
