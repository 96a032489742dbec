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

#define NOBODY 65534

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

/* The file of the socket, by which it is changed. */
static int
file_of(int fd)
{
	int file = sockfile_find(fd, path, true);

	ck_assert_int_ge(file, 0);
	return file;
}

/* Does the kernel tell this process the file of a socket? */
static bool
has_net_admin(int fd)
{
	int file = sockfile_find(fd, "", false);

	if (file >= 0)
		ck_assert_int_eq(close(file), 0);
	return file >= 0;
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
	int file = file_of(fd);
	int first, second_fd;

	ck_assert_int_eq(sockfile_secure(file, path, true), 0);
	ck_assert(sockfile_is_there(path));
	first = sock_connect_unix(path, SOCK_STREAM);
	ck_assert_int_ge(first, 0);
	ck_assert_int_eq(sockfile_restore(file, path), 0);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert(!sockfile_is_there(path));
	ck_assert_int_eq(sock_connect_unix(path, SOCK_STREAM), -ENOENT);
	ck_assert_int_eq(sockfile_restore(file, path), 1);
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
	sockfile_remove(file, path);
	ck_assert(!is_there(path));
	ck_assert(!is_there(second));
	ck_assert_int_eq(close(file), 0);
	ck_assert_int_eq(close(fd), 0);
}
END_TEST

START_TEST(a_foreign_file_in_the_place_is_left_alone)
{
	int fd = listen_here();
	int file = file_of(fd);
	struct stat before, after;

	ck_assert_int_eq(sockfile_secure(file, path, true), 0);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(close(listen_here()), 0);
	ck_assert_int_eq(lstat(path, &before), 0);
	ck_assert_int_eq(sockfile_restore(file, path), 0);
	ck_assert_int_eq(sockfile_secure(file, path, false), -ENOENT);
	sockfile_remove(file, path);
	ck_assert(!is_there(second));
	ck_assert_int_eq(lstat(path, &after), 0);
	ck_assert_uint_eq(before.st_ino, after.st_ino);
	ck_assert_int_eq(close(file), 0);
	ck_assert_int_eq(close(fd), 0);
}
END_TEST

START_TEST(a_dead_owner_s_second_name_is_replaced)
{
	int fd = listen_here();
	int file = file_of(fd);

	ck_assert_int_eq(sockfile_secure(file, path, true), 0);
	ck_assert_int_eq(close(file), 0);
	ck_assert_int_eq(close(fd), 0);
	fd = listen_here();
	file = file_of(fd);
	ck_assert_int_eq(sockfile_secure(file, path, false), -EEXIST);
	ck_assert_int_eq(sockfile_secure(file, path, true), 0);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(sockfile_restore(file, path), 1);
	ck_assert(sock_unix_is_live(path));
	ck_assert_int_eq(close(file), 0);
	ck_assert_int_eq(close(fd), 0);
}
END_TEST

START_TEST(without_a_second_name_it_stays_away)
{
	int fd = listen_here();
	int file = file_of(fd);

	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(sockfile_restore(file, path), -ENOENT);
	/* Nor a foreign file put into its place. */
	ck_assert_int_eq(symlink("/etc/passwd", second), 0);
	ck_assert_int_eq(sockfile_restore(file, path), -ENOENT);
	ck_assert(!is_there(path));
	ck_assert_int_eq(close(file), 0);
	ck_assert_int_eq(close(fd), 0);
	fd = listen_here();
	file = file_of(fd);
	ck_assert_int_eq(sockfile_secure(file, path, true), -EEXIST);
	ck_assert(is_there(second));
	ck_assert_int_eq(close(file), 0);
	ck_assert_int_eq(close(fd), 0);
}
END_TEST

static void
give_rights(int fd, mode_t mode)
{
	int file = file_of(fd);

	ck_assert_int_eq(sockfile_adjust(file, mode, (uid_t)-1, (gid_t)-1), 0);
	ck_assert_int_eq(close(file), 0);
}

