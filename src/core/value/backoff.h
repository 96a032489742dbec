/* SPDX-License-Identifier: ISC */
/* backoff.h - when: the delay before the next start. */
#ifndef CORE_BACKOFF_H
#define CORE_BACKOFF_H

#include "base/rng.h"
#include "core/spec.h"

uint64_t backoff_base(const struct backoff_spec *spec, uint32_t failures);
uint64_t backoff_delay(const struct backoff_spec *spec, uint32_t failures,
                       struct rng *rng);
void backoff_range(const struct backoff_spec *spec, uint32_t failures,
                   uint64_t *ret_min_ms, uint64_t *ret_max_ms);
void backoff_override(struct backoff_spec *spec, const struct backoff_spec *rule,
                      uint32_t keys);

#endif
