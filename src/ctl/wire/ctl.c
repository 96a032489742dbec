/* SPDX-License-Identifier: ISC */
/* ctl.c - what every verb of supctl is given, and how it calls supd. */
#include "config.h"

#include "ctl/wire/ctl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* Nothing is known yet; enough to print and to complain. */
void
ctl_init(struct ctl *ctl)
{
	*ctl = (struct ctl){.options = {.timeout_ms = CLIENT_FOREVER}};
	print_init(&ctl->out, STDOUT_FILENO);
	client_init(&ctl->client, NULL);
}

/* Make ready to run a verb; nothing is connected before it calls. */
int
ctl_configure(struct ctl *ctl, const struct options *options, enum verb_family family)
{
	ctl->options = *options;
	ctl->family = family;
	ctl->out.colour = ctl->out.colour && !options->no_color;
	ctl->socket = ctl_find_socket(options->socket, options->runtime_dir);
	if (ctl->socket == NULL) {
		return ctl_no_memory(ctl);
	}
	ctl->client.path = ctl->socket;
	if (options->timeout_ms != CLIENT_FOREVER) {
		ctl->end_ms = client_now_ms() + options->timeout_ms;
		ctl->client.deadline_ms = ctl->end_ms;
	}
	return 0;
}

/* Give back everything; print what was not printed yet. */
void
ctl_done(struct ctl *ctl)
{
	print_flush(&ctl->out);
	strbuf_done(&ctl->out.buf);
	client_done(&ctl->client);
	free(ctl->socket);
}

/* True if there is any use in trying the next name after a failure with one. */
bool
ctl_may_go_on(const struct ctl *ctl)
{
	return !ctl->reader_gone && !ctl->out.closed && ctl->out.error == 0 &&
	       !ctl->unreachable;
}

int
ctl_no_memory(const struct ctl *ctl)
{
	return complain_of(ctl, CTL_FAILED, NULL, "out of memory");
}

/*
 * What is left of --timeout for supd to carry out a command, at least 1; -1: no limit.
 * supd, which knows what is going on, is then given the time to be the first to say so.
 */
int64_t
ctl_give_timeout_ms(struct ctl *ctl)
{
	uint64_t now_ms = client_now_ms();

	if (ctl->options.timeout_ms == CLIENT_FOREVER)
		return -1;
	ctl->client.deadline_ms = ctl->end_ms + CTL_TIMEOUT_GRACE_MS;
	return ctl->end_ms > now_ms ? (int64_t)(ctl->end_ms - now_ms) : 1;
}

/* A number that is not negative; false: something else was written. */
bool
ctl_parse_number(const char *text, int64_t *ret)
{
	char *end;

	errno = 0;
	int64_t n = strtoll(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || n < 0)
		return false;
	*ret = n;
	return true;
}

/* Read a number of lines, -1 for "all"; false: it is none. */
bool
ctl_parse_lines(const char *text, int64_t *ret)
{
	if (strcmp(text, "all") != 0)
		return ctl_parse_number(text, ret);
	*ret = -1;
	return true;
}

/*
 * Have supd carry the call out once, however often it is made: a token that no other call
 * has makes it harmless to ask again after a connection was lost.
 */
void
ctl_do_once(struct call *call)
{
	uint64_t random[2] = {client_now_ms(), (uint64_t)getpid()};
	char token[33];

	/* Where the kernel has no random numbers yet, time and pid are unique enough. */
	(void)!getrandom(random, sizeof(random), GRND_NONBLOCK);
	(void)snprintf(token, sizeof(token), "%016llx%016llx",
	               (unsigned long long)random[0], (unsigned long long)random[1]);
	(void)json_object_set_new(call->parameters, "token", json_string(token));
	call->repeat = true;
	call->once = true;
}

/* Give back the parameters. */
void
ctl_call_done(struct call *call)
{
	json_decref(call->parameters);
	call->parameters = NULL;
}

/* A connection to supd is not possible or is of no use any more: say so. */
int
ctl_give_up(struct ctl *ctl, const struct call *call, int r, const struct err *err)
{
	ctl->unreachable = true;
	if (r == -EPIPE) {
		ctl->reader_gone = true;
		return CTL_FAILED;
	}
	if (r == -ETIME)
		return complain_of(ctl, CTL_TIMED_OUT, call->target,
		                   "timed out after --timeout (supd goes on)");
	if (r == -EOWNERDEAD)
		return complain_of(
		    ctl, CTL_FAILED, call->target,
		    "supd died %d times in a row when it was asked this, and is not "
		    "asked again (the outcome is not known): see 'supctl events' "
		    "and the log of supd",
		    CLIENT_LOST_MAX);
	if (ctl->client.fd < 0) {
		if (call->once)
			complain(ctl, call->target, "the outcome is not known");
		return complain_unreachable(ctl, r);
	}
	if (r != -ECONNRESET)
		return complain_of(ctl, CTL_FAILED, call->target, "%s", err->text);
	complain(ctl, call->target, "supd closed the connection%s",
	         call->repeat && !call->once ? "" : " (the outcome is not known)");
	return ctl->family == FAMILY_LOOK ? CTL_NO_SUCH_ACTOR : CTL_FAILED;
}

/* Connect if that was not done yet. */
int
ctl_connect(struct ctl *ctl)
{
	struct err err;

	if (ctl->client.fd >= 0)
		return 0;
	int r = client_connect(&ctl->client, &err);
	if (r == 0)
		return 0;
	ctl->unreachable = true;
	return complain_unreachable(ctl, r);
}

/* True if it was refused for a parameter that supd does not know yet.  Then it is left
 * out. */
