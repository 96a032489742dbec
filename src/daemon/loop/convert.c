/* SPDX-License-Identifier: ISC */
/* convert.c - a first configuration: an example, or what another supervisor's says.
 *
 * What has no equivalent becomes a comment above the actor, so that nothing is lost
 * without a word.
 */
#include "config.h"

#include "daemon/loop/convert.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "conf/text/shell_words.h"
#include "daemon/loop/convert_actor.h"
#include "os/self/say.h"

static const char example[] =
    "# A first tree.  'supd FILE' runs it here, 'supctl status' looks at it; "
    "supd.yaml(5)\n"
    "# has all keys.  Relative paths begin at the directory of this file.\n"
    "children:\n"
    "  hello:\n"
    "    shell: \"while sleep 5; do echo hello; done\"\n"
    "#  web:\n"
    "#    command: ./server --port 8080\n"
    "#    ready: {tcp: \"127.0.0.1:8080\"}     # the next one starts when this answers\n"
    "#    environment_file: -.env\n"
    "#  worker:\n"
    "#    command: ./worker\n"
    "#    replicas: 2\n"
    "#  migrate:\n"
    "#    command: ./migrate\n"
    "#    ready: exit                        # runs once, to its end\n";

/* `name: command`, a line of a shell each. */
static void
convert_procfile(FILE *file, struct strbuf *out)
{
	CLEANUP_FREE char *line = NULL;
	size_t size = 0;
	char what[32];

	while (getline(&line, &size, file) > 0) {
		char *colon = strchr(line, ':');
		struct converted actor;

		if (convert_trim(line)[0] == '#' || convert_trim(line)[0] == '\0')
			continue;
		if (colon == NULL) {
			strbuf_addf(out, "  # no process: %s\n", convert_trim(line));
			continue;
		}
		*colon = '\0';
		const char *command = convert_trim(colon + 1);
		convert_begin(&actor, convert_trim(line), strlen(convert_trim(line)));
		strbuf_addf(&actor.keys, "    %s: ",
		            words_want_shell(command, what, sizeof(what)) ? "shell"
		                                                          : "command");
		convert_add_text(&actor.keys, command);
		strbuf_addc(&actor.keys, '\n');
		if (strstr(command, "PORT") != NULL)
			strbuf_adds(&actor.notes,
			            "  # foreman sets PORT: add `environment: {PORT: "
			            "\"5000\"}`\n");
		convert_end(&actor, out);
	}
}

static int
convert_file(const char *kind, const char *path, struct strbuf *out)
{
	CLEANUP_FILE FILE *file = fopen(path, "re");

	if (file == NULL) {
		say_refusal("cannot read %s: %s", path, strerror(errno));
		return EX_NOINPUT;
	}
	strbuf_adds(out, "  # from ");
	strbuf_add_visible(out, path, strlen(path));
	strbuf_addc(out, '\n');
	if (strcmp(kind, "procfile") == 0)
		convert_procfile(file, out);
	else if (strcmp(kind, "systemd") == 0)
		convert_unit(file, path, out);
	else
		convert_supervisor(file, out);
	return EX_OK;
}

/*
 * Print a first configuration: an example without words, else KIND FILE…, where KIND is
 * procfile, supervisord or systemd.  Returns the exit status.
 */
int
convert_print(char *const *words, int n)
{
	int status = EX_OK;

	if (n == 0) {
		(void)fputs(example, stdout);
		return fflush(stdout) == 0 ? EX_OK : EX_OSERR;
	}
	if (n == 1 ||
	    (strcmp(words[0], "procfile") != 0 && strcmp(words[0], "supervisord") != 0 &&
	     strcmp(words[0], "systemd") != 0)) {
		say_refusal("--init takes nothing, or procfile, supervisord "
		            "or systemd, and files");
		return EX_USAGE;
	}
	CLEANUP(strbuf_done) struct strbuf out = STRBUF(CONVERT_TEXT_MAX);
	strbuf_adds(&out, "children:\n");
	for (int i = 1; i < n && status == EX_OK; i++)
		status = convert_file(words[0], words[i], &out);
	if (status == EX_OK && !out.failed)
		(void)fputs(strbuf_str(&out), stdout);
	if (out.failed)
		status = EX_OSERR;
	return fflush(stdout) == 0 ? status : EX_OSERR;
}
