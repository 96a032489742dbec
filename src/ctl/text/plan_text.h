/* SPDX-License-Identifier: ISC */
/* plan_text.h - the plan of Diff and Apply, for people. */
#ifndef CTL_PLAN_TEXT_H
#define CTL_PLAN_TEXT_H

#include <jansson.h>
#include <stdbool.h>

#include "ctl/wire/print.h"

void plan_text_print(struct out *out, const json_t *plan, bool is_done);

#endif