static mode_t
mode_of(const char *name)
{
	struct stat st;

	ck_assert_int_eq(lstat(name, &st), 0);
	return st.st_mode & 07777;
}

START_TEST(a_file_with_the_name_of_the_socket_gets_neither_its_mode_nor_its_owner)
{
	int fd = listen_here();
	char victim[100], moved[100];
	int other;

	CHECK_NEEDS(has_net_admin(fd), "CAP_NET_ADMIN");
	give_rights(fd, 0640);
	ck_assert_uint_eq(mode_of(path), 0640);
	(void)snprintf(victim, sizeof(victim), "%s/victim", directory);
	(void)snprintf(moved, sizeof(moved), "%s/moved", directory);
	ck_assert_int_eq(rename(path, moved), 0);
	ck_assert_int_eq(mkdir(victim, 0700), 0);
	ck_assert_int_eq(symlink(victim, path), 0);
	give_rights(fd, 0606);
	ck_assert_uint_eq(mode_of(victim), 0700);
	ck_assert_uint_eq(mode_of(moved), 0606);
	ck_assert_int_eq(unlink(path), 0);
	other = listen_here();
	give_rights(fd, 0666);
	ck_assert_uint_eq(mode_of(path), 0600);
	ck_assert_uint_eq(mode_of(moved), 0666);
	ck_assert_int_eq(close(other), 0);
	ck_assert_int_eq(close(fd), 0);
}
END_TEST

START_TEST(a_second_name_of_a_living_socket_is_not_taken)
{
	int fd = listen_here();
	int file = file_of(fd);
	int other, file_of_other;

	ck_assert_int_eq(rename(path, second), 0);
	other = listen_here();
	file_of_other = file_of(other);
	ck_assert_int_eq(sockfile_secure(file_of_other, path, true), -EEXIST);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(sockfile_restore(file_of_other, path), -ENOENT);
	sockfile_remove(file_of_other, path);
	ck_assert(sock_unix_is_live(second));
	ck_assert_int_eq(close(file), 0);
	ck_assert_int_eq(close(fd), 0);
	ck_assert_int_eq(close(file_of_other), 0);
	ck_assert_int_eq(close(other), 0);
}
END_TEST

START_TEST(where_the_kernel_does_not_tell_the_name_decides_if_it_may)
{
	int fd = listen_here();
	const uid_t uid = geteuid();
	int refused, file, of_second, none, no_socket;

	ck_assert_int_eq(chmod(directory, 0755), 0);
	file = file_of(fd);
	ck_assert_int_eq(sockfile_secure(file, path, true), 0);
	ck_assert_int_eq(close(file), 0);
	if (uid == 0)
		ck_assert_int_eq(seteuid(NOBODY), 0);
	refused = sockfile_find(fd, path, false);
	file = sockfile_find(fd, path, true);
	ck_assert_int_eq(seteuid(uid), 0);
	ck_assert_int_eq(refused, -EPERM);
	ck_assert_int_ge(file, 0);
	ck_assert_int_eq(unlink(path), 0);
	if (uid == 0)
		ck_assert_int_eq(seteuid(NOBODY), 0);
	of_second = sockfile_find(fd, path, true);
	none = sockfile_find(fd, directory, true);
	no_socket = sockfile_find(fd, "/nowhere", true);
	ck_assert_int_eq(seteuid(uid), 0);
	ck_assert_int_eq(sockfile_restore(of_second, path), 1);
	ck_assert(is_there(path));
	ck_assert_int_eq(none, -ENOENT);
	ck_assert_int_eq(no_socket, -ENOENT);
	ck_assert_int_eq(close(of_second), 0);
	ck_assert_int_eq(close(file), 0);
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
	tcase_add_test(
	    tcase,
	    a_file_with_the_name_of_the_socket_gets_neither_its_mode_nor_its_owner);
	tcase_add_test(tcase, a_second_name_of_a_living_socket_is_not_taken);
	tcase_add_test(tcase, where_the_kernel_does_not_tell_the_name_decides_if_it_may);
	suite_add_tcase(suite, tcase);
	return check_run(srunner_create(suite));
}
