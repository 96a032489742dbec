/* SPDX-License-Identifier: ISC */
/* verb_shell.c - shell: a prompt for the verbs of supctl.
 *
 * Each line runs in a child that executes this program again: a verb ends as it does on a
 * command line, and an interrupt ends the verb alone.  On a terminal libedit edits the
 * line, completes verbs, options and names of actors, and keeps a history in
 * ~/.supctl_history.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef HAVE_EDITLINE
#include <editline/readline.h>
#endif

#include "base/assert.h"
#include "ctl/page/rerun.h"
#include "ctl/verb/verb.h"

#define PROMPT "supd> "
/* Words of a line, with the options that every verb of the shell gets. */
#define WORDS_MAX 256

/* exec(3) takes words that could be changed. */
static char program[] = "supctl";
static char as_json[] = "--output=json";
static char no_color[] = "--no-color";

struct shell_words {
	char *at[WORDS_MAX + 1]; /* of the line, or the shell's options; ends with NULL */
	size_t n;
};

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
static const char *
split(char *line, struct shell_words *words)
{
	for (line += strspn(line, " \t"); *line != '\0'; line += strspn(line, " \t")) {
		if (words->n == WORDS_MAX)
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
static void
begin_words(const struct ctl *ctl, struct shell_words *words)
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

	if (pid < 0) {
		complain(ctl, NULL, "start a process: %s", strerror((int)-pid));
		return CTL_FAILED;
	}
	return rerun_await(pid);
}

/* ---- editing ----------------------------------------------------------------------- */

#ifdef HAVE_EDITLINE

static char blanks[] = " \t";

/* The candidates for a word, which libedit asks for one by one, without an argument. */
static struct {
	struct ctl *ctl;
	char *names[4096]; /* owned */
	size_t n;
	size_t next;
	const struct verb *verb;
	const struct verb_option *option;
} completion;

static void
forget_names(void)
{
	while (completion.n > 0)
		free(completion.names[--completion.n]);
}

static void
add_name(const char *name)
{
	char *copy = completion.n < ARRAY_SIZE(completion.names) ? strdup(name) : NULL;

	if (copy != NULL)
		completion.names[completion.n++] = copy;
}

/* The paths of all actors, and their names below /user, from `supctl list`. */
static void
fetch_names(void)
{
	struct shell_words words;
	char list[] = "-o text --timeout 3s --no-color list";
	char line[PATH_MAX + 256];
	int ends[2];
	FILE *file;
	pid_t pid;

	forget_names();
	begin_words(completion.ctl, &words);
	(void)split(list, &words);
	if (pipe(ends) < 0)
		return;
	pid = rerun_begin(completion.ctl, words.at, ends[1], -1);
	(void)close(ends[1]);
	file = pid < 0 ? NULL : fdopen(ends[0], "r");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		line[strcspn(line, " \t\n")] = '\0';
		/* The header is no path. */
		if (line[0] != '/')
			continue;
		add_name(line);
		if (strncmp(line, "/user/", strlen("/user/")) == 0)
			add_name(line + strlen("/user/"));
	}
	if (file != NULL)
		(void)fclose(file);
	else
		(void)close(ends[0]);
	if (pid > 0)
		(void)rerun_await(pid);
}

static char *
next_verb(const char *text, int state)
{
	if (state == 0)
		completion.verb = NULL;
	while ((completion.verb = verb_next(completion.verb)) != NULL)
		if (strncmp(completion.verb->name, text, strlen(text)) == 0)
			return strdup(completion.verb->name);
	return NULL;
}

static char *
next_option(const char *text, int state)
{
	if (state == 0)
		completion.option = NULL;
	while ((completion.option =
	            verb_option_next(completion.verb, completion.option)) != NULL)
		if (strncmp(completion.option->name, text, strlen(text)) == 0)
			return strdup(completion.option->name);
	return NULL;
}

static char *
next_name(const char *text, int state)
{
	if (state == 0) {
		completion.next = 0;
		fetch_names();
	}
	while (completion.next < completion.n) {
		const char *name = completion.names[completion.next++];

		if (strncmp(name, text, strlen(text)) == 0)
			return strdup(name);
	}
	return NULL;
}

/* Candidates for the word between `start` and `end` of the line. */
static char **
complete(const char *text, int start, int end)
{
	size_t blank = strspn(rl_line_buffer, " \t");
	size_t n = strcspn(rl_line_buffer + blank, " \t");
	char verb[64];

	(void)end;
	/* No names of files where there is nothing to complete. */
	rl_attempted_completion_over = 1;
	if ((size_t)start <= blank)
		return rl_completion_matches(text, next_verb);
	(void)snprintf(verb, sizeof(verb), "%.*s", (int)n, rl_line_buffer + blank);
	completion.verb = verb_find(verb);
	return rl_completion_matches(
	    text, text[0] == '-' && completion.verb != NULL ? next_option : next_name);
}

/* The file of the history; false: without a home there is none. */
static bool
history_file(char path[PATH_MAX])
{
	const char *home = getenv("HOME");

	return home != NULL && home[0] == '/' &&
	       snprintf(path, PATH_MAX, "%s/.supctl_history", home) < PATH_MAX;
}

static void
begin_editing(struct ctl *ctl)
{
	char path[PATH_MAX];

	completion.ctl = ctl;
	rl_readline_name = program;
	rl_attempted_completion_function = complete;
	rl_completer_word_break_characters = blanks;
	using_history();
	stifle_history(1000);
	if (history_file(path))
		(void)read_history(path);
}

static void
end_editing(void)
{
	char path[PATH_MAX];

	forget_names();
	/* Of the user alone: a line may have a secret. */
	(void)umask(077);
	if (history_file(path))
		(void)write_history(path);
}

static char *
edit_line(void)
{
	char *line = readline(PROMPT);

	if (line != NULL && line[strspn(line, " \t")] != '\0')
		(void)add_history(line);
	return line;
}

#else

static void
begin_editing(struct ctl *ctl)
{
	(void)ctl;
}

static void
end_editing(void)
{
}

static char *
edit_line(void)
{
	char *line = NULL;
	size_t size = 0;

	(void)fputs(PROMPT, stdout);
	(void)fflush(stdout);
	if (getline(&line, &size, stdin) >= 0)
		return line;
	free(line);
	return NULL;
}

#endif

/* ---- the verb ---------------------------------------------------------------------- */

/* The next line, to be freed; NULL at the end.  Without a terminal there is no prompt. */
static char *
next_line(bool is_terminal)
{
	char *line = NULL;
	size_t size = 0;

	if (is_terminal) {
		line = edit_line();
		if (line == NULL)
			(void)fputc('\n', stdout);
	} else if (getline(&line, &size, stdin) < 0) {
		free(line);
		line = NULL;
	}
	if (line != NULL)
		line[strcspn(line, "\n")] = '\0';
	return line;
}

/* Read lines and run them as verbs until the end of standard input, `exit` or `quit`;
 * the exit status of the last line. */
int
verb_shell(struct ctl *ctl, char **names, uint32_t n)
{
	const bool is_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	int status = CTL_OK;
	bool ended = false;
	char *line;

	(void)names;
	(void)n;
	if (is_terminal)
		begin_editing(ctl);
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGQUIT, SIG_IGN);
	while (!ended && (line = next_line(is_terminal)) != NULL) {
		struct shell_words words;
		const char *wrong;
		size_t first;

		begin_words(ctl, &words);
		first = words.n;
		wrong = split(line, &words);
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
	if (is_terminal)
		end_editing();
	return status;
}
