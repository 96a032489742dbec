/* SPDX-License-Identifier: ISC */
/* wire.h - what the guardian and its helper processes say to each other.
 *
 * A helper process does for the guardian what has to touch an object that an actor or a
 * stranger has a hand in: a listening socket that an actor shares, a server that is
 * probed, a client of the metrics.  It has no rights, and may hang or die: the guardian
 * never waits for it, kills it when it does not answer, and starts another.
 *
 * Both hold one end of a socket that keeps messages apart, which is made anew for each
 * process of a helper: an end of file is the end of the other side, and nothing that was
 * meant for a process before this one can be read.  Only the guardian sends descriptors;
 * it has no room for any itself.  The helper says HELPER_DONE when messages have been
 * acted upon: as long as some have not been, it can be seen that it hangs.
 */
#ifndef HELPER_WIRE_H
#define HELPER_WIRE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/names.h"
#include "os/self/pass.h"

#define HELPER_NAME_MAP(X)           \
	X(HELPER_LETTERS, "letters") \
	X(HELPER_PROBE, "probe")     \
	X(HELPER_METRICS, "metrics")
enum helper_name { HELPER_NAME_MAP(AS_ENUM) HELPER_MAX };
extern const char *const helper_names[];

/* The descriptor of its end in the helper process. */
#define HELPER_FD 3

/* The most descriptors of one message. */
#define HELPER_FDS_MAX 2

enum helper_kind {
	/* from a helper */
	HELPER_DONE,   /* `n` more messages were acted upon */
	HELPER_DEAD,   /* `n` more dead letters came to mailbox `id` */
	HELPER_ASK,    /* the figures are asked for */
	HELPER_ANSWER, /* what came of question `id` */
	/* to /system/letters */
	HELPER_LEASES,  /* descriptor: the page of leases; always the first message */
	HELPER_GIVE,    /* mailbox `id`; descriptors: its socket, the text of a reply */
	HELPER_RETURN,  /* mailbox `id` is not to be served any more */
	HELPER_COUNTED, /* the dead letters of mailbox `id` are counted: it goes on */
	/* to /system/probe */
	HELPER_QUESTION, /* `id`: a connection is made, and perhaps a request */
	HELPER_FORGET,   /* its answer is not wanted any more */
	/* to /system/metrics */
	HELPER_LISTEN, /* descriptor: the socket to serve; none: nothing any more */
	HELPER_TEXT,   /* descriptor: the figures as a file; none: they cannot be had */
	HELPER_KIND_MAX
};

/* Flags are bytes, and checked: a bool that is neither 0 nor 1 is undefined. */

/* How a mailbox is served. */
struct helper_mailbox {
	uint8_t accepts; /* it has connections; else datagrams, or a fifo's bytes */
	uint8_t is_fifo;
	uint8_t resets;  /* its clients are sent away by a reset, else by an end */
	uint8_t replies; /* its clients get the text of a reply */
	uint32_t rate;   /* rate of accepted clients, a second */
};

/* What is asked, and where; names are in the text of the message. */
struct helper_question {
	uint8_t is_unix; /* at a path; else at a numeric address and a port */
	uint8_t is_http; /* with a request for a resource, of a host */
	uint16_t port;
};

struct helper_answer {
	uint8_t is_good;
	uint8_t is_none; /* it could not be asked */
	int error;       /* of a bad answer: errno, or 0 */
	int status;      /* … of http, or 0 */
};

/* Bytes of all names of a message, each with its NUL. */
#define HELPER_TEXT_MAX 4608

struct helper_message {
	enum helper_kind kind;
	uint32_t id, n;
	union {
		struct helper_mailbox mailbox;   /* HELPER_GIVE */
		struct helper_question question; /* HELPER_QUESTION */
		struct helper_answer answer;     /* HELPER_ANSWER */
	};
	uint32_t text_len;          /* of what is sent; */
	char text[HELPER_TEXT_MAX]; /* HELPER_QUESTION: address, resource, host */
};

/*
 * The right to take from a mailbox: a word for each lent mailbox, in memory that the
 * guardian and the helper share.  The helper sets LEASE_BUSY while it accepts or reads;
 * the guardian ends a lease only when the word is not LEASE_BUSY, and from then on the
 * helper takes nothing.
 */
enum lease { LEASE_OVER, LEASE_GIVEN, LEASE_BUSY };
#define HELPER_MAILBOXES_MAX 4096
struct helper_leases {
	_Atomic uint32_t at[HELPER_MAILBOXES_MAX];
};

/* The helper holds a lease no longer than this: a call that blocks is interrupted. */
#define HELPER_BUSY_MS 100

/* How many questions are asked at a time; `id` modulo this is the place of a question. */
#define HELPER_QUESTIONS_MAX 256

int helper_add_text(struct helper_message *message, const char *text);
const char *helper_next_text(const struct helper_message *message, const char *before);
int helper_send(int fd, const struct helper_message *message, const struct pass_fds *fds);
int helper_receive(int fd, struct helper_message *ret);
int helper_receive_fds(int fd, struct helper_message *ret, struct pass_fds *fds);

#endif
