/* SPDX-License-Identifier: ISC */
/* load_child.c - what the child does that reads or composes a configuration. */
#include "config.h"

#include "daemon/reload/load_child.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "conf/text/reports.h"
#include "os/self/fd.h"
#include "os/self/pass.h"

/* Say what came of it, with the frozen configuration; false: the parent is not there. */
static bool
send_result(int fd, const struct conf *conf)
{
	struct load_result head = {0};
	CLEANUP(fd_close) int frozen = -1;

	if (conf != NULL)
		frozen = conf_pack(conf, &head.err);
	if (conf != NULL && frozen < 0)
		head.code = frozen;
	int r = pass_send(fd, &head, sizeof(head),
	                  &(struct pass_fds){&frozen, frozen >= 0}, 0);
	/* Too many descriptors of this user are in flight: say so without one. */
	if (r < 0 && frozen >= 0) {
		head.code = r;
		r = pass_send(fd, &head, sizeof(head), NULL, 0);
	}
	return r == 0;
}

/* Each report as its numbers and three texts, each ended by a NUL. */
static void
send_reports(int fd, const struct conf_reports *reports)
{
	for (size_t i = 0; i < reports->n; i++) {
		const struct conf_report *at = &reports->at[i];

		(void)dprintf(fd, "%u %u %u%c%s%c%s%c%s%c", (unsigned int)at->severity,
		              at->line, at->column, 0, at->file, 0, at->path, 0,
		              at->message, 0);
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

/* In the parent: take what send_reports() has written. */
void
load_take_reports(const char *answer, size_t size, struct conf_reports *reports)
{
	const char *at = answer, *end = answer + size;

	for (;;) {
		const char *numbers = next_text(&at, end);
		const char *file = numbers == NULL ? NULL : next_text(&at, end);
		const char *path = file == NULL ? NULL : next_text(&at, end);
		const char *message = path == NULL ? NULL : next_text(&at, end);
		struct spot spot = {.file = file};
		unsigned int severity;

		if (message == NULL ||
		    sscanf(numbers, "%u %u %u", &severity, &spot.line, &spot.column) != 3)
			return;
		reports_add(reports, (enum conf_severity)severity, &spot, path, message);
	}
}

/* Read the file, or compose an addition: see struct load, which `data` is. */
void
load_it(int fd, void *data)
{
	const struct load *load = data;
	struct conf_reports reports;
	struct conf *conf =
	    load->addition == NULL
	        ? conf_load(load->file, &load->options, &reports)
	        : conf_compose(load->conf, load->addition, &load->options, &reports);

	if (send_result(fd, conf))
		send_reports(fd, &reports);
}

/* Load the replicas in order, up to the first faulty replica, and answer with its
 * reports. */
void
load_replicas(int fd, void *data)
{
	const struct load *load = data;
	bool goes_on = true;

	for (uint32_t i = 0; i < load->n_numbers && goes_on; i++) {
		struct conf_addition addition = *load->addition;
		CLEANUP(conf_reports_done) struct conf_reports reports;

		addition.replica = load->numbers[i];
		CLEANUP(conf_drop)
		struct conf *conf =
		    conf_compose(load->conf, &addition, &load->options, &reports);
		goes_on = send_result(fd, conf) && conf != NULL;
		if (conf == NULL)
			send_reports(fd, &reports);
	}
}
