/* SPDX-License-Identifier: ISC */
/* play.c - play stories against the decision core alone; one line of TAP a story. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/scenario/script.h"

#define LINE_BYTES_MAX 512

/* The story that is being played, and how the play goes. */
struct play {
	struct script *script; /* NULL: none */
	char title[LINE_BYTES_MAX];
	unsigned int failed_line;
	char failure[256];
	unsigned int n_stories;
	unsigned int n_failed;
	const char *only; /* play only stories whose title contains this */
};

static void
story_end(struct play *play, const char *file)
{
	static const char known[] = " # TO"
	                            "DO the core differs";
	bool is_open;

	if (play->script == NULL)
		return;
	if (play->failed_line == 0) {
		script_end(play->script);
		snprintf(play->failure, sizeof(play->failure), "%s",
		         play->script->stage.fault);
	}
	play->n_stories++;
	is_open = strncmp(play->title, "open ", 5) == 0;
	if (play->failure[0] != '\0') {
		play->n_failed += !is_open;
		if (play->failed_line > 0)
			printf("# %s:%u: %s\n", file, play->failed_line, play->failure);
		else
			printf("# %s: at the end: %s\n", file, play->failure);
		printf("not ok %u - %s%s\n", play->n_stories, play->title,
		       is_open ? known : "");
	} else {
		printf("ok %u - %s%s\n", play->n_stories, play->title,
		       is_open ? known : "");
	}
	stage_done(&play->script->stage);
	free(play->script);
	play->script = NULL;
}

static void
story_begin(struct play *play, const char *title)
{
	snprintf(play->title, sizeof(play->title), "%s", title);
	play->failed_line = 0;
	play->failure[0] = '\0';
	if (play->only != NULL && strstr(title, play->only) == NULL)
		return;
	play->script = calloc(1, sizeof(*play->script));
	if (play->script == NULL)
		abort();
	stage_init(&play->script->stage);
}

static void
story_line(struct play *play, unsigned int line_number, char *line)
{
	if (play->script == NULL || play->failed_line > 0)
		return;
	script_line(play->script, line);
	if (play->script->stage.fault[0] != '\0') {
		play->failed_line = line_number;
		snprintf(play->failure, sizeof(play->failure), "%s",
		         play->script->stage.fault);
	}
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
			story_begin(play, line + 6);
		} else {
			story_line(play, n, line);
		}
	}
	story_end(play, name);
	fclose(file);
	return 0;
}

/* The directory of the stories, as `make check` tells it; see README. */
static const char *const files[] = {
    "1-restart-types", "2-strategies",    "3-limits",   "4-escalation",
    "5-shutdown",      "6-start-failure", "7-commands", "8-backoff",
    "9-directives",    "10-reports",      "11-reload",  "12-world",
};

/* play [-k TITLE] [FILE…] */
int
main(int argc, char **argv)
{
	struct play play = {.only = NULL};
	const char *top = getenv("top_srcdir");
	int first = 1;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 2 && strcmp(argv[1], "-k") == 0) {
		play.only = argv[2];
		first = 3;
	}
	for (int i = first; i < argc; i++)
		if (play_file(&play, argv[i]) < 0)
			return 99;
	for (size_t i = 0; first == argc && i < sizeof(files) / sizeof(*files); i++) {
		char name[1024];

		snprintf(name, sizeof(name), "%s/tests/scenario/%s.story",
		         top == NULL ? "." : top, files[i]);
		if (play_file(&play, name) < 0)
			return 99;
	}
	printf("1..%u\n", play.n_stories);
	return play.n_failed > 0 ? 1 : 0;
}
