/* SPDX-License-Identifier: ISC */
/* control_logs.c - Logs: what actors said, read by a process of its own.
 *
 * The answers of the reader go to the client as they come, only as fast as it takes them:
 * else they stay in the pipe, and the reader waits.  Nothing here waits for a disk.
 *
 * A process takes longer to start, and to end, than to read some lines.  So a reader that
 * has told all waits for the next call for a while.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/cleanup.h"
#include "daemon/control/handlers.h"
#include "daemon/state/actors.h"
#include "helper/watchers.h"
#include "logd/read/reader.h"
#include "os/process/reap.h"
#include "os/self/fd.h"
#include "os/spawn/spawn.h"

/* How much is read at a time: one client never keeps the loop for long. */
#define READ_BYTES (64 * 1024)
/* How long the end of one that was killed is waited for when supd ends. */
#define END_MS 100

#define CUT "the process that reads logs has ended: the answer is not complete; try again"

/* How long a reader waits for the next call. */
#define SPARE_S 30.

/* What a reader answers in a call. */
struct told {
	bool follow;
	bool grows;     /* new actors may belong to it … */
	uint64_t n_set; /* … that came after these */
	bool is_over;   /* it answers nothing more */
	bool is_whole;  /* the reader has ended the answer properly */
	struct strbuf in;
	size_t used; /* of in */
};

/* A reader: as long as the call lasts it has a connection, then it waits for the next
 * call, or is only to be reaped. */
struct logs {
	struct control *control;
	TAILQ_ENTRY(logs) link;
	struct conn *conn; /* NULL: there is no call yet, or it is over */
	struct told told;
	pid_t pid;
	int pidfd;
	int request_fd; /* where requests go; -1: there is one, in a file */
	int fd;         /* what it answers, -1: closed */
	ev_io io, end_io;
};

/* ---- the process ------------------------------------------------------------------- */

static void
logs_free(struct logs *logs)
{
	struct control *control = logs->control;

	TAILQ_REMOVE(&control->readers, logs, link);
	control->n_readers--;
	ev_io_stop(control->uses.loop, &logs->io);
	ev_io_stop(control->uses.loop, &logs->end_io);
	fd_close(&logs->request_fd);
	fd_close(&logs->fd);
	fd_close(&logs->pidfd);
	strbuf_done(&logs->told.in);
	free(logs);
}

/* Whatever the reader is doing is not wanted any more. */
static void
end(struct logs *logs)
{
	struct reap reap;

	logs->conn = NULL;
	/* A dying reader is not kept for the next call. */
	if (logs->control->spare == logs)
		logs->control->spare = NULL;
	ev_io_stop(logs->control->uses.loop, &logs->io);
	fd_close(&logs->fd);
	strbuf_done(&logs->told.in);
	/* Until the reader is reaped its pid cannot be that of another process. */
	if (logs->pid > 0 && os_reap_peek(logs->pidfd, logs->pid, &reap) == 0)
		(void)kill(logs->pid, SIGKILL);
	/* Without a pidfd it is reaped with the strangers. */
	if (logs->pid == 0 || logs->pidfd < 0)
		logs_free(logs);
}

/* The reader has ended.  It is reaped here, unless it was reaped together with unknown
 * children of the guardian. */
static void
on_end(struct ev_loop *loop, ev_io *io, int revents UNUSED)
{
	struct logs *logs = io->data;
	struct reap reap;

	ev_io_stop(loop, io);
	(void)os_reap_pidfd(logs->pidfd, logs->pid, &reap);
	logs->pid = 0;
	if (logs->conn == NULL)
		end(logs);
}

/* The call is over.  A reader that has told all waits for the next call. */
static void
release(struct conn *conn)
{
	struct control *control = conn->control;
	struct logs *logs = conn->call.logs;

	if (!logs->told.is_whole || logs->request_fd < 0 || control->spare != NULL) {
		end(logs);
		return;
	}
	logs->conn = NULL;
	ev_io_stop(control->uses.loop, &logs->io);
	strbuf_done(&logs->told.in);
	control->spare = logs;
	timer_begin(control->uses.loop, &control->spare_timer, SPARE_S);
}

