/* SPDX-License-Identifier: ISC */
/* verb_act.c - the verbs that change something: start, stop, restart, suspend, resume,
 * reset, signal, kill, fail, delete, upgrade, shutdown.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/cleanup.h"
#include "base/units.h"
#include "ctl/text/roster.h"
#include "ctl/verb/settle.h"
#include "ctl/verb/verb.h"

/* A method that acts on actors and answers with how they are then. */
struct act {
	const char *verb, *method;
	bool waits; /* takes wait and timeout_ms */
};

static json_t *
act_parameters(struct ctl *ctl, const struct act *act, const char *name)
{
	const bool holds = (ctl->options.given & OPTION_HOLD) != 0;
	const bool ends_at_once = (ctl->options.given & OPTION_NO_WAIT) != 0;
	const int64_t left_ms = ctl_give_timeout_ms(ctl);

	return json_pack("{s:[s], s:o*, s:o*, s:o*}", "names", name, "hold",
	                 holds ? json_true() : NULL, "wait",
	                 act->waits && ends_at_once ? json_false() : NULL, "timeout_ms",
	                 act->waits && left_ms >= 0 ? json_integer(left_ms) : NULL);
}

struct result {
	struct ctl *ctl;
	struct roster *roster;
};

static void
take_result(void *user, const struct actor_view *actor)
{
	struct result *result = user;

	if (result->ctl->settle != NULL)
		settle_add(result->ctl->settle, actor);
	if (result->ctl->options.json)
		ctl_array_add(result->ctl, actor->raw);
	else
		roster_add(result->roster, actor);
}

/* Call once, and take in the actors that come back, into a table or the array of JSON. */
int
verb_call(struct ctl *ctl, struct call *call)
{
	CLEANUP(roster_done) struct roster roster;
	struct result result = {.ctl = ctl, .roster = &roster};
	struct reply reply;

	roster_init_outcome(&roster);
	ctl_do_once(call);
	int status = ctl_call(ctl, call, &reply);
	if (status == 0)
		status = actors_each(ctl, call, &reply, take_result, &result);
	if (roster_print(&roster, &ctl->out, "") < 0)
		status = ctl_no_memory(ctl);
	/* The next name may take long: show what is done. */
	print_flush(&ctl->out);
	return status;
}

static int
call_act(struct ctl *ctl, const struct act *act, const char *name)
{
	CLEANUP(ctl_call_done)
	struct call call = {.method = act->method,
	                    .target = name,
	                    .parameters = act_parameters(ctl, act, name)};

	return verb_call(ctl, &call);
}

