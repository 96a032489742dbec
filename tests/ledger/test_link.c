/* SPDX-License-Identifier: ISC */
/* test_link.c - messages between walker and guardian, and what is handed over. */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ledger/handing.h"
#include "ledger/link.h"
#include "os/self/fd.h"
#include "tests/ledger/link_ends.h"
#include "tests/lib/check_main.h"

START_TEST(every_kind_of_message_arrives_as_it_was_sent)
{
	struct link_message sent = {.kind = LINK_STORE, .n = 2}, got;
	int fds[2], passed[2] = {some_file(), some_file()}, came[LINK_FDS_MAX];
	size_t n;

	sent.keys[0] = 7;
	sent.keys[1] = VAULT_KEY(VAULT_PIPE, 9);
	ck_assert_int_eq(link_pair(fds), 0);
	ck_assert_int_eq(link_send(fds[GUARDIAN], &sent, passed, 2), 0);
	sent = (struct link_message){.kind = LINK_NOTIFY, .n = 7};
	memcpy(sent.text, "READY=1", 7);
	ck_assert_int_eq(link_send(fds[GUARDIAN], &sent, NULL, 0), 0);
	sent = (struct link_message){.kind = LINK_SIGNAL, .n = 15};
	ck_assert_int_eq(link_send(fds[GUARDIAN], &sent, NULL, 0), 0);

	ck_assert_int_eq(link_receive(fds[WALKER], 0, &got, came, &n), 1);
	ck_assert_uint_eq(got.kind, LINK_STORE);
	ck_assert_uint_eq(got.n, 2);
	ck_assert_uint_eq(n, 2);
	ck_assert_uint_eq(got.keys[0], 7);
	ck_assert_uint_eq(VAULT_KIND_OF(got.keys[1]), VAULT_PIPE);
	for (int i = 0; i < 2; i++) {
		ck_assert_uint_eq(inode(came[i]), inode(passed[i]));
		ck_assert_int_ge(came[i], FD_WINDOW);
		ck_assert_int_eq(fcntl(came[i], F_GETFD), FD_CLOEXEC);
	}
	close_both(came);
	ck_assert_int_eq(link_receive(fds[WALKER], 0, &got, came, &n), 1);
	ck_assert_uint_eq(got.kind, LINK_NOTIFY);
	ck_assert_str_eq(got.text, "READY=1");
	ck_assert_int_eq(link_receive(fds[WALKER], 0, &got, came, &n), 1);
	ck_assert_uint_eq(got.kind, LINK_SIGNAL);
	ck_assert_uint_eq(got.n, 15);
	ck_assert_uint_eq(n, 0);
	ck_assert_int_eq(link_receive(fds[WALKER], 0, &got, came, &n), -EAGAIN);
	close_both(passed);
	close_both(fds);
}
END_TEST

START_TEST(a_message_may_carry_253_descriptors)
{
	struct link_message message = {.kind = LINK_VAULT, .n = LINK_FDS_MAX};
	int fds[2], file = some_file(), came[LINK_FDS_MAX], same[LINK_FDS_MAX];
	size_t n;

	ck_assert_int_eq(link_pair(fds), 0);
	for (int i = 0; i < LINK_FDS_MAX; i++)
		same[i] = file;
	ck_assert_int_eq(link_send(fds[GUARDIAN], &message, same, LINK_FDS_MAX), 0);
	ck_assert_int_eq(link_receive(fds[WALKER], 0, &message, came, &n), 1);
	ck_assert_uint_eq(n, LINK_FDS_MAX);
	for (size_t i = 0; i < n; i++)
		(void)close(came[i]);
	(void)close(file);
	close_both(fds);
}
END_TEST

START_TEST(descriptors_that_do_not_fit_are_closed_and_told)
{
	struct link_message message = {.kind = LINK_STORE, .n = 9};
	int fds[2], file = some_file(), came[LINK_FDS_MAX], same[9];
	struct rlimit limit, low;
	int before;
	size_t n;

	ck_assert_int_eq(link_pair(fds), 0);
	ck_assert_int_eq(fd_limit(&limit), 0);
	for (int i = 0; i < 9; i++)
		same[i] = file;
	message.keys[3] = 33;
	ck_assert_int_eq(link_send(fds[GUARDIAN], &message, same, 9), 0);
	message = (struct link_message){.kind = LINK_ADOPTED};
	ck_assert_int_eq(link_send(fds[GUARDIAN], &message, NULL, 0), 0);
	before = count_fds();
	low = limit;
	low.rlim_cur = (rlim_t)file + 5;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
	ck_assert_int_eq(link_receive(fds[WALKER], 0, &message, came, &n), -EMFILE);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_uint_eq(message.kind, LINK_STORE);
	ck_assert_uint_eq(message.keys[3], 33);
	ck_assert_uint_eq(n, 0);
	ck_assert_int_eq(count_fds(), before);
	ck_assert_int_eq(link_receive(fds[WALKER], 0, &message, came, &n), 1);
	ck_assert_uint_eq(message.kind, LINK_ADOPTED);
	(void)close(file);
	close_both(fds);
}
END_TEST

