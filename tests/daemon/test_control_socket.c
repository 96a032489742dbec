/* SPDX-License-Identifier: ISC */
/* test_control_socket.c - the listening socket, its limits, and clients that send noise.
 */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/rng.h"
#include "tests/lib/check_main.h"
#include "tests/lib/fake_rooms.h"

#define DESCRIPTORS_MAX 160
#define FILLERS_MAX     200
#define PATIENCE_MS     60000

static struct fake *fake;
static char directory[64];
static char path[sizeof(directory) + 16];

static void
set_up(void)
{
	struct err err = {0};

	(void)snprintf(directory, sizeof(directory), "/tmp/test_control_socket.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	(void)snprintf(path, sizeof(path), "%s/control.sock", directory);
	fake = fake_new();
	(void)fake_add(fake, "/user/a", NODE_WORKER);
	fake_boot(fake);
	control_free(fake->supd.control);
	fake->control_file =
	    (struct control_file){.fd = -1, .bounded = &fake->supd.bounded, .path = path};
	control_file_begin(&fake->control_file, PATIENCE_MS);
	fake->conf.control_mode = 0600;
	fake->supd.control = control_new(&fake->uses, &err);
	ck_assert_msg(fake->supd.control != NULL, "%s", err.text);
}

static void
tear_down(void)
{
	fake_free(fake);
	ck_assert_int_eq(access(path, F_OK), -1);
	ck_assert_int_eq(rmdir(directory), 0);
}

static void
connect_client(struct client *client)
{
	*client =
	    (struct client){.fake = fake, .fd = sock_connect_unix(path, SOCK_STREAM)};
	ck_assert_int_ge(client->fd, 0);
	varlink_reader_init(&client->reader, VARLINK_REPLY_MAX);
}

START_TEST(the_socket_has_its_mode_serves_and_is_removed_at_the_end)
{
	struct client client;
	struct stat st;

	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
	connect_client(&client);
	check_done(client_call(&client, "Ping", "{}", ""));
	client_close(&client);
	ck_assert_uint_eq(fake->supd.control->n_conns, 0);
}
END_TEST

START_TEST(a_live_socket_is_never_taken_over)
{
	struct control_file file = fake->control_file;
	struct control_uses uses = fake->uses;
	struct err err = {0};
	struct client client;

	file.fd = -1;
	uses.file = &file;
	ck_assert_ptr_null(control_new(&uses, &err));
	ck_assert_int_eq(err.code, EADDRINUSE);
	/* The holder of the socket still serves. */
	connect_client(&client);
	check_done(client_call(&client, "Ping", "{}", ""));
	client_close(&client);
}
END_TEST

START_TEST(a_file_that_was_not_seen_in_time_is_no_file_that_was_removed)
{
	struct control *control = fake->supd.control;
	struct err err = {0};

	ck_assert(control_is_found(control));
	/* As after a look that was late. */
	control->file = (struct sockwork_seen){0};
	ck_assert(control_is_found(control));
	ck_assert_uint_ne(control->file.ino, 0);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert(!control_is_found(control));
	ck_assert_int_eq(control_listen_again(control, &err), 0);
	ck_assert(control_is_found(control));
}
END_TEST

static size_t
fill_descriptors(int fillers[FILLERS_MAX])
{
	size_t n = 0;

	while (n < FILLERS_MAX) {
		fillers[n] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (fillers[n] < 0)
			break;
		n++;
	}
	ck_assert_uint_lt(n, FILLERS_MAX);
	return n;
}

START_TEST(without_descriptors_one_more_is_served_and_accepting_rests)
{
	struct control *control = fake->supd.control;
	struct rlimit usual, few;
	int fillers[FILLERS_MAX];
	struct client clients[3];
	size_t n;

	for (size_t i = 0; i < ARRAY_SIZE(clients); i++)
		connect_client(&clients[i]);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &usual), 0);
	few = (struct rlimit){DESCRIPTORS_MAX, usual.rlim_max};
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	n = fill_descriptors(fillers);
	check_done(client_call(&clients[0], "Ping", "{}", ""));
	ck_assert_uint_eq(control->n_conns, 1);
	ck_assert_int_eq(control->reserve_fd, -1);
	ck_assert(ev_is_active(&control->accept_timer));
	ck_assert(!ev_is_active(&control->accept_io));
	while (n > 0)
		(void)close(fillers[--n]);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &usual), 0);
	/* The end of a connection ends the rest, and the others get in. */
	client_close(&clients[0]);
	for (size_t i = 1; i < ARRAY_SIZE(clients); i++)
		check_done(client_call(&clients[i], "Ping", "{}", ""));
	ck_assert_int_ge(control->reserve_fd, 0);
	for (size_t i = 1; i < ARRAY_SIZE(clients); i++)
		client_close(&clients[i]);
}
END_TEST

