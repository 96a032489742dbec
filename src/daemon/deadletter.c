/* SPDX-License-Identifier: ISC */
/* deadletter.c - clients whom nobody serves: they are sent away, or get a fixed reply. */
#include "config.h"

#include "daemon/deadletter.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/log.h"
#include "daemon/mailbox.h"
#include "daemon/record.h"
#include "daemon/shell.h"
#include "os/clock.h"
#include "os/fd.h"

/* So many at a time; then others have their turn. */
#define BATCH_MAX 64
/* An event tells of all dead letters of so long. */
#define TELL_EVERY_S 0.1
/* What a client has sent is read up to here, so that it sees an end and no reset. */
#define DRAIN_MAX (64 * 1024)
/* Whoever got a reply has so long to read it. */
#define LINGER_S 2.
/* So long nothing is accepted when there are no descriptors. */
#define SHORTAGE_MS 1000

/* ---- those who got a reply
 * -------------------------------------------------------------
 */

/* Read what has come; false: it is over, or too much. */
static bool
drain(int fd)
{
	char buffer[4096];
	ssize_t n = 1;

	for (size_t all = 0; all < DRAIN_MAX && n > 0; all += (size_t)n)
		n = recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT);
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

static void
let_go(struct lingerer *lingerer)
{
	if (lingerer->fd < 0)
		return;
	ev_io_stop(lingerer->all->loop, &lingerer->io);
	ev_timer_stop(lingerer->all->loop, &lingerer->timeout);
	fd_close(&lingerer->fd);
}

static void
on_more(struct ev_loop *loop, ev_io *watcher, int revents)
{
	struct lingerer *lingerer = watcher->data;

	(void)loop;
	(void)revents;
	if (!drain(lingerer->fd))
		let_go(lingerer);
}

static void
on_timeout(struct ev_loop *loop, ev_timer *watcher, int revents)
{
	(void)loop;
	(void)revents;
	let_go(watcher->data);
}

void
lingerers_init(struct lingerers *lingerers, struct ev_loop *loop)
{
	*lingerers = (struct lingerers){.loop = loop};
	for (uint32_t i = 0; i < LINGERERS_MAX; i++) {
		struct lingerer *lingerer = &lingerers->at[i];

		lingerer->all = lingerers;
		lingerer->fd = -1;
		ev_io_init(&lingerer->io, on_more, -1, EV_READ);
		lingerer->io.data = lingerer;
		ev_timer_init(&lingerer->timeout, on_timeout, LINGER_S, 0.);
		lingerer->timeout.data = lingerer;
	}
}

void
lingerers_done(struct lingerers *lingerers)
{
	for (uint32_t i = 0; i < LINGERERS_MAX; i++)
		let_go(&lingerers->at[i]);
}

/* Closed at once it might be reset before the client has read what was sent. */
static void
linger(struct lingerers *lingerers, int take_fd)
{
	struct lingerer *lingerer = &lingerers->at[lingerers->next];

	lingerers->next = (lingerers->next + 1) % LINGERERS_MAX;
	let_go(lingerer);
	lingerer->fd = take_fd;
	ev_io_set(&lingerer->io, take_fd, EV_READ);
	ev_io_start(lingerers->loop, &lingerer->io);
	ev_timer_set(&lingerer->timeout, LINGER_S, 0.);
	ev_timer_start(lingerers->loop, &lingerer->timeout);
}

/* ---- the event stream
 * ------------------------------------------------------------------
 */

/* Tell of what was not told yet. */
static void
tell(struct deadletters *dead)
{
	struct shell *shell = dead->shell;
	struct event_head head = {.event = "dead_letter"};
	struct node_view view;

	if (dead->untold == 0 || !core_valid(shell->core, dead->owner))
		return;
	core_view(shell->core, dead->owner, shell->now_ms, &view);
	head.path = shell_path(shell, dead->owner);
	head.incarnation = view.incarnation;
	head.generation = view.generation;
	events_begin(&shell->events, &head);
	events_string(&shell->events, "socket", dead->socket);
	events_number(&shell->events, "count", dead->untold);
	events_end(&shell->events);
	log_line(LOG_LEVEL_DEBUG, "%s: %u dead letters at socket %s", head.path,
	         dead->untold, dead->socket);
	dead->untold = 0;
}

static void
on_tell(struct ev_loop *loop, ev_timer *watcher, int revents)
{
	(void)loop;
	(void)revents;
	tell(watcher->data);
}

void
deadletters_init(struct deadletters *dead, struct shell *shell)
{
	*dead = (struct deadletters){.shell = shell, .owner = REF_NONE};
	ev_timer_init(&dead->tell, on_tell, TELL_EVERY_S, 0.);
	dead->tell.data = dead;
}

void
deadletters_done(struct deadletters *dead)
{
	ev_timer_stop(dead->shell->loop, &dead->tell);
	tell(dead);
}

