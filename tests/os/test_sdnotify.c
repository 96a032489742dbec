/* SPDX-License-Identifier: ISC */
/* test_sdnotify.c - both ends of the notify protocol, and what comes along with it. */
#include "config.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "os/self/fd.h"
#include "os/socket/closer.h"
#include "os/socket/harmless.h"
#include "os/socket/sdnotify.h"
#include "tests/lib/check_main.h"

static char directory[64];
static char path[100];
static struct err err;

static void
set_up(void)
{
	(void)snprintf(directory, sizeof(directory), "/tmp/test_sdnotify.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	(void)snprintf(path, sizeof(path), "%s/socket", directory);
}

static void
tear_down(void)
{
	(void)unlink(path);
	(void)rmdir(directory);
}

static int
notify_pair(struct notifier *notifier)
{
	char address[NOTIFY_NAME_MAX], variable[NOTIFY_NAME_MAX + 16];
	char *env[] = {variable, NULL};
	int fd;

	fd = notify_listen("test_sock", &err);
	ck_assert_int_ge(fd, FD_WINDOW);
	ck_assert_int_eq(notify_address(fd, address), 0);
	ck_assert_int_eq(strncmp(address, "@test_sock/", 11), 0);
	ck_assert_uint_eq(strlen(address), 11 + 32);
	(void)snprintf(variable, sizeof(variable), "NOTIFY_SOCKET=%s", address);
	notifier_open(notifier, env, getpid());
	ck_assert_int_ge(notifier->fd, 0);
	return fd;
}

/* The next message, which is taken out. */
static int
notify_receive(int fd, struct notify_message *ret)
{
	int r = notify_peek(fd, ret);

	if (r != 0)
		notify_skip(fd);
	return r;
}

START_TEST(a_message_arrives_with_its_sender)
{
	struct notify_message message;
	struct notifier notifier;
	const char *value;
	size_t len;
	int fd = notify_pair(&notifier);

	ck_assert_int_eq(notify_receive(fd, &message), 0);
	ck_assert_int_eq(
	    notifier_send(&notifier, "READY=1\nSTATUS=a=b\nXSTATUS=c\nEMPTY=\n"), 0);
	ck_assert_int_eq(notify_receive(fd, &message), 1);
	ck_assert_int_eq(message.pid, getpid());
	ck_assert_uint_eq(message.uid, getuid());
	ck_assert_uint_eq(message.n_fds, 0);
	value = notify_value(&message, "READY", &len);
	ck_assert_uint_eq(len, 1);
	ck_assert_int_eq(*value, '1');
	value = notify_value(&message, "STATUS", &len);
	ck_assert_uint_eq(len, 3);
	ck_assert_int_eq(strncmp(value, "a=b", 3), 0);
	ck_assert_ptr_nonnull(notify_value(&message, "EMPTY", &len));
	ck_assert_uint_eq(len, 0);
	ck_assert_ptr_null(notify_value(&message, "STAT", &len));
	ck_assert_ptr_null(notify_value(&message, "MAINPID", &len));
	/* The next message, which is empty. */
	ck_assert_int_eq(notifier_send(&notifier, ""), 0);
	ck_assert_int_eq(notify_receive(fd, &message), 1);
	ck_assert_uint_eq(message.len, 0);
	ck_assert_ptr_null(notify_value(&message, "READY", &len));
	notifier_close(&notifier);
	(void)close(fd);
}
END_TEST

/* Send bytes and copies of stdin with them. */
static void
send_raw(const struct notifier *notifier, const char *text, size_t len, size_t n_fds)
{
	union {
		struct cmsghdr align;
		char data[CMSG_SPACE(sizeof(int) * 100)];
	} control;
	struct iovec part = {.iov_base = strdup(text), .iov_len = len};
	struct sockaddr_un address = notifier->address;
	struct msghdr header = {
	    .msg_name = &address,
	    .msg_namelen = notifier->address_len,
	    .msg_iov = &part,
	    .msg_iovlen = 1,
	    .msg_control = n_fds > 0 ? &control : NULL,
	    .msg_controllen = n_fds > 0 ? CMSG_SPACE(sizeof(int) * n_fds) : 0,
	};

	free(part.iov_base);
	part.iov_base = malloc(len + 1);
	ck_assert_ptr_nonnull(part.iov_base);
	memcpy(part.iov_base, text, len);
	if (n_fds > 0) {
		memset(&control, 0, sizeof(control));
		control.align = (struct cmsghdr){
		    .cmsg_level = SOL_SOCKET,
		    .cmsg_type = SCM_RIGHTS,
		    .cmsg_len = CMSG_LEN(sizeof(int) * n_fds),
		};
	}
	ck_assert_int_eq(sendmsg(notifier->fd, &header, 0), (ssize_t)len);
	free(part.iov_base);
}

/* A connection with a close(2) that waits for an hour, because the other end does not
 * read. */
static int
lingering_socket(int *ret_peer, int ret_listener[1])
{
	struct sockaddr_in address = {.sin_family = AF_INET,
	                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct linger linger = {.l_onoff = 1, .l_linger = 3600};
	static const char much[1 << 20];
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	ret_listener[0] = socket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_eq(bind(ret_listener[0], (struct sockaddr *)&address, size), 0);
	ck_assert_int_eq(listen(ret_listener[0], 1), 0);
	ck_assert_int_eq(getsockname(ret_listener[0], (struct sockaddr *)&address, &size),
	                 0);
	(void)connect(fd, (struct sockaddr *)&address, size);
	*ret_peer = accept(ret_listener[0], NULL, NULL);
	ck_assert_int_ge(*ret_peer, 0);
	while (write(fd, much, sizeof(much)) > 0)
		;
	ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)),
	                 0);
	ck_assert_int_eq(fcntl(fd, F_SETFL, 0), 0);
	return fd;
}

