/* SPDX-License-Identifier: ISC */
/* message.c - Varlink calls, replies and errors, taken apart and put together. */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "varlink/varlink.h"

/* A flag of a call: absent and null are false; false when it is not a boolean. */
static bool
read_flag(const json_t *message, const char *key, bool *ret)
{
	const json_t *value = json_object_get(message, key);

	if (value != NULL && !json_is_null(value) && !json_is_boolean(value))
		return false;
	*ret = json_is_true(value);
	return true;
}

/* The parameters of a call, never NULL unless memory is short or they are no object. */
static json_t *
read_parameters(json_t *message)
{
	json_t *parameters = json_object_get(message, "parameters");

	if (parameters == NULL || json_is_null(parameters)) {
		parameters = json_object();
		if (json_object_set_new(message, "parameters", parameters) < 0)
			return NULL;
	}
	return json_is_object(parameters) ? parameters : NULL;
}

/*
 * Take a message apart that is to be a call.  The message is taken, also on failure.
 *
 * -ENOMEM; -EBADMSG and a sentence: no method, parameters that are no object, a flag that
 * is no boolean, or flags that exclude each other.  Keys that are not known are ignored,
 * as the protocol leaves room for those of a vendor.
 */
int
varlink_call_parse(json_t *take_message, struct varlink_call *ret, struct err *err)
{
	struct varlink_call call = {.message = take_message};

	call.method = json_string_value(json_object_get(take_message, "method"));
	call.parameters = read_parameters(take_message);
	if (call.method == NULL)
		err_set(err, 0, "a call without a method");
	else if (call.parameters == NULL)
		err_set(err, 0, "a call with parameters that are not an object");
	else if (!read_flag(take_message, "more", &call.more) ||
	         !read_flag(take_message, "oneway", &call.oneway) ||
	         !read_flag(take_message, "upgrade", &call.upgrade))
		err_set(err, 0, "a call with a flag that is not a boolean");
	else if (call.oneway && (call.more || call.upgrade))
		err_set(err, 0, "a call that is oneway and wants replies");
	else {
		*ret = call;
		return 0;
	}
	int r =
	    call.parameters == NULL && json_object_get(take_message, "parameters") == NULL
	        ? -ENOMEM
	        : -EBADMSG;
	json_decref(take_message);
	return r;
}

/* Give back a call that was parsed; one that is all zero is fine. */
void
varlink_call_done(struct varlink_call *call)
{
	json_decref(call->message);
	*call = (struct varlink_call){0};
}

static int
append(const char *text, size_t len, void *out)
{
	struct strbuf *sb = out;

	strbuf_add(sb, text, len);
	return sb->failed ? -1 : 0;
}

/*
 * Append a message and its NUL; on failure `out` is as it was before.
 *
 * -EMSGSIZE: longer than `max` bytes, or than `out` may become; -ENOMEM, also for a NULL
 * message, so that the result of a varlink_make_… can be passed on as it is.
 */
int
varlink_write(struct strbuf *out, const json_t *message, size_t max)
{
	size_t mark = out->len;

	if (message == NULL || out->failed)
		return -ENOMEM;
	if (json_dump_callback(message, append, out,
	                       JSON_COMPACT | JSON_REAL_PRECISION(VARLINK_REAL_DIGITS)) ==
	    0)
		strbuf_add(out, "", 1);
	bool too_long = out->len - mark > max + 1;
	if (!out->failed && !too_long)
		return 0;
	too_long = too_long || out->limit - out->len < max;
	out->failed = false;
	out->len = mark;
	if (out->data != NULL)
		out->data[mark] = '\0';
	return too_long ? -EMSGSIZE : -ENOMEM;
}

/* The message with one member more; NULL, also for a NULL message: out of memory. */
static json_t *
with(json_t *take_message, const char *key, json_t *take_value)
{
	if (json_object_set_new(take_message, key, take_value) == 0)
		return take_message;
	json_decref(take_message);
	return NULL;
}

/* NULL parameters are an empty object. */
static json_t *
with_parameters(json_t *take_message, json_t *take_parameters)
{
	return with(take_message, "parameters",
	            take_parameters != NULL ? take_parameters : json_object());
}

/* A call; NULL parameters are none.  NULL: out of memory. */
json_t *
varlink_make_call(const char *method, json_t *take_parameters, bool more, bool oneway)
{
	/* Only flags that are set: some services refuse keys that they do not know. */
	return with_parameters(json_pack("{s:s, s:o*, s:o*}", "method", method, "more",
	                                 more ? json_true() : NULL, "oneway",
	                                 oneway ? json_true() : NULL),
	                       take_parameters);
}

/* A reply; `continues` only to a call that wanted more.  NULL: out of memory. */
json_t *
varlink_make_reply(json_t *take_parameters, bool continues)
{
	json_t *message = with_parameters(json_object(), take_parameters);

	return continues ? with(message, "continues", json_true()) : message;
}

/* An error, fully qualified, such as "io.supd.Control.Timeout".  NULL: out of memory. */
json_t *
varlink_make_error(const char *error, json_t *take_parameters)
{
	return with_parameters(json_pack("{s:s}", "error", error), take_parameters);
}
