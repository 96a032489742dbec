/* SPDX-License-Identifier: ISC */
/* reports.c - collecting what is wrong with a configuration, and printing it. */
#include "config.h"

#include "conf/text/reports.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static void
report_done(struct conf_report *report)
{
	free(report->file);
	free(report->path);
	free(report->message);
}

/* Free what was reported; the list is empty and usable again. */
void
conf_reports_done(struct conf_reports *reports)
{
	for (size_t i = 0; i < reports->n; i++)
		report_done(&reports->at[i]);
	free(reports->at);
	*reports = (struct conf_reports){0};
}

/* True if this fault was reported: a fault of a template comes back with each actor that
 * uses it. */
static bool
is_known(const struct conf_reports *reports, const struct spot *spot, const char *message)
{
	for (size_t i = reports->n; i > 0; i--) {
		const struct conf_report *known = &reports->at[i - 1];

		if (known->line == spot->line && known->column == spot->column &&
		    strcmp(known->message, message) == 0 &&
		    strcmp(known->file, spot->file) == 0)
			return true;
	}
	return false;
}

/* Where the next report goes; NULL: the list is full, or there is no memory. */
static struct conf_report *
make_room(struct conf_reports *reports, enum conf_severity severity)
{
	if (reports->at == NULL)
		reports->at = calloc(CONF_REPORTS_MAX, sizeof(*reports->at));
	if (reports->at == NULL)
		return NULL;
	if (reports->n < CONF_REPORTS_MAX)
		return &reports->at[reports->n++];
	reports->truncated = true;
	if (severity == CONF_WARNING)
		return NULL;
	for (size_t i = 0; i < reports->n; i++) {
		if (reports->at[i].severity == CONF_ERROR)
			continue;
		report_done(&reports->at[i]);
		return &reports->at[i];
	}
	return NULL;
}

/*
 * Add one finding, unless the very same one is in the list already.  All strings are
 * copied.  Beyond CONF_REPORTS_MAX warnings give way to errors, and errors are only
 * counted.
 */
void
reports_add(struct conf_reports *reports, enum conf_severity severity,
            const struct spot *spot, const char *path, const char *message)
{
	if (is_known(reports, spot, message))
		return;
	if (severity == CONF_ERROR)
		reports->n_errors++;
	struct conf_report *report = make_room(reports, severity);
	if (report == NULL)
		return;
	*report = (struct conf_report){
	    .severity = severity,
	    .file = strdup(spot->file),
	    .line = spot->line,
	    .column = spot->column,
	    .path = strdup(path),
	    .message = strdup(message),
	};
	if (report->file == NULL || report->path == NULL || report->message == NULL) {
		report_done(report);
		*report = reports->at[--reports->n];
		reports->truncated = true;
	}
}

struct file_order {
	char *const *files;
	size_t n_files;
};

static size_t
file_rank(const struct file_order *order, const char *file)
{
	for (size_t i = 0; i < order->n_files; i++)
		if (strcmp(order->files[i], file) == 0)
			return i;
	return order->n_files;
}

static int
compare(const void *left, const void *right, void *data)
{
	const struct conf_report *a = left, *b = right;
	size_t a_rank = file_rank(data, a->file), b_rank = file_rank(data, b->file);

	if (a_rank != b_rank)
		return a_rank < b_rank ? -1 : 1;
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	if (a->column != b->column)
		return a->column < b->column ? -1 : 1;
	return strcmp(a->message, b->message);
}

/* Into the order of the files and of their lines. */
void
reports_sort(struct conf_reports *reports, char *const *files, size_t n_files)
{
	if (reports->n > 1)
		qsort_r(reports->at, reports->n, sizeof(*reports->at), compare,
		        &(struct file_order){files, n_files});
}

/* One report as "file:line:column: error: key.path: message", without a newline.
 * What it quotes of the file may hold anything, and does not control a terminal. */
void
conf_report_format(const struct conf_report *report, struct strbuf *out)
{
	strbuf_add_visible(out, report->file, strlen(report->file));
	if (report->line != 0)
		strbuf_addf(out, ":%u:%u", report->line, report->column);
	strbuf_adds(out, report->severity == CONF_ERROR ? ": error: " : ": warning: ");
	if (report->path[0] != '\0') {
		strbuf_add_visible(out, report->path, strlen(report->path));
		strbuf_adds(out, ": ");
	}
	strbuf_add_visible(out, report->message, strlen(report->message));
}

/* All of them, a line each; and a last line when there were too many to keep. */
void
conf_reports_format(const struct conf_reports *reports, struct strbuf *out)
{
	for (size_t i = 0; i < reports->n; i++) {
		conf_report_format(&reports->at[i], out);
		strbuf_addc(out, '\n');
	}
	if (reports->truncated)
		strbuf_addf(out, "and more: only the first %zu are shown (%zu errors)\n",
		            reports->n, reports->n_errors);
}

/* All reports, a line each, on standard error. */
void
conf_reports_print(const struct conf_reports *reports)
{
	CLEANUP(strbuf_done) struct strbuf sb = STRBUF(16 * 1024 * 1024);

	conf_reports_format(reports, &sb);
	(void)fputs(strbuf_str(&sb), stderr);
}
