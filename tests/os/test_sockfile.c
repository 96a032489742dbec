/* SPDX-License-Identifier: ISC */
/* test_sockfile.c - the file of a socket, what may become of it, and its second name. */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/socket/sock.h"
#include "os/socket/sockfile.h"
#include "tests/lib/check_main.h"

static char directory[64];
static char path[100];
static char second[100];
static struct err err;

static void
set_up(void)
{
	(void)snprintf(directory, sizeof(directory), "/tmp/test_sockfile.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	(void)snprintf(path, sizeof(path), "%s/socket", directory);
	(void)snprintf(second, sizeof(second), "%s/.socket.supd", directory);
}

static void
tear_down(void)
{
	char command[128];

	(void)snprintf(command, sizeof(command), "rm -rf %s", directory);
	ck_assert_int_eq(system(command), 0);
}

static int
listen_here(void)
{
	const struct sock_file file = {.path = path,
	                               .type = SOCK_STREAM,
	                               .backlog = 5,
	                               .mode = 0600,
	                               .uid = (uid_t)-1,
	                               .gid = (gid_t)-1,
	                               .refuses_rights = true};
	int fd = sock_open_unix(&file, &err);

	ck_assert_msg(fd >= 0, "%s", err.text);
	return fd;
}

static bool
is_there(const char *name)
{
	struct stat st;

	return lstat(name, &st) == 0;
}

START_TEST(clients_in_the_queue_wait_on_and_new_clients_find_the_socket_again)
{
	int fd = listen_here();
	int first, second_fd;

	ck_assert_int_eq(sockfile_secure(path, true), 0);
	ck_assert(sockfile_is_there(path));
	first = sock_connect_unix(path, SOCK_STREAM);
	ck_assert_int_ge(first, 0);
	ck_assert_int_eq(sockfile_restore(path), 0);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert(!sockfile_is_there(path));
	ck_assert_int_eq(sock_connect_unix(path, SOCK_STREAM), -ENOENT);
	ck_assert_int_eq(sockfile_restore(path), 1);
	ck_assert(sockfile_is_there(path));
	second_fd = sock_connect_unix(path, SOCK_STREAM);
	ck_assert_int_ge(second_fd, 0);
	for (int i = 0; i < 2; i++) {
		int client = accept(fd, NULL, NULL);

		ck_assert_int_ge(client, 0);
		ck_assert_int_eq(close(client), 0);
	}
	ck_assert_int_eq(close(first), 0);
	ck_assert_int_eq(close(second_fd), 0);
	sockfile_remove(path);
	ck_assert(!is_there(path));
	ck_assert(!is_there(second));
	ck_assert_int_eq(close(fd), 0);
}
END_TEST

START_TEST(a_foreign_file_in_the_place_is_left_alone)
{
	int fd = listen_here();
	struct stat before, after;

	ck_assert_int_eq(sockfile_secure(path, true), 0);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(close(listen_here()), 0);
	ck_assert_int_eq(lstat(path, &before), 0);
	ck_assert_int_eq(sockfile_restore(path), 0);
	ck_assert_int_eq(lstat(path, &after), 0);
	ck_assert_uint_eq(before.st_ino, after.st_ino);
	ck_assert_int_eq(close(fd), 0);
}
END_TEST

START_TEST(a_dead_owner_s_second_name_is_replaced)
{
	int fd = listen_here();

	ck_assert_int_eq(sockfile_secure(path, true), 0);
	ck_assert_int_eq(close(fd), 0);
	fd = listen_here();
	/* The next guardian does not know the listener behind the file. */
	ck_assert_int_eq(sockfile_secure(path, false), 0);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(sockfile_restore(path), 1);
	ck_assert(!sock_unix_is_live(path));
	ck_assert_int_eq(close(fd), 0);
	fd = listen_here();
	ck_assert_int_eq(sockfile_secure(path, true), 0);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(sockfile_restore(path), 1);
	ck_assert(sock_unix_is_live(path));
	ck_assert_int_eq(close(fd), 0);
}
END_TEST

START_TEST(without_a_second_name_it_stays_away)
{
	int fd = listen_here();

	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(sockfile_restore(path), -ENOENT);
	/* Nor a foreign file put into its place. */
	ck_assert_int_eq(symlink("/etc/passwd", second), 0);
	ck_assert_int_eq(sockfile_restore(path), -ENOTSOCK);
	ck_assert_int_eq(close(listen_here()), 0);
	ck_assert_int_eq(sockfile_secure(path, true), -EEXIST);
	ck_assert(is_there(second));
	ck_assert_int_eq(close(fd), 0);
}
END_TEST

START_TEST(mode_and_owner_are_those_of_a_socket_and_of_nothing_else)
{
	int fd = listen_here();
	char victim[100];
	struct stat st;

	ck_assert_int_eq(sockfile_adjust(path, 0640, (uid_t)-1, (gid_t)-1), 0);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0640);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(sockfile_adjust(path, 0666, (uid_t)-1, (gid_t)-1), -ENOENT);
	(void)snprintf(victim, sizeof(victim), "%s/victim", directory);
	ck_assert_int_eq(mkdir(victim, 0700), 0);
	ck_assert_int_eq(symlink(victim, path), 0);
	ck_assert_int_eq(sockfile_adjust(path, 0777, 1, 1), -ENOTSOCK);
	ck_assert_int_eq(stat(victim, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0700);
	ck_assert_uint_eq(st.st_uid, geteuid());
	ck_assert_int_eq(close(fd), 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("sockfile");
	TCase *tcase = tcase_create("sockfile");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(
	    tcase, clients_in_the_queue_wait_on_and_new_clients_find_the_socket_again);
	tcase_add_test(tcase, a_foreign_file_in_the_place_is_left_alone);
	tcase_add_test(tcase, a_dead_owner_s_second_name_is_replaced);
	tcase_add_test(tcase, without_a_second_name_it_stays_away);
	tcase_add_test(tcase, mode_and_owner_are_those_of_a_socket_and_of_nothing_else);
	suite_add_tcase(suite, tcase);
	return check_run(srunner_create(suite));
}
