/* SPDX-License-Identifier: ISC */
/* steps.h - death at every instruction of what is done to a ledger: test_steps.c. */
#ifndef TESTS_LEDGER_STEPS_H
#define TESTS_LEDGER_STEPS_H

#include <stdbool.h>
#include <sys/types.h>

#include "ledger/ledger.h"

enum phase { BEFORE, AFTER, TORN };

struct step_case {
	void (*prepare)(struct ledger *ledger);
	void (*act)(struct ledger *ledger);
	enum phase (*look)(struct ledger *found);
	void (*go_on)(struct ledger *found);
};

/* A child that stands before `act`; let it do an instruction, false: all is done. */
pid_t start_stepping(const struct step_case *test, struct ledger *ledger);
bool step(pid_t pid);
void kill_child(pid_t pid);

/* A successor that does nothing: for `go_on`. */
void nothing_more(struct ledger *found);

/* What is found is the state before or the state after `act`, never a torn one. */
void die_at_every_instruction(const struct step_case *test);

#endif
