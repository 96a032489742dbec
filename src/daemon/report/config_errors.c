/* SPDX-License-Identifier: ISC */
/* config_errors.c - the faults of a configuration, as the control protocol has them. */
#include "config.h"

#include "daemon/report/config_errors.h"

static json_t *
make_config_error(const char *file, const struct conf_report *report, const char *message)
{
	return json_pack("{s:s,s:i,s:i,s:s,s:s}", "file", file, "line",
	                 report != NULL ? (int)report->line : 0, "column",
	                 report != NULL ? (int)report->column : 0, "path",
	                 report != NULL && report->path != NULL ? report->path : "",
	                 "message", message);
}

json_t *
config_errors_json(const struct conf_reports *reports, const char *file,
                   const char *sentence)
{
	json_t *errors = json_array();

	for (size_t i = 0; i < reports->n; i++) {
		const struct conf_report *report = &reports->at[i];

		if (report->severity == CONF_ERROR)
			(void)json_array_append_new(
			    errors,
			    make_config_error(report->file != NULL ? report->file : file,
			                      report, report->message));
	}
	if (json_array_size(errors) == 0)
		(void)json_array_append_new(errors,
		                            make_config_error(file, NULL, sentence));
	return json_pack("{s:o}", "errors", errors);
}
