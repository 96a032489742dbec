/* SPDX-License-Identifier: ISC */
/* logd.h - /system/log: brings what the actors print to files, journal and syslog.
 *
 * Its own process: a slow disk must not stop supervision.  All that must survive it is
 * in the descriptors it is given, so it may be killed at any instruction and started
 * again with the same: no line is lost, none is in a file twice.
 */
#ifndef LOGD_LOGD_H
#define LOGD_LOGD_H

#include <signal.h>

struct logd_fds {
	int feed;       /* see feed.h */
	int state;      /* see state.h */
	int staging[2]; /* a pipe that only log processes touch: read, write */
};

/* Where the log process finds them. */
#define LOGD_FEED    3
#define LOGD_STATE   4
#define LOGD_STAGING 5

/* What ends it.  TERM does not: sent to all processes of supd at once, as by a careless
 * pkill, it would end the log before the actors have said their last words. */
#define LOGD_STOP SIGUSR2

int logd_run(const struct logd_fds *fds);

#endif
