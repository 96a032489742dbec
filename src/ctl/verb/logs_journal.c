/* SPDX-License-Identifier: ISC */
/* logs_journal.c - logs: the lines of actors with output in the journal. */
#include "config.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "ctl/verb/logs.h"

/* How often the journal is followed at once: all first, then those that come. */
#define FOLLOWERS_MAX 64

/* Print the lines of the journal up to this time; NULL: all lines. */
int
logs_drain_journal(struct log_stream *stream, const struct span *until)
{
	struct journal *journal = &stream->in_journal.journal;
	int status = 0;

	while (status == 0 && ctl_may_go_on(stream->ctl) && journal_peek(journal)) {
		struct log_place *place = logs_place(stream, journal->line.path);

		if (until != NULL && until->len == LOGS_TIME_LEN &&
		    strncmp(journal->line.time.at, until->at, LOGS_TIME_LEN) > 0)
			break;
		status = place != NULL ? logs_take(stream, place, &journal->line)
		                       : ctl_no_memory(stream->ctl);
		journal_take(journal);
	}
	return status;
}

/* Resources of the child that follows the journal, freed at its end. */
static volatile sig_atomic_t journalctl_pid;

static void
on_term(int signo UNUSED)
{
	if (journalctl_pid > 0)
		(void)kill((pid_t)journalctl_pid, SIGTERM);
	_exit(0);
}

/* Follow those that are not read yet in a child, which ends with us, beside what supd
 * tells.
 */
static int
follow_journal(struct log_stream *stream)
{
	struct log_journal *in = &stream->in_journal;
	const bool is_past = in->is_past && in->n_children == 0;
	const struct journal_query query = {
	    .socket = in->socket,
	    .paths = in->paths + in->n_read,
	    .n_paths = in->n - in->n_read,
	    .since = is_past ? "" : stream->since,
	    .lines = is_past ? 0 : stream->lines,
	    .follow = true,
	};

	if (in->n_children == FOLLOWERS_MAX) {
		complain(stream->ctl, in->paths[in->n_read],
		         "its output goes to the journal, which is followed %d times "
		         "already: begin anew to see it",
		         FOLLOWERS_MAX);
		return 0;
	}
	in->n_children++;
	pid_t pid = fork();
	if (pid != 0)
		return pid < 0 ? ctl_no_memory(stream->ctl) : 0;
	(void)signal(SIGTERM, on_term);
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	in->is_child = true;
	int status = journal_open(&in->journal, stream->ctl, &query);
	journalctl_pid = in->journal.pid;
	if (status == 0)
		(void)logs_drain_journal(stream, NULL);
	journal_close(&in->journal);
	_exit(status);
}

/* Read the journal from now on, if an actor has its output there. */
int
logs_begin_journal(struct log_stream *stream)
{
	struct log_journal *in = &stream->in_journal;
	const struct journal_query query = {.socket = in->socket,
	                                    .paths = in->paths,
	                                    .n_paths = in->n,
	                                    .since = stream->since,
	                                    .lines = -1};

	if (in->n_read == in->n)
		return 0;
	int status = stream->follow ? follow_journal(stream)
	                            : journal_open(&in->journal, stream->ctl, &query);
	in->n_read = in->n;
	return status;
}

/* There is no journal for this actor; an error where nothing else was asked for. */
static int
miss_journal(struct log_stream *stream, struct log_place *place)
{
	if (!place->is_missing)
		complain(
		    stream->ctl, place->path,
		    "its output goes to the journal, and there is none on this machine");
	place->is_missing = true;
	return logs_are_named(stream) ? 0 : CTL_FAILED;
}

/* supd has told that an actor has its output in the journal. */
int
logs_note_journal(struct log_stream *stream, struct log_place *place, struct span socket)
{
	struct log_journal *in = &stream->in_journal;

	if (socket.len == 0)
		return miss_journal(stream, place);
	if (in->socket == NULL)
		in->socket = span_copy(socket);
	if (in->socket == NULL)
		return ctl_no_memory(stream->ctl);
	for (uint32_t i = 0; i < in->n; i++)
		if (in->paths[i] == place->path)
			return 0;
	in->paths[in->n++] = place->path;
	/* The last lines of it are known when all are read. */
	if (!stream->follow && stream->lines >= 0)
		stream->keeps = true;
	return client_has_next(&stream->ctl->client) || !stream->follow
	           ? 0
	           : logs_begin_journal(stream);
}