START_TEST(what_the_dead_sent_arrives_although_it_had_not_read_everything)
{
	struct link_message message = {.kind = LINK_POKE};
	int fds[2], came[LINK_FDS_MAX];
	size_t n;

	ck_assert_int_eq(link_pair(fds), 0);
	ck_assert_int_eq(link_send(fds[WALKER], &message, NULL, 0), 0);
	message.kind = LINK_ADOPTED;
	ck_assert_int_eq(link_send(fds[GUARDIAN], &message, NULL, 0), 0);
	(void)close(fds[GUARDIAN]);
	ck_assert_int_eq(link_receive(fds[WALKER], 0, &message, came, &n), 1);
	ck_assert_uint_eq(message.kind, LINK_ADOPTED);
	ck_assert_int_eq(link_receive(fds[WALKER], 0, &message, came, &n), 0);
	ck_assert_int_eq(link_send(fds[WALKER], &message, NULL, 0), -EPIPE);
	(void)close(fds[WALKER]);
}
END_TEST

START_TEST(what_is_no_message_is_refused_and_its_descriptors_closed)
{
	const struct {
		uint32_t kind, n;
		size_t bytes;
	} wrong[] = {
	    {LINK_KIND_MAX, 0, 8},
	    {LINK_STORE, 2, 16},
	    {LINK_STORE, UINT32_MAX, 2000},
	    {LINK_NOTIFY, LINK_TEXT_MAX, 4104},
	    {LINK_HELLO, 0, 8},
	    {LINK_POKE, 0, 4},
	    {LINK_POKE, 0, 9},
	};
	struct link_message message = {0};
	int fds[2], came[LINK_FDS_MAX];
	size_t n;

	ck_assert_int_eq(link_pair(fds), 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		memset(&message, 0, sizeof(message));
		message.kind = wrong[i].kind;
		message.n = wrong[i].n;
		ck_assert_int_gt((int)send(fds[GUARDIAN], &message, wrong[i].bytes, 0),
		                 0);
		ck_assert_int_eq(link_receive(fds[WALKER], 0, &message, came, &n),
		                 -EBADMSG);
		ck_assert_uint_eq(n, 0);
	}
	close_both(fds);
}
END_TEST

START_TEST(a_message_without_exactly_its_descriptors_is_refused_and_they_are_closed)
{
	const struct {
		uint32_t kind, n;
		size_t n_fds;
	} wrong[] = {
	    {LINK_STORE, 2, 1},  {LINK_STORE, 1, 2},  {LINK_VAULT, 2, 1},
	    {LINK_LEDGER, 0, 0}, {LINK_LEDGER, 0, 2}, {LINK_UPGRADE, 0, 0},
	    {LINK_HELLO, 0, 2},  {LINK_POKE, 0, 1},   {LINK_ADOPTED, 0, 1},
	};
	int fds[2], came[LINK_FDS_MAX], before;
	const int files[2] = {some_file(), some_file()};
	size_t n;

	ck_assert_int_eq(link_pair(fds), 0);
	before = count_fds();
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct link_message message = {.kind = wrong[i].kind, .n = wrong[i].n};

		ck_assert_int_eq(
		    link_send(fds[GUARDIAN], &message, files, wrong[i].n_fds), 0);
		ck_assert_int_eq(link_receive(fds[WALKER], 0, &message, came, &n),
		                 -EBADMSG);
		ck_assert_uint_eq(n, 0);
		ck_assert_int_eq(count_fds(), before);
	}
	close_both(fds);
}
END_TEST

/* Everything that the vault hands out is what was stored last. */
static void
compare_vault(const struct vault *vault, const int *expected)
{
	uint64_t keys[LINK_FDS_MAX];
	int fds[LINK_FDS_MAX];
	size_t at = 0, all = 0, n;

	while ((n = vault_next(vault, &at, LINK_FDS_MAX, keys, fds)) > 0) {
		for (size_t i = 0; i < n; i++)
			ck_assert_int_eq(fds[i], expected[keys[i] >> 20]);
		all += n;
	}
	ck_assert_uint_eq(all, vault->n);
}

/* Send unread descriptors up to the user's limit of descriptors in flight. */
static int
fill_flight(void)
{
	struct link_message message = {.kind = LINK_VAULT, .n = 60};
	int fds[2], passed[60], r;

	for (size_t i = 0; i < 60; i++)
		passed[i] = 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, fds) < 0)
		return -errno;
	do {
		r = link_send(fds[0], &message, passed, 60);
	} while (r == 0);
	return r;
}

