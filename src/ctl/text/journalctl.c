/* SPDX-License-Identifier: ISC */
/* journalctl.c - what actors wrote to the journal, by journalctl(1). */
#include "config.h"

#include "ctl/text/journalctl.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/moment.h"
#include "ctl/text/phrase.h"

#define TEXT_MAX (8 * 1024 * 1024)
/* Words of the command besides the actors, with the NULL. */
#define FIXED_MAX 10

/* Start the command with its standard output in a pipe; the end to read, or -errno. */
static int
start(struct journal *journal, char **words)
{
	posix_spawn_file_actions_t actions;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	int r = posix_spawn_file_actions_init(&actions);
	if (r == 0) {
		r = posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
		if (r == 0)
			r = posix_spawnp(&journal->pid, words[0], &actions, NULL, words,
			                 environ);
		(void)posix_spawn_file_actions_destroy(&actions);
	}
	(void)close(ends[1]);
	if (r == 0)
		return ends[0];
	journal->pid = -1;
	(void)close(ends[0]);
	return -r;
}

static void __attribute__((format(printf, 3, 4)))
add_word(char **words, size_t *n, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&words[*n], fmt, ap) < 0)
		words[*n] = NULL;
	va_end(ap);
	*n += words[*n] != NULL;
}

/*
 * Have journalctl tell what these actors wrote, with follow also new lines.  CTL_FAILED:
 * it cannot be run, which was said.
 */
int
journal_open(struct journal *journal, struct ctl *ctl, const struct journal_query *query)
{
	char **words = calloc(query->n_paths + FIXED_MAX, sizeof(*words));
	size_t n = 0;

	*journal = (struct journal){.pid = -1};
	strbuf_init(&journal->text, TEXT_MAX);
	if (words == NULL)
		return ctl_no_memory(ctl);
	add_word(words, &n, "journalctl");
	add_word(words, &n, "--quiet");
	add_word(words, &n, "--all");
	add_word(words, &n, "--no-pager");
	add_word(words, &n, "--output=json");
	if (query->lines >= 0)
		add_word(words, &n, "--lines=%" PRId64, query->lines);
	else
		add_word(words, &n, "--lines=all");
	/* Without its T and Z, which not every journalctl reads. */
	if (query->since[0] != '\0')
		add_word(words, &n, "--since=%.10s %.12s UTC", query->since,
		         query->since + 11);
	if (query->follow)
		add_word(words, &n, "--follow");
	add_word(words, &n, "SUPD_SOCKET=%s", query->socket);
	for (size_t i = 0; i < query->n_paths; i++)
		add_word(words, &n, "SUPD_PATH=%s", query->paths[i]);
	int fd = start(journal, words);
	while (n > 0)
		free(words[--n]);
	free(words);
	journal->stream = fd >= 0 ? fdopen(fd, "r") : NULL;
	if (journal->stream != NULL)
		return 0;
	return complain_of(ctl, CTL_FAILED, NULL,
	                   "journalctl: %s (the journal has the output of %s%s)",
	                   strerror(fd < 0 ? -fd : errno), query->paths[0],
	                   query->n_paths > 1 ? " and others" : "");
}

/* A string of the newest line, as a span of JSON text without its quotes. */
static struct span
keep(struct journal *journal, const char *text, size_t len)
{
	const size_t quote = journal->text.len;

	strbuf_add_json_bytes(&journal->text, text, len);
	return (struct span){.at = (const char *)quote + 1,
	                     .len = journal->text.len - quote - 2};
}

/* MESSAGE is an array of numbers where it is not UTF-8. */
static struct span
keep_message(struct journal *journal, const json_t *message)
{
	CLEANUP(strbuf_done) struct strbuf bytes = STRBUF(TEXT_MAX);
	const json_t *byte;
	size_t i;

	if (json_is_string(message))
		return keep(journal, json_string_value(message),
		            json_string_length(message));
	json_array_foreach(message, i, byte)
	{
		strbuf_addc(&bytes, (char)json_integer_value(byte));
	}
	return keep(journal, strbuf_str(&bytes), bytes.len);
}

/* "2026-11-21T09:12:33.123Z", from microseconds since 1970. */
static struct span
keep_time(struct journal *journal, const char *microseconds)
{
	char text[MOMENT_BYTES];

	moment_print(strtoull(microseconds, NULL, 10), text);
	return keep(journal, text, strlen(text));
}

/* Take an entry apart; false: it is none of an actor. */
static bool
parse(struct journal *journal, const char *text, size_t len)
{
	json_auto_t *entry = json_loadb(text, len, 0, NULL);
	const char *path = phrase_text(entry, "SUPD_PATH");
	const char *stream = phrase_text(entry, "SUPD_STREAM");
	struct log_line *line = &journal->line;
	struct span *spans[] = {&line->path, &line->time, &line->stream, &line->text};

	strbuf_clear(&journal->text);
	journal->has_line = path[0] != '\0';
	if (journal->has_line) {
		*line = (struct log_line){
		    .path = keep(journal, path, strlen(path)),
		    .time =
		        keep_time(journal, phrase_text(entry, "__REALTIME_TIMESTAMP")),
		    .stream = keep(journal, stream, strlen(stream)),
		    .text = keep_message(journal, json_object_get(entry, "MESSAGE")),
		};
		/* They are offsets until the text does not move any more. */
		for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++)
			if (spans[i]->at != NULL)
				spans[i]->at =
				    strbuf_str(&journal->text) + (uintptr_t)spans[i]->at;
	}
	return journal->has_line;
}

/* True if there is a line, in journal->line.  Waits until that is known. */
bool
journal_peek(struct journal *journal)
{
	ssize_t len;

	while (!journal->has_line && journal->stream != NULL &&
	       (len = getline(&journal->data, &journal->size, journal->stream)) > 0)
		if (parse(journal, journal->data, (size_t)len) && journal->text.failed)
			journal->has_line = false;
	return journal->has_line;
}

/* The line was dealt with. */
void
journal_take(struct journal *journal)
{
	journal->has_line = false;
}

/* End journalctl, if it still runs, and give back the memory. */
void
journal_close(struct journal *journal)
{
	if (journal->stream != NULL)
		(void)fclose(journal->stream);
	if (journal->pid > 0) {
		(void)kill(journal->pid, SIGTERM);
		(void)waitpid(journal->pid, NULL, 0);
	}
	free(journal->data);
	strbuf_done(&journal->text);
	*journal = (struct journal){.pid = -1};
}
