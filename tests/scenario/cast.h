/* SPDX-License-Identifier: ISC */
/* cast.h - the words of a story that describe an actor: kinds, types, limits, rules. */
#ifndef TESTS_SCENARIO_CAST_H
#define TESTS_SCENARIO_CAST_H

#include "tests/scenario/stage.h"

void cast_default(struct player *player, bool supervisor);
bool cast_is_for_supervisors(const char *word);
bool cast_word(struct stage *stage, struct player *player, const char *word);
bool cast_number(const char *text, const char **ret_end, uint32_t *ret_n);
bool cast_duration(const char *text, uint64_t *ret_ms);
bool cast_cause_is(const struct cause *cause, const char *text);
const char *cast_cause(const struct cause *cause, char buf[NOTE_MAX]);

/* cast_rule.c */
bool cast_decider(struct decider *decider, struct rule *rules, const char *text);

#endif
