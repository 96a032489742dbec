/* SPDX-License-Identifier: ISC */
/* test_proc_ask.c - what becomes of answers that come late, or cannot be read. */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/process/proc_file.h"
#include "os/self/bounded.h"
#include "os/self/clock.h"
#include "tests/lib/check_main.h"

/* As in proc_ask.c. */
#define CALM_MS  1000
#define LATE_MAX 16

static pid_t children[LATE_MAX + 1];
static int refusal; /* the answer that comes is not read, for this reason */
static int n_asked;

int __real_bounded_answer(int fd, uint64_t until_ms, void *ret_answer, size_t size,
                          int *ret_fd);
int __wrap_bounded_answer(int fd, uint64_t until_ms, void *ret_answer, size_t size,
                          int *ret_fd);

int
__wrap_bounded_answer(int fd, uint64_t until_ms, void *ret_answer, size_t size,
                      int *ret_fd)
{
	n_asked++;
	return refusal != 0
	           ? refusal
	           : __real_bounded_answer(fd, until_ms, ret_answer, size, ret_fd);
}

static void
set_up(void)
{
	for (size_t i = 0; i <= LATE_MAX; i++) {
		children[i] = fork();
		ck_assert_int_ge(children[i], 0);
		if (children[i] == 0)
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (; children[i] == 0;)
			(void)pause();
	}
}

static void
tear_down(void)
{
	for (size_t i = 0; i <= LATE_MAX; i++)
		(void)kill(children[i], SIGKILL);
	while (wait(NULL) > 0)
		continue;
}

static bool
is_told(pid_t pid)
{
	pid_t parent = 0;
	uint64_t start = 0;

	ck_assert_int_eq(proc_look(pid, &parent, &start), 0);
	ck_assert_int_eq(parent, getpid());
	return start != 0;
}

static void
await(pid_t pid)
{
	while (!is_told(pid))
		(void)usleep(1000);
}

START_TEST(an_answer_that_was_not_read_is_not_taken_for_the_next)
{
	pid_t parent = 0;
	uint64_t start = 0;

	refusal = -ENOMEM;
	ck_assert_int_eq(proc_look(getppid(), &parent, &start), 0);
	ck_assert_uint_eq(start, 0);
	refusal = 0;
	await(children[0]);
}
END_TEST

/* Answers about all these processes are late.  Returns the milliseconds that took. */
static uint64_t
be_late(void)
{
	const uint64_t since_ms = clock_mono_ms();

	n_asked = 0;
	refusal = -ETIMEDOUT;
	for (size_t i = 0; i < LATE_MAX; i++)
		ck_assert(!is_told(children[i]));
	ck_assert(!is_told(children[0]));
	ck_assert(!is_told(children[LATE_MAX]));
	refusal = 0;
	return clock_mono_ms() - since_ms;
}

START_TEST(after_many_late_answers_nothing_is_asked_for_a_moment)
{
	/* On a busy machine the moment may be over by then, or the children that were
	 * killed for their answers are still there: try again. */
	while (be_late() >= CALM_MS || n_asked < LATE_MAX)
		await(children[LATE_MAX]);
	ck_assert_int_eq(n_asked, LATE_MAX);
	await(children[LATE_MAX]);
	await(children[0]);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("proc_ask");
	TCase *tcase = tcase_create("proc_ask");

	tcase_set_timeout(tcase, 60);
	tcase_set_tags(tcase, "hangs");
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, an_answer_that_was_not_read_is_not_taken_for_the_next);
	tcase_add_test(tcase, after_many_late_answers_nothing_is_asked_for_a_moment);
	suite_add_tcase(suite, tcase);
	return check_run(srunner_create(suite));
}