START_TEST(descriptors_come_only_if_they_are_asked_for_and_only_so_many)
{
	const size_t counts[] = {3, NOTIFY_FDS_MAX, NOTIFY_FDS_MAX + 8};
	struct notify_message message;
	struct notifier notifier;
	int fd = notify_pair(&notifier);
	int before = dup(0);
	int after;

	(void)close(before);
	for (size_t n = 0; n < ARRAY_SIZE(counts); n++) {
		const size_t n_taken =
		    counts[n] < NOTIFY_FDS_MAX ? counts[n] : NOTIFY_FDS_MAX;

		send_raw(&notifier, "FDSTORE=1", 9, counts[n]);
		ck_assert_int_eq(notify_peek(fd, &message), 1);
		ck_assert_uint_eq(message.n_fds, 0);
		ck_assert(message.has_more_fds);
		after = dup(0);
		ck_assert_int_eq(before, after);
		(void)close(after);
		ck_assert_int_eq(notify_peek_fds(fd, &message), 1);
		ck_assert_uint_eq(message.n_fds, n_taken);
		ck_assert(message.has_more_fds == (counts[n] > n_taken));
		for (size_t i = 0; i < message.n_fds; i++) {
			ck_assert(fcntl(message.fds[i], F_GETFD) & FD_CLOEXEC);
			(void)close(message.fds[i]);
		}
		notify_skip(fd);
		ck_assert_int_eq(notify_peek(fd, &message), 0);
	}
	send_raw(&notifier, "A=1", 3, 0);
	ck_assert_int_eq(notify_peek(fd, &message), 1);
	ck_assert(!message.has_more_fds);
	after = dup(0);
	ck_assert_int_eq(before, after);
	(void)close(after);
	notifier_close(&notifier);
	(void)close(fd);
}
END_TEST

START_TEST(a_child_throws_away_the_message_that_it_was_told_of_and_no_other)
{
	struct notify_message message;
	struct notifier notifier;
	struct bounded closer = {0};
	int fd = notify_pair(&notifier);
	int id;

	send_raw(&notifier, "A=1", 3, 1);
	send_raw(&notifier, "A=2", 3, 1);
	ck_assert_int_eq(notify_peek(fd, &message), 1);
	id = closer_drop(&closer, 1, fd, message.stamp_ns + 1);
	ck_assert_int_ge(id, 0);
	while (bounded_works(&closer, id))
		(void)poll(NULL, 0, 1);
	ck_assert_int_eq(notify_peek(fd, &message), 1);
	ck_assert_str_eq(message.text, "A=1");
	id = closer_drop(&closer, 1, fd, message.stamp_ns);
	while (bounded_works(&closer, id))
		(void)poll(NULL, 0, 1);
	ck_assert_int_eq(notify_peek(fd, &message), 1);
	ck_assert_str_eq(message.text, "A=2");
	while (waitpid(-1, NULL, 0) > 0)
		;
	bounded_done(&closer);
	notifier_close(&notifier);
	(void)close(fd);
}
END_TEST

