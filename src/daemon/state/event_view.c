/* SPDX-License-Identifier: ISC */
/* event_view.c - what a record of the event stream says, by field and as JSON. */
#include "config.h"

#include <stddef.h>
#include <string.h>

#include "daemon/state/cause.h"
#include "daemon/state/events.h"
#include "os/self/clock.h"

struct event_value {
	enum field field;
	const char *data;
	size_t len;
};

static bool
ends_in_nul(const char *data, size_t len)
{
	return len > 0 && data[len - 1] == '\0';
}

static bool
is_cause(const struct event_value *value)
{
	struct cause cause;

	/* Another byte is no bool. */
	if (value->len < sizeof(cause) ||
	    (unsigned char)value->data[offsetof(struct cause, core)] > 1)
		return false;
	memcpy(&cause, value->data, sizeof(cause));
	return cause.kind < CAUSE_KIND_MAX &&
	       memchr(cause.key, '\0', sizeof(cause.key)) != NULL &&
	       (value->len == sizeof(cause) || ends_in_nul(value->data, value->len));
}

/* The texts of a value: of a cause what it is about; a number has none. */
static void
texts_of(const struct event_value *value, struct event_value *ret)
{
	const enum value_type type = field_type(value->field);
	size_t skipped = type == VALUE_CAUSE ? sizeof(struct cause) : 0;

	if (type == VALUE_NUMBER || type == VALUE_FLAG)
		skipped = value->len;
	*ret = *value;
	ret->data += skipped;
	ret->len -= skipped;
}

/* The text behind `text` in the value, its first one for NULL; NULL: no more. */
static const char *
next_text(const struct event_value *value, const char *text)
{
	const char *next = text == NULL ? value->data : text + strlen(text) + 1;

	return next < value->data + value->len ? next : NULL;
}

/* True if the texts of the value are pairs, each of a path and a change. */
static bool
is_changes(const struct event_value *value)
{
	const char *text = NULL;
	size_t n = 0;

	if (!ends_in_nul(value->data, value->len))
		return value->len == 0;
	while ((text = next_text(value, text)) != NULL)
		n++;
	return n % 2 == 0;
}

static bool
is_value(const struct event_value *value)
{
	switch (field_type(value->field)) {
	case VALUE_NUMBER:
		return value->len == 0 || value->len == sizeof(int64_t);
	case VALUE_FLAG:
		return value->len == 1;
	case VALUE_CAUSE:
		return is_cause(value);
	case VALUE_TEXT:
		return ends_in_nul(value->data, value->len);
	case VALUE_CHANGES:
		return is_changes(value);
	case VALUE_TEXTS:
		break;
	}
	return value->len == 0 || ends_in_nul(value->data, value->len);
}

/* The field at *at, unchecked; *at moves behind the field.  False: no field is left. */
static bool
next_field(const struct event_view *view, size_t *at, struct event_value *ret)
{
	uint32_t head;

	if (view->len - *at < sizeof(head))
		return false;
	memcpy(&head, view->fields + *at, sizeof(head));
	ret->field = (enum field)(head >> EVENT_LENGTH_BITS);
	ret->len = head & ((1U << EVENT_LENGTH_BITS) - 1);
	ret->data = view->fields + *at + sizeof(head);
	if (ret->field >= FIELD_MAX || ret->len > view->len - *at - sizeof(head))
		return false;
	*at += sizeof(head) + ret->len;
	return true;
}

static bool
find_value(const struct event_view *view, enum field field, struct event_value *ret)
{
	size_t at = 0;

	while (next_field(view, &at, ret))
		if (ret->field == field)
			return is_value(ret);
	return false;
}

/* True if the path and all fields can be read. */
bool
event_is_whole(const struct event_view *view)
{
	struct event_value value;
	size_t at = 0;

	if (view->record->kind >= NOTICE_MAX || view->fields == NULL)
		return false;
	while (next_field(view, &at, &value))
		if (!is_value(&value))
			return false;
	return at == view->len;
}

/* A number; 0 for null, and where there is none. */
int64_t
event_number(const struct event_view *view, enum field field)
{
	struct event_value value;
	int64_t number = 0;

	if (find_value(view, field, &value))
		memcpy(&number, value.data, value.len);
	return number;
}

/* True if the event has this flag, and it is set. */
bool
event_flag(const struct event_view *view, enum field field)
{
	struct event_value value;

	return find_value(view, field, &value) && value.data[0] != 0;
}

/* A text, or the first of an array; empty where there is none. */
const char *
event_text(const struct event_view *view, enum field field)
{
	const char *text = event_next(view, field, NULL);

	return text != NULL ? text : "";
}

