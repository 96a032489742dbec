/* SPDX-License-Identifier: ISC */
/* follow.h - what is not in the tree follows the configuration: log, limits, control. */
#ifndef DAEMON_FOLLOW_H
#define DAEMON_FOLLOW_H

#include <stdint.h>

struct conf;
struct reloader;
struct supd_options;

/* What takes descriptors, and what there is less of where they are short; borrowed. */
struct limits {
	const struct actors *actors;
	const struct additions *additions;
	struct control_file *control_file;
	struct spawner *spawner;
	const struct messages *messages;
	const struct processes *processes;
};

/* Write the log where this configuration and the command line say; to stderr where that
 * cannot be opened. */
void follow_log(const struct supd_options *options, const struct conf *conf);

/* Ask for enough descriptors for this configuration, which may be yet to come, and have
 * pipes and cgroups hold no more than are left.  Where there are fewer, pipes are left to
 * the walker.  Returns how many are needed then. */
uint64_t follow_room(const struct limits *limits, const struct conf *conf);

/* The same for the configuration in force.  Where even what is needed cannot be had, fast
 * spawning goes first, then clients: what supd needs itself is set aside before any
 * client is let in. */
void follow_limits(const struct limits *limits, const struct conf *conf);

/* How many descriptors the walker keeps for the actors of this configuration, at least.
 */
uint32_t follow_count(const struct conf *conf);

/* Another configuration than `old` is in force. */
void follow_conf(struct reloader *reloader, const struct conf *old);

#endif
