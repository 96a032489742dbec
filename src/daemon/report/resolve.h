/* SPDX-License-Identifier: ISC */
/* resolve.h - from the names that people write to actors.
 *
 * A name is a path, a path below /user without that prefix, a last name that only one
 * actor has, a glob, or, for replicas, their name without "@N".
 */
#ifndef DAEMON_RESOLVE_H
#define DAEMON_RESOLVE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/map.h"
#include "core/core.h"

struct event_view;
struct reporter;

/* Actors in start order, each once; all zero: none. */
struct ref_list {
	struct ref *at;
	size_t n, cap;
	struct map slots; /* slots of the actors in the list */
};

/* What was perhaps meant; the paths are borrowed until the tree changes. */
#define CANDIDATES_MAX 16
struct candidates {
	const char *at[CANDIDATES_MAX];
	size_t n;
};

void ref_list_done(struct ref_list *list);
int resolve_all(const struct core *core, struct ref_list *list);
int resolve_name(const struct reporter *reporter, const char *name, struct ref_list *list,
                 struct candidates *ret_candidates);
bool resolve_gone(const struct reporter *reporter, const char *name,
                  struct event_view *ret);
bool ref_is_none(struct ref ref);

#endif