START_TEST(what_is_closed_by_a_child_is_closed_here_and_few_hang_for_each_owner)
{
	struct bounded closer = {0};
	int fds[2], ends[2];
	int reader, dirty, n = 0;

	ck_assert_int_eq(pipe(fds), 0);
	ck_assert_int_eq(closer_close(&closer, 1, &fds[1], 1), 0);
	/* The end of the file comes when the last writer is closed. */
	ck_assert_int_eq(read(fds[0], &n, 1), 0);
	ck_assert_int_lt(fcntl(fds[1], F_GETFD), 0);
	(void)close(fds[0]);
	(void)waitpid(-1, NULL, 0);
	/* A connection that lingers: its bytes are not read. */
	for (n = 0; n <= BOUNDED_OWN_MAX; n++) {
		dirty = lingering_socket(&reader, ends);
		if (n == BOUNDED_OWN_MAX)
			break;
		ck_assert(bounded_has_room(&closer, 7));
		ck_assert_int_eq(closer_close(&closer, 7, &dirty, 1), 0);
	}
	ck_assert(!bounded_has_room(&closer, 7));
	ck_assert_int_eq(closer_close(&closer, 7, &dirty, 1), -EAGAIN);
	ck_assert_int_ge(fcntl(dirty, F_GETFD), 0);
	ck_assert(bounded_has_room(&closer, 8));
	for (n = 0; n < BOUNDED_OWN_MAX; n++)
		ck_assert_int_eq(kill(closer.pids[n], SIGKILL), 0);
	while (waitpid(-1, NULL, 0) > 0)
		;
	ck_assert(bounded_has_room(&closer, 7));
	bounded_done(&closer);
}
END_TEST

static const struct {
	const char *line;
	bool is_local;
} mounts[] = {
    {"7 1 8:1 / / rw shared:1 - ext4 /dev/sda1 rw\n", true},
    {"7 1 0:23 / /tmp rw,nosuid - tmpfs tmpfs rw\n", true},
    {"7 1 0:40 / / rw - overlay overlay rw,lowerdir=/a\n", true},
    {"7 1 0:41 / /m rw - fuse.sshfs host: rw,user_id=1\n", false},
    {"7 1 0:41 / /m rw - fuse mount rw,user_id=1\n", false},
    {"7 1 8:2 / /m rw - fuseblk /dev/sda2 rw\n", false},
    {"7 1 0:50 / /m rw - nfs4 host:/x rw\n", false},
    {"7 1 0:50 / /m rw - unheard_of x rw\n", false},
    {"8 1 8:1 / / rw - ext4 /dev/sda1 rw\n", false}, /* another mount */
    {"7 1\n", false},
    {"7 - - \n", false},
    {" - ext4", false},
};

START_TEST(a_mount_is_local_or_not)
{
	char *line = strdup(mounts[_i].line);
	FILE *list = fmemopen(line, strlen(line), "r");

	ck_assert_ptr_nonnull(list);
	ck_assert(harmless_has_mount(list, 7) == mounts[_i].is_local);
	(void)fclose(list);
	free(line);
}
END_TEST

START_TEST(only_local_files_are_harmless)
{
	const int fds[] = {memfd_create("x", 0), eventfd(0, 0),
	                   open("/proc/self/ns/net", O_RDONLY),
	                   socket(AF_UNIX, SOCK_DGRAM, 0), open("/dev/null", O_RDWR)};
	int ends[2];

	ck_assert_int_eq(pipe(ends), 0);
	ck_assert(fd_is_harmless(ends[0]));
	ck_assert(fd_is_socket_or_pipe(ends[1]));
	ck_assert(!fd_is_socket_or_pipe(fds[0]));
	ck_assert(fd_is_socket_or_pipe(fds[3]));
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		ck_assert_int_ge(fds[i], 0);
		ck_assert_msg(fd_is_harmless(fds[i]), "%zu", i);
		(void)close(fds[i]);
	}
	ck_assert(!fd_is_harmless(fds[0]));
	(void)close(ends[0]);
	(void)close(ends[1]);
}
END_TEST

START_TEST(a_message_that_is_too_long_or_no_text_is_dropped_the_next_one_is_not)
{
	struct notify_message message;
	struct notifier notifier;
	char text[NOTIFY_MESSAGE_MAX + 2];
	int fd = notify_pair(&notifier);

	memset(text, 'x', sizeof(text));
	text[NOTIFY_MESSAGE_MAX] = '\0';
	ck_assert_int_eq(notifier_send(&notifier, text), 0);
	text[NOTIFY_MESSAGE_MAX] = 'x';
	text[NOTIFY_MESSAGE_MAX + 1] = '\0';
	ck_assert_int_eq(notifier_send(&notifier, text), 0);
	send_raw(&notifier, "A=1\0B=2", 7, 1);
	ck_assert_int_eq(notifier_send(&notifier, "READY=1"), 0);
	ck_assert_int_eq(notify_receive(fd, &message), 1);
	ck_assert_uint_eq(message.len, NOTIFY_MESSAGE_MAX);
	ck_assert_int_eq(notify_receive(fd, &message), -EMSGSIZE);
	ck_assert_int_eq(notify_receive(fd, &message), -EBADMSG);
	ck_assert_int_eq(notify_receive(fd, &message), 1);
	ck_assert_str_eq(message.text, "READY=1");
	notifier_close(&notifier);
	(void)close(fd);
}
END_TEST

