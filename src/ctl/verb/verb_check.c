/* SPDX-License-Identifier: ISC */
/* verb_check.c - check: what is wrong with a configuration file, as supd --check has it,
 * with the line of the file and a mark below it.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/cleanup.h"
#include "ctl/page/terminal.h"
#include "ctl/verb/verb.h"
#include "paths.h"

#define SOURCE_LINE_MAX    4096
#define REMARKS_BYTES_MAX  (16 * 1024 * 1024)
#define EXIT_CONFIG_ERRORS 78

/*
 * The supd to ask: $SUPD, the one beside supctl, the one in the sbin beside supctl's
 * bin, the one where it was to be installed, or else any in PATH.
 */
static void
find_supd(char ret[PATH_MAX])
{
	static const char *const beside[] = {"supd", "../sbin/supd"};
	const char *named = getenv("SUPD");

	if (named != NULL && named[0] != '\0') {
		(void)snprintf(ret, PATH_MAX, "%s", named);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(beside); i++)
		if (terminal_find_beside(ret, beside[i]) && access(ret, X_OK) == 0)
			return;
	(void)snprintf(ret, PATH_MAX, "%s",
	               access(SUPD_BIN, X_OK) == 0 ? SUPD_BIN : "supd");
}

static int
wait_child(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return CTL_FAILED;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* The file that the running supd has read, if one answers. */
static char *
running_file(struct ctl *ctl)
{
	struct call call = {.method = "Ping"};
	struct reply reply;
	json_auto_t *pong = NULL;

	if (client_connect(&ctl->client, NULL) < 0 ||
	    client_send(&ctl->client, call.method, NULL, false, NULL) < 0 ||
	    client_next(&ctl->client, &reply, NULL) < 0 || reply.error.at != NULL ||
	    ctl_load(ctl, &call, &reply, &pong) != 0)
		return NULL;
	const char *file = json_string_value(json_object_get(pong, "config"));
	return file != NULL ? strdup(file) : NULL;
}

/* A line of what supd says: "FILE:LINE:COLUMN: error: MESSAGE". */
struct remark {
	const char *file;
	size_t file_len;
	long line, column;
	const char *kind;
	size_t kind_len;
	const char *message;
};

/* Read one; false: the line is no such remark. */
static bool
read_remark(const char *text, struct remark *ret)
{
	static const char *const kinds[] = {"error", "warning"};

	for (const char *colon = text; (colon = strchr(colon, ':')) != NULL; colon++) {
		int end = 0;

		if (sscanf(colon, ":%ld:%ld: %n", &ret->line, &ret->column, &end) < 2 ||
		    end == 0)
			continue;
		ret->file = text;
		ret->file_len = (size_t)(colon - text);
		ret->kind = colon + end;
		for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
			const size_t len = strlen(kinds[i]);

			if (strncmp(ret->kind, kinds[i], len) != 0 ||
			    strncmp(ret->kind + len, ": ", 2) != 0)
				continue;
			ret->kind_len = len;
			ret->message = ret->kind + len + 2;
			return true;
		}
	}
	return false;
}

/* The line of the file, and a mark below its column. */
static void
print_source(struct strbuf *sb, const struct remark *remark)
{
	char path[PATH_MAX], line[SOURCE_LINE_MAX];
	long n = 0;

	if (remark->file_len >= sizeof(path) || remark->column < 1)
		return;
	memcpy(path, remark->file, remark->file_len);
	path[remark->file_len] = '\0';
	CLEANUP_FILE FILE *file = fopen(path, "re");
	while (file != NULL && n < remark->line &&
	       fgets(line, sizeof(line), file) != NULL)
		n += strchr(line, '\n') != NULL;
	if (file != NULL && n == remark->line) {
		line[strcspn(line, "\n")] = '\0';
		strbuf_adds(sb, "    ");
		print_text(sb, line, strlen(line));
		strbuf_adds(sb, "\n    ");
		for (long i = 1; i < remark->column; i++)
			strbuf_addc(sb, ' ');
		strbuf_adds(sb, "^\n");
	}
}

