/* SPDX-License-Identifier: ISC */
/* reload_look.c - are the environment files of a new configuration there, and right?
 *
 * They may lie in a file system that never answers, so the guardian does not open them
 * itself: a copy of it reads the configuration once more, as `supd --check` does, and is
 * not waited for any longer than LOOK_MS.
 */
#include "config.h"

#include "conf/report.h"
#include "daemon/reload.h"
#include "daemon/shell.h"
#include "os/bounded.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_MS        2000
#define LOOK_BYTES_MAX (256 * 1024)

static bool
has_environment_files(const struct conf *conf)
{
	for (uint32_t i = 0; i < conf->n_actors; i++)
		if (conf->actors[i].process.environment_files != NULL)
			return true;
	return false;
}

/* In the copy: write each error as its numbers and three texts, each ended by a NUL. */
static void
look(int fd, void *data)
{
	const struct shell *shell = data;
	const struct conf_options options = {
	    .look = true, .environ = shell->environ, .controllers = shell->controllers};
	struct conf_reports reports = {0};

	conf_free(conf_load(shell->conf_file, &options, &reports));
	for (size_t i = 0; i < reports.n; i++) {
		const struct conf_report *at = &reports.at[i];

		if (at->severity == CONF_ERROR &&
		    strstr(at->path, "environment_file") != NULL)
			(void)dprintf(fd, "%u %u%c%s%c%s%c%s%c", at->line, at->column, 0,
			              at->file, 0, at->path, 0, at->message, 0);
	}
}

/* The next text of the answer, and where the one after it begins; NULL: there is none. */
static const char *
next_text(const char **at, const char *end)
{
	const char *text = *at;
	const char *nul = memchr(text, 0, (size_t)(end - text));

	if (nul == NULL)
		return NULL;
	*at = nul + 1;
	return text;
}

static void
take_reports(const char *answer, size_t size, struct conf_reports *reports)
{
	const char *at = answer, *end = answer + size;

	for (;;) {
		const char *numbers = next_text(&at, end);
		const char *file = numbers == NULL ? NULL : next_text(&at, end);
		const char *path = file == NULL ? NULL : next_text(&at, end);
		const char *message = path == NULL ? NULL : next_text(&at, end);
		struct spot spot = {.file = file};

		if (message == NULL ||
		    sscanf(numbers, "%u %u", &spot.line, &spot.column) != 2)
			return;
		reports_add(reports, CONF_ERROR, &spot, path, message);
	}
}

/*
 * Look at the environment files of a configuration that is to come into force.  0, or
 * -EINVAL with what is wrong among the reports; -ENOMEM, -EAGAIN … if that cannot be
 * found out.  It takes LOOK_MS at most.
 */
int
reload_look(struct shell *shell, const struct conf *conf, struct conf_reports *reports)
{
	const struct spot spot = {.file = shell->conf_file};
	const size_t before = reports->n_errors;
	char *answer;
	ssize_t n;

	if (!has_environment_files(conf))
		return 0;
	answer = malloc(LOOK_BYTES_MAX);
	if (answer == NULL)
		return -ENOMEM;
	n = bounded_run(&shell->bounded, BOUNDED_CONF, look, shell, LOOK_MS, answer,
	                LOOK_BYTES_MAX);
	if (n > 0)
		take_reports(answer, (size_t)n, reports);
	free(answer);
	if (n == -ETIMEDOUT)
		reports_add(reports, CONF_ERROR, &spot, "environment_file",
		            "an environment file does not answer: its file system hangs");
	else if (n < 0)
		return (int)n;
	return reports->n_errors > before ? -EINVAL : 0;
}
