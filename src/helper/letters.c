/* SPDX-License-Identifier: ISC */
/* letters.c - /system/letters: clients of actors that are down are sent away, or get a
 * fixed reply.
 *
 * An actor shares the description of its listening socket, with all processes that it
 * gave it to: any of them may have it block, and take the connection that was there.  So
 * whatever can block here is interrupted, and a mailbox where that happens is left alone
 * for a while.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/err.h"
#include "helper/helper.h"
#include "helper/watchers.h"
#include "os/self/clock.h"
#include "os/self/fd.h"

/* How many clients of one mailbox are served at a time; then other mailboxes have their
 * turn. */
#define BATCH_MAX 16
/* What a client has sent is read up to here, so that it sees an end and no reset. */
#define DRAIN_MAX (64 * 1024)
/* A client that got a reply has so long to read it; so many are waited for. */
#define DRAIN_S      2.
#define DRAINING_MAX 64
/* How long a mailbox is left alone after it blocked or had no client, or when there are
 * no descriptors. */
#define PAUSE_MS 1000
/* What could not be told to the guardian is told again after so long. */
#define TELL_AGAIN_S 0.1

/* A client that got a reply: closed when it closes, or when its time is over. */
struct draining {
	struct ev_loop *loop;
	int fd; /* -1: free */
	ev_io io;
	ev_timer timeout;
};

struct lent_mailbox {
	struct letters *letters;
	uint32_t id;
	int fd;
	struct helper_mailbox how;
	char *reply; /* NULL: none */
	size_t reply_len;
	uint64_t second_ms; /* when the second began, … */
	uint32_t served;    /* … number of clients dealt with in that time */
	uint32_t untold;    /* dead letters that the guardian does not know of */
	/* the guardian was told of some, and may die before they are counted */
	bool awaits_count;
	ev_io io;
	ev_timer pause, tell_again;
};

struct letters {
	struct ev_loop *loop;
	struct helper_leases *leases;
	struct lent_mailbox *at[HELPER_MAILBOXES_MAX];
	struct draining drains[DRAINING_MAX];
	uint32_t next_drain; /* the oldest, or a free one */
};

/* What came of one client. */
enum outcome {
	NONE_WAITS,
	GOT_REPLY,
	IS_DEAD_LETTER,
	HAS_TO_WAIT, /* there are no descriptors, the mailbox blocked or is shut down */
};

struct served {
	int fd; /* -1: it has no connection, or that was dealt with */
	enum outcome outcome;
};

/* ---- clients that got a reply ------------------------------------------------------ */

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
drain_end(struct draining *draining)
{
	if (draining->fd < 0)
		return;
	ev_io_stop(draining->loop, &draining->io);
	ev_timer_stop(draining->loop, &draining->timeout);
	fd_close(&draining->fd);
}

static void
on_more(struct ev_loop *loop UNUSED, ev_io *io, int revents UNUSED)
{
	struct draining *draining = io->data;

	if (!drain(draining->fd))
		drain_end(draining);
}

static void
on_drain_timeout(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
	drain_end(timer->data);
}

/* Closed at once it might be reset before the client has read what was sent. */
static void
drain_and_close(struct letters *letters, int take_fd)
{
	struct draining *draining = &letters->drains[letters->next_drain];

	letters->next_drain = (letters->next_drain + 1) % DRAINING_MAX;
	drain_end(draining);
	draining->fd = take_fd;
	io_prepare(&draining->io, on_more, draining);
	timer_prepare(&draining->timeout, on_drain_timeout, draining);
	io_begin(letters->loop, &draining->io, take_fd, EV_READ);
	timer_begin(letters->loop, &draining->timeout, DRAIN_S);
}

/* ---- one client -------------------------------------------------------------------- */

