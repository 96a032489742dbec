/* SPDX-License-Identifier: ISC */
/* own_rights.h - the rights of this process, and so of its children (private to conf/).
 *
 * The user that checks a file may be another than the user that runs it: a right that the
 * kernel will refuse is a warning, a right that does not exist on this machine is an
 * error.
 */
#ifndef CONF_RIGHTS_H
#define CONF_RIGHTS_H

#include "conf/read/read.h"
#include "conf/schema/capability.h"

struct rights {
	uint64_t effective; /* capabilities: bit n is number n */
	uint64_t permitted, bounding;
	int nice, oom_score_adj;
	uint32_t n_cpus;  /* the highest number that a processor may have, + 1 */
	uint64_t nr_open; /* the highest limit of descriptors that can be set */
};

const struct rights *rights_get(struct reader *reader);
void rights_want(struct reader *reader, const struct yaml *at, const struct trail *trail,
                 enum capability capability, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

#endif