/* What the verb does with an actor. */
static int
act_on(struct ctl *ctl, const char *name)
{
	static const struct act acts[] = {
	    {"start", "Start", true},      {"stop", "Stop", true},
	    {"restart", "Restart", true},  {"reset", "Reset", false},
	    {"suspend", "Suspend", false}, {"resume", "Resume", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(acts); i++) {
		if (strcmp(acts[i].verb, ctl->verb) == 0)
			return call_act(ctl, &acts[i], name);
	}
	return CTL_FAILED;
}

static int
act_on_each(struct ctl *ctl, char **names, uint32_t n)
{
	return ctl_each(ctl, names, n, act_on);
}

/* stop, suspend, resume and reset: each name in turn; with JSON the actors of all calls
 * are one array. */
int
verb_act(struct ctl *ctl, char **names, uint32_t n)
{
	if (ctl->options.json)
		ctl_array_begin(ctl);
	int status = act_on_each(ctl, names, n);
	if (ctl->options.json)
		ctl_array_end(ctl);
	return status;
}

/* For verbs that start actors: these have to live for a while. */
static int
act_and_settle(struct ctl *ctl, char **names, uint32_t n, verb_run *act)
{
	CLEANUP(settle_done) struct settle settle;
	int status = settle_init(&settle, ctl);

	if (status != 0)
		return status;
	ctl->settle = &settle;
	status = act(ctl, names, n);
	ctl->settle = NULL;
	int settled = ctl_may_go_on(ctl) ? settle_wait(&settle) : 0;
	return status == 0 ? settled : status;
}

int
verb_start(struct ctl *ctl, char **names, uint32_t n)
{
	return act_and_settle(ctl, names, n, verb_act);
}

static int
roll_one(struct ctl *ctl, char *name)
{
	return act_and_settle(ctl, &name, 1, act_on_each);
}

int
verb_restart(struct ctl *ctl, char **names, uint32_t n)
{
	return (ctl->options.given & OPTION_ROLLING) != 0
	           ? verb_restart_rolling(ctl, names, n, roll_one)
	           : act_and_settle(ctl, names, n, verb_act);
}

/* A call with an empty answer; on a terminal a remark says what was done. */
static int
do_silently(struct ctl *ctl, const char *method, const char *name, json_t *take,
            const char *done)
{
	CLEANUP(ctl_call_done)
	struct call call = {.method = method, .target = name, .parameters = take};
	struct reply reply;

	ctl_do_once(&call);
	int status = ctl_call(ctl, &call, &reply);
	if (status == 0)
		ctl_remark(ctl, name, done);
	return status;
}

/* Send a signal by its checked name or number, or "reload". */
static int
send_signal(struct ctl *ctl, const char *name, const char *signal)
{
	char done[64];

	(void)snprintf(done, sizeof(done), "%s was sent", signal);
	return do_silently(
	    ctl, "Signal", name, json_pack("{s:s, s:s}", "name", name, "signal", signal),
	    strcmp(signal, "reload") == 0 ? "told to read its configuration again"
	                                  : done);
}

/* Send a signal, by name or number, or "reload". */
int
verb_signal(struct ctl *ctl, char **names, uint32_t n UNUSED)
{
	if (signal_parse(names[1]) < 0 && strcmp(names[1], "reload") != 0)
		return complain_of(
		    ctl, CTL_USAGE, names[0],
		    "no signal is called '%s' (write HUP, SIGHUP or 1, or reload)",
		    names[1]);
	return send_signal(ctl, names[0], names[1]);
}

static int
kill_one(struct ctl *ctl, const char *name)
{
	return send_signal(ctl, name,
	                   ctl->options.signal != NULL ? ctl->options.signal : "TERM");
}

/* Send a signal, TERM by default, as kill(1) does: the actor goes on as its policy says.
 */
int
verb_kill(struct ctl *ctl, char **names, uint32_t n)
{
	if (ctl->options.signal != NULL && signal_parse(ctl->options.signal) < 0)
		return complain_of(ctl, CTL_USAGE, NULL,
		                   "no signal is called '%s' (write HUP, SIGHUP or 1)",
		                   ctl->options.signal);
	return ctl_each(ctl, names, n, kill_one);
}

static int
reload_one(struct ctl *ctl, const char *name)
{
	return send_signal(ctl, name, "reload");
}

/* Let actors read their configuration again; without a name supd, as apply does. */
int
verb_reload(struct ctl *ctl, char **names, uint32_t n)
{
	if (n == 0)
		return verb_apply(ctl, names, n);
	if (ctl->options.given != 0)
		return complain_of(ctl, CTL_USAGE, NULL,
		                   "an option of apply does not belong to NAME");
	return ctl_each(ctl, names, n, reload_one);
}

static int
fail_one(struct ctl *ctl, const char *name)
{
	return do_silently(ctl, "Fail", name, json_pack("{s:s}", "name", name),
	                   "failed, with the cause killed");
}

/* Let actors fail with the cause "killed", as Akka's Kill does. */
int
verb_fail(struct ctl *ctl, char **names, uint32_t n)
{
	return ctl_each(ctl, names, n, fail_one);
}

static int
delete_one(struct ctl *ctl, const char *name)
{
	return do_silently(ctl, "Delete", name, json_pack("{s:s}", "name", name),
	                   "deleted");
}

/* Actors that are down disappear, with their specification. */
int
verb_delete(struct ctl *ctl, char **names, uint32_t n)
{
	return ctl_each(ctl, names, n, delete_one);
}

static void
print_upgrade(struct ctl *ctl, const json_t *done)
{
	static const char *const keys[] = {"from", "to"};
	struct strbuf *sb = &ctl->out.buf;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const char *version = json_string_value(json_object_get(done, keys[i]));

		strbuf_adds(sb, i == 0 ? "supd " : " → ");
		if (version != NULL)
			print_text(sb, version, strlen(version));
	}
	strbuf_addf(sb, ", no guardian for %" JSON_INTEGER_FORMAT " ms\n",
	            json_integer_value(json_object_get(done, "outage_ms")));
}