/* Free all readers: supd ends. */
void
logs_free_all(struct control *control)
{
	ev_timer_stop(control->uses.loop, &control->spare_timer);
	if (control->spare != NULL)
		end(control->spare);
	while (!TAILQ_EMPTY(&control->readers)) {
		struct logs *logs = TAILQ_FIRST(&control->readers);
		struct reap reap;

		ASSERT(logs->conn == NULL);
		/* The reader was killed.  A reader in D state is left to the next process
		 * that reaps. */
		if (logs->pid > 0)
			(void)os_reap_wait(logs->pidfd, logs->pid, END_MS, &reap);
		logs_free(logs);
	}
}

/* True if the answer ends with the mark that it is all.  The mark is no answer. */
static bool
is_whole(struct logs *logs)
{
	static const char mark[] = READER_WHOLE "\n";
	const size_t len = sizeof(mark) - 1, have = logs->told.in.len - logs->told.used;
	const char *end = logs->told.in.data + logs->told.in.len;

	if (logs->told.in.failed || have < len || memcmp(end - len, mark, len) != 0 ||
	    (have > len && end[-(ptrdiff_t)len - 1] != '\n'))
		return false;
	strbuf_truncate(&logs->told.in, logs->told.in.len - len);
	return true;
}

/* Read what the reader answered, once, and hand it on. */
static void
on_answer(struct ev_loop *loop, ev_io *io, int revents UNUSED)
{
	struct logs *logs = io->data;
	char data[READ_BYTES];
	ssize_t n = read(logs->fd, data, sizeof(data));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	strbuf_consume(&logs->told.in, logs->told.used);
	logs->told.used = 0;
	strbuf_add(&logs->told.in, data, n > 0 ? (size_t)n : 0);
	/* Not only when the reader has ended: that takes it longer than to read some
	 * lines. */
	logs->told.is_whole = is_whole(logs);
	if (n <= 0 || logs->told.in.failed || logs->told.is_whole) {
		logs->told.is_over = true;
		ev_io_stop(loop, io);
	}
	conn_run(logs->conn);
}

/* Start a reader.  It gets nothing of supd's environment, which may hold secrets. */
static int
spawn_reader(struct control *control, int request_fd, int answer_fd,
             struct spawn_result *ret)
{
	const struct control_uses *uses = &control->uses;
	char *const environment[] = {NULL};
	char *const argv[] = {(char *)(uintptr_t) "supd", (char *)(uintptr_t)READER_ROLE,
	                      NULL};
	const int fds[] = {request_fd, answer_fd, -1};

	return os_spawn(uses->spawner,
	                &(const struct spawn){
	                    .file = "/proc/self/exe",
	                    .argv = argv,
	                    .envp = environment,
	                    .fds = fds,
	                    .n_fds = ARRAY_SIZE(fds),
	                    .cgroup_fd = -1,
	                    .umask = SPAWN_UMASK_INHERIT,
	                },
	                ret);
}

static struct logs *
logs_new(struct control *control, int take_request_fd, int take_fd,
         const struct spawn_result *result)
{
	struct ev_loop *loop = control->uses.loop;
	struct logs *logs = calloc(1, sizeof(*logs));

	if (logs == NULL)
		return NULL;
	*logs = (struct logs){
	    .control = control,
	    .pid = result->pid,
	    .pidfd = result->pidfd,
	    .request_fd = take_request_fd,
	    .fd = take_fd,
	    .io.data = logs,
	    .end_io.data = logs,
	};
	ev_io_init(&logs->io, on_answer, logs->fd, EV_READ);
	ev_io_init(&logs->end_io, on_end, logs->pidfd, EV_READ);
	if (logs->pidfd >= 0)
		ev_io_start(loop, &logs->end_io);
	TAILQ_INSERT_TAIL(&control->readers, logs, link);
	control->n_readers++;
	return logs;
}

/* Start a reader, which reads its requests from one descriptor; they are written to the
 * other, if it is not -1.  NULL: there is no room for one more. */
