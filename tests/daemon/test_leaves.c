/* SPDX-License-Identifier: ISC */
/* test_leaves.c - cgroups that are made for actors that wait to be started: a directory
 * takes the place of the cgroup tree. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/processes/procs_private.h"
#include "os/cgroup/cgroup.h"
#include "os/self/bounded.h"
#include "tests/lib/check_main.h"

/* Nearer ones are not made: their turn comes at once. */
enum { N = 100, NEAR = 16, MADE = 20, LIMITED = 30, OPEN = 40, THERE = 50 };

static char directory[32];
static struct actor at[N];
static struct actors actors = {.at = at, .cap = N};
static struct conf_process process, limited_process;
static struct conf_actor conf = {.process = &process};
static struct conf_actor limited = {.process = &limited_process};
static struct proc procs_at[N];
static struct proctable table = {.at = procs_at, .cap = N};
static struct cgroup_root cgroups;
static struct bounded bounded;
static struct processes room = {.bounded = &bounded};
static struct procs procs = {
    .room = &room, .actors = &actors, .cgroups = &cgroups, .table = &table};
static uint32_t waiting[N];
static char paths[N][32];

static bool
is_there(uint32_t slot)
{
	return faccessat(cgroups.fd, paths[slot] + 1, F_OK, 0) == 0;
}

static void
setup(void)
{
	(void)snprintf(directory, sizeof(directory), "/tmp/supd-test.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	cgroup_root_init(&cgroups);
	cgroups.fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(cgroups.fd, 0);
	limited_process.cgroup.given = 1;
	for (uint32_t slot = 0; slot < N; slot++) {
		(void)snprintf(paths[slot], sizeof(paths[slot]), "/a%u", slot);
		at[slot] = (struct actor){.ref = {slot, 1},
		                          .path = paths[slot],
		                          .conf = slot == LIMITED ? &limited : &conf};
		procs_at[slot].ref = at[slot].ref;
		containment_init(&procs_at[slot].child.containment);
		/* The queue is a ring. */
		waiting[(slot + 70) % N] = slot;
	}
	procs.births.waiting = waiting;
	procs.births.cap = N;
	procs.births.first = 70;
	procs.births.n_waiting = N;
}

static void
teardown(void)
{
	for (uint32_t slot = 0; slot < N; slot++)
		(void)unlinkat(cgroups.fd, paths[slot] + 1, AT_REMOVEDIR);
	(void)close(cgroups.fd);
	(void)rmdir(directory);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

/* Make them, and wait for the end of the child. */
static void
make(void)
{
	leaves_make(&procs);
	while (procs.leaves.made != NULL && bounded_works(&bounded, procs.leaves.child))
		(void)poll(NULL, 0, 1);
}

START_TEST(a_crowd_has_its_cgroups_made_by_a_child_but_for_the_next_and_special_ones)
{
	setup();
	procs_at[OPEN].child.containment.is_cgroup = true;
	waiting[(THERE + 70) % N] = PROCS_TASK;
	ck_assert_int_eq(mkdirat(cgroups.fd, paths[MADE + 1] + 1, 0755), 0);
	make();
	for (uint32_t slot = 0; slot < N; slot++) {
		const bool is_due = slot >= NEAR && slot != LIMITED && slot != OPEN &&
		                    slot != THERE && slot != MADE + 1;

		ck_assert_msg(leaves_take(&procs, slot) == is_due, "%u", slot);
		ck_assert_msg(is_there(slot) == (is_due || slot == MADE + 1), "%u", slot);
		ck_assert_msg(!leaves_take(&procs, slot), "%u is taken once", slot);
	}
	leaves_end(&procs);
	ck_assert(is_there(MADE));
	teardown();
}
END_TEST

START_TEST(few_that_wait_and_sessions_have_none_made)
{
	setup();
	procs.births.n_waiting = 63;
	make();
	ck_assert_ptr_null(procs.leaves.made);
	ck_assert(!leaves_take(&procs, MADE));
	(void)close(cgroups.fd);
	cgroups.fd = -1;
	procs.births.n_waiting = N;
	make();
	ck_assert_ptr_null(procs.leaves.made);
	teardown();
}
END_TEST

START_TEST(what_is_not_needed_is_removed_again)
{
	setup();
	make();
	ck_assert(leaves_take(&procs, MADE));
	leaves_end(&procs);
	for (uint32_t slot = 0; slot < N; slot++)
		ck_assert_msg(is_there(slot) == (slot == MADE), "%u", slot);
	ck_assert(!leaves_take(&procs, MADE + 1));
	teardown();
}
END_TEST

START_TEST(a_child_at_work_is_ended)
{
	setup();
	leaves_make(&procs);
	ck_assert_ptr_nonnull(procs.leaves.made);
	leaves_end(&procs);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	ck_assert_int_eq(errno, ECHILD);
	teardown();
}
END_TEST

CHECK_MAIN("leaves",
           a_crowd_has_its_cgroups_made_by_a_child_but_for_the_next_and_special_ones,
           few_that_wait_and_sessions_have_none_made, what_is_not_needed_is_removed_again,
           a_child_at_work_is_ended)
