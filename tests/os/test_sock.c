/* SPDX-License-Identifier: ISC */
/* test_sock.c - sockets to listen on. */
#include "config.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/self/drop.h"
#include "os/self/fd.h"
#include "os/socket/listen.h"
#include "os/socket/sock.h"
#include "tests/lib/check_main.h"

/* A unix stream socket that listens, as sock_open_unix(), to which no descriptors can be
 * sent where the kernel is able to refuse them. */
static int
listen_unix(const char *path, int backlog, mode_t mode, uid_t uid, gid_t gid,
            struct err *err)
{
	const struct sock_file file = {.path = path,
	                               .type = SOCK_STREAM,
	                               .backlog = backlog,
	                               .mode = mode,
	                               .uid = uid,
	                               .gid = gid,
	                               .refuses_rights = true};

	return sock_open_unix(&file, err);
}

static char directory[64];
static char path[100];
static struct err err;

static void
set_up(void)
{
	(void)snprintf(directory, sizeof(directory), "/tmp/test_sock.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	(void)snprintf(path, sizeof(path), "%s/socket", directory);
}

static void
tear_down(void)
{
	char command[128];

	(void)snprintf(command, sizeof(command), "rm -rf %s", directory);
	ck_assert_int_eq(system(command), 0);
}

static uint16_t
port_of(int fd)
{
	struct sockaddr_in6 address;
	socklen_t len = sizeof(address);

	/* The port is at the same place in both families. */
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	return ntohs(address.sin6_port);
}

static int
connect_to(int family, uint16_t port)
{
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int r;

	ck_assert_int_ge(fd, 0);
	four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	six.sin6_addr = in6addr_loopback;
	if (family == AF_INET)
		r = connect(fd, (struct sockaddr *)&four, sizeof(four));
	else
		r = connect(fd, (struct sockaddr *)&six, sizeof(six));
	r = r < 0 ? -errno : 0;
	(void)close(fd);
	return r;
}

static bool
has_ipv6(void)
{
	int fd = sock_listen_tcp("::1", 0, 1, NULL);

	if (fd >= 0)
		(void)close(fd);
	return fd >= 0;
}

START_TEST(a_socket_for_any_host_takes_both_families)
{
	static const char *const any[] = {"", "*", NULL};
	int fd = sock_listen_tcp(any[_i], 0, 8, &err);

	ck_assert_int_ge(fd, FD_WINDOW);
	ck_assert(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	ck_assert(fcntl(fd, F_GETFL) & O_NONBLOCK);
	ck_assert_int_eq(connect_to(AF_INET, port_of(fd)), 0);
	if (has_ipv6())
		ck_assert_int_eq(connect_to(AF_INET6, port_of(fd)), 0);
	(void)close(fd);
}
END_TEST

START_TEST(an_address_that_is_written_out_means_itself)
{
	int fd = sock_listen_tcp("127.0.0.1", 0, 8, &err);
	int other;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(connect_to(AF_INET, port_of(fd)), 0);
	if (has_ipv6()) {
		ck_assert_int_eq(connect_to(AF_INET6, port_of(fd)), -ECONNREFUSED);
		/* The same port of the other family is still to be had. */
		other = sock_listen_tcp("::", port_of(fd), 8, &err);
		ck_assert_int_ge(other, 0);
		ck_assert_int_eq(connect_to(AF_INET6, port_of(other)), 0);
		(void)close(other);
	}
	other = sock_listen_tcp("localhost", port_of(fd), 8, &err);
	ck_assert_int_eq(other, -EADDRINUSE);
	ck_assert_ptr_nonnull(strstr(err.text, "127.0.0.1"));
	(void)close(fd);
}
END_TEST

START_TEST(a_host_that_is_nowhere_is_refused_with_a_sentence)
{
	ck_assert_int_lt(sock_listen_tcp("198.51.100.7", 0, 8, &err), 0);
	ck_assert_ptr_nonnull(strstr(err.text, "198.51.100.7"));
	ck_assert_int_lt(sock_listen_tcp("no such host", 0, 8, &err), 0);
	ck_assert_ptr_nonnull(strstr(err.text, "no such host"));
}
END_TEST

START_TEST(a_unix_socket_has_its_mode_whatever_the_umask)
{
	mode_t old = umask(0777);
	int fd = listen_unix(path, 8, 0640, (uid_t)-1, (gid_t)-1, &err);
	struct stat st;

	ck_assert_uint_eq(umask(old), 0777);
	ck_assert_int_ge(fd, FD_WINDOW);
	ck_assert_int_eq(lstat(path, &st), 0);
	ck_assert(S_ISSOCK(st.st_mode));
	ck_assert_uint_eq(st.st_mode & 0777, 0640);
	(void)close(fd);
}
END_TEST

START_TEST(a_unix_socket_has_its_owner)
{
	struct stat st;
	int fd;

	CHECK_NEEDS(geteuid() == 0, "root");
	fd = listen_unix(path, 8, 0660, 12345, 23456, &err);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(lstat(path, &st), 0);
	ck_assert_uint_eq(st.st_uid, 12345);
	ck_assert_uint_eq(st.st_gid, 23456);
	(void)close(fd);
}
END_TEST

/* The path of a socket may lead elsewhere by the time of bind(2). */
START_TEST(a_unix_socket_is_bound_with_the_rights_of_the_user_that_chooses_where)
{
	struct sock_file file = {.path = path,
	                         .type = SOCK_STREAM,
	                         .backlog = 8,
	                         .mode = 0600,
	                         .uid = (uid_t)-1,
	                         .gid = (gid_t)-1,
	                         .chooser = DROP_UID};
	struct stat st;
	int fd;

	CHECK_NEEDS(geteuid() == 0, "root");
	ck_assert_int_eq(sock_open_unix(&file, &err), -EACCES);
	ck_assert_int_lt(lstat(path, &st), 0);
	ck_assert_int_eq(chown(directory, DROP_UID, 0), 0);
	fd = sock_open_unix(&file, &err);
	ck_assert_msg(fd >= 0, "%s", err.text);
	ck_assert_int_eq(lstat(path, &st), 0);
	ck_assert_uint_eq(st.st_uid, DROP_UID);
	ck_assert_uint_eq(st.st_gid, DROP_GID);
	(void)close(fd);
}
END_TEST

START_TEST(a_leftover_of_the_dead_is_replaced_a_living_socket_is_not)
{
	int fd = listen_unix(path, 8, 0600, (uid_t)-1, (gid_t)-1, &err);
	struct stat before, after;

	ck_assert_int_ge(fd, 0);
	ck_assert(sock_unix_is_live(path));
	ck_assert_int_eq(lstat(path, &before), 0);
	ck_assert_int_eq(listen_unix(path, 8, 0600, (uid_t)-1, (gid_t)-1, &err),
	                 -EADDRINUSE);
	ck_assert_ptr_nonnull(strstr(err.text, path));
	ck_assert_int_eq(lstat(path, &after), 0);
	ck_assert_uint_eq(before.st_ino, after.st_ino);
	(void)close(fd);
	ck_assert(!sock_unix_is_live(path));
	fd = listen_unix(path, 8, 0600, (uid_t)-1, (gid_t)-1, &err);
	ck_assert_int_ge(fd, 0);
	(void)close(fd);
}
END_TEST

START_TEST(a_living_socket_with_a_full_queue_is_not_replaced)
{
	int fd = listen_unix(path, 0, 0600, (uid_t)-1, (gid_t)-1, &err);
	int clients[16];
	int n = 0;

	ck_assert_int_ge(fd, 0);
	while (n < 16 && (clients[n] = sock_connect_unix(path, SOCK_STREAM)) >= 0)
		n++;
	ck_assert_int_lt(n, 16);
	ck_assert_int_eq(clients[n], -EAGAIN);
	ck_assert_int_eq(listen_unix(path, 8, 0600, (uid_t)-1, (gid_t)-1, &err),
	                 -EADDRINUSE);
	while (n > 0)
		(void)close(clients[--n]);
	(void)close(fd);
}
END_TEST

START_TEST(a_file_of_another_kind_is_never_removed)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	(void)close(fd);
	ck_assert_int_eq(listen_unix(path, 8, 0600, (uid_t)-1, (gid_t)-1, &err),
	                 -EADDRINUSE);
	ck_assert_int_eq(access(path, F_OK), 0);
}
END_TEST

START_TEST(a_path_that_no_socket_can_have_is_refused)
{
	char endless[300];

	memset(endless, 'a', sizeof(endless) - 1);
	endless[sizeof(endless) - 1] = '\0';
	ck_assert_int_eq(listen_unix(endless, 8, 0600, (uid_t)-1, (gid_t)-1, &err),
	                 -ENAMETOOLONG);
	ck_assert_int_eq(listen_unix("", 8, 0600, (uid_t)-1, (gid_t)-1, &err), -EINVAL);
	ck_assert_int_eq(sock_connect_unix(path, SOCK_STREAM), -ENOENT);
}
END_TEST

/* With a file at `path`. */
static int
open_file(int type)
{
	const struct sock_file file = {.path = path,
	                               .type = type,
	                               .backlog = 8,
	                               .mode = 0640,
	                               .uid = (uid_t)-1,
	                               .gid = (gid_t)-1};

	return type == 0 ? sock_open_fifo(&file, &err) : sock_open_unix(&file, &err);
}

/* 0 is a fifo. */
static const int types[] = {SOCK_STREAM, SOCK_SEQPACKET, SOCK_DGRAM, 0};

START_TEST(a_socket_file_has_its_mode_and_its_kind)
{
	struct sock_name name;
	struct stat st;
	int fd = open_file(types[_i]);

	ck_assert_int_ge(fd, FD_WINDOW);
	ck_assert(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	ck_assert(fcntl(fd, F_GETFL) & O_NONBLOCK);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0640);
	ck_assert_int_eq(sock_name(fd, &name), 0);
	ck_assert_int_eq(name.is_fifo, types[_i] == 0);
	ck_assert_int_eq(S_ISFIFO(st.st_mode), types[_i] == 0);
	if (types[_i] != 0) {
		ck_assert_int_eq(name.family, AF_UNIX);
		ck_assert_int_eq(name.type, types[_i]);
		ck_assert_str_eq(name.address, path);
	}
	(void)close(fd);
}
END_TEST

START_TEST(the_file_of_a_live_listener_is_not_taken_and_of_a_dead_listener_is)
{
	int fd = open_file(types[_i]);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(open_file(types[_i]), -EADDRINUSE);
	ck_assert_ptr_nonnull(strstr(err.text, path));
	(void)close(fd);
	fd = open_file(types[_i]);
	ck_assert_int_ge(fd, 0);
	(void)close(fd);
}
END_TEST

START_TEST(a_fifo_does_not_end_when_its_writers_have_closed_it)
{
	int fd = open_file(0);
	int writer = open(path, O_WRONLY | O_NONBLOCK);
	char text[8];

	ck_assert_int_ge(writer, 0);
	ck_assert_int_eq(write(writer, "one", 3), 3);
	(void)close(writer);
	ck_assert_int_eq(read(fd, text, sizeof(text)), 3);
	ck_assert_int_eq(read(fd, text, sizeof(text)), -1);
	ck_assert_int_eq(errno, EAGAIN);
	(void)close(fd);
}
END_TEST

START_TEST(a_udp_port_is_taken_once)
{
	struct sock_name name;
	int fd = sock_bind_udp("127.0.0.1", 0, &err);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(sock_name(fd, &name), 0);
	ck_assert_int_eq(name.type, SOCK_DGRAM);
	ck_assert_str_eq(name.address, "127.0.0.1");
	ck_assert_uint_eq(name.port, port_of(fd));
	ck_assert_int_eq(sock_bind_udp("127.0.0.1", port_of(fd), &err), -EADDRINUSE);
	ck_assert_ptr_nonnull(strstr(err.text, "udp"));
	(void)close(fd);
}
END_TEST

START_TEST(a_port_of_both_families_has_no_address_and_one_of_ipv6_has)
{
	struct sock_name name;
	int fd;

	CHECK_NEEDS(has_ipv6(), "IPv6");
	fd = sock_listen_tcp("*", 0, 8, &err);
	ck_assert_int_eq(sock_name(fd, &name), 0);
	ck_assert_str_eq(name.address, "");
	(void)close(fd);
	fd = sock_listen_tcp("::", 0, 8, &err);
	ck_assert_int_eq(sock_name(fd, &name), 0);
	ck_assert_str_eq(name.address, "::");
	(void)close(fd);
}
END_TEST

START_TEST(descriptors_are_for_the_process_that_they_were_meant_for)
{
	char fds[] = "LISTEN_FDS=2", pid[] = "LISTEN_PID=7",
	     names[] = "LISTEN_FDNAMES=a::c";
	char *variables[] = {fds, pid, names, NULL};
	const char *name;

	ck_assert_uint_eq(listen_fds(variables, 7), 2);
	ck_assert_uint_eq(listen_fds(variables, 8), 0);
	ck_assert_uint_eq(listen_name(variables, 0, &name), 1);
	ck_assert_int_eq(name[0], 'a');
	ck_assert_uint_eq(listen_name(variables, 1, &name), 0);
	ck_assert_uint_eq(listen_name(variables, 2, &name), 1);
	ck_assert_int_eq(name[0], 'c');
	ck_assert_uint_eq(listen_name(variables, 3, &name), 0);
	fds[11] = 'x';
	ck_assert_uint_eq(listen_fds(variables, 7), 0);
	fds[11] = '-';
	ck_assert_uint_eq(listen_fds(variables, 7), 0);
	variables[0] = NULL;
	ck_assert_uint_eq(listen_fds(variables, 7), 0);
}
END_TEST

START_TEST(blocking_can_be_turned_on_and_off)
{
	int fd = listen_unix(path, 8, 0600, (uid_t)-1, (gid_t)-1, &err);

	ck_assert_int_eq(sock_set_blocking(fd, true), 0);
	ck_assert_int_eq(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	ck_assert_int_eq(sock_set_blocking(fd, false), 0);
	ck_assert_int_ne(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	(void)close(fd);
}
END_TEST

/* A child with these ids connects, and waits until we have looked at it. */
static pid_t
connect_as(uid_t uid, const gid_t *groups, size_t n, int *ret_go)
{
	int ends[2];
	pid_t pid;
	char byte;

	ck_assert_int_eq(pipe(ends), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid > 0) {
		(void)close(ends[0]);
		*ret_go = ends[1];
		return pid;
	}
	(void)close(ends[1]);
	if (setgroups(n, groups) < 0 || setresgid(777, 777, 777) < 0 ||
	    setresuid(uid, uid, uid) < 0 || sock_connect_unix(path, SOCK_STREAM) < 0)
		_exit(1);
	(void)!read(ends[0], &byte, 1);
	_exit(0);
}

START_TEST(the_peer_is_known_with_all_its_groups)
{
	gid_t groups[200];
	struct sock_peer peer;
	int fd, connection, go, status;
	pid_t pid;

	CHECK_NEEDS(geteuid() == 0, "root");
	for (gid_t i = 0; i < 200; i++)
		groups[i] = 1000 + i;
	ck_assert_int_eq(chmod(directory, 0755), 0);
	fd = listen_unix(path, 8, 0666, (uid_t)-1, (gid_t)-1, &err);
	ck_assert_int_eq(sock_set_blocking(fd, true), 0);
	pid = connect_as(4242, groups, _i == 0 ? 0 : 200, &go);
	connection = accept(fd, NULL, NULL);
	ck_assert_int_ge(connection, 0);
	ck_assert_int_eq(sock_peer(connection, &peer), 0);
	ck_assert_int_eq(peer.pid, pid);
	ck_assert_uint_eq(peer.uid, 4242);
	ck_assert_uint_eq(peer.gid, 777);
	ck_assert(sock_peer_has_group(&peer, 777));
	ck_assert_int_eq(sock_peer_has_group(&peer, 1199), _i == 1);
	ck_assert(!sock_peer_has_group(&peer, 1200));
	ck_assert(!sock_peer_has_group(&peer, 0));
	(void)close(go);
	(void)close(connection);
	(void)close(fd);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("sock");
	TCase *tcase = tcase_create("sock");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_loop_test(tcase, a_socket_for_any_host_takes_both_families, 0, 3);
	tcase_add_test(tcase, an_address_that_is_written_out_means_itself);
	tcase_add_test(tcase, a_host_that_is_nowhere_is_refused_with_a_sentence);
	tcase_add_test(tcase, a_unix_socket_has_its_mode_whatever_the_umask);
	tcase_add_test(tcase, a_unix_socket_has_its_owner);
	tcase_add_test(
	    tcase, a_unix_socket_is_bound_with_the_rights_of_the_user_that_chooses_where);
	tcase_add_test(tcase, a_leftover_of_the_dead_is_replaced_a_living_socket_is_not);
	tcase_add_test(tcase, a_living_socket_with_a_full_queue_is_not_replaced);
	tcase_add_test(tcase, a_file_of_another_kind_is_never_removed);
	tcase_add_test(tcase, a_path_that_no_socket_can_have_is_refused);
	tcase_add_loop_test(tcase, a_socket_file_has_its_mode_and_its_kind, 0, 4);
	tcase_add_loop_test(
	    tcase, the_file_of_a_live_listener_is_not_taken_and_of_a_dead_listener_is, 0,
	    4);
	tcase_add_test(tcase, a_fifo_does_not_end_when_its_writers_have_closed_it);
	tcase_add_test(tcase, a_udp_port_is_taken_once);
	tcase_add_test(tcase, a_port_of_both_families_has_no_address_and_one_of_ipv6_has);
	tcase_add_test(tcase, descriptors_are_for_the_process_that_they_were_meant_for);
	tcase_add_test(tcase, blocking_can_be_turned_on_and_off);
	tcase_add_loop_test(tcase, the_peer_is_known_with_all_its_groups, 0, 2);
	suite_add_tcase(suite, tcase);
	return check_run(srunner_create(suite));
}
