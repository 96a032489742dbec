/* SPDX-License-Identifier: ISC */
/* complain.c - from supd's errors to sentences and exit statuses. */
#include "config.h"

#include <errno.h>
#include <grp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/cleanup.h"
#include "ctl/wire/ctl.h"
#include "ctl/wire/print.h"

#define LINE_BYTES_MAX (64 * 1024)

static void
write_line(struct strbuf *line)
{
	strbuf_addc(line, '\n');
	/* Standard error is the last resort: its own failure cannot be reported anywhere.
	 */
	if (write(STDERR_FILENO, strbuf_str(line), line->len) < 0)
		line->failed = true;
	strbuf_done(line);
}

/*
 * One line on standard error about what supctl was asked for, and about which target
 * (or NULL).  Whatever the arguments contain, it stays one line.  Returns the exit status
 * of what ends with it: `return complain_of(ctl, CTL_USAGE, …);`.
 */
int
complain_of(const struct ctl *ctl, enum exit_status status, const char *target,
            const char *fmt, ...)
{
	struct strbuf line = STRBUF(LINE_BYTES_MAX);
	CLEANUP(strbuf_done) struct strbuf text = STRBUF(LINE_BYTES_MAX / 4);
	va_list ap;

	strbuf_adds(&line, "supctl: ");
	if (ctl->verb != NULL)
		strbuf_adds(&line, ctl->verb);
	if (target != NULL) {
		strbuf_addc(&line, ' ');
		print_text(&line, target, strlen(target));
	}
	if (ctl->verb != NULL || target != NULL)
		strbuf_adds(&line, ": ");
	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	print_text(&line, strbuf_str(&text), text.len);
	write_line(&line);
	return (int)status;
}

/* "the group adm", or by its number where it has no name here. */
static void
add_group(struct strbuf *sb, gid_t gid)
{
	const struct group *group = getgrgid(gid);

	strbuf_adds(sb, "the group ");
	if (group != NULL)
		print_text(sb, group->gr_name, strlen(group->gr_name));
	else
		strbuf_addf(sb, "%u", (unsigned int)gid);
}

/* The file of the socket is closed to this user: its group is not. */
static int
complain_closed(const struct ctl *ctl)
{
	CLEANUP(strbuf_done) struct strbuf groups = STRBUF(LINE_BYTES_MAX / 8);
	struct stat st;

	if (stat(ctl->socket, &st) == 0 && st.st_gid != 0 && (st.st_mode & 0060) == 0060)
		add_group(&groups, st.st_gid);
	return complain_of(
	    ctl, CTL_DENIED, NULL,
	    "%s: permission denied (allowed are root, the user of supd, and the "
	    "members of %s)",
	    ctl->socket,
	    groups.len > 0 ? strbuf_str(&groups)
	                   : "its control.group and control.observers");
}

/* There is no connection to be had: which socket, why, and what to do. */
int
complain_unreachable(const struct ctl *ctl, int r)
{
	struct stat st;

	if (r == -EACCES || r == -EPERM)
		return complain_closed(ctl);
	if (r == -ETIME)
		return complain_of(ctl, CTL_TIMED_OUT, NULL,
		                   "%s: supd did not accept the connection in time",
		                   ctl->socket);
	if (stat(ctl->socket, &st) == 0 && S_ISDIR(st.st_mode))
		return complain_of(
		    ctl, CTL_USAGE, NULL,
		    "%s is a directory, not a socket: write 'supctl -r %s …' for the "
		    "supd that has its control socket there",
		    ctl->socket, ctl->socket);
	complain(ctl, NULL,
	         "no supd at %s: %s (start one with 'supd FILE' or 'systemctl start "
	         "supd', or name its socket with -s, or its directory with -r)",
	         ctl->socket, strerror(-r));
	return ctl->family == FAMILY_LOOK ? CTL_NO_SUCH_ACTOR : CTL_FAILED;
}

/* A string of the error's parameters, "" where there is none. */
static const char *
text_of(const json_t *parameters, const char *key)
{
	const char *text = json_string_value(json_object_get(parameters, key));

	return text != NULL ? text : "";
}

/* True if all candidates end in the name.  Then it is ambiguous, else they are
 * guesses. */
static bool
is_ambiguous(const json_t *candidates, const char *name)
{
	size_t name_len = strlen(name);
	const json_t *candidate;
	size_t i;

	json_array_foreach(candidates, i, candidate)
	{
		const char *path = json_string_value(candidate);
		size_t len = path != NULL ? strlen(path) : 0;

		if (len <= name_len || path[len - name_len - 1] != '/' ||
		    strcmp(path + len - name_len, name) != 0)
			return false;
	}
	return json_array_size(candidates) > 1;
}