START_TEST(a_message_that_was_looked_at_stays_until_it_is_skipped)
{
	struct notify_message message;
	struct notifier notifier;
	int fd = notify_pair(&notifier);

	ck_assert_int_eq(notifier_send(&notifier, "READY=1"), 0);
	ck_assert_int_eq(notifier_send(&notifier, "STATUS=b"), 0);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(notify_peek(fd, &message), 1);
		ck_assert_str_eq(message.text, "READY=1");
		ck_assert_int_eq(message.pid, getpid());
	}
	notify_skip(fd);
	ck_assert_int_eq(notify_receive(fd, &message), 1);
	ck_assert_str_eq(message.text, "STATUS=b");
	ck_assert_int_eq(notify_peek(fd, &message), 0);
	(void)close(fd);
	notifier_close(&notifier);
}
END_TEST

START_TEST(the_notifier_finds_its_listener_in_the_environment)
{
	char socket_path[128], watchdog[] = "WATCHDOG_USEC=3000000";
	char pid[32], other[] = "WATCHDOG_PID=1", broken[] = "NOTIFY_SOCKET=relative";
	char bad[] = "WATCHDOG_USEC=-5";
	char *none[] = {watchdog, NULL};
	char *by_path[] = {socket_path, watchdog, NULL};
	char *ours[] = {socket_path, watchdog, pid, NULL};
	char *not_ours[] = {socket_path, watchdog, other, NULL};
	char *wrong[] = {broken, watchdog, NULL};
	char *negative[] = {socket_path, bad, NULL};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct notifier notifier;
	char text[16] = "";
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	(void)snprintf(socket_path, sizeof(socket_path), "NOTIFY_SOCKET=%s", path);
	(void)snprintf(pid, sizeof(pid), "WATCHDOG_PID=%d", getpid());

	notifier_open(&notifier, none, getpid());
	ck_assert_int_eq(notifier.fd, -1);
	ck_assert_uint_eq(notifier.watchdog_us, 0);
	ck_assert_int_eq(notifier_send(&notifier, "READY=1"), 0);
	notifier_open(&notifier, wrong, getpid());
	ck_assert_int_eq(notifier.fd, -1);
	notifier_open(&notifier, by_path, getpid());
	ck_assert_uint_eq(notifier.watchdog_us, 3000000);
	ck_assert_int_eq(notifier_send(&notifier, "READY=1"), 0);
	ck_assert_int_eq(recv(fd, text, sizeof(text) - 1, 0), 7);
	ck_assert_str_eq(text, "READY=1");
	notifier_close(&notifier);
	notifier_open(&notifier, ours, getpid());
	ck_assert_uint_eq(notifier.watchdog_us, 3000000);
	notifier_close(&notifier);
	notifier_open(&notifier, not_ours, getpid());
	ck_assert_uint_eq(notifier.watchdog_us, 0);
	notifier_close(&notifier);
	notifier_open(&notifier, negative, getpid());
	ck_assert_uint_eq(notifier.watchdog_us, 0);
	/* The listener goes, and comes back: we do not care. */
	(void)close(fd);
	ck_assert_int_eq(notifier_send(&notifier, "READY=1"), -ECONNREFUSED);
	notifier_close(&notifier);
}
END_TEST

START_TEST(a_listener_that_reads_nothing_does_not_make_us_wait)
{
	struct notifier notifier;
	int fd = notify_pair(&notifier);
	int r = 0;

	for (int i = 0; i < 100000 && r == 0; i++)
		r = notifier_send(&notifier, "WATCHDOG=1");
	ck_assert_int_eq(r, -EAGAIN);
	notifier_close(&notifier);
	(void)close(fd);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("sdnotify");
	TCase *tcase = tcase_create("sdnotify");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, a_message_arrives_with_its_sender);
	tcase_add_test(tcase,
	               descriptors_come_only_if_they_are_asked_for_and_only_so_many);
	tcase_add_test(tcase,
	               a_child_throws_away_the_message_that_it_was_told_of_and_no_other);
	tcase_add_test(
	    tcase, what_is_closed_by_a_child_is_closed_here_and_few_hang_for_each_owner);
	tcase_add_test(tcase, only_local_files_are_harmless);
	tcase_add_loop_test(tcase, a_mount_is_local_or_not, 0, (int)ARRAY_SIZE(mounts));
	tcase_add_test(
	    tcase, a_message_that_is_too_long_or_no_text_is_dropped_the_next_one_is_not);
	tcase_add_test(tcase, a_message_that_was_looked_at_stays_until_it_is_skipped);
	tcase_add_test(tcase, the_notifier_finds_its_listener_in_the_environment);
	tcase_add_test(tcase, a_listener_that_reads_nothing_does_not_make_us_wait);
	suite_add_tcase(suite, tcase);
	return check_run(srunner_create(suite));
}
