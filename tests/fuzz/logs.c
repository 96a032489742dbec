/* SPDX-License-Identifier: ISC */
/* logs.c - the reader of `supctl logs`: any request, over files with any text.
 *
 * The input has up to three parts with "%%" between them: what two logs say, and the
 * request's head and position, a line each.  Every answer is JSON, or a complaint.
 */
#include "config.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/strbuf.h"
#include "logd/read/reader.h"
#include "tests/fuzz/file.h"
#include "tests/fuzz/fuzz.h"

const unsigned int fuzz_runs = 200;

static void
add_text(struct strbuf *out, const char *text, size_t len)
{
	strbuf_add(out, text, len);
	strbuf_addc(out, '\0');
}

/* The next line of the request's part; "" behind the last. */
static void
add_line(struct strbuf *out, const char **at, size_t *left)
{
	const char *newline = memchr(*at, '\n', *left);
	const size_t len = newline != NULL ? (size_t)(newline - *at) : *left;

	if (len > 0)
		add_text(out, *at, len);
	else
		add_text(out, "", 0);
	*at += len + (newline != NULL);
	*left -= len + (newline != NULL);
}

static void
add_source(struct strbuf *out, const char *actor, const char *format, const char *file)
{
	add_text(out, actor, strlen(actor));
	add_text(out, "output", strlen("output"));
	add_text(out, format, strlen(format));
	add_text(out, "", 0);
	add_text(out, file, strlen(file));
}

static void
check_answers(int fd)
{
	struct strbuf text;
	char data[4096];
	ssize_t n;
	char *line;
	char *rest;

	strbuf_init(&text, 64 << 20);
	ASSERT(lseek(fd, 0, SEEK_SET) == 0);
	while ((n = read(fd, data, sizeof(data))) > 0)
		strbuf_add(&text, data, (size_t)n);
	ASSERT(!text.failed);
	ASSERT(strlen(strbuf_str(&text)) == text.len);
	line = strbuf_take(&text);
	for (rest = line; rest != NULL && *rest != '\0';) {
		char *at = strsep(&rest, "\n");
		json_t *answer;

		if (at[0] == '!' || strcmp(at, READER_WHOLE) == 0)
			continue;
		answer = json_loads(at, 0, NULL);
		ASSERT(json_is_object(answer));
		json_decref(answer);
	}
	free(line);
}

static void
ask(const struct strbuf *request)
{
	int in = memfd_create("request", MFD_CLOEXEC);
	int out = memfd_create("answers", MFD_CLOEXEC);

	ASSERT(in >= 0 && out >= 0);
	ASSERT(write(in, strbuf_str(request), request->len) == (ssize_t)request->len);
	ASSERT(lseek(in, 0, SEEK_SET) == 0);
	(void)reader_run(in, out);
	check_answers(out);
	(void)close(in);
	(void)close(out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const formats[] = {"timed", "plain", "json", "foreign"};
	const char *parts[3] = {"", "", ""};
	size_t sizes[3] = {0};
	const char *at = (const char *)data;
	const char *first;
	const char *second;
	struct strbuf request;

	for (size_t i = 0; i < 3 && size > 0; i++) {
		const char *mark = memmem(at, size, "%%", 2);

		parts[i] = at;
		sizes[i] = mark != NULL && i < 2 ? (size_t)(mark - at) : size;
		at += sizes[i] + 2 * (mark != NULL && i < 2);
		size -= sizes[i] + 2 * (mark != NULL && i < 2);
	}
	first = fuzz_file("a.log", (const uint8_t *)parts[0], sizes[0]);
	second = fuzz_file("b.log", (const uint8_t *)parts[1], sizes[1]);
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		at = parts[2];
		size = sizes[2];
		strbuf_init(&request, 1 << 20);
		add_text(&request, "0", 1);
		for (int line = 0; line < 3; line++)
			add_line(&request, &at, &size);
		add_source(&request, "/user/a", formats[i], first);
		add_source(&request, "/user/b", formats[(i + 1) % 4], second);
		ask(&request);
		strbuf_done(&request);
	}
	return 0;
}
