/* SPDX-License-Identifier: ISC */
/* config_errors.h - the faults of a configuration, as the control protocol has them. */
#ifndef DAEMON_CONFIG_ERRORS_H
#define DAEMON_CONFIG_ERRORS_H

#include <jansson.h>

#include "conf/text/conf.h"

/* All errors in a file, as ConfigInvalid has them; where there are none, the sentence. */
json_t *config_errors_json(const struct conf_reports *reports, const char *file,
                           const char *sentence);

#endif
