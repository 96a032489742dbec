/* SPDX-License-Identifier: ISC */
/* control_reply.c - replies and errors, at the end of what a connection is to be sent. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/assert.h"
#include "daemon/server/control_private.h"

static void
reply_take_back(struct conn *conn)
{
	conn->out.failed = false;
	strbuf_truncate(&conn->out, conn->mark);
}

/* Begin a message at the end of what is to be sent; there is room for the longest. */
static void
reply_set_mark(struct conn *conn)
{
	if (conn->out.limit - conn->out.len < VARLINK_REPLY_MAX + 1024) {
		strbuf_consume(&conn->out, conn->sent);
		conn->sent = 0;
	}
	conn->mark = conn->out.len;
}

/* A limit of 0: of memory. */
#define NO_MEMORY                         \
	"{\"error\":\"" CONTROL_INTERFACE \
	".LimitReached\",\"parameters\":{\"name\":\"memory\",\"limit\":0}}"
#define NO_ANSWER                         \
	"{\"error\":\"" CONTROL_INTERFACE \
	".OutcomeUnknown\",\"parameters\":{\"method\":\"%s\"}}"

/* To a client that no connection could be made for. */
void
reply_to_stranger(int fd)
{
	(void)send(fd, NO_MEMORY, sizeof(NO_MEMORY), MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* There is no memory for a call or its reply: say so without any, where nothing else is
 * to be sent before, and end the connection. */
void
reply_without_memory(struct conn *conn)
{
	const struct served_call *call = &conn->call;
	char text[256];

	conn->over.both = true;
	if (conn->over.out || conn_unsent(conn) > 0 ||
	    (conn->busy && call->message.oneway))
		return;
	/* What acts may have acted. */
	if (!conn->busy || call->method == NULL ||
	    call->method->access != ACCESS_CONTROL) {
		reply_to_stranger(conn->fd);
		return;
	}
	int n = snprintf(text, sizeof(text), NO_ANSWER, call->method->name);
	(void)send(conn->fd, text, (size_t)n + 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* A reply: the caller appends the parameters, an object, and calls reply_end(). */
struct strbuf *
reply_begin(struct conn *conn)
{
	reply_set_mark(conn);
	strbuf_adds(&conn->out, "{\"parameters\":");
	return &conn->out;
}

/* An error, in the same way. */
struct strbuf *
reply_begin_error(struct conn *conn, const char *error)
{
	reply_set_mark(conn);
	strbuf_addf(&conn->out, "{\"error\":\"%s\",\"parameters\":", error);
	return &conn->out;
}

/* The message since the mark is complete: keep it, unless the connection gets no replies.
 */
static void
reply_deliver(struct conn *conn)
{
	token_answer(conn, conn->out.data + conn->mark, conn->out.len - conn->mark);
	if (conn->call.message.oneway || conn->over.out)
		reply_take_back(conn);
}

/*
 * End the reply.  One that became longer than VARLINK_REPLY_MAX is replaced by the error
 * LimitReached; where even that finds no memory see reply_without_memory().
 */
void
reply_end(struct conn *conn, bool continues)
{
	struct strbuf *out = &conn->out;

	ASSERT(!continues || conn->call.message.more);
	strbuf_adds(out, continues ? ",\"continues\":true}" : "}");
	strbuf_add(out, "", 1);
	if (out->failed || out->len - conn->mark > VARLINK_REPLY_MAX + 1) {
		reply_take_back(conn);
		reply_error(
		    conn, CONTROL_INTERFACE ".LimitReached",
		    json_pack("{s:s,s:i}", "name", "reply", "limit", VARLINK_REPLY_MAX));
	} else {
		reply_deliver(conn);
	}
}

/* A reply without parameters. */
void
reply_empty(struct conn *conn)
{
	strbuf_adds(reply_begin(conn), "{}");
	reply_end(conn, false);
}

/* A reply that was given before, its NUL included. */
void
reply_raw(struct conn *conn, const char *message, size_t len)
{
	reply_set_mark(conn);
	strbuf_add(&conn->out, message, len);
	if (conn->out.failed) {
		reply_take_back(conn);
		reply_without_memory(conn);
	} else if (conn->call.message.oneway || conn->over.out) {
		reply_take_back(conn);
	}
}

static void
reply_write(struct conn *conn, json_t *take_message)
{
	reply_set_mark(conn);
	int r = varlink_write(&conn->out, take_message, VARLINK_REPLY_MAX);
	json_decref(take_message);
	if (r == -ENOMEM)
		reply_without_memory(conn);
	else if (r < 0)
		conn->over.both = true;
	else
		reply_deliver(conn);
}

/* The only reply to a call, made with jansson; NULL parameters: memory ran out. */
void
reply_json(struct conn *conn, json_t *take_parameters)
{
	if (take_parameters == NULL)
		reply_without_memory(conn);
	else
		reply_write(conn, varlink_make_reply(take_parameters, false));
}

/* An error, fully qualified; always the last reply to a call.  NULL: no parameters. */
void
reply_error(struct conn *conn, const char *error, json_t *take_parameters)
{
	reply_write(conn, varlink_make_error(error, take_parameters));
}