static bool
dispense(const struct call *call, const struct reply *reply)
{
	return call->dispensable != NULL &&
	       span_is(reply->error, "org.varlink.service.InvalidParameter") &&
	       json_object_del(call->parameters, call->dispensable) == 0;
}

/*
 * Call, and wait for the (first) reply.  When the connection is lost a call that may be
 * repeated is made again with a supd that came back.
 */
int
ctl_call(struct ctl *ctl, const struct call *call, struct reply *ret)
{
	struct err err;
	int r = ctl_connect(ctl);

	if (r != 0)
		return r;
	for (;;) {
		r = client_send(&ctl->client, call->method, json_incref(call->parameters),
		                call->more, &err);
		if (r == 0)
			r = client_next(&ctl->client, ret, &err);
		if (r == 0 && ret->error.at != NULL && dispense(call, ret))
			continue;
		if (r == 0 && ret->error.at != NULL)
			return complain_refusal(ctl, call, ret);
		if (r != -ECONNRESET || !call->repeat)
			break;
		r = client_reconnect(&ctl->client, &err);
		if (r < 0)
			break;
	}
	return r < 0 ? ctl_give_up(ctl, call, r, &err) : 0;
}

/*
 * Hand each reply to a call that was sent with `more` to take() until it is over or
 * take() ends it: 0.  1 if supd ends it with an error; -errno of client_next() when the
 * connection is of no use any more.
 */
int
ctl_take_replies(struct ctl *ctl, const struct call *call, ctl_take *take, void *user,
                 struct stream_end *ret)
{
	ret->status = 0;
	while (true) {
		int r = client_next(&ctl->client, &ret->reply, &ret->err);

		if (r < 0)
			return r;
		if (ret->reply.error.at != NULL)
			return 1;
		ret->status = take(user, call, &ret->reply);
		if (ret->status != 0 || !ctl_may_go_on(ctl) || !ret->reply.continues)
			return 0;
	}
}

/* Make a call with `more` on a connection that is there, and take its replies, as above.
 */
int
ctl_stream(struct ctl *ctl, const struct call *call, ctl_take *take, void *user,
           struct stream_end *ret)
{
	int r = client_send(&ctl->client, call->method, json_incref(call->parameters),
	                    true, &ret->err);

	ret->status = 0;
	return r == 0 ? ctl_take_replies(ctl, call, take, user, ret) : r;
}

/*
 * Do something with each name, going on after a failure: 0 if all went well, what they
 * all say if they agree, CTL_FAILED if only some went well or they failed differently.
 */
int
ctl_each(struct ctl *ctl, char **names, uint32_t n,
         int (*act)(struct ctl *ctl, const char *name))
{
	int combined = 0;

	for (uint32_t i = 0; i < n && ctl_may_go_on(ctl); i++) {
		int status = act(ctl, names[i]);

		if (i == 0)
			combined = status;
		else if (status != combined)
			combined = CTL_FAILED;
	}
	return combined;
}

/* The parameters of a reply as a tree that the caller owns. */
int
ctl_load(struct ctl *ctl, const struct call *call, const struct reply *reply,
         json_t **ret)
{
	json_error_t problem;
	json_t *tree =
	    reply->parameters.at == NULL
	        ? json_object()
	        : json_loadb(reply->parameters.at, reply->parameters.len, 0, &problem);

	if (tree == NULL)
		return complain_of(ctl, CTL_FAILED, call->target,
		                   "supd's answer is malformed: %s", problem.text);
	*ret = tree;
	return 0;
}

/* As ctl_call(), with the parameters of the reply as a tree that the caller owns. */
int
ctl_ask(struct ctl *ctl, const struct call *call, struct reply *ret_reply, json_t **ret)
{
	int status = ctl_call(ctl, call, ret_reply);

	return status != 0 ? status : ctl_load(ctl, call, ret_reply, ret);
}

/* Say on a terminal what was done with `name`; a pipe gets nothing. */
void
ctl_remark(struct ctl *ctl, const char *name, const char *what)
{
	struct strbuf *sb = &ctl->out.buf;

	if (!ctl->out.terminal || ctl->options.json)
		return;
	print_text(sb, name, strlen(name));
	strbuf_adds(sb, ": ");
	print_text(sb, what, strlen(what));
	strbuf_addc(sb, '\n');
}

/* Begin a JSON array that is printed element by element, one a line. */
void
ctl_array_begin(struct ctl *ctl)
{
	ctl->array_started = false;
	strbuf_addc(&ctl->out.buf, '[');
}

void
ctl_array_add(struct ctl *ctl, struct span object)
{
	if (ctl->array_started)
		strbuf_adds(&ctl->out.buf, ",\n");
	ctl->array_started = true;
	print_json(&ctl->out, object);
	print_flush_if_full(&ctl->out);
}

void
ctl_array_end(struct ctl *ctl)
{
	strbuf_adds(&ctl->out.buf, "]\n");
}

/* Print an array that a reply has among its parameters. */
void
ctl_array_print(struct ctl *ctl, const struct reply *reply, const char *name)
{
	struct span member;
	struct scan scan;

	ctl_array_begin(ctl);
	scan_init(&scan, reply->parameters);
	scan_object(&scan);
	while (scan_member(&scan, &member)) {
		if (!span_is(member, name)) {
			(void)scan_value(&scan);
			continue;
		}
		scan_array(&scan);
		while (scan_element(&scan)) {
			struct span element = scan_value(&scan);

			if (element.at != NULL)
				ctl_array_add(ctl, element);
		}
	}
	ctl_array_end(ctl);
}
