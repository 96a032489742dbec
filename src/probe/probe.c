/* SPDX-License-Identifier: ISC */
/* probe.c - is a server there, and well? One question over one connection. */
#include "config.h"

#include "probe/probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "os/self/fd.h"

#define REQUEST_MAX 4096
/* How much of an answer is taken in at a time. */
#define PIECE_BYTES 4096
/* And the number of pieces read behind the head, so that the server need not see a reset.
 */
#define PIECES_DRAINED 16

static const struct probe_result going_on = {.answer = PROBE_GOES_ON};
static const struct probe_result good = {.answer = PROBE_IS_GOOD};

/* ---- what is asked ----------------------------------------------------------------- */

/* Nothing is asked, and nothing to be given back. */
void
probe_init(struct probe *probe)
{
	*probe = (struct probe){.fd = -1};
}

/* Give everything back, whatever has become of the question. */
void
probe_done(struct probe *probe)
{
	fd_close(&probe->fd);
	free(probe->request);
	probe_init(probe);
}

static int
set_tcp(struct probe *probe, const char *host, uint16_t port)
{
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};

	if (inet_pton(AF_INET, host, &four.sin_addr) == 1) {
		memcpy(&probe->address, &four, sizeof(four));
		probe->address_len = sizeof(four);
	} else if (inet_pton(AF_INET6, host, &six.sin6_addr) == 1) {
		memcpy(&probe->address, &six, sizeof(six));
		probe->address_len = sizeof(six);
	} else {
		return -EINVAL;
	}
	return 0;
}

static int
set_request(struct probe *probe, const struct probe_question *question)
{
	struct strbuf request = STRBUF(REQUEST_MAX);

	if (question->resource == NULL)
		return 0;
	strbuf_addf(&request,
	            "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: supd\r\nAccept: */*\r\n"
	            "Connection: close\r\n\r\n",
	            question->resource, question->name);
	probe->request_len = request.len;
	probe->request = strbuf_take(&request);
	head_init(&probe->head);
	return probe->request == NULL ? -ENOMEM : 0;
}

/* ---- how it is answered ------------------------------------------------------------ */

/* The result of this errno: a shortage of this machine, of ports for example, is not the
 * fault of the probed server. */
struct probe_result
probe_failed(int error)
{
	const bool is_ours = err_is_shortage(error) || error == EADDRNOTAVAIL;

	return (struct probe_result){
	    .answer = is_ours ? PROBE_IS_NONE : PROBE_IS_BAD,
	    .error = error,
	};
}

/* True if the probe is connected to itself: where no server listens the kernel may choose
 * the probed port as its own. */
static bool
is_oneself(const struct probe *probe)
{
	struct sockaddr_storage own = {0}, other = {0};
	socklen_t own_len = sizeof(own), other_len = sizeof(other);

	return getsockname(probe->fd, (struct sockaddr *)&own, &own_len) == 0 &&
	       getpeername(probe->fd, (struct sockaddr *)&other, &other_len) == 0 &&
	       own_len == other_len && memcmp(&own, &other, own_len) == 0;
}

/* Take in what else has come. */
static void
drain(struct probe *probe)
{
	char piece[PIECE_BYTES];

	for (int i = 0; i < PIECES_DRAINED; i++)
		if (recv(probe->fd, piece, sizeof(piece), 0) <= 0)
			return;
}

static struct probe_result
judge(struct probe *probe)
{
	const int status = probe->head.status;

	drain(probe);
	if (status < 400)
		return good;
	return (struct probe_result){.answer = PROBE_IS_BAD, .status = status};
}

static struct probe_result
listen_to(struct probe *probe)
{
	char piece[PIECE_BYTES];

	probe->wants = PROBE_WANTS_READ;
	for (;;) {
		ssize_t n = recv(probe->fd, piece, sizeof(piece), 0);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return going_on;
		if (n < 0)
			return probe_failed(errno);
		/* The server closed the connection before its answer. */
		if (n == 0)
			return probe_failed(ECONNRESET);
		int r = head_take(&probe->head, piece, (size_t)n);
		if (r < 0)
			return probe_failed(-r);
		if (r > 0)
			return judge(probe);
	}
}

static struct probe_result
speak(struct probe *probe)
{
	probe->wants = PROBE_WANTS_WRITE;
	while (probe->sent < probe->request_len) {
		ssize_t n = send(probe->fd, probe->request + probe->sent,
		                 probe->request_len - probe->sent, MSG_NOSIGNAL);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return going_on;
		/* It may have answered all the same. */
		if (n < 0 && errno != EPIPE && errno != ECONNRESET)
			return probe_failed(errno);
		if (n < 0)
			break;
		probe->sent += (size_t)n;
	}
	probe->sent = probe->request_len;
	return listen_to(probe);
}

static struct probe_result
connected(struct probe *probe)
{
	if (is_oneself(probe))
		return probe_failed(ECONNREFUSED);
	probe->is_connected = true;
	return probe->request == NULL ? good : speak(probe);
}

static struct probe_result
try_to_connect(struct probe *probe)
{
	if (connect(probe->fd, (struct sockaddr *)&probe->address, probe->address_len) ==
	    0)
		return connected(probe);
	if (errno != EINPROGRESS && errno != EINTR)
		return probe_failed(errno == EAGAIN ? EADDRNOTAVAIL : errno);
	probe->wants = PROBE_WANTS_WRITE;
	return going_on;
}

/* Has the connection come about? */
static struct probe_result
look(struct probe *probe)
{
	socklen_t len = sizeof(int);
	int error = 0;

	if (getsockopt(probe->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		error = errno;
	return error != 0 ? probe_failed(error) : connected(probe);
}

/*
 * Begin to ask.  The probe is one that was initialised; with PROBE_GOES_ON it has
 * something to wait for, otherwise it is over.  It is the caller's to end in any case.
 */
void
probe_begin(struct probe *probe, const struct probe_question *question,
            struct probe_result *ret)
{
	ASSERT(probe->fd < 0);
	int r = set_tcp(probe, question->host, question->port);
	if (r == 0)
		r = set_request(probe, question);
	if (r == 0) {
		probe->fd = socket(probe->address.ss_family,
		                   SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		r = probe->fd < 0 ? -errno : 0;
	}
	if (r < 0) {
		*ret = probe_failed(-r);
		return;
	}
	probe->fd = fd_raise(probe->fd);
	*ret = try_to_connect(probe);
}

/* The event that the probe waited for has come. */
void
probe_continue(struct probe *probe, struct probe_result *ret)
{
	ASSERT(probe->fd >= 0);
	if (!probe->is_connected)
		*ret = look(probe);
	else if (probe->sent < probe->request_len)
		*ret = speak(probe);
	else
		*ret = listen_to(probe);
}
