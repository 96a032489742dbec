/* SPDX-License-Identifier: ISC */
/* play.c - play stories against the decision core alone; one line of TAP a story. */
#include "config.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/scenario/script.h"

#define LINE_BYTES_MAX 512

#define STORY_LINES_MAX 400

/* The story that is being read, and how the play goes. */
struct play {
	bool reading;
	char title[LINE_BYTES_MAX];
	char lines[STORY_LINES_MAX][LINE_BYTES_MAX];
	unsigned int n_lines;
	unsigned int first_line; /* number of the first in the file */
	unsigned int n_stories;
	unsigned int n_failed;
	const char *only; /* play only stories with this in the title */
};

/* Carry the story out; what is wrong is printed.  True: nothing is. */
static bool
story_play(struct play *play, const char *file)
{
	struct script *script = calloc(1, sizeof(*script));
	const char *fault;
	unsigned int i = 0;

	if (script == NULL)
		abort();
	fault = script->stage.fault;
	stage_init(&script->stage);
	while (i < play->n_lines && fault[0] == '\0')
		script_line(script, play->lines[i++]);
	if (fault[0] != '\0') {
		printf("# %s:%u: %s\n", file, play->first_line + i - 1, fault);
		return false;
	}
	script_end(script);
	if (fault[0] != '\0')
		printf("# %s: at the end of \"%s\": %s\n", file, play->title, fault);
	return fault[0] == '\0';
}

/* In a process of its own: a core that dies takes only its story along. */
static bool
story_survives(struct play *play, const char *file)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		return false;
	if (pid == 0) {
		bool fine = story_play(play, file);

		fflush(stdout);
		_exit(fine ? 0 : 1);
	}
	if (waitpid(pid, &status, 0) != pid)
		return false;
	if (WIFSIGNALED(status))
		printf("# %s: died of signal %d\n", file, WTERMSIG(status));
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void
story_end(struct play *play, const char *file)
{
	static const char known[] = " # TO"
	                            "DO the core differs";
	bool is_open = strncmp(play->title, "open ", 5) == 0;
	bool fine;

	if (!play->reading)
		return;
	play->reading = false;
	play->n_stories++;
	fine = story_survives(play, file);
	play->n_failed += !fine && !is_open;
	printf("%s %u - %s%s\n", fine ? "ok" : "not ok", play->n_stories, play->title,
	       is_open ? known : "");
}

static void
story_begin(struct play *play, const char *title, unsigned int line_number)
{
	snprintf(play->title, sizeof(play->title), "%s", title);
	play->reading = play->only == NULL || strstr(title, play->only) != NULL;
	play->n_lines = 0;
	play->first_line = line_number + 1;
}

static void
story_line(struct play *play, const char *line)
{
	if (!play->reading)
		return;
	if (play->n_lines == STORY_LINES_MAX) {
		printf("Bail out! the story \"%s\" is too long\n", play->title);
		exit(99);
	}
	memcpy(play->lines[play->n_lines++], line, LINE_BYTES_MAX);
}

static int
play_file(struct play *play, const char *name)
{
	FILE *file = fopen(name, "re");
	char line[LINE_BYTES_MAX];
	unsigned int n = 0;

	if (file == NULL) {
		printf("Bail out! cannot read %s\n", name);
		return -1;
	}
	while (fgets(line, sizeof(line), file) != NULL) {
		n++;
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "story ", 6) == 0) {
			story_end(play, name);
			story_begin(play, line + 6, n);
		} else {
			story_line(play, line);
		}
	}
	story_end(play, name);
	fclose(file);
	return 0;
}

/* All the stories that there are, in the directory that `make check` tells; see README.
 */
static int
play_all(struct play *play)
{
	const char *top = getenv("top_srcdir");
	char pattern[1024];
	glob_t found;
	int r = 0;

	snprintf(pattern, sizeof(pattern), "%s/tests/scenario/*.story",
	         top == NULL ? "." : top);
	if (glob(pattern, 0, NULL, &found) != 0) {
		printf("Bail out! no stories: %s\n", pattern);
		return -1;
	}
	for (size_t i = 0; i < found.gl_pathc && r == 0; i++)
		r = play_file(play, found.gl_pathv[i]);
	globfree(&found);
	return r;
}

/* play [-k TITLE] [FILE…] */
int
main(int argc, char **argv)
{
	struct play *play = calloc(1, sizeof(*play));
	int first = 1;

	if (play == NULL)
		abort();
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 2 && strcmp(argv[1], "-k") == 0) {
		play->only = argv[2];
		first = 3;
	}
	for (int i = first; i < argc; i++)
		if (play_file(play, argv[i]) < 0)
			return 99;
	if (first == argc && play_all(play) < 0)
		return 99;
	printf("1..%u\n", play->n_stories);
	first = play->n_failed > 0 ? 1 : 0;
	free(play);
	return first;
}
