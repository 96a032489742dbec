/* SPDX-License-Identifier: ISC */
/* test_conf.c - run the tables of the configuration room. */
#include "config.h"

#include <stdlib.h>

#include "tests/conf/support.h"
#include "tests/lib/check_main.h"

int
main(void)
{
	SRunner *runner = srunner_create(suite_yaml());

	srunner_add_suite(runner, suite_faults());
	srunner_add_suite(runner, suite_reports());
	srunner_add_suite(runner, suite_values());
	srunner_add_suite(runner, suite_process_values());
	srunner_add_suite(runner, suite_attributes());
	srunner_add_suite(runner, suite_compose());
	srunner_add_suite(runner, suite_pack());
	srunner_add_suite(runner, suite_pack_shares());
	srunner_add_suite(runner, suite_output());
	srunner_add_suite(runner, suite_plan());
	srunner_add_suite(runner, suite_lint());
	srunner_add_suite(runner, suite_safety());
	srunner_add_suite(runner, suite_noise());
	srunner_add_suite(runner, suite_starved());
	return check_run(runner);
}
