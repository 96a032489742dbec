/* SPDX-License-Identifier: ISC */
/* check_main.h - main() of the test programs in C. */
#ifndef TESTS_LIB_CHECK_MAIN_H
#define TESTS_LIB_CHECK_MAIN_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How long a test may take: only one that hangs does. */
#define CHECK_TIMEOUT_S 120

/* The tests that were skipped, a line each: "NAME_fn REASON".  All files of a program,
 * and the processes of its tests, write to the same one. */
__attribute__((weak)) FILE *check_skips;

/* End the test: it needs what is not here.  check has no word for that. */
#define CHECK_NEEDS(truth, what)                                                     \
	do {                                                                         \
		if (!(truth)) {                                                      \
			(void)fprintf(check_skips, "%s needs %s\n", __func__, what); \
			(void)fflush(check_skips);                                   \
			return;                                                      \
		}                                                                    \
	} while (0)

/* Complete the line of the TAP if it is that of a test that was skipped. */
static inline void
check_show(const char *line)
{
	char skip[256], name[256];

	rewind(check_skips);
	while (fgets(skip, sizeof(skip), check_skips) != NULL) {
		(void)snprintf(name, sizeof(name), ":%.*s: Passed",
		               (int)(strstr(skip, "_fn ") - skip), skip);
		if (strncmp(line, "ok ", 3) == 0 && strstr(line, name) != NULL) {
			printf("%.*s # SKIP %s", (int)strcspn(line, "\n"), line,
			       strchr(skip, ' ') + 1);
			return;
		}
	}
	(void)fputs(line, stdout);
}

/*
 * Runs all suites of `runner`, and frees it.
 *
 * @return what main() returns
 */
static inline int
check_run(SRunner *runner)
{
	const char *log = getenv("CK_TAP_LOG_FILE_NAME"), *forks = getenv("CK_FORK");
	FILE *tap = tmpfile();
	char line[4096];
	int failed;

	check_skips = tmpfile();
	if (tap == NULL || check_skips == NULL)
		return EXIT_FAILURE;
	(void)snprintf(line, sizeof(line), "/proc/self/fd/%d", fileno(tap));
	/* A test that closes descriptors has a process of its own, or would close that of
	 * the TAP. */
	if (log != NULL && strcmp(log, "-") == 0 &&
	    (forks == NULL || strcmp(forks, "no") != 0))
		srunner_set_tap(runner, line);
	srunner_run_all(runner, CK_ENV);
	while (fgets(line, sizeof(line), tap) != NULL)
		check_show(line);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* main() of a program with the one suite `name`: the tests that follow, which need
 * neither fixtures nor loops nor tags.  Where a test does, main() ends in check_run(). */
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
