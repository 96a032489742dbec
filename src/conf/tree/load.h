/* SPDX-License-Identifier: ISC */
/* load.h - the beginning of a configuration, wherever it comes from (private to conf/).
 */
#ifndef CONF_LOAD_H
#define CONF_LOAD_H

#include "conf/text/conf.h"

struct conf *conf_new(void);
void report_no_memory(const char *file, struct conf_reports *reports);

#endif
