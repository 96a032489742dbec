/* SPDX-License-Identifier: ISC */
/* program.h - the files that a command executes (private to conf/). */
#ifndef CONF_PROGRAM_H
#define CONF_PROGRAM_H

#include <sys/stat.h>

#include "conf/text/conf.h"
#include "conf/text/safe.h"

/* The trusted user is not known: every owner may be. */
#define TRUST_OWNER ((uid_t)-1)

enum found { FOUND_NOTHING, FOUND_NOT_EXECUTABLE, FOUND_PROGRAM };

/* Where a program is looked for, and which user may own it. */
struct program_search {
	const struct conf_options *options;
	const struct conf_process *process;
	struct trust trust;
};

enum found program_look(const struct program_search *program, char *const *argv,
                        struct safety_report *ret);
void program_look_at(const struct program_search *program, const char *path,
                     struct safety_report *ret);
struct trust program_trust(const struct conf_process *process);
int program_stat(const char *root, const char *path, struct stat *ret);

#endif
