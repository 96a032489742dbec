/* SPDX-License-Identifier: ISC */
/* log_rotate.c - supd's own log, where it is a file, is set aside as those of actors are.
 */
#include "config.h"

#include <stdint.h>

#include "base/units.h"
#include "conf/text/conf.h"
#include "daemon/state/log.h"
#include "logd/write/sink.h"

/*
 * Set the file aside; its writers open it anew.  A row of renames in the directory of the
 * log: a file system that hangs here would have hung the last line. 0 or -errno: then the
 * file goes on.
 */
int
log_set_aside(const char *path, const struct conf_log *limits)
{
	struct sink sink = {
	    .target = FEED_TO_FILE,
	    .path = (char *)(uintptr_t)path,
	    .log = {.max_size = limits->max_size,
	            .total = limits->total,
	            .max_age_ms =
	                limits->max_age_ms == DURATION_INFINITE ? 0 : limits->max_age_ms,
	            .keep = limits->keep},
	    .fd = -1,
	};

	return sink_rotate(&sink);
}
