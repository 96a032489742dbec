/* SPDX-License-Identifier: ISC */
/* fake_client.c - a client of the fake rooms' control server, and its replies. */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "tests/lib/check_main.h"
#include "tests/lib/fake_rooms.h"

/* ---- the client -------------------------------------------------------------------- */

static int
adopt(struct client *client, struct fake *fake, const struct sock_peer *peer)
{
	const int type = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
	struct sock_peer with_fd;
	int fd[2];

	ASSERT(socketpair(AF_UNIX, type, 0, fd) == 0);
	*client = (struct client){.fake = fake, .fd = fd[0]};
	varlink_reader_init(&client->reader, VARLINK_REPLY_MAX);
	if (peer != NULL) {
		with_fd = *peer;
		with_fd.fd = fd[1];
	} else {
		ASSERT(sock_peer(fd[1], &with_fd) == 0);
	}
	control_adopt(fake->supd.control, fd[1], &with_fd);
	return 0;
}

void
client_open(struct client *client, struct fake *fake)
{
	(void)adopt(client, fake, NULL);
}

void
client_open_as(struct client *client, struct fake *fake, uid_t uid, gid_t gid)
{
	const struct sock_peer peer = {.pid = 99, .uid = uid, .gid = gid};

	(void)adopt(client, fake, &peer);
}

void
client_close(struct client *client)
{
	(void)close(client->fd);
	varlink_reader_done(&client->reader);
	fake_run(client->fake);
}

static void
receive(struct client *client)
{
	char data[VARLINK_FEED_MAX];
	ssize_t n = recv(client->fd, data, sizeof(data), 0);

	if (n == 0 || (n < 0 && errno != EAGAIN))
		client->closed = true;
	else if (n > 0)
		ASSERT(varlink_reader_feed(&client->reader, data, (size_t)n) == 0);
}

void
client_send(struct client *client, const char *text)
{
	size_t len = strlen(text) + 1;

	ASSERT(send(client->fd, text, len, MSG_NOSIGNAL) == (ssize_t)len);
}

json_t *
client_reply(struct client *client)
{
	json_t *reply = NULL;

	for (int i = 0; i < 100; i++) {
		int r = varlink_reader_next(&client->reader, &reply, NULL);

		ASSERT(r >= 0);
		if (r > 0)
			return reply;
		if (client->closed)
			return NULL;
		receive(client);
		if (client->reader.messages == 0)
			fake_run(client->fake);
	}
	return NULL;
}

json_t *
client_call(struct client *client, const char *method, const char *parameters,
            const char *flags)
{
	struct strbuf text;

	strbuf_init(&text, 1 << 20);
	strbuf_addf(&text, "{\"method\":\"%s%s\",\"parameters\":%s%s}",
	            strchr(method, '.') == NULL ? "io.supd.Control." : "", method,
	            parameters, flags);
	client_send(client, strbuf_str(&text));
	strbuf_done(&text);
	return client_reply(client);
}

bool
client_is_closed(struct client *client)
{
	for (int i = 0; i < 100 && !client->closed; i++) {
		fake_run(client->fake);
		receive(client);
	}
	return client->closed;
}

/* ---- replies --------------------------------------------------------------- */

const char *
text_at(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL ? text : "(none)";
}

const json_t *
parameters_of(const json_t *reply)
{
	return json_object_get(reply, "parameters");
}

const json_t *
actor_of(const json_t *reply, size_t i)
{
	return json_array_get(json_object_get(parameters_of(reply), "actors"), i);
}

/* The reply must be this error; its parameter `key` (or NULL) must be this. */
void
check_error(json_t *take_reply, const char *error, const char *key, const char *value)
{
	char *text = json_dumps(take_reply, JSON_COMPACT);

	ck_assert_msg(take_reply != NULL, "no reply");
	ck_assert_msg(json_object_size(take_reply) == 2, "%s", text);
	ck_assert_msg(strcmp(text_at(take_reply, "error"), error) == 0, "%s", text);
	ck_assert_msg(json_is_object(parameters_of(take_reply)), "%s", text);
	if (key != NULL)
		ck_assert_msg(strcmp(text_at(parameters_of(take_reply), key), value) == 0,
		              "%s", text);
	free(text);
	json_decref(take_reply);
}

/* A reply that is no error, has parameters and nothing else; the caller owns it. */
json_t *
check_reply(json_t *take_reply)
{
	char *text = json_dumps(take_reply, JSON_COMPACT);

	ck_assert_msg(take_reply != NULL, "no reply");
	ck_assert_msg(json_object_size(take_reply) == 1, "%s", text);
	ck_assert_msg(json_is_object(parameters_of(take_reply)), "%s", text);
	free(text);
	return take_reply;
}

void
check_done(json_t *take_reply)
{
	json_decref(check_reply(take_reply));
}

size_t
count_events(const struct fake *fake, const char *needle)
{
	const struct events *events = &fake->supd.events;
	size_t n = 0;

	for (uint64_t seq = events->first_seq; seq < events->next_seq; seq++) {
		struct event_view event;
		struct strbuf json;

		ck_assert(events_view(events, seq, &event));
		strbuf_init(&json, 10 * EVENT_BYTES_MAX);
		event_json(&json, &event);
		n += strstr(strbuf_str(&json), needle) != NULL;
		strbuf_done(&json);
	}
	return n;
}

int
fake_main(const char *name, void (*set_up)(void), void (*tear_down)(void),
          void (*add_tests)(TCase *tcase))
{
	Suite *suite = suite_create(name);
	TCase *tcase = tcase_create(name);

	tcase_set_timeout(tcase, CHECK_TIMEOUT_S);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	add_tests(tcase);
	suite_add_tcase(suite, tcase);
	return check_run(srunner_create(suite));
}
