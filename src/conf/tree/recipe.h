/* SPDX-License-Identifier: ISC */
/* recipe.h - what is kept of the files for actors that come later (private to conf/).
 *
 * `templates`, `defaults`, and for each actor with `replicas` what is written of it,
 * together with the parameters that are in force there.
 */
#ifndef CONF_RECIPE_H
#define CONF_RECIPE_H

#include "conf/read/expand.h"
#include "conf/read/read.h"

struct tree_input;

void recipes_begin(struct reader *reader, const struct tree_input *input);
void recipes_forget(struct reader *reader);
void recipes_note(struct reader *reader, const char *path, const struct yaml *own,
                  const struct scope *scope);
void recipes_end(struct reader *reader);

/* The keys of the mapping that recipes_read() gives back, and of each of the replicas. */
#define RECIPE_TEMPLATES "templates"
#define RECIPE_DEFAULTS  "defaults"
#define RECIPE_REPLICAS  "replicas"
#define RECIPE_OWN       "own"
#define RECIPE_WITH      "with"

const struct yaml *recipes_read(const struct conf *conf, struct arena *arena);

#endif