/* As an ordinary user: root has no such limit. */
static int
send_beyond_the_limit(void)
{
	const struct rlimit limit = {128, 128};
	struct link_message message = {.kind = LINK_STORE, .n = 1};
	int fds[2], passed = 0;

	if (setrlimit(RLIMIT_NOFILE, &limit) < 0 || setresuid(65533, 65533, 65533) < 0 ||
	    link_pair(fds) < 0)
		return 1;
	if (fill_flight() != -ETOOMANYREFS)
		return 2;
	if (link_send(fds[GUARDIAN], &message, &passed, 1) != -ETOOMANYREFS ||
	    link_try(fds[GUARDIAN], &message, &passed, 1) != -ETOOMANYREFS)
		return 3;
	/* What has no descriptors still arrives. */
	message = (struct link_message){.kind = LINK_ADOPTED};
	if (link_send(fds[GUARDIAN], &message, NULL, 0) != 0)
		return 4;
	/* The guardian's end, too, can be asked not to wait. */
	while (link_try(fds[GUARDIAN], &message, NULL, 0) == 0)
		continue;
	return link_try(fds[GUARDIAN], &message, NULL, 0) == -EAGAIN ? 0 : 5;
}

START_TEST(unread_descriptors_in_the_link_are_not_waited_for_without_end)
{
	int status;
	pid_t pid;

	CHECK_NEEDS(getuid() == 0, "root");
	pid = fork();
	if (pid == 0)
		_exit(send_beyond_the_limit());
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(the_vault_has_what_was_stored_last_however_much_it_grew)
{
	enum { KEYS = 600 };
	int expected[KEYS] = {0};
	uint32_t random = 1;
	struct vault vault;
	struct err err;
	size_t n = 0;

	ck_assert_int_eq(vault_open(&vault, 0, &err), 0);
	for (int step = 0; step < 20 * KEYS; step++) {
		random = random * 1664525 + 1013904223;
		const uint64_t i = (random >> 8) % KEYS;
		const bool is_stored = random >> 30 != 0;

		n += is_stored - (expected[i] != 0);
		expected[i] = is_stored ? some_file() : 0;
		if (is_stored)
			ck_assert(vault_store(&vault, i << 20 | 7, expected[i]));
		else
			vault_drop(&vault, i << 20 | 7);
		ck_assert_uint_eq(vault.n, n);
	}
	ck_assert_uint_gt(n, KEYS / 2);
	compare_vault(&vault, expected);
	for (uint64_t i = 0; i < KEYS; i++)
		vault_drop(&vault, i << 20 | 7);
	ck_assert_uint_eq(vault.n, 0);
}
END_TEST

START_TEST(handing_over_goes_on_where_it_stopped_and_tells_news_last)
{
	struct handing handing = {.exits_fd = some_file(), .ledger_fd = -1};
	struct link_message message;
	int fds[2], came[LINK_FDS_MAX], r = 1;
	size_t n, n_keys = 0, n_full = 0;
	struct vault vault;
	struct err err;

	handing.hello = (struct link_hello){.version = LINK_VERSION};
	ck_assert_int_eq(vault_open(&vault, 0, &err), 0);
	for (uint64_t key = 1; key <= 40 * 3; key++)
		ck_assert(vault_store(&vault, key, some_file()));
	handing.link_fd = -1;
	ck_assert_int_eq(handing_send(&handing, &vault), 0);
	ck_assert_int_eq(link_pair(fds), 0);
	/* A link with room for a message or two. */
	ck_assert_int_eq(setsockopt(fds[WALKER], SOL_SOCKET, SO_SNDBUF, &r, sizeof(r)),
	                 0);
	handing.signals = 1U << 15 | 1U << 1;
	handing.has_news = true;
	handing_begin(&handing, fds[WALKER]);
	handing.has_ack = true;
	static const enum link_kind order[] = {LINK_HELLO, LINK_VAULT,  LINK_END,
	                                       LINK_ACK,   LINK_SIGNAL, LINK_SIGNAL,
	                                       LINK_POKE};

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		r = handing_send(&handing, &vault);
		ck_assert(r == 0 || r == -EAGAIN);
		n_full += r == -EAGAIN;
		ck_assert_int_eq(link_receive(fds[GUARDIAN], 0, &message, came, &n), 1);
		ck_assert_uint_eq(message.kind, order[i]);
		n_keys += message.kind == LINK_VAULT ? message.n : 0;
		while (n > 0)
			(void)close(came[--n]);
	}
	ck_assert_uint_gt(n_full, 0);
	ck_assert_uint_eq(n_keys, 40 * 3);
	ck_assert_int_eq(handing_send(&handing, &vault), 0);
	ck_assert_int_eq(link_receive(fds[GUARDIAN], MSG_DONTWAIT, &message, came, &n),
	                 -EAGAIN);
	(void)close(fds[GUARDIAN]);
	handing.has_news = true;
	ck_assert_int_eq(handing_send(&handing, &vault), -EPIPE);
	ck_assert(handing.has_news);
	(void)close(fds[WALKER]);
}
END_TEST

