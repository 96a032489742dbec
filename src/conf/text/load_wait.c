/* SPDX-License-Identifier: ISC */
/* load_wait.c - what a load waits for, for the process that waits for the load. */
#include "config.h"

#include "conf/text/load_wait.h"

#include <stdarg.h>
#include <stdio.h>

#include "conf/text/conf.h"

/* What is waited for from here on to wait_end() may never answer. */
void
wait_begin(const struct conf_options *options, bool is_for_users, const char *fmt, ...)
{
	struct conf_wait *wait = options->wait;
	va_list ap;

	if (wait == NULL)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(wait->what, sizeof(wait->what), fmt, ap);
	va_end(ap);
	wait->is_for_users = is_for_users;
	wait->is_on = true;
}

/* It has answered. */
void
wait_end(const struct conf_options *options)
{
	if (options->wait != NULL)
		options->wait->is_on = false;
}