static const char *const seeds[] = {
    "{\"method\":\"io.supd.Control.Status\",\"parameters\":{\"names\":[\"a\",\"*\"]}}",
    "{\"method\":\"io.supd.Control.Stop\",\"parameters\":{\"names\":[\"a\"],\"wait\":"
    "true}}",
    "{\"method\":\"io.supd.Control.Start\",\"parameters\":{\"names\":[\"a\"],\"token\":"
    "\"\"}}",
    "{\"method\":\"io.supd.Control.Events\",\"more\":true,\"parameters\":{\"since\":2}}",
    "{\"method\":\"io.supd.Control.Watch\",\"more\":true,\"parameters\":{\"names\":["
    "\"a\"]}}",
    "{\"method\":\"io.supd.Control.Wait\",\"parameters\":{\"name\":\"a\",\"for\":"
    "\"done\"}}",
    "{\"method\":\"io.supd.Control.Explain\",\"parameters\":{\"name\":\"/user\"}}",
};

START_TEST(clients_that_send_noise_do_no_harm)
{
	struct client bystander;
	struct client noisy;
	struct rng rng;

	rng_seed(&rng, 42);
	connect_client(&bystander);
	connect_client(&noisy);
	for (int round = 0; round < 3000; round++) {
		char text[200];
		size_t len =
		    strlen(strcpy(text, seeds[rng_below(&rng, ARRAY_SIZE(seeds))]));

		for (uint64_t n = rng_below(&rng, 4); n > 0; n--)
			text[rng_below(&rng, len)] =
			    "{}[]\",:0a*\\\xff/"[rng_below(&rng, 13)];
		if (send(noisy.fd, text, len + rng_below(&rng, 2), MSG_NOSIGNAL) < 0 ||
		    rng_below(&rng, 20) == 0) {
			client_close(&noisy);
			connect_client(&noisy);
		}
		if (round % 100 == 0)
			check_done(client_call(&bystander, "Ping", "{}", ""));
		else if (round % 7 == 0)
			fake_run(fake);
	}
	client_close(&noisy);
	check_done(client_call(&bystander, "Status", "{}", ""));
	ck_assert_uint_eq(fake->supd.control->n_conns, 1);
	ck_assert_uint_eq(fake->supd.control->n_waiters, 0);
	ck_assert_uint_eq(fake->supd.control->n_followers, 0);
	client_close(&bystander);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("control socket");
	TCase *tcase = tcase_create("control socket");
	TCase *limits = tcase_create("limits of the kernel");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, the_socket_has_its_mode_serves_and_is_removed_at_the_end);
	tcase_add_test(tcase, a_live_socket_is_never_taken_over);
	tcase_add_test(tcase,
	               a_file_that_was_not_seen_in_time_is_no_file_that_was_removed);
	tcase_add_test(tcase, clients_that_send_noise_do_no_harm);
	suite_add_tcase(suite, tcase);
	tcase_set_tags(limits, "kernel_limits");
	tcase_set_timeout(limits, 60);
	tcase_add_checked_fixture(limits, set_up, tear_down);
	tcase_add_test(limits,
	               without_descriptors_one_more_is_served_and_accepting_rests);
	suite_add_tcase(suite, limits);
	return check_run(srunner_create(suite));
}
