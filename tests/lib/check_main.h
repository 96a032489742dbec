/* SPDX-License-Identifier: ISC */
/* check_main.h - main() of the test programs in C. */
#ifndef TESTS_LIB_CHECK_MAIN_H
#define TESTS_LIB_CHECK_MAIN_H

#include <check.h>
#include <stdlib.h>

/* How long a test may take: only one that hangs does. */
#define CHECK_TIMEOUT_S 120

/*
 * Runs all suites of `runner`, and frees it.
 *
 * @return what main() returns
 */
static inline int
check_run(SRunner *runner)
{
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* main() of a program with the one suite `name`: the tests that follow, which need
 * neither fixtures nor loops. */
#define CHECK_MAIN(name, ...)                                                 \
	int main(void)                                                        \
	{                                                                     \
		const TTest *const tests[] = {__VA_ARGS__};                   \
		Suite *suite = suite_create(name);                            \
		TCase *tcase = tcase_create(name);                            \
                                                                              \
		tcase_set_timeout(tcase, CHECK_TIMEOUT_S);                    \
		for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) \
			tcase_add_test(tcase, tests[i]);                      \
		suite_add_tcase(suite, tcase);                                \
		return check_run(srunner_create(suite));                      \
	}

#endif
