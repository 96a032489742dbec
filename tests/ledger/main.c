/* SPDX-License-Identifier: ISC */
/* main.c - run the suites of the ledger. */
#include "config.h"

#include <stdlib.h>

#include "tests/ledger/suites.h"

int
main(void)
{
	SRunner *runner = srunner_create(contract_suite());
	int failed;

	srunner_add_suite(runner, damage_suite());
	srunner_add_suite(runner, death_suite());
	srunner_add_suite(runner, replay_suite());
	srunner_add_suite(runner, steps_suite());
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
