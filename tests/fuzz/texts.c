/* SPDX-License-Identifier: ISC */
/* texts.c - what strangers and actors write: notifications, heads of HTTP, times, lines.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/moment.h"
#include "base/pattern.h"
#include "base/units.h"
#include "conf/read/envfile.h"
#include "daemon/state/glob.h"
#include "os/socket/sdnotify.h"
#include "probe/head.h"
#include "tests/fuzz/file.h"
#include "tests/fuzz/fuzz.h"
#include "varlink/varlink.h"

const unsigned int fuzz_runs = 600;

static const char *const keys[] = {"READY", "STATUS", "FDSTORE", "MAINPID", ""};

static void
notify(const char *text, size_t len)
{
	struct notify_message *message = calloc(1, sizeof(*message));

	ASSERT(message != NULL);
	message->len = len < NOTIFY_MESSAGE_MAX ? len : NOTIFY_MESSAGE_MAX;
	memcpy(message->text, text, message->len);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		size_t value_len = 0;
		const char *value = notify_value(message, keys[i], &value_len);

		ASSERT(value == NULL ||
		       value + value_len <= message->text + message->len);
	}
	free(message);
}

/* In one piece and byte by byte it is the same. */
static void
head(const char *text, size_t len)
{
	struct head whole;
	struct head pieces;
	int r;
	int each = 0;

	head_init(&whole);
	r = head_take(&whole, text, len);
	head_init(&pieces);
	for (size_t i = 0; i < len && each == 0; i++)
		each = head_take(&pieces, text + i, 1);
	ASSERT(len == 0 || r == each);
}

static void
words(const char *text)
{
	static const char path[] = "/user/app/api@1";
	struct pattern pattern;
	uint64_t number;

	(void)moment_parse(text, &number);
	(void)moment_parse_past(text, UINT64_C(1700000000000000), &number);
	(void)duration_parse(text, &number);
	(void)size_parse(text, &number);
	(void)signal_parse(text);
	if (strlen(text) < 256) {
		(void)glob_selects(text, path);
		(void)glob_filters(text, path);
	}
	if (strlen(text) < 256 && pattern_compile(&pattern, text, NULL) == 0) {
		(void)pattern_matches(&pattern, path, strlen(path));
		pattern_done(&pattern);
	}
}

static void
messages(const char *text, size_t len)
{
	struct varlink_reader reader;
	json_t *message;

	varlink_reader_init(&reader, VARLINK_IN_MAX);
	if (len <= VARLINK_FEED_MAX && varlink_reader_feed(&reader, text, len) == 0) {
		while (varlink_reader_next(&reader, &message, NULL) == 1) {
			struct varlink_call call;

			if (varlink_call_parse(message, &call, NULL) == 0)
				varlink_call_done(&call);
		}
	}
	varlink_reader_done(&reader);
}

static void
on_variable(void *data, const char *key, const char *value)
{
	(void)data;
	ASSERT(key[0] != '\0' && strchr(key, '=') == NULL && value != NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	ASSERT(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	notify(text, size);
	head(text, size);
	words(text);
	messages(text, size);
	(void)envfile_read(fuzz_file("variables", data, size), on_variable, NULL, NULL);
	free(text);
	return 0;
}