/* The first is told at once, those of the next moment together. */
static void
count(struct deadletters *dead, const struct mailbox *mailbox)
{
	struct shell *shell = dead->shell;
	struct actor *actor = actors_get(&shell->actors, dead->owner);

	if (actor == NULL)
		return;
	actor->dead_letters++;
	record_slot(shell, actor->ref.slot);
	dead->untold++;
	dead->socket = mailbox->socket->name;
	if (ev_is_active(&dead->tell))
		return;
	tell(dead);
	ev_timer_set(&dead->tell, TELL_EVERY_S, 0.);
	ev_timer_start(shell->loop, &dead->tell);
}

/* ---- one client
 * ------------------------------------------------------------------------
 */

/* What came of one who waited. */
enum outcome {
	NOBODY_WAITS,
	GOT_REPLY,
	IS_DEAD_LETTER,
	NO_DESCRIPTORS,
};

/* A tcp client is reset, any other sees the end. */
static void
send_away(int fd, enum socket_kind kind)
{
	const struct linger now = {.l_onoff = 1, .l_linger = 0};

	if (kind == SOCKET_TCP)
		(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	else
		(void)drain(fd);
	(void)close(fd);
}

static enum outcome
serve_connection(const struct mailbox *mailbox, struct lingerers *lingerers)
{
	const struct conf_socket *socket = mailbox->socket;
	int fd = accept4(mailbox->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	size_t len;

	if (fd < 0 &&
	    (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM))
		return NO_DESCRIPTORS;
	/* Who has gone already counts as well. */
	if (fd < 0)
		return errno == EAGAIN ? NOBODY_WAITS : IS_DEAD_LETTER;
	fd = fd_raise(fd);
	if (socket->while_down != WHILE_DOWN_REPLY) {
		send_away(fd, socket->kind);
		return IS_DEAD_LETTER;
	}
	len = strlen(socket->reply);
	if (send(fd, socket->reply, len, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)len ||
	    shutdown(fd, SHUT_WR) < 0) {
		send_away(fd, socket->kind);
		return IS_DEAD_LETTER;
	}
	linger(lingerers, fd);
	return GOT_REPLY;
}

static enum outcome
serve_datagram(const struct mailbox *mailbox)
{
	const struct conf_socket *socket = mailbox->socket;
	struct sockaddr_storage from;
	socklen_t from_len = sizeof(from);
	char byte;

	if (recvfrom(mailbox->fd, &byte, 1, MSG_DONTWAIT | MSG_TRUNC,
	             (struct sockaddr *)&from, &from_len) < 0)
		/* Such as one who did not hear the reply before. */
		return errno == EAGAIN ? NOBODY_WAITS : GOT_REPLY;
	/* Who has no address cannot be answered. */
	if (socket->while_down == WHILE_DOWN_REPLY && from_len > sizeof(from.ss_family) &&
	    sendto(mailbox->fd, socket->reply, strlen(socket->reply),
	           MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&from, from_len) >= 0)
		return GOT_REPLY;
	return IS_DEAD_LETTER;
}

/* What is read at once counts as one, as it was written at once if it was short. */
static enum outcome
serve_fifo(const struct mailbox *mailbox)
{
	char buffer[4096];

	return read(mailbox->fd, buffer, sizeof(buffer)) > 0 ? IS_DEAD_LETTER
	                                                     : NOBODY_WAITS;
}

static enum outcome
serve_one(const struct mailbox *mailbox, struct lingerers *lingerers)
{
	if (socket_accepts(mailbox->socket->kind))
		return serve_connection(mailbox, lingerers);
	if (mailbox->socket->kind == SOCKET_FIFO)
		return serve_fifo(mailbox);
	return serve_datagram(mailbox);
}

uint64_t
deadletter_serve(struct deadletters *dead, const struct mailbox *mailbox,
                 struct lingerers *lingerers)
{
	const uint32_t rate = mailbox->socket->rate;
	const uint64_t now_ms = clock_mono_ms();
	uint64_t wait_ms = 0;

	if (now_ms - dead->second_ms >= 1000) {
		dead->second_ms = now_ms;
		dead->served = 0;
	}
	for (uint32_t i = 0; i < BATCH_MAX; i++) {
		enum outcome outcome;

		if (dead->served >= rate) {
			wait_ms = dead->second_ms + 1000 - now_ms;
			break;
		}
		outcome = serve_one(mailbox, lingerers);
		if (outcome == NO_DESCRIPTORS)
			wait_ms = SHORTAGE_MS;
		if (outcome == NO_DESCRIPTORS || outcome == NOBODY_WAITS)
			break;
		dead->served++;
		/* One by one: whoever kills us now has one of them forgotten. */
		if (outcome == IS_DEAD_LETTER)
			count(dead, mailbox);
	}
	return wait_ms;
}