static void
add_object(struct strbuf *sb, const struct remark *remark)
{
	strbuf_adds(sb, "{\"file\": ");
	strbuf_add_json_bytes(sb, remark->file, remark->file_len);
	strbuf_addf(sb, ", \"line\": %ld, \"column\": %ld, \"kind\": ", remark->line,
	            remark->column);
	strbuf_add_json_bytes(sb, remark->kind, remark->kind_len);
	strbuf_adds(sb, ", \"message\": ");
	strbuf_add_json(sb, remark->message);
	strbuf_addc(sb, '}');
}

/* All that supd said, on standard error as it was and with the source, or as an array. */
static void
print_remarks(struct ctl *ctl, char *text)
{
	CLEANUP(strbuf_done) struct strbuf lines = STRBUF(REMARKS_BYTES_MAX);
	char *rest = NULL;

	if (ctl->options.json)
		ctl_array_begin(ctl);
	for (char *line = strtok_r(text, "\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\n", &rest)) {
		struct remark remark;
		const bool is_remark = read_remark(line, &remark);

		strbuf_clear(&lines);
		if (ctl->options.json && is_remark) {
			add_object(&lines, &remark);
			ctl_array_add(ctl, (struct span){strbuf_str(&lines), lines.len});
		}
		if (ctl->options.json)
			continue;
		print_text(&lines, line, strlen(line));
		strbuf_addc(&lines, '\n');
		if (is_remark)
			print_source(&lines, &remark);
		(void)fwrite(strbuf_str(&lines), 1, lines.len, stderr);
	}
	if (ctl->options.json)
		ctl_array_end(ctl);
}

/* Run supd --check; what it says on standard error is taken, its exit status returned. */
static int
run_supd(struct ctl *ctl, char **argv, struct strbuf *said)
{
	posix_spawn_file_actions_t actions;
	char piece[4096];
	int ends[2];
	ssize_t n;
	pid_t pid;

	if (pipe(ends) < 0)
		return ctl_no_memory(ctl);
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
	/* Standard output is for JSON alone: take what supd says there, too. */
	if (ctl->options.json)
		(void)posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	(void)posix_spawn_file_actions_addclose(&actions, ends[0]);
	(void)posix_spawn_file_actions_addclose(&actions, ends[1]);
	int r = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)close(ends[1]);
	while (r == 0 && ((n = read(ends[0], piece, sizeof(piece))) > 0 ||
	                  (n < 0 && errno == EINTR)))
		if (n > 0)
			strbuf_add(said, piece, (size_t)n);
	(void)close(ends[0]);
	if (r == 0)
		return wait_child(pid);
	return complain_of(ctl, CTL_FAILED, NULL,
	                   "%s: %s (supd checks the file; $SUPD may name the program)",
	                   argv[0], strerror(r));
}

/* Say what is wrong with a file, without one with that of the running supd, or with the
 * usual file; the exit status is that of supd --check. */
int
verb_check(struct ctl *ctl, char **names, uint32_t n)
{
	char option_check[] = "--check";
	char option_file[] = "-c";
	char program[PATH_MAX];
	char *argv[] = {program, option_check, NULL, NULL, NULL};
	CLEANUP_FREE char *own = n > 0 ? NULL : running_file(ctl);
	char *file = n > 0 ? names[0] : own;
	CLEANUP(strbuf_done) struct strbuf said = STRBUF(REMARKS_BYTES_MAX);

	if (file != NULL) {
		argv[2] = option_file;
		argv[3] = file;
	}
	find_supd(program);
	int status = run_supd(ctl, argv, &said);
	if (said.failed)
		status = ctl_no_memory(ctl);
	else if (status != CTL_FAILED)
		print_remarks(ctl, said.len > 0 ? said.data : (char[]){""});
	if (status == EXIT_CONFIG_ERRORS)
		complain(ctl, file, "the configuration has errors (exit status 78)");
	return status;
}