static struct logs *
start(struct control *control, int fd, int take_request_fd)
{
	struct spawn_result result = {.pid = -1, .pidfd = -1};
	struct logs *logs = NULL;
	int ends[2] = {-1, -1};

	if (pipe2(ends, O_CLOEXEC) == 0) {
		(void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
		ends[0] = fd_raise(ends[0]);
		/* A reader that could not be started and does not end is reaped as a
		 * stranger. */
		if (spawn_reader(control, fd, ends[1], &result) == 0)
			logs = logs_new(control, take_request_fd, ends[0], &result);
		(void)close(ends[1]);
	}
	if (logs == NULL) {
		/* A reader without a reader of its own output ends by itself. */
		fd_close(&ends[0]);
		fd_close(&take_request_fd);
		fd_close(&result.pidfd);
	}
	return logs;
}

/* A reader has waited for long. */
void
logs_on_spare(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
	struct control *control = timer->data;

	if (control->spare != NULL)
		end(control->spare);
}

/* Start a reader that waits for requests; NULL: there is no room for one more. */
static struct logs *
start_waiting(struct control *control)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return NULL;
	(void)fcntl(ends[1], F_SETFL, O_NONBLOCK);
	struct logs *logs = start(control, ends[0], fd_raise(ends[1]));
	(void)close(ends[0]);
	return logs;
}

/* A new reader, which has the request as a file. */
static struct logs *
start_with(struct control *control, const struct strbuf *request)
{
	CLEANUP(fd_close)
	int fd = fd_memory("logs", request->data, request->len);

	/* The reader begins at its beginning. */
	return fd < 0 || lseek(fd, 0, SEEK_SET) < 0 ? NULL : start(control, fd, -1);
}

/* A reader that has the request: the one that waits, or a new one.  A new one, too, where
 * a pipe may take the request in pieces, or the reader that waited is not there any more.
 * NULL: there is no room for one more. */
static struct logs *
ask(struct control *control, const struct strbuf *request)
{
	struct logs *logs = control->spare;

	if (request->len > PIPE_BUF)
		return start_with(control, request);
	control->spare = NULL;
	if (logs == NULL)
		logs = start_waiting(control);
	if (logs == NULL || write(logs->request_fd, request->data, request->len) >= 0)
		return logs;
	end(logs);
	return start_with(control, request);
}

/* ---- the call ---------------------------------------------------------------------- */

/* The length of the next whole answer, its newline included, behind `from`; or 0. */
static size_t
answer_length(const struct logs *logs, size_t from)
{
	const char *start = logs->told.in.data + from;
	const char *newline = logs->told.in.len > from && *start != READER_WHOLE[0]
	                          ? memchr(start, '\n', logs->told.in.len - from)
	                          : NULL;

	return newline != NULL ? (size_t)(newline - start) + 1 : 0;
}

/* The length of the next answer that can be sent.  The last answer of a call has to be
 * known as such, so it waits until the answer behind it, or the end, is known. */
static size_t
next_answer(const struct logs *logs, bool *ret_last)
{
	size_t len = answer_length(logs, logs->told.used);
	size_t next = len > 0 ? answer_length(logs, logs->told.used + len) : 0;

	*ret_last = !logs->told.follow && logs->told.is_whole && next == 0;
	return logs->told.follow || logs->told.is_over || next > 0 ? len : 0;
}

/* "!PATH SENTENCE" */
static void
reply_trouble(struct conn *conn, const char *text, size_t len)
{
	const char *blank = memchr(text, ' ', len);
	size_t path_len = blank != NULL ? (size_t)(blank - text) : len;

	reply_error(conn, CONTROL_INTERFACE ".InvalidState",
	            json_pack("{s:s%,s:s,s:s%}", "name", text + 1, path_len - 1, "state",
	                      "", "message", text + path_len + (blank != NULL),
	                      len - path_len - (blank != NULL)));
}

