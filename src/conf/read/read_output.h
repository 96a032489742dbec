/* SPDX-License-Identifier: ISC */
/* read_output.h - targets of an actor's output, keeping of its log, pipes between actors
 * (private to conf/).
 */
#ifndef CONF_OUTPUT_H
#define CONF_OUTPUT_H

#include "conf/read/read.h"

void log_default(struct conf_log *log);
void pipes_check(struct reader *reader);
char *output_show(struct reader *reader, const struct conf_actor *actor,
                  const struct yaml *node);

#endif
