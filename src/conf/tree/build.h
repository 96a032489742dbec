/* SPDX-License-Identifier: ISC */
/* build.h - from mappings of children to the list of actors (private to conf/). */
#ifndef CONF_TREE_H
#define CONF_TREE_H

#include "conf/read/expand.h"
#include "conf/read/read.h"

/* What all files together say of the tree; NULL where they say nothing. */
struct tree_input {
	const struct yaml *top; /* the main file: /user's own keys */
	const struct yaml *children, *templates, *defaults;
};

void tree_build(struct reader *reader, const struct tree_input *input);
void exit_code_from_take(struct reader *reader, const struct yaml *top);
void tree_build_below(struct reader *reader, const struct tree_input *input,
                      const char *parent, const struct scope *scope, uint32_t replica);

#endif
