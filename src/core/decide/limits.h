/* SPDX-License-Identifier: ISC */
/* limits.h - may a child be restarted, or resumed, once more?  Its own `limit`, the
 * intensity of its supervisor, the guard of resumes (private to core/).
 */
#ifndef CORE_LIMITS_H
#define CORE_LIMITS_H

#include "core/decide/marks.h"

bool limits_admit_resume(struct node *node, uint64_t now_ms);
uint32_t limits_in_use(const struct core *core, const struct node *supervisor,
                       uint64_t now_ms);
void limits_admit_restart(struct turn *turn, struct node *node,
                          struct decision *decision);

#endif
