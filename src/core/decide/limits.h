/* SPDX-License-Identifier: ISC */
/* limits.h - may a child be restarted, or resumed, once more?  Its own `limit`, the
 * intensity of its supervisor, the guard of resumes (private to core/).
 */
#ifndef CORE_LIMITS_H
#define CORE_LIMITS_H

#include "core/tree/turn.h"

bool limits_admit_child(const struct core *core, struct node *child,
                        const struct limit_spec *limit, uint64_t now_ms);
bool limits_admit_intensity(struct turn *turn, struct node *supervisor);
bool limits_admit_resume(struct node *node, uint64_t now_ms);
uint32_t limits_in_use(struct turn *turn, const struct node *supervisor);

#endif
