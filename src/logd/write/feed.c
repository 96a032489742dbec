/* SPDX-License-Identifier: ISC */
/* feed.c - what the guardian and the log process say to each other. */
#include "config.h"

#include "logd/write/feed.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "os/self/pass.h"

#define HEAD offsetof(struct feed_message, text)

const char *const feed_stream_names[] = {FEED_STREAM_MAP(AS_NAME)};

/* Put both texts into a message; -ENAMETOOLONG where they do not fit. */
int
feed_set_text(struct feed_message *message, const char *actor, const char *path)
{
	const size_t actor_size = strlen(actor) + 1, path_size = strlen(path) + 1;

	if (actor_size + path_size > sizeof(message->text))
		return -ENAMETOOLONG;
	memcpy(message->text, actor, actor_size);
	memcpy(message->text + actor_size, path, path_size);
	message->text_len = (uint32_t)(actor_size + path_size);
	return 0;
}

/* The path of the actor, or the sentence of FEED_TROUBLE; "" where there is none. */
const char *
feed_actor(const struct feed_message *message)
{
	return message->text_len > 0 ? message->text : "";
}

/* The path of the file or socket; "" where there is none. */
const char *
feed_path(const struct feed_message *message)
{
	return message->text_len > 0 ? message->text + strlen(message->text) + 1 : "";
}

/* Add the pattern behind the two other texts; -ENAMETOOLONG where it does not fit. */
int
feed_set_pattern(struct feed_message *message, const char *pattern)
{
	const size_t size = strlen(pattern) + 1;

	if (message->text_len + size > sizeof(message->text))
		return -ENAMETOOLONG;
	memcpy(message->text + message->text_len, pattern, size);
	message->text_len += (uint32_t)size;
	return 0;
}

/* The pattern; NULL where there is none. */
const char *
feed_pattern(const struct feed_message *message)
{
	const char *path = feed_path(message);
	const char *end = path + strlen(path) + 1;

	if (message->text_len == 0 || end >= message->text + message->text_len)
		return NULL;
	return end;
}

/*
 * Send a message, with a descriptor unless pipe_fd is -1; it stays the caller's.  Never
 * waits: -EAGAIN while the other side does not read, also where the kernel allows no
 * more descriptors on their way.  Any other -errno is about the socket.
 */
int
feed_send(int fd, const struct feed_message *message, int pipe_fd)
{
	ASSERT(message->text_len <= sizeof(message->text));
	int r = pass_send(fd, message, HEAD + message->text_len,
	                  &(struct pass_fds){&pipe_fd, pipe_fd >= 0}, MSG_DONTWAIT);
	return r == -ETOOMANYREFS || r == -ENOBUFS ? -EAGAIN : r;
}

/* True if the texts of a message end where they should. */
static bool
is_well_formed(const struct feed_message *message, size_t len)
{
	if (len < HEAD || message->kind >= FEED_KIND_MAX ||
	    message->stream >= FEED_STREAM_MAX || message->target >= FEED_TARGET_MAX ||
	    (message->kind == FEED_STREAM && message->show >= FEED_SHOWN_MAX) ||
	    message->text_len != len - HEAD)
		return false;
	if (message->text_len == 0)
		return true;
	const char *first = memchr(message->text, '\0', message->text_len);
	return first != NULL && first + 1 < message->text + message->text_len &&
	       message->text[message->text_len - 1] == '\0';
}

/*
 * Receive the next message; ret_fd is its descriptor, the caller's, or -1.  Never waits.
 * Returns 1; 0 at the end, when the other side is closed; -EAGAIN without a message;
 * -EBADMSG for a message that makes no sense, which is discarded.
 */
int
feed_receive(int fd, struct feed_message *ret, int *ret_fd)
{
	int pipe_fd = -1;
	struct pass_fds fds = {&pipe_fd, 1};
	ssize_t n = pass_receive(fd, MSG_DONTWAIT, ret, sizeof(*ret), &fds);

	if (n == 0)
		return 0;
	if (n == -EMSGSIZE)
		return -EBADMSG;
	if (n < 0)
		return (int)n;
	if (!is_well_formed(ret, (size_t)n)) {
		if (pipe_fd >= 0)
			(void)close(pipe_fd);
		return -EBADMSG;
	}
	*ret_fd = pipe_fd;
	return 1;
}
