/* SPDX-License-Identifier: ISC */
/* shell_edit.c - lines of `supctl shell` on a terminal, edited by libedit.
 *
 * It completes verbs, options and names of actors, and keeps a history in
 * ~/.supctl_history.
 */
#include "config.h"

#include <editline/readline.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "ctl/page/rerun.h"
#include "ctl/verb/prompt.h"
#include "ctl/verb/verb.h"

static char program[] = "supctl";
static char blanks[] = " \t";

/* The candidates for a word, which libedit asks for one by one, without an argument. */
static struct {
	struct ctl *ctl;
	char *names[4096]; /* owned */
	size_t n, next;
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

	forget_names();
	shell_begin_words(completion.ctl, &words);
	(void)shell_split(list, &words);
	if (pipe(ends) < 0)
		return;
	pid_t pid = rerun_begin(completion.ctl, words.at, ends[1], -1);
	(void)close(ends[1]);
	FILE *file = pid < 0 ? NULL : fdopen(ends[0], "r");
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
complete(const char *text, int start, int end UNUSED)
{
	size_t blank = strspn(rl_line_buffer, " \t");
	size_t n = strcspn(rl_line_buffer + blank, " \t");
	char verb[64];

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

/* Lines are to be edited: completion and history are there from now on. */
void
edit_begin(struct ctl *ctl)
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

/* No line comes any more: the history is kept. */
void
edit_end(void)
{
	char path[PATH_MAX];

	forget_names();
	/* Of the user alone: a line may have a secret. */
	(void)umask(077);
	if (history_file(path))
		(void)write_history(path);
}

/* The next line, to be freed; NULL at the end. */
char *
edit_line(const char *prompt)
{
	char *line = readline(prompt);

	if (line != NULL && line[strspn(line, " \t")] != '\0')
		(void)add_history(line);
	return line;
}