START_TEST(what_the_vault_has_of_what_is_asked_for_comes_in_its_order)
{
	struct handing handing = {
	    .step = HANDING_NEWS, .has_fetch = true, .n_wanted = 3, .wanted = {9, 8, 7}};
	int fds[2], came[LINK_FDS_MAX], one = some_file(), other = some_file();
	struct link_message message;
	struct vault vault;
	struct err err;
	size_t n;

	ck_assert_int_eq(vault_open(&vault, 0, &err), 0);
	ck_assert(vault_store(&vault, 7, one));
	ck_assert(vault_store(&vault, 9, other));
	ck_assert_int_eq(link_pair(fds), 0);
	handing.link_fd = fds[WALKER];
	ck_assert_int_eq(handing_send(&handing, &vault), 0);
	ck_assert_int_eq(link_receive(fds[GUARDIAN], 0, &message, came, &n), 1);
	ck_assert_uint_eq(message.kind, LINK_VAULT);
	ck_assert_uint_eq(n, 2);
	ck_assert_uint_eq(message.keys[0], 9);
	ck_assert_uint_eq(message.keys[1], 7);
	ck_assert_uint_eq(inode(came[0]), inode(other));
	ck_assert_uint_eq(inode(came[1]), inode(one));
	/* Once; and none is an answer, too. */
	handing.has_fetch = true;
	handing.n_wanted = 1;
	handing.wanted[0] = 8;
	ck_assert_int_eq(handing_send(&handing, &vault), 0);
	ck_assert_int_eq(link_receive(fds[GUARDIAN], 0, &message, came, &n), 1);
	ck_assert_uint_eq(message.kind, LINK_VAULT);
	ck_assert_uint_eq(message.n, 0);
	ck_assert_int_eq(link_receive(fds[GUARDIAN], MSG_DONTWAIT, &message, came, &n),
	                 -EAGAIN);
}
END_TEST

START_TEST(a_full_link_makes_the_guardian_wait_and_the_walker_come_back)
{
	struct link_message message = {.kind = LINK_NOTIFY, .n = 4000};
	int fds[2], came[LINK_FDS_MAX], n_sent = 0, r, status;
	pid_t pid;
	size_t n;

	memset(message.text, 'x', 4000);
	ck_assert_int_eq(link_pair(fds), 0);
	while ((r = link_send(fds[WALKER], &message, NULL, 0)) == 0)
		n_sent++;
	ck_assert_int_eq(r, -EAGAIN);
	ck_assert_int_gt(n_sent, 10);
	pid = fork();
	if (pid == 0) {
		for (int i = 0; i < 1000; i++)
			if (link_send(fds[GUARDIAN], &message, NULL, 0) < 0)
				_exit(1);
		_exit(0);
	}
	(void)close(fds[GUARDIAN]);
	ck_assert_int_eq(fcntl(fds[WALKER], F_SETFL, 0), 0);
	for (int i = 0; i < 1000; i++)
		ck_assert_int_eq(link_receive(fds[WALKER], 0, &message, came, &n), 1);
	ck_assert_int_eq(link_receive(fds[WALKER], 0, &message, came, &n), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	(void)close(fds[WALKER]);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("link");
	TCase *tcase = tcase_create("link");
	TCase *limits = tcase_create("limits of the kernel");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, every_kind_of_message_arrives_as_it_was_sent);
	tcase_add_test(tcase, a_message_may_carry_253_descriptors);
	tcase_add_test(tcase,
	               what_the_dead_sent_arrives_although_it_had_not_read_everything);
	tcase_add_test(tcase, what_is_no_message_is_refused_and_its_descriptors_closed);
	tcase_add_test(
	    tcase,
	    a_message_without_exactly_its_descriptors_is_refused_and_they_are_closed);
	tcase_add_test(tcase, the_vault_has_what_was_stored_last_however_much_it_grew);
	tcase_add_test(tcase, handing_over_goes_on_where_it_stopped_and_tells_news_last);
	tcase_add_test(tcase, what_the_vault_has_of_what_is_asked_for_comes_in_its_order);
	tcase_add_test(tcase,
	               a_full_link_makes_the_guardian_wait_and_the_walker_come_back);
	suite_add_tcase(suite, tcase);
	tcase_set_tags(limits, "kernel_limits");
	tcase_add_test(limits,
	               unread_descriptors_in_the_link_are_not_waited_for_without_end);
	tcase_add_test(limits, descriptors_that_do_not_fit_are_closed_and_told);
	suite_add_tcase(suite, limits);
	return check_run(srunner_create(suite));
}
