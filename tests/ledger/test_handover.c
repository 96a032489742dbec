/* SPDX-License-Identifier: ISC */
/* test_handover.c - what the walker hands over to a guardian that begins. */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "ledger/handover.h"
#include "ledger/link.h"
#include "tests/ledger/link_ends.h"
#include "tests/lib/check_main.h"

static void
send_hello(int fd, const int *files, bool has_ledger)
{
	struct link_message message = {.kind = LINK_HELLO};

	message.hello.version = LINK_VERSION;
	message.hello.crashes = 5;
	message.hello.has_ledger = has_ledger;
	ck_assert_int_eq(link_send(fd, &message, files, has_ledger ? 2 : 1), 0);
}

static void
send_vault(int fd, uint32_t n, uint64_t first, int file)
{
	struct link_message message = {.kind = LINK_VAULT, .n = n};
	int same[LINK_FDS_MAX];

	for (uint32_t i = 0; i < n; i++) {
		message.keys[i] = first - i;
		same[i] = file;
	}
	ck_assert_int_eq(link_send(fd, &message, same, n), 0);
}

static void
send_end(int fd)
{
	ck_assert_int_eq(link_send(fd, &(struct link_message){.kind = LINK_END}, NULL, 0),
	                 0);
}

START_TEST(what_is_handed_over_is_found_by_its_key_once)
{
	struct handover handover;
	int fds[2], files[2] = {some_file(), some_file()}, before, fd;
	struct err err;

	ck_assert_int_eq(link_pair(fds), 0);
	before = count_fds();
	send_hello(fds[WALKER], files, true);
	send_vault(fds[WALKER], 200, 1000, files[0]);
	send_vault(fds[WALKER], 200, 500, files[1]);
	send_end(fds[WALKER]);
	ck_assert_int_eq(handover_receive(fds[GUARDIAN], &handover, &err), 0);
	ck_assert_uint_eq(handover.n, 400);
	ck_assert_uint_eq(handover.hello.crashes, 5);
	ck_assert_uint_eq(inode(handover.exits_fd), inode(files[0]));
	ck_assert_uint_eq(inode(handover.ledger_fd), inode(files[1]));
	fd = handover_take(&handover, 301);
	ck_assert_uint_eq(inode(fd), inode(files[1]));
	(void)close(fd);
	fd = handover_take(&handover, 1000);
	ck_assert_uint_eq(inode(fd), inode(files[0]));
	(void)close(fd);
	ck_assert_int_eq(handover_take(&handover, 1000), -1);
	ck_assert_int_eq(handover_take(&handover, 300), -1);
	ck_assert_int_eq(handover_take(&handover, 1001), -1);
	handover_done(&handover);
	ck_assert_int_eq(count_fds(), before);
	close_both(files);
	close_both(fds);
}
END_TEST

START_TEST(a_descriptor_that_no_guardian_took_is_dropped_at_the_walker)
{
	struct link_message message;
	struct handover handover;
	int fds[2], file = some_file(), before, dropped = 0, came[LINK_FDS_MAX];
	bool seen[401] = {false};
	struct err err;
	size_t n;

	ck_assert_int_eq(link_pair(fds), 0);
	before = count_fds();
	send_hello(fds[WALKER], &file, false);
	send_vault(fds[WALKER], 200, 400, file);
	send_vault(fds[WALKER], 200, 200, file);
	send_end(fds[WALKER]);
	ck_assert_int_eq(handover_receive(fds[GUARDIAN], &handover, &err), 0);
	ck_assert_int_eq(handover.ledger_fd, -1);
	(void)close(handover_take(&handover, 17));
	(void)close(handover_take(&handover, 400));
	ck_assert_int_eq(handover_drop_rest(&handover), 0);
	ck_assert_int_eq(handover_drop_rest(&handover), 0);
	while (link_receive(fds[WALKER], 0, &message, came, &n) == 1) {
		ck_assert_uint_eq(message.kind, LINK_DROP);
		for (uint32_t i = 0; i < message.n; i++) {
			ck_assert_uint_le(message.keys[i], 400);
			ck_assert(!seen[message.keys[i]]);
			seen[message.keys[i]] = true;
			dropped++;
		}
	}
	ck_assert_int_eq(dropped, 398);
	ck_assert(!seen[17] && !seen[400]);
	handover_done(&handover);
	ck_assert_int_eq(count_fds(), before);
	(void)close(file);
	close_both(fds);
}
END_TEST

static void
expect_refusal(int fds[2], int expected, const char *text)
{
	struct handover handover;
	struct err err = {0};

	ck_assert_int_eq(handover_receive(fds[GUARDIAN], &handover, &err), expected);
	ck_assert_ptr_nonnull(strstr(err.text, text));
	ck_assert_uint_eq(handover.n, 0);
	ck_assert_int_eq(handover.exits_fd, -1);
}

START_TEST(a_handover_that_is_not_complete_or_not_ours_is_refused)
{
	struct link_message message = {.kind = LINK_HELLO};
	int fds[2], file = some_file(), before = count_fds();

	ck_assert_int_eq(link_pair(fds), 0);
	message.hello.version = LINK_VERSION + 1;
	ck_assert_int_eq(link_send(fds[WALKER], &message, &file, 1), 0);
	expect_refusal(fds, -EPROTO, "another version");
	send_vault(fds[WALKER], 3, 10, file);
	expect_refusal(fds, -EBADMSG, "understood");
	send_end(fds[WALKER]);
	expect_refusal(fds, -EBADMSG, "understood");
	send_hello(fds[WALKER], &file, false);
	send_vault(fds[WALKER], 3, 10, file);
	(void)close(fds[WALKER]);
	expect_refusal(fds, -EPIPE, "gone");
	(void)close(fds[GUARDIAN]);
	ck_assert_int_eq(count_fds(), before);
	(void)close(file);
}
END_TEST

CHECK_MAIN("handover", what_is_handed_over_is_found_by_its_key_once,
           a_descriptor_that_no_guardian_took_is_dropped_at_the_walker,
           a_handover_that_is_not_complete_or_not_ours_is_refused)
