/* SPDX-License-Identifier: ISC */
/* test_memory.c - the event loop has a reserve; without it the guardian ends. */
#include "config.h"

#include <check.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "daemon/state/memory.h"
#include "tests/lib/check_main.h"

#define PART ((long)200 * 1024)

/* As in other builds: there an allocator that finds nothing ends the process by itself.
 */
#if defined(__SANITIZE_ADDRESS__)
#define HAS_LIMITS 0
#else
#define HAS_LIMITS 1
#endif

/* Leave no more address space than there is in use, and nothing of that. */
static void
use_up(void)
{
	const struct rlimit none = {0, 0};

	ck_assert_int_eq(setrlimit(RLIMIT_AS, &none), 0);
	while (malloc((size_t)PART) != NULL)
		continue;
}

START_TEST(the_reserve_serves_the_loop_once_and_then_the_guardian_ends)
{
	void *first, *second;

	memory_begin();
	first = memory_for_loop(NULL, 64);
	ck_assert_ptr_nonnull(first);
	use_up();
	second = memory_for_loop(NULL, PART);
	ck_assert_ptr_nonnull(second);
	/* Given back, it is there for the next time: what follows must not fail. */
	ck_assert_ptr_null(memory_for_loop(second, 0));
	second = memory_for_loop(NULL, PART);
	ck_assert_ptr_nonnull(second);
	(void)memory_for_loop(NULL, PART);
}
END_TEST

START_TEST(what_no_reserve_can_serve_ends_the_guardian)
{
	memory_begin();
	(void)memory_for_loop(NULL, LONG_MAX);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("memory");
	TCase *tcase = tcase_create("memory");

	tcase_set_tags(tcase, "kernel_limits");
	if (HAS_LIMITS) {
		tcase_add_test_raise_signal(
		    tcase, the_reserve_serves_the_loop_once_and_then_the_guardian_ends,
		    SIGABRT);
		tcase_add_test_raise_signal(
		    tcase, what_no_reserve_can_serve_ends_the_guardian, SIGABRT);
	}
	suite_add_tcase(suite, tcase);
	return check_run(srunner_create(suite));
}
