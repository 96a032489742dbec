/* SPDX-License-Identifier: ISC */
/* main.c - run the suites of the ledger. */
#include "config.h"

#include <stdlib.h>

#include "tests/ledger/suites.h"
#include "tests/lib/check_main.h"

int
main(void)
{
	SRunner *runner = srunner_create(contract_suite());

	srunner_add_suite(runner, damage_suite());
	srunner_add_suite(runner, death_suite());
	srunner_add_suite(runner, replay_suite());
	srunner_add_suite(runner, steps_suite());
	srunner_add_suite(runner, record_steps_suite());
	return check_run(runner);
}
