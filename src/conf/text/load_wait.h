/* SPDX-License-Identifier: ISC */
/* load_wait.h - what a load waits for, for the process that waits for the load (private
 * to conf/). */
#ifndef CONF_WAIT_H
#define CONF_WAIT_H

#include <stdbool.h>

struct conf_options;

void wait_begin(const struct conf_options *options, bool is_for_users, const char *fmt,
                ...) __attribute__((format(printf, 3, 4)));
void wait_end(const struct conf_options *options);

#endif