static void
say_no_such_actor(const struct ctl *ctl, const char *name, const json_t *parameters)
{
	const json_t *candidates = json_object_get(parameters, "candidates");
	const json_t *candidate;
	CLEANUP(strbuf_done) struct strbuf list = STRBUF(LINE_BYTES_MAX / 8);
	size_t i;

	json_array_foreach(candidates, i, candidate)
	{
		const char *path = json_string_value(candidate);

		if (path != NULL)
			strbuf_addf(&list, "%s%s", i > 0 ? ", " : "", path);
	}
	if (list.len > 0 && is_ambiguous(candidates, name))
		complain(ctl, name, "the name is not unique: %s (write the path)",
		         strbuf_str(&list));
	else if (list.len > 0)
		complain(ctl, name, "no such actor (did you mean %s?)",
		         strbuf_str(&list));
	else if (strpbrk(name, "*?[") != NULL)
		complain(ctl, name, "no actor matches ('supctl list' shows all actors)");
	else
		complain(ctl, name, "no such actor ('supctl list' shows all actors)");
}

static void
say_invalid_state(const struct ctl *ctl, const char *name, const json_t *parameters)
{
	const char *message = text_of(parameters, "message");

	if (message[0] != '\0')
		complain(ctl, name, "%s", message);
	else
		complain(ctl, name, "not possible while it is %s",
		         text_of(parameters, "state"));
}

/* A trial is over; true: it was one.  The actor may be gone with it. */
static bool
say_rolled_back(const struct ctl *ctl, const char *name, const char *why,
                const json_t *parameters)
{
	const char *since = text_of(parameters, "rolled_back_to");
	CLEANUP(strbuf_done) struct strbuf when = STRBUF(128);

	if (since[0] == '\0')
		return false;
	print_when(&when, since, false);
	complain(ctl, NULL, "rolled back to the configuration of %s: %s %s",
	         strbuf_str(&when), name, why);
	return true;
}

static void
say_start_failed(const struct ctl *ctl, const char *name, const json_t *parameters)
{
	const char *cause = text_of(json_object_get(parameters, "cause"), "text");

	if (!say_rolled_back(ctl, name, cause[0] != '\0' ? cause : "failed", parameters))
		complain(ctl, name, "%s ('supctl explain %s' has the story)",
		         cause[0] != '\0' ? cause : "failed", name);
}

static void
say_timeout(const struct ctl *ctl, const char *name, const json_t *parameters)
{
	const char *state = text_of(parameters, "state");

	if (!say_rolled_back(ctl, name, "was not ready in time", parameters))
		complain(ctl, name, "timed out%s%s (supd goes on)",
		         state[0] != '\0' ? " while it is " : "", state);
}

static void
say_limit(const struct ctl *ctl, const char *name, const json_t *parameters)
{
	const json_int_t limit = json_integer_value(json_object_get(parameters, "limit"));

	if (limit == 0 && strcmp(text_of(parameters, "name"), "memory") == 0)
		complain(ctl, NULL, "supd has no memory for that now");
	else
		complain(ctl, name, "the limit of %" JSON_INTEGER_FORMAT " is reached",
		         limit);
}

/* Where it is: "FILE:LINE:COLUMN: ", and nothing where the message names the file. */
static void
say_spot(struct strbuf *line, const json_t *error)
{
	const json_int_t at = json_integer_value(json_object_get(error, "line"));
	const char *file = text_of(error, "file");

	/* Line 0: the file as a whole. */
	if (at == 0 && strstr(text_of(error, "message"), file) != NULL)
		return;
	print_text(line, file, strlen(file));
	if (at != 0)
		strbuf_addf(line, ":%" JSON_INTEGER_FORMAT ":%" JSON_INTEGER_FORMAT, at,
		            json_integer_value(json_object_get(error, "column")));
	strbuf_adds(line, ": ");
}

/* Every error of the file on a line of its own, as compilers do. */
static void
say_config_invalid(const struct ctl *ctl, const char *name, const json_t *parameters)
{
	const json_t *errors = json_object_get(parameters, "errors");
	const bool only_looks = ctl->verb != NULL && strcmp(ctl->verb, "diff") == 0;
	const json_t *error;
	size_t i;

	json_array_foreach(errors, i, error)
	{
		const char *path = text_of(error, "path");
		struct strbuf line = STRBUF(LINE_BYTES_MAX);

		say_spot(&line, error);
		print_text(&line, path, strlen(path));
		strbuf_adds(&line, path[0] != '\0' ? ": " : "");
		print_text(&line, text_of(error, "message"),
		           strlen(text_of(error, "message")));
		write_line(&line);
	}
	complain(ctl, name[0] != '\0' ? name : NULL,
	         "the configuration has %zu error%s%s", json_array_size(errors),
	         json_array_size(errors) == 1 ? "" : "s",
	         only_looks ? "" : ", nothing was changed");
}

static void
say_slow(const struct ctl *ctl, const char *name, const json_t *parameters)
{
	complain(ctl, name[0] != '\0' ? name : NULL,
	         "too slow: supd dropped %" JSON_INTEGER_FORMAT " replies",
	         json_integer_value(json_object_get(parameters, "dropped")));
}

