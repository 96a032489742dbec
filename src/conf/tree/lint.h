/* SPDX-License-Identifier: ISC */
/* lint.h - what is legal and probably not meant (private to conf/). */
#ifndef CONF_LINT_H
#define CONF_LINT_H

#include <sys/stat.h>

#include "conf/read/keys.h"

void lint_tree(const struct lint *lint);
void lint_ends(const struct lint *lint);
void lint_files(const struct lint *lint, const struct conf_actor *actor);
/* Warn about a key of an actor, where it is written, or else where the actor is. */
#define lint_warn(lint, actor, key, ...) \
	keys_report(lint, CONF_WARNING, actor, key, __VA_ARGS__)
void lint_file(const char *name, const struct stat *stat_buf,
               const struct conf_options *options, struct conf_reports *reports);
void lint_templates(struct reader *reader, const struct yaml *templates);

#endif