/* A tcp client is reset, any other sees the end. */
static void
send_away(const struct lent_mailbox *mailbox, int take_fd)
{
	const struct linger now = {.l_onoff = 1, .l_linger = 0};

	if (mailbox->how.resets)
		(void)setsockopt(take_fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	else
		(void)drain(take_fd);
	(void)close(take_fd);
}

static struct served
take_connection(const struct lent_mailbox *mailbox)
{
	int fd = accept4(mailbox->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd >= 0)
		return (struct served){fd, mailbox->reply != NULL ? GOT_REPLY
		                                                  : IS_DEAD_LETTER};
	if (errno == EAGAIN)
		return (struct served){-1, NONE_WAITS};
	if (err_is_shortage(errno) || errno == EINTR || errno == EINVAL)
		return (struct served){-1, HAS_TO_WAIT};
	/* A client that has gone already counts as well. */
	return (struct served){-1, IS_DEAD_LETTER};
}

static struct served
take_datagram(const struct lent_mailbox *mailbox)
{
	struct sockaddr_storage from;
	socklen_t from_len = sizeof(from);
	char byte;

	if (recvfrom(mailbox->fd, &byte, 1, MSG_DONTWAIT | MSG_TRUNC,
	             (struct sockaddr *)&from, &from_len) < 0)
		/* Else the news of a client that did not hear the reply before. */
		return (struct served){-1, errno == EAGAIN ? NONE_WAITS : GOT_REPLY};
	/* What has no address cannot be answered. */
	if (mailbox->reply != NULL && from_len > sizeof(from.ss_family) &&
	    sendto(mailbox->fd, mailbox->reply, mailbox->reply_len,
	           MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&from, from_len) >= 0)
		return (struct served){-1, GOT_REPLY};
	return (struct served){-1, IS_DEAD_LETTER};
}

/* What is read at once counts as one, as it was written at once if it was short. */
static struct served
take_bytes(const struct lent_mailbox *mailbox)
{
	char buffer[4096];
	ssize_t n = read(mailbox->fd, buffer, sizeof(buffer));

	if (n < 0 && errno == EINTR)
		return (struct served){-1, HAS_TO_WAIT};
	return (struct served){-1, n > 0 ? IS_DEAD_LETTER : NONE_WAITS};
}

static struct served
take_one(const struct lent_mailbox *mailbox)
{
	if (mailbox->how.accepts)
		return take_connection(mailbox);
	return mailbox->how.is_fifo ? take_bytes(mailbox) : take_datagram(mailbox);
}

/* Send the reply; without room for it the client is sent away. */
static void
give_reply(const struct lent_mailbox *mailbox, struct served *client)
{
	if (client->fd < 0 || client->outcome != GOT_REPLY)
		return;
	if (send(client->fd, mailbox->reply, mailbox->reply_len,
	         MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)mailbox->reply_len ||
	    shutdown(client->fd, SHUT_WR) < 0) {
		client->outcome = IS_DEAD_LETTER;
	} else {
		drain_and_close(mailbox->letters, client->fd);
		client->fd = -1;
	}
}

/* ---- one mailbox ------------------------------------------------------------------- */

static void
tell_dead(struct lent_mailbox *mailbox)
{
	struct ev_loop *loop = mailbox->letters->loop;

	if (mailbox->untold == 0)
		return;
	if (helper_send(HELPER_FD,
	                &(const struct helper_message){
	                    .kind = HELPER_DEAD, .id = mailbox->id, .n = mailbox->untold},
	                NULL) == 0) {
		mailbox->untold = 0;
		mailbox->awaits_count = true;
		ev_io_stop(loop, &mailbox->io);
	} else if (!ev_is_active(&mailbox->tell_again)) {
		ev_timer_start(loop, &mailbox->tell_again);
	}
}

static void
on_tell_again(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
	tell_dead(timer->data);
}

static void
pause_for(struct lent_mailbox *mailbox, uint64_t ms)
{
	struct ev_loop *loop = mailbox->letters->loop;

	ev_io_stop(loop, &mailbox->io);
	timer_begin(loop, &mailbox->pause, (double)ms / 1e3);
}

static void
on_pause_over(struct ev_loop *loop, ev_timer *timer, int revents UNUSED)
{
	struct lent_mailbox *mailbox = timer->data;

	if (!mailbox->awaits_count)
		ev_io_start(loop, &mailbox->io);
}

/* The guardian has counted these dead letters: serve the next clients. */
static void
serve_again(struct lent_mailbox *mailbox)
{
	mailbox->awaits_count = false;
	if (!ev_is_active(&mailbox->pause))
		ev_io_start(mailbox->letters->loop, &mailbox->io);
}

static void
set_alarm(bool is_on)
{
	const struct timeval time = {.tv_usec = is_on ? HELPER_BUSY_MS * 1000 / 2 : 0};
	/* The alarm is repeated: the first may come before the call that it is to
	 * interrupt. */

	(void)setitimer(ITIMER_REAL, &(const struct itimerval){time, time}, NULL);
}

/* Take some that wait, as far as the rate allows; returns how many. */
static size_t
take_some(struct lent_mailbox *mailbox, struct served clients[BATCH_MAX])
{
	const uint64_t now_ms = clock_mono_ms();
	const int flags = fcntl(mailbox->fd, F_GETFL);
	size_t n = 0;

	if (now_ms - mailbox->second_ms >= 1000) {
		mailbox->second_ms = now_ms;
		mailbox->served = 0;
	}
	if (flags >= 0 && (flags & O_NONBLOCK) == 0)
		(void)fcntl(mailbox->fd, F_SETFL, flags | O_NONBLOCK);
	set_alarm(true);
	while (n < BATCH_MAX) {
		if (mailbox->served >= mailbox->how.rate) {
			pause_for(mailbox, mailbox->second_ms + 1000 - now_ms);
			break;
		}
		struct served client = take_one(mailbox);
		/* What was there at the first look has another process taken; or there
		 * is nothing, and never will be: the socket is shut down. */
		if (client.outcome == HAS_TO_WAIT ||
		    (client.outcome == NONE_WAITS && n == 0))
			pause_for(mailbox, PAUSE_MS);
		if (client.outcome == HAS_TO_WAIT || client.outcome == NONE_WAITS)
			break;
		mailbox->served++;
		clients[n++] = client;
	}
	set_alarm(false);
	return n;
}

static void
on_readable(struct ev_loop *loop, ev_io *io, int revents UNUSED)
{
	struct lent_mailbox *mailbox = io->data;
	_Atomic uint32_t *lease = &mailbox->letters->leases->at[mailbox->id];
	struct served clients[BATCH_MAX];
	uint32_t given = LEASE_GIVEN;

	if (!atomic_compare_exchange_strong(lease, &given, LEASE_BUSY)) {
		ev_io_stop(loop, io);
		return;
	}
	size_t n = take_some(mailbox, clients);
	for (size_t i = 0; i < n; i++) {
		give_reply(mailbox, &clients[i]);
		mailbox->untold += clients[i].outcome == IS_DEAD_LETTER;
	}
	/* Tell the guardian before the client sees the end: a client that was sent away
	 * finds itself counted. */
	tell_dead(mailbox);
	atomic_store(lease, LEASE_GIVEN);
	for (size_t i = 0; i < n; i++)
		if (clients[i].fd >= 0)
			send_away(mailbox, clients[i].fd);
}

/* ---- what the guardian says -------------------------------------------------------- */

/* The whole text of a file; NULL without memory. */
static char *
read_text(int fd, size_t *ret_len)
{
	const off_t size = lseek(fd, 0, SEEK_END);
	char *text = size < 0 ? NULL : malloc((size_t)size + 1);

	if (text == NULL)
		return NULL;
	ssize_t n = pread(fd, text, (size_t)size, 0);
	*ret_len = n > 0 ? (size_t)n : 0;
	return text;
}

static void
give_back(struct letters *letters, uint32_t id)
{
	struct lent_mailbox *mailbox = letters->at[id];

	if (mailbox == NULL)
		return;
	tell_dead(mailbox);
	ev_io_stop(letters->loop, &mailbox->io);
	ev_timer_stop(letters->loop, &mailbox->pause);
	ev_timer_stop(letters->loop, &mailbox->tell_again);
	(void)close(mailbox->fd);
	free(mailbox->reply);
	free(mailbox);
	letters->at[id] = NULL;
}

/* Take a mailbox; without memory it is left as it is, and its clients wait. */
static void
take_mailbox(struct letters *letters, const struct helper_message *message, int take_fd,
             int reply_fd)
{
	struct lent_mailbox *mailbox = calloc(1, sizeof(*mailbox));

	if (mailbox == NULL) {
		(void)close(take_fd);
		return;
	}
	*mailbox = (struct lent_mailbox){.letters = letters,
	                                 .id = message->id,
	                                 .fd = take_fd,
	                                 .how = message->mailbox,
	                                 .io.data = mailbox,
	                                 .pause.data = mailbox,
	                                 .tell_again.data = mailbox};
	if (message->mailbox.replies && reply_fd >= 0)
		mailbox->reply = read_text(reply_fd, &mailbox->reply_len);
	ev_io_init(&mailbox->io, on_readable, take_fd, EV_READ);
	ev_timer_init(&mailbox->pause, on_pause_over, 0., 0.);
	ev_timer_init(&mailbox->tell_again, on_tell_again, TELL_AGAIN_S, 0.);
	letters->at[message->id] = mailbox;
	ev_io_start(letters->loop, &mailbox->io);
}

static void
map_leases(struct letters *letters, int fd)
{
	void *page = mmap(NULL, sizeof(*letters->leases), PROT_READ | PROT_WRITE,
	                  MAP_SHARED, fd, 0);

	if (page != MAP_FAILED)
		letters->leases = page;
}

static size_t
on_message(void *own, const struct helper_message *message, const int *fds, size_t n_fds)
{
	struct letters *letters = own;

	if (message->kind == HELPER_LEASES && n_fds == 1 && letters->leases == NULL) {
		map_leases(letters, fds[0]);
	} else if (letters->leases == NULL || message->id >= HELPER_MAILBOXES_MAX) {
		/* Without memory for the page nothing can be served. */
	} else if (message->kind == HELPER_GIVE && n_fds > 0 &&
	           letters->at[message->id] == NULL) {
		take_mailbox(letters, message, fds[0], n_fds > 1 ? fds[1] : -1);
		return 1;
	} else if (message->kind == HELPER_COUNTED && letters->at[message->id] != NULL) {
		serve_again(letters->at[message->id]);
	} else if (message->kind == HELPER_RETURN) {
		give_back(letters, message->id);
	}
	return 0;
}

static void *
start(struct helper *helper)
{
	struct letters *letters = calloc(1, sizeof(*letters));

	if (letters == NULL)
		return NULL;
	letters->loop = helper->loop;
	for (size_t i = 0; i < DRAINING_MAX; i++)
		letters->drains[i] = (struct draining){helper->loop, -1, {0}, {0}};
	return letters;
}

const struct helper_role helper_letters = {CONFINE_LETTERS, start, on_message};
