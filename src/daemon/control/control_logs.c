/* SPDX-License-Identifier: ISC */
/* control_logs.c - Logs: what actors said, read by a process of its own.
 *
 * The answers of the reader go to the client as they come, only as fast as it takes them:
 * else they stay in the pipe, and the reader waits.  Nothing here waits for a disk.
 *
 * A process takes longer to start than to read some lines.  So after a call the next
 * reader is started, and waits for its request for a while.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
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

/* How long the next reader waits for a call. */
#define SPARE_S 30.

/* A reader: as long as the call lasts it has a connection, then only to be reaped. */
struct logs {
	struct control *control;
	TAILQ_ENTRY(logs) link;
	struct conn *conn; /* NULL: there is no call yet, or it is over */
	pid_t pid;
	int pidfd;
	int request_fd; /* control->spare: where the request goes; else -1 */
	int fd;         /* what it answers, -1: closed */
	ev_io io, end_io;
	bool follow;
	bool grows;     /* new actors may belong to it … */
	uint64_t n_set; /* … that came after these */
	bool is_over;   /* it answers nothing more */
	bool is_whole;  /* the reader has ended the answer properly */
	struct strbuf in;
	size_t used; /* of in */
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
	strbuf_done(&logs->in);
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
	strbuf_done(&logs->in);
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

/* The call is over.  The next reader is started when the answer is on its way. */
static void
release(struct conn *conn)
{
	struct control *control = conn->control;

	end(conn->call.logs);
	if (control->spare == NULL && !control->closing) {
		timer_begin(control->uses.loop, &control->spare_timer, 0.);
	}
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
	const size_t len = sizeof(mark) - 1, have = logs->in.len - logs->used;
	const char *end = logs->in.data + logs->in.len;

	if (logs->in.failed || have < len || memcmp(end - len, mark, len) != 0 ||
	    (have > len && end[-(ptrdiff_t)len - 1] != '\n'))
		return false;
	strbuf_truncate(&logs->in, logs->in.len - len);
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
	if (n > 0) {
		strbuf_consume(&logs->in, logs->used);
		logs->used = 0;
		strbuf_add(&logs->in, data, (size_t)n);
	}
	/* Not only when the reader has ended: that takes it longer than to read some
	 * lines. */
	logs->is_whole = is_whole(logs);
	if (n <= 0 || logs->in.failed || logs->is_whole) {
		logs->is_over = true;
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
logs_new(struct control *control, int take_fd, const struct spawn_result *result)
{
	struct ev_loop *loop = control->uses.loop;
	struct logs *logs = calloc(1, sizeof(*logs));

	if (logs == NULL)
		return NULL;
	*logs = (struct logs){
	    .control = control,
	    .pid = result->pid,
	    .pidfd = result->pidfd,
	    .request_fd = -1,
	    .fd = take_fd,
	    .in = STRBUF(READER_RECORD_MAX + 2 * READ_BYTES),
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

/* Start a reader, which reads its request from this descriptor; NULL: there is no room
 * for one more. */
static struct logs *
start(struct control *control, int request_fd)
{
	struct spawn_result result = {.pid = -1, .pidfd = -1};
	struct logs *logs = NULL;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return NULL;
	(void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
	ends[0] = fd_raise(ends[0]);
	int r = spawn_reader(control, request_fd, ends[1], &result);
	(void)close(ends[1]);
	/* A reader that could not be started and does not end is reaped as a stranger. */
	if (r == 0)
		logs = logs_new(control, ends[0], &result);
	if (logs == NULL) {
		/* A reader without a reader of its own output ends by itself. */
		fd_close(&ends[0]);
		fd_close(&result.pidfd);
	}
	return logs;
}

/* Start the next reader, or end one that has waited for long. */
void
logs_on_spare(struct ev_loop *loop, ev_timer *timer, int revents UNUSED)
{
	struct control *control = timer->data;
	int ends[2];

	if (control->spare != NULL) {
		end(control->spare);
		return;
	}
	if (control->n_readers >= CONTROL_READERS_MAX - CONTROL_READERS_KEPT ||
	    pipe2(ends, O_CLOEXEC) < 0)
		return;
	(void)fcntl(ends[1], F_SETFL, O_NONBLOCK);
	ends[1] = fd_raise(ends[1]);
	control->spare = start(control, ends[0]);
	(void)close(ends[0]);
	if (control->spare == NULL) {
		(void)close(ends[1]);
		return;
	}
	control->spare->request_fd = ends[1];
	timer_begin(loop, timer, SPARE_S);
}

/* Give the request, a file, to the reader that waits; NULL: no reader waits, or the
 * request is too long for the pipe. */
static struct logs *
ask_spare(struct control *control, int request_fd)
{
	struct logs *logs = control->spare;
	struct stat request;
	struct reap reap;
	off_t at = 0;

	if (logs == NULL)
		return NULL;
	control->spare = NULL;
	if (fstat(request_fd, &request) < 0 ||
	    os_reap_peek(logs->pidfd, logs->pid, &reap) != 0 ||
	    sendfile(logs->request_fd, request_fd, &at, (size_t)request.st_size) !=
	        request.st_size) {
		end(logs);
		return NULL;
	}
	fd_close(&logs->request_fd);
	return logs;
}

/* ---- the call ---------------------------------------------------------------------- */

/* The length of the next whole answer, its newline included, behind `from`; or 0. */
static size_t
answer_length(const struct logs *logs, size_t from)
{
	const char *start = logs->in.data + from;
	const char *newline = NULL;

	if (logs->in.len > from && *start != READER_WHOLE[0])
		newline = memchr(start, '\n', logs->in.len - from);
	return newline != NULL ? (size_t)(newline - start) + 1 : 0;
}

/* The length of the next answer that can be sent.  The last answer of a call has to be
 * known as such, so it waits until the answer behind it, or the end, is known. */
static size_t
next_answer(const struct logs *logs, bool *ret_last)
{
	size_t len = answer_length(logs, logs->used);
	size_t next = len > 0 ? answer_length(logs, logs->used + len) : 0;

	*ret_last = !logs->follow && logs->is_whole && next == 0;
	return logs->follow || logs->is_over || next > 0 ? len : 0;
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
	const char *text = logs->in.data + logs->used;

	logs->used += len;
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
	if (conn->call.logs->follow) {
		reply_error(conn, CONTROL_INTERFACE ".SlowConsumer",
		            json_pack("{s:i}", "dropped", 0));
	} else if (!conn->call.logs->is_whole) {
		reply_error(conn, CONTROL_INTERFACE ".InvalidState",
		            json_pack("{s:s,s:s,s:s}", "name", "logs", "state", "",
		                      "message", CUT));
	} else {
		struct strbuf *out = reply_begin(conn);
		strbuf_adds(
		    out, "{\"path\":\"\",\"time\":null,\"stream\":\"\",\"text\":\"\"}");
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

		if (len == 0 && !logs->is_over) {
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
	size_t max = CONTROL_READERS_MAX;

	if (!auth_allows(conn, ACCESS_CONTROL))
		max -= CONTROL_READERS_KEPT;
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
	CLEANUP(fd_close) int request_fd = logs_request(conn, &grows);
	if (request_fd < 0)
		return;
	struct logs *logs = ask_spare(control, request_fd);
	if (logs == NULL)
		logs = start(control, request_fd);
	if (logs == NULL) {
		reply_limit(conn, "logs", 0);
		return;
	}
	logs->conn = conn;
	logs->follow = param_bool(conn, "follow", false);
	logs->grows = grows && logs->follow;
	logs->n_set = control->uses.actors->n_set;
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
		if (logs->conn == NULL || !logs->grows || logs->n_set == n_set)
			continue;
		/* An answer that has not begun shows its client no progress: send it
		 * later. */
		if (logs->used == 0 && answer_length(logs, 0) == 0)
			continue;
		logs->grows = false;
		logs->is_over = true;
		ev_io_stop(control->uses.loop, &logs->io);
		control_attend(logs->conn);
	}
}