/*
 * Replace supd by the binary on disk.  The one that takes over answers; if a supd died
 * without an answer, asking the next one again is what was wanted.
 */
int
verb_upgrade(struct ctl *ctl, char **names UNUSED, uint32_t n UNUSED)
{
	struct call call = {.method = "Upgrade", .repeat = true};
	struct reply reply;
	json_auto_t *done = NULL;
	int status = ctl_call(ctl, &call, &reply);

	/* No actor is in a wrong state: it is the binary. */
	if (status == CTL_WRONG_STATE)
		return CTL_FAILED;
	if (status == 0 && ctl->options.json) {
		print_json_line(&ctl->out, reply.parameters);
	} else if (status == 0) {
		status = ctl_load(ctl, &call, &reply, &done);
		if (status == 0)
			print_upgrade(ctl, done);
	}
	return status;
}

/*
 * A descriptor that becomes readable when supd is gone, or -1.  The kernel tells which
 * process is at the other end of the connection.  That supd was started by a walker is
 * known from supd alone, and is trusted only where supctl and supd number processes
 * alike.
 */
static int
open_supd(struct ctl *ctl, const json_t *pong)
{
	pid_t peer = client_peer_pid(&ctl->client);
	json_int_t pid = json_integer_value(json_object_get(pong, "pid"));
	json_int_t walker = json_integer_value(json_object_get(pong, "walker_pid"));

	if (walker > 0 && pid == peer)
		peer = (pid_t)walker;
	return peer > 0 ? (int)syscall(SYS_pidfd_open, peer, 0) : -1;
}

/* The reply may get lost when supd ends: the end of the connection is one too. */
static int
call_shutdown(struct ctl *ctl, const struct call *call)
{
	struct reply reply;
	struct err err;
	int r = client_send(&ctl->client, call->method, NULL, false, &err);

	if (r == 0)
		r = client_next(&ctl->client, &reply, &err);
	if (r == 0 && reply.error.at != NULL)
		return complain_refusal(ctl, call, &reply);
	return r < 0 && r != -ECONNRESET ? ctl_give_up(ctl, call, r, &err) : 0;
}

/*
 * Have supd shut down, and wait until it is gone.  If only the guardian died, and the
 * connection with it, the call may be lost: then the next guardian gets it again.
 */
static int
shut_down(struct ctl *ctl, int pidfd)
{
	const struct call call = {.method = "Shutdown"};
	struct err err;
	int r = 1;

	while (r == 1) {
		int status = call_shutdown(ctl, &call);

		if (status != 0 || (ctl->options.given & OPTION_NO_WAIT) != 0)
			return status;
		r = client_wait_end(&ctl->client, pidfd);
		while (r == 1 && client_connect(&ctl->client, &err) < 0)
			r = client_wait_gone(&ctl->client, pidfd);
	}
	return r < 0 ? ctl_give_up(ctl, &call, r, NULL) : 0;
}

/* Ordered shutdown; returns when supd is gone, which makes it the end of a service. */
int
verb_shutdown(struct ctl *ctl, char **names UNUSED, uint32_t n UNUSED)
{
	struct call call = {.method = "Ping"};
	struct reply reply;
	json_auto_t *pong = NULL;
	int status = ctl_ask(ctl, &call, &reply, &pong);

	if (status != 0)
		return status;
	CLEANUP_CLOSE int pidfd = open_supd(ctl, pong);
	return shut_down(ctl, pidfd);
}
