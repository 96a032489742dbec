/* SPDX-License-Identifier: ISC */
/* reports.h - collecting what is wrong with a configuration (private to conf/). */
#ifndef CONF_REPORT_H
#define CONF_REPORT_H

#include "conf/text/conf.h"

/* A place in a file, to the column. */
struct spot {
	const char *file;
	uint32_t line; /* 0: the file as a whole */
	uint32_t column;
};

void reports_add(struct conf_reports *reports, enum conf_severity severity,
                 const struct spot *spot, const char *path, const char *message);
void reports_sort(struct conf_reports *reports, char *const *files, size_t n_files);

#endif
