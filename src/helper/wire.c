/* SPDX-License-Identifier: ISC */
/* wire.c - what the guardian and its helper processes say to each other. */
#include "config.h"

#include "helper/wire.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/self/pass.h"

#define HEAD offsetof(struct helper_message, text)

const char *const helper_names[] = {HELPER_NAME_MAP(AS_NAME)};

/*
 * Send a message with descriptors, which stay the caller's.  Never waits: -EAGAIN while
 * the other side does not read, also where the kernel allows no more descriptors on their
 * way.  Any other -errno is about the channel.
 */
int
helper_send(int fd, const struct helper_message *message, const struct pass_fds *fds)
{
	int r = pass_send(fd, message, HEAD + message->text_len, fds, MSG_DONTWAIT);

	return r == -ETOOMANYREFS || r == -ENOBUFS ? -EAGAIN : r;
}

/* Append a text; -EMSGSIZE: it does not fit. */
int
helper_add_text(struct helper_message *message, const char *text)
{
	const size_t size = strlen(text) + 1;

	if (size > sizeof(message->text) - message->text_len)
		return -EMSGSIZE;
	memcpy(message->text + message->text_len, text, size);
	message->text_len += (uint32_t)size;
	return 0;
}

/* The text behind that one, or the first (NULL); "" where there is none. */
const char *
helper_next_text(const struct helper_message *message, const char *before)
{
	const uintptr_t first = (uintptr_t)message->text;
	size_t at = 0;

	if (before != NULL) {
		/* No text follows the last, whatever bytes lie behind that "". */
		at = (uintptr_t)before - first;
		if (at >= message->text_len)
			return "";
		at += strlen(before) + 1;
	}
	return at < message->text_len ? message->text + at : "";
}

/* True if the flags can be used as bools: the process at the other end may have written
 * anything. */
static bool
has_good_flags(const struct helper_message *message)
{
	const struct helper_mailbox *mailbox = &message->mailbox;

	if (message->kind == HELPER_GIVE)
		return (mailbox->accepts | mailbox->is_fifo | mailbox->resets |
		        mailbox->replies) <= 1;
	if (message->kind == HELPER_QUESTION)
		return (message->question.is_unix | message->question.is_http) <= 1;
	if (message->kind == HELPER_ANSWER)
		return (message->answer.is_good | message->answer.is_none) <= 1;
	return true;
}

static int
check(const struct helper_message *message, ssize_t n)
{
	if (n <= 0)
		return (int)n;
	if ((size_t)n < HEAD || message->kind >= HELPER_KIND_MAX ||
	    message->text_len != (size_t)n - HEAD || !has_good_flags(message))
		return -EBADMSG;
	return message->text_len == 0 || message->text[message->text_len - 1] == '\0'
	           ? 1
	           : -EBADMSG;
}

/*
 * For the guardian: the next message, without room for descriptors: none ever gets here.
 * Never waits.  1; 0 at the end of the channel; -EAGAIN; -EBADMSG: it makes no sense.
 */
int
helper_receive(int fd, struct helper_message *ret)
{
	ssize_t n;

	do {
		n = recv(fd, ret, sizeof(*ret), MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	return check(ret, n < 0 ? -errno : n);
}

/*
 * For a helper: the next message and its descriptors, as pass_receive().  Never
 * waits.  As helper_receive(); -EMSGSIZE: there was no room for its descriptors.
 */
int
helper_receive_fds(int fd, struct helper_message *ret, struct pass_fds *fds)
{
	const int r = check(ret, pass_receive(fd, MSG_DONTWAIT, ret, sizeof(*ret), fds));

	/* Of an empty packet, too, which is taken for the end. */
	while (r <= 0 && fds->n > 0)
		(void)close(fds->at[--fds->n]);
	return r;
}
