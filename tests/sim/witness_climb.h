/* SPDX-License-Identifier: ISC */
/* witness_climb.h - failures on their way up, as the witness sees them. */
#ifndef TESTS_SIM_WITNESS_CLIMB_H
#define TESTS_SIM_WITNESS_CLIMB_H

#include "tests/sim/sim.h"

void witness_check_told(struct witness *witness, struct witnessed *origin,
                        const struct action *action);
void witness_climbs(struct witness *witness, const struct action *report);
void witness_decided(struct witness *witness, struct witnessed *node,
                     struct witnessed *failed, const struct action *report);
void witness_check_decided(struct witness *witness, const struct witnessed *node);
bool witness_start_fails(const struct witness *witness, const struct witnessed *node);
void witness_acts(struct witness *witness, const struct action *action);
struct witnessed *witness_failed(struct witness *witness, const struct witnessed *level,
                                 struct witnessed *origin);
void witness_resumed(struct witness *witness, struct witnessed *node);
void witness_check_exit(struct witness *witness);

#endif
