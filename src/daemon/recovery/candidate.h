/* SPDX-License-Identifier: ISC */
/* candidate.h - can this binary go on where another supd is?  Asked before an upgrade.
 *
 * The supd that runs starts the new binary with its own command line and
 * --can-adopt=KIND, gives it its ledger and its configuration, and hears one line of JSON
 * at the end of what it writes:
 *
 *	{"version": "1.2.3"}     it can
 *	{"errors": [...]}        not with that configuration file: as in ConfigInvalid
 *	{"message": "..."}       it cannot, and why
 *
 * Whatever else a program says to that means that it is no supd, or one that does not
 * know the question.  Nothing is changed, nothing is started.
 */
#ifndef DAEMON_CANDIDATE_H
#define DAEMON_CANDIDATE_H

struct supd_options;

/* The numbers of the descriptors that the candidate gets. */
#define CANDIDATE_LEDGER_FD 3
#define CANDIDATE_CONF_FD   4

/* KIND, a number: a binary with the same number can talk to our walker and be executed by
 * it. */
#define CANDIDATE_KIND_MAX 24
const char *candidate_kind(char buf[CANDIDATE_KIND_MAX]);

/* Answer, as the new binary; returns the exit status. */
int candidate_run(const struct supd_options *options);

#endif