static void
send_answer(struct conn *conn, size_t len, bool last)
{
	struct logs *logs = conn->call.logs;
	const char *text = logs->told.in.data + logs->told.used;

	logs->told.used += len;
	if (text[0] == '!') {
		reply_trouble(conn, text, len - 1);
		call_finish(conn);
		return;
	}
	strbuf_add(reply_begin(conn), text, len - 1);
	reply_end(conn, !last);
	if (last)
		call_finish(conn);
}

/* There is nothing more: nothing was said, or the reader is gone. */
static void
finish_logs(struct conn *conn)
{
	if (conn->call.logs->told.follow) {
		reply_error(conn, CONTROL_INTERFACE ".SlowConsumer",
		            json_pack("{s:i}", "dropped", 0));
	} else if (!conn->call.logs->told.is_whole) {
		reply_error(conn, CONTROL_INTERFACE ".InvalidState",
		            json_pack("{s:s,s:s,s:s}", "name", "logs", "state", "",
		                      "message", CUT));
	} else {
		strbuf_adds(
		    reply_begin(conn),
		    "{\"path\":\"\",\"time\":null,\"stream\":\"\",\"text\":\"\"}");
		reply_end(conn, false);
	}
	call_finish(conn);
}

/* Send more of what the reader answered; false: there is nothing, or no room. */
static bool
progress(struct conn *conn)
{
	struct logs *logs = conn->call.logs;
	struct ev_loop *loop = conn->control->uses.loop;
	bool any = false;

	while (conn->busy && conn_unsent(conn) < CONTROL_OUT_STREAM) {
		bool last;
		size_t len = next_answer(logs, &last);

		if (len == 0 && !logs->told.is_over) {
			ev_io_start(loop, &logs->io);
			return any;
		}
		any = true;
		if (len > 0)
			send_answer(conn, len, last);
		else
			finish_logs(conn);
	}
	if (conn->busy)
		ev_io_stop(loop, &logs->io);
	return any;
}

/* True if another reader may start.  The last places are for clients with control. */
static bool
has_room(const struct conn *conn)
{
	const size_t max = CONTROL_READERS_MAX -
	                   (auth_allows(conn, ACCESS_CONTROL) ? 0 : CONTROL_READERS_KEPT);

	return conn->control->n_readers - (conn->control->spare != NULL) < max &&
	       share_has_stream(conn, CALL_LOGS, CONTROL_READERS_UID);
}

/* Logs: the captured output, and with `follow` also output to come. */
void
handle_logs(struct conn *conn)
{
	struct control *control = conn->control;
	bool grows;

	if (!has_room(conn)) {
		reply_limit(conn, "logs", CONTROL_READERS_MAX);
		return;
	}
	CLEANUP(strbuf_done) struct strbuf request;
	if (!logs_request(conn, &request, &grows))
		return;
	struct logs *logs = ask(control, &request);
	if (logs == NULL) {
		reply_limit(conn, "logs", 0);
		return;
	}
	const bool follow = param_bool(conn, "follow", false);
	logs->conn = conn;
	logs->told = (struct told){
	    .follow = follow,
	    .grows = grows && follow,
	    .n_set = control->uses.actors->n_set,
	    .in = STRBUF(READER_RECORD_MAX + 2 * READ_BYTES),
	};
	conn->call.logs = logs;
	conn->call.state = CALL_LOGS;
	conn->call.progress = progress;
	conn->call.release = release;
}

/* After each turn: a client that follows what may include new actors is to ask again, and
 * is told so behind all that was read. */
void
logs_on_turn(struct control *control)
{
	const uint64_t n_set = control->uses.actors->n_set;
	struct logs *logs;

	TAILQ_FOREACH (logs, &control->readers, link) {
		if (logs->conn == NULL || !logs->told.grows || logs->told.n_set == n_set)
			continue;
		/* An answer that has not begun shows its client no progress: send it
		 * later. */
		if (logs->told.used == 0 && answer_length(logs, 0) == 0)
			continue;
		logs->told.grows = false;
		logs->told.is_over = true;
		ev_io_stop(control->uses.loop, &logs->io);
		control_attend(logs->conn);
	}
}
