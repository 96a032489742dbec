/* SPDX-License-Identifier: ISC */
/* follow.h - what is not in the tree follows the configuration: log, limits, control. */
#ifndef DAEMON_FOLLOW_H
#define DAEMON_FOLLOW_H

struct conf;
struct shell;

/* Write the log where this configuration and the command line say; to stderr where that
 * cannot be opened. */
void follow_log(const struct shell *shell, const struct conf *conf);

/* Ask for enough descriptors.  Where there are fewer, fast spawning goes first, then
 * clients: what supd needs itself is set aside before any is let in. */
void follow_limits(struct shell *shell, const struct conf *conf);

/* Another configuration than `old` is in force. */
void follow_conf(struct shell *shell, const struct conf *old);

#endif
