/* SPDX-License-Identifier: ISC */
/* load.h - the beginning of a configuration, wherever it comes from (private to conf/).
 */
#ifndef CONF_LOAD_H
#define CONF_LOAD_H

#include "conf/read/read.h"

struct conf *conf_new(void);
void log_directory_set(struct reader *reader);
void log_directory_check(struct reader *reader, const struct yaml *top);
struct conf *reader_end(struct reader *reader, const char *file);
void report_no_memory(const char *file, struct conf_reports *reports);

#endif