/* The text of an array behind `text`, which came from here, or NULL for the first; NULL:
 * no more. */
const char *
event_next(const struct event_view *view, enum field field, const char *text)
{
	struct event_value value;

	return find_value(view, field, &value) ? next_text(&value, text) : NULL;
}

static const char *
load_cause(const struct event_value *value, struct cause *ret)
{
	memcpy(ret, value->data, sizeof(*ret));
	return value->len > sizeof(*ret) ? value->data + sizeof(*ret) : NULL;
}

/* The cause, and what cause_about() gave for it; false where there is none. */
bool
event_cause(const struct event_view *view, struct cause *ret, const char **ret_about)
{
	struct event_value value;

	if (!find_value(view, FIELD_CAUSE, &value))
		return false;
	*ret_about = load_cause(&value, ret);
	return true;
}

/* True if the text is the path of the event, or a text of its fields. */
bool
event_mentions(const struct event_view *view, const char *text)
{
	struct event_value value;
	size_t at = 0;

	if (strcmp(view->path, text) == 0)
		return true;
	while (next_field(view, &at, &value) && is_value(&value)) {
		const char *found = NULL;
		struct event_value texts;

		texts_of(&value, &texts);
		while ((found = next_text(&texts, found)) != NULL)
			if (strcmp(found, text) == 0)
				return true;
	}
	return false;
}

static void
add_number(struct strbuf *sb, int64_t number)
{
	if (number < 0)
		strbuf_addc(sb, '-');
	strbuf_add_number(sb, number < 0 ? -(uint64_t)number : (uint64_t)number);
}

static void
add_cause(struct strbuf *sb, const struct event_value *value)
{
	struct cause cause;
	const char *about = load_cause(value, &cause);

	cause_json(sb, &cause, about);
}

static void
add_array(struct strbuf *sb, const struct event_value *value)
{
	const bool is_change = field_type(value->field) == VALUE_CHANGES;
	const char *text = NULL;
	size_t n = 0;

	strbuf_addc(sb, '[');
	for (; (text = next_text(value, text)) != NULL; n++) {
		if (n > 0)
			strbuf_addc(sb, ',');
		if (is_change)
			strbuf_adds(sb, n % 2 == 0 ? "{\"path\":" : "\"change\":");
		strbuf_add_json(sb, text);
		if (is_change && n % 2 == 1)
			strbuf_addc(sb, '}');
	}
	strbuf_addc(sb, ']');
}

static void
add_value(struct strbuf *sb, const struct event_value *value)
{
	int64_t number;

	switch (field_type(value->field)) {
	case VALUE_NUMBER:
		if (value->len == 0) {
			strbuf_adds(sb, "null");
			break;
		}
		memcpy(&number, value->data, sizeof(number));
		add_number(sb, number);
		break;
	case VALUE_FLAG:
		strbuf_adds(sb, value->data[0] != 0 ? "true" : "false");
		break;
	case VALUE_CAUSE:
		add_cause(sb, value);
		break;
	case VALUE_TEXT:
		strbuf_add_json(sb, value->data);
		break;
	case VALUE_TEXTS:
	case VALUE_CHANGES:
		add_array(sb, value);
		break;
	}
}

static void
add_key(struct strbuf *sb, const char *key)
{
	strbuf_adds(sb, ",\"");
	strbuf_adds(sb, key);
	strbuf_adds(sb, "\":");
}

/* Append the event as an object; see doc/CONTROL.md. */
void
event_json(struct strbuf *sb, const struct event_view *view)
{
	const struct event_record *record = view->record;
	char time[CLOCK_TEXT_MAX];
	struct event_value value;
	size_t at = 0;

	strbuf_adds(sb, "{\"seq\":");
	strbuf_add_number(sb, record->seq);
	add_key(sb, "time");
	strbuf_add_json(sb, clock_format(record->wall_us, 6, time));
	add_key(sb, "mono");
	strbuf_add_number(sb, record->mono_ns);
	add_key(sb, "event");
	strbuf_add_json(sb, report_names[record->kind]);
	add_key(sb, "path");
	strbuf_add_json(sb, view->path);
	add_key(sb, "incarnation");
	strbuf_add_number(sb, record->incarnation);
	add_key(sb, "generation");
	strbuf_add_number(sb, record->generation);
	while (next_field(view, &at, &value) && is_value(&value)) {
		add_key(sb, field_names[value.field]);
		add_value(sb, &value);
	}
	if (record->truncated) {
		add_key(sb, "truncated");
		strbuf_adds(sb, "true");
	}
	strbuf_addc(sb, '}');
}
