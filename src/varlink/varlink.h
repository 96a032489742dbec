/* SPDX-License-Identifier: ISC */
/* varlink.h - messages of the Varlink protocol: JSON objects with a NUL after each.
 *
 * No sockets here: bytes in, messages out, and the other way round.  Used by supd and
 * supctl alike.  After an error of a reader or of a call the stream has lost its sense:
 * the connection is to be closed.
 */
#ifndef VARLINK_VARLINK_H
#define VARLINK_VARLINK_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/strbuf.h"

#define VARLINK_IN_MAX    (1024 * 1024)     /* one message that comes in */
#define VARLINK_REPLY_MAX (8 * 1024 * 1024) /* one reply that goes out */
#define VARLINK_DEPTH_MAX 64                /* objects and arrays inside each other */
/* With so many digits 0.2 stays 0.2, and each shorter decimal fraction what it was. */
#define VARLINK_REAL_DIGITS 15
#define VARLINK_FEED_MAX    (64 * 1024) /* bytes at a time */

/* Cuts a stream of bytes into messages; a message may come in any number of pieces. */
struct varlink_reader {
	struct strbuf buf;
	size_t max;      /* of one message */
	size_t start;    /* of the first message that was not taken out yet */
	size_t tail;     /* behind the last NUL: the message that is still incomplete */
	size_t messages; /* complete messages that wait to be taken */
};

void varlink_reader_init(struct varlink_reader *reader, size_t max);
void varlink_reader_done(struct varlink_reader *reader);
int varlink_reader_feed(struct varlink_reader *reader, const void *data, size_t len);
int varlink_reader_next(struct varlink_reader *reader, json_t **ret, struct err *err);
int varlink_reader_next_text(struct varlink_reader *reader, const char **ret_text,
                             size_t *ret_len);
size_t varlink_reader_waiting(const struct varlink_reader *reader);

/* A call that was taken apart. */
struct varlink_call {
	json_t *message; /* owned; the rest points into it */
	const char *method;
	json_t *parameters; /* an object, never NULL */
	bool more, oneway, upgrade;
};

int varlink_call_parse(json_t *take_message, struct varlink_call *ret, struct err *err);
void varlink_call_done(struct varlink_call *call);

/* Each appends one whole message, its NUL included; -EMSGSIZE, -ENOMEM. */
int varlink_write(struct strbuf *out, const json_t *message, size_t max);
json_t *varlink_make_call(const char *method, json_t *take_parameters, bool more,
                          bool oneway);
json_t *varlink_make_reply(json_t *take_parameters, bool continues);
json_t *varlink_make_error(const char *error, json_t *take_parameters);

/* The text of io.supd.Control.varlink and of org.varlink.service. */
extern const char varlink_control_description[];
extern const char varlink_service_description[];

#endif
