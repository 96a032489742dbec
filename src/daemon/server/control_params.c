/* SPDX-License-Identifier: ISC */
/* control_params.c - are the parameters what the interface says?  Then get them. */
#include "config.h"

#include <string.h>

#include "base/assert.h"
#include "daemon/server/control_private.h"
#include "daemon/state/glob.h"

static bool
is_array_of(const json_t *value, json_type type)
{
	if (!json_is_array(value) || json_array_size(value) > CONTROL_NAMES_MAX)
		return false;
	for (size_t i = 0; i < json_array_size(value); i++) {
		const json_t *item = json_array_get(value, i);

		if (json_typeof(item) != type)
			return false;
		if (type == JSON_INTEGER && json_integer_value(item) < 0)
			return false;
	}
	return true;
}

static bool
is_name(const json_t *value)
{
	const char *text = json_string_value(value);

	return strlen(text) <=
	       (glob_is_pattern(text) ? CONTROL_PATTERN_MAX : CONTROL_NAME_MAX);
}

static bool
are_names(const json_t *value)
{
	for (size_t i = 0; i < json_array_size(value); i++) {
		if (!is_name(json_array_get(value, i)))
			return false;
	}
	return true;
}

static bool
is_object_of_texts(const json_t *value)
{
	json_t *object = (json_t *)(uintptr_t)value;
	const char *key;
	json_t *item;

	if (!json_is_object(value) || json_object_size(value) > CONTROL_NAMES_MAX)
		return false;
	json_object_foreach(object, key, item)
	{
		if (!json_is_string(item))
			return false;
	}
	return true;
}

static bool
has_type(const json_t *value, enum param_type type)
{
	switch (type) {
	case PARAM_STRING:
		return json_is_string(value);
	case PARAM_STRINGS:
		return is_array_of(value, JSON_STRING);
	case PARAM_NAME:
		return json_is_string(value) && is_name(value);
	case PARAM_NAMES:
		return is_array_of(value, JSON_STRING) && are_names(value);
	case PARAM_INT:
		return json_is_integer(value) && json_integer_value(value) >= 0;
	case PARAM_INTS:
		return is_array_of(value, JSON_INTEGER);
	case PARAM_BOOL:
		return json_is_boolean(value);
	case PARAM_TEXTS:
		return is_object_of_texts(value);
	}
	return false;
}

static const struct param *
find_param(const struct param *params, const char *name)
{
	while (params->name != NULL && strcmp(params->name, name) != 0)
		params++;
	return params->name != NULL ? params : NULL;
}

/*
 * The first parameter that is missing, unknown, or not of its type; NULL: all is well.
 *
 * Unknown ones are refused, so that a misspelt one does not pass for its default.  What
 * clients of systemd add to every call is let pass.
 */
const char *
params_check(const struct param *params, const json_t *parameters)
{
	/* jansson's iteration takes a writable object and does not write. */
	json_t *object = (json_t *)(uintptr_t)parameters;
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value)
	{
		const struct param *param = find_param(params, key);

		if (json_is_null(value) ||
		    strcmp(key, "allowInteractiveAuthentication") == 0)
			continue;
		if (param == NULL || !has_type(value, param->type))
			return key;
	}
	for (; params->name != NULL; params++) {
		value = json_object_get(parameters, params->name);
		if (params->required && (value == NULL || json_is_null(value)))
			return params->name;
	}
	return NULL;
}

/* An object or an array, borrowed from the call, or NULL. */
const json_t *
param_get(const struct conn *conn, const char *name)
{
	const json_t *value = json_object_get(conn->call.message.parameters, name);

	ASSERT(find_param(conn->call.method->params, name) != NULL);
	return value == NULL || json_is_null(value) ? NULL : value;
}

/* A text, borrowed from the call, or NULL. */
const char *
param_string(const struct conn *conn, const char *name)
{
	return json_string_value(param_get(conn, name));
}

/* A boolean, or `otherwise` when it is not given. */
bool
param_bool(const struct conn *conn, const char *name, bool otherwise)
{
	const json_t *value = param_get(conn, name);

	return value != NULL ? json_is_true(value) : otherwise;
}

/* A number, or `otherwise` when it is not given. */
int64_t
param_int(const struct conn *conn, const char *name, int64_t otherwise)
{
	const json_t *value = param_get(conn, name);

	return value != NULL ? json_integer_value(value) : otherwise;
}