static void
say_denied(const struct ctl *ctl, const char *name, const json_t *parameters)
{
	const json_t *control = json_object_get(parameters, "control");
	const json_t *observers = json_object_get(parameters, "observers");
	const bool may_observe = json_is_true(json_object_get(parameters, "observing")) &&
	                         json_is_integer(observers);
	CLEANUP(strbuf_done) struct strbuf groups = STRBUF(LINE_BYTES_MAX / 8);

	if (json_is_integer(control))
		add_group(&groups, (gid_t)json_integer_value(control));
	if (may_observe) {
		strbuf_adds(&groups, groups.len > 0 ? " and of " : "");
		add_group(&groups, (gid_t)json_integer_value(observers));
	}
	complain(ctl, name[0] != '\0' ? name : NULL,
	         "permission denied (allowed are root, the user of supd%s%s)",
	         groups.len > 0 ? ", and members of " : "; its control.group is not set",
	         strbuf_str(&groups));
}

static void
say_bad_parameter(const struct ctl *ctl, const char *name, const json_t *parameters)
{
	const char *parameter = text_of(parameters, "parameter");
	const char *form = "";

	if (strcmp(parameter, "cause") == 0)
		form = ": write exit:3, signal:SEGV, core:ABRT, exec:ENOENT, normal, "
		       "oom, killed, start_timeout, early_exit, watchdog, health, "
		       "self_report, self_report:KEY, stopped or death_pact";
	else if (strcmp(parameter, "times") == 0)
		form = ": write a number from 1 to 1000";
	else if (strncmp(parameter, "name", 4) == 0 || strcmp(parameter, "pattern") == 0)
		form = ": a name has 1 to 1000 bytes, a pattern at most 255, and there "
		       "are at most 256 names";
	complain(ctl, name[0] != '\0' ? name : NULL, "supd does not accept this '%s'%s",
	         parameter, form);
}

#define OF_ANOTHER_VERSION \
	"the running supd does not know this method (it is of another version)"

struct refusal {
	const char *error;
	enum exit_status status;
	void (*say)(const struct ctl *ctl, const char *name, const json_t *parameters);
	const char *sentence; /* where `say` is NULL */
};

static const struct refusal refusals[] = {
    {"io.supd.Control.NoSuchActor", CTL_NO_SUCH_ACTOR, say_no_such_actor, NULL},
    {"io.supd.Control.InvalidState", CTL_WRONG_STATE, say_invalid_state, NULL},
    {"io.supd.Control.AlreadyPresent", CTL_WRONG_STATE, NULL, "exists already"},
    {"io.supd.Control.AlreadyStarted", CTL_WRONG_STATE, NULL, "runs already"},
    {"io.supd.Control.StartFailed", CTL_FAILED, say_start_failed, NULL},
    {"io.supd.Control.LimitReached", CTL_FAILED, say_limit, NULL},
    {"io.supd.Control.ConfigInvalid", CTL_FAILED, say_config_invalid, NULL},
    {"io.supd.Control.Timeout", CTL_TIMED_OUT, say_timeout, NULL},
    {"io.supd.Control.SlowConsumer", CTL_FAILED, say_slow, NULL},
    {"io.supd.Control.OutcomeUnknown", CTL_FAILED, NULL,
     "supd died while it carried this out: the outcome is not known"},
    {"org.varlink.service.PermissionDenied", CTL_DENIED, say_denied, NULL},
    {"org.varlink.service.InvalidParameter", CTL_USAGE, say_bad_parameter, NULL},
    {"org.varlink.service.MethodNotFound", CTL_FAILED, NULL, OF_ANOTHER_VERSION},
    {"org.varlink.service.MethodNotImplemented", CTL_FAILED, NULL, OF_ANOTHER_VERSION},
    {"org.varlink.service.InterfaceNotFound", CTL_FAILED, NULL, OF_ANOTHER_VERSION},
};

/* Say why supd refuses; the exit status that this error has. */
int
complain_refusal(const struct ctl *ctl, const struct call *call,
                 const struct reply *reply)
{
	struct span text = reply->parameters;
	json_auto_t *parameters =
	    text.at != NULL ? json_loadb(text.at, text.len, 0, NULL) : NULL;
	const char *name =
	    call->target != NULL ? call->target : text_of(parameters, "name");

	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		if (!span_is(reply->error, refusals[i].error))
			continue;
		if (refusals[i].say != NULL)
			refusals[i].say(ctl, name, parameters);
		else
			complain(ctl, name[0] != '\0' ? name : NULL, "%s",
			         refusals[i].sentence);
		return (int)refusals[i].status;
	}
	return complain_of(ctl, CTL_FAILED, call->target, "supd refuses: %.*s",
	                   (int)reply->error.len, reply->error.at);
}
