/* SPDX-License-Identifier: ISC */
/* proc_ask.c - ask a child for what the kernel may not tell.
 *
 * The kernel reads stat, environ and wchan of a process under locks of that process,
 * which it holds while it executes a program or maps a file: for as long as a file system
 * in user space likes.  So a child reads them, and is left behind when it does not answer
 * in time; when it is not asked for a moment it ends by itself.
 */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/process/proc_file.h"
#include "os/self/bounded.h"
#include "os/self/clock.h"
#include "os/self/fd.h"

/* How long an answer is waited for: the first time, and within CALM_MS after an answer
 * that was late.  After LATE_MAX of these nothing is asked until CALM_MS are over. */
#define ANSWER_MS 250
#define HASTY_MS  20
#define CALM_MS   1000
#define LATE_MAX  16
/* A child that is not asked for so long ends. */
#define REST_MS 50

enum subject { SUBJECT_STAT, SUBJECT_MARK, SUBJECT_WCHAN };

struct proc_question {
	enum subject subject;
	pid_t pid;
};

struct proc_answer {
	int code; /* 0 or -errno */
	union {
		struct proc_stat stat;
		char mark[PROC_MARK_MAX];
		char wchan[PROC_WCHAN_MAX];
	};
};

static struct {
	pid_t owner; /* the process that asks: a child of ours needs a child of its own */
	bool is_alone; /* it asks no child, and may hang */
	struct bounded children;
	int id;
	int fd;               /* of the child that is asked; -1: none is */
	uint64_t late_ms;     /* when answers began to be late */
	pid_t late[LATE_MAX]; /* processes that an answer was late about, n_late */
	size_t n_late;
} asked;

/* The child: read what is asked for. */
static int
look_up(const struct proc_question *question, struct proc_answer *ret)
{
	switch (question->subject) {
	case SUBJECT_STAT:
		return proc_stat_direct(question->pid, &ret->stat);
	case SUBJECT_MARK:
		return proc_mark_direct(question->pid, ret->mark);
	case SUBJECT_WCHAN:
		proc_wchan_direct(question->pid, ret->wchan);
	}
	return 0;
}

/* The child: answer until it is not asked any more. */
static void
answer(int fd, void *data UNUSED)
{
	struct proc_question question;

	while (poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, REST_MS) > 0 &&
	       recv(fd, &question, sizeof(question), 0) == sizeof(question)) {
		struct proc_answer told = {0};

		told.code = look_up(&question, &told);
		if (send(fd, &told, sizeof(told), MSG_NOSIGNAL) < 0)
			break;
	}
}

/* True if this process is not to be asked about now. */
static bool
is_silent(pid_t pid)
{
	if (clock_mono_ms() >= asked.late_ms + CALM_MS)
		asked.n_late = 0;
	for (size_t i = 0; i < asked.n_late; i++)
		if (asked.late[i] == pid)
			return true;
	return asked.n_late == LATE_MAX;
}

/* Put a question to the child, or to a new one: 0; -EPIPE: it has just ended; or another
 * -errno. */
static int
put(const struct proc_question *question, struct proc_answer *ret)
{
	static const struct bounded_task task = {.run = answer};
	int none; /* no descriptor comes with the answer */

	if (asked.fd < 0)
		asked.id = bounded_open(&asked.children, &task, &asked.fd);
	if (asked.fd < 0)
		return asked.id;
	if (send(asked.fd, question, sizeof(*question), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return -errno;
	return bounded_answer(
	    asked.fd, clock_mono_ms() + (asked.n_late == 0 ? ANSWER_MS : HASTY_MS), ret,
	    sizeof(*ret), &none);
}

/* This child, if we have asked it, was reaped with others of this process: the number may
 * be another's from now on. */
void
proc_ask_reaped(pid_t pid)
{
	bounded_reaped(&asked.children, pid);
}

/* This process is a child that may hang: from now on it reads by itself. */
void
proc_ask_nobody(void)
{
	asked.is_alone = true;
}

/* Before anything is asked: the child of a process that was forked is not its own. */
static void
claim(void)
{
	if (asked.owner != getpid()) {
		asked.owner = getpid();
		asked.fd = -1;
		asked.children = (struct bounded){0};
	}
}

/* Ask about a process; 0, or -errno if there is no answer. */
static int
ask(enum subject subject, pid_t pid, struct proc_answer *ret)
{
	const struct proc_question question = {subject, pid};

	claim();
	if (is_silent(pid))
		return -ETIMEDOUT;
	int r = put(&question, ret);
	if (r == -EPIPE || r == -ECONNRESET) {
		fd_close(&asked.fd);
		r = put(&question, ret);
	}
	/* What it may answer later is not to be taken for the answer to another question.
	 */
	if (r < 0 && r != -ETIMEDOUT)
		fd_close(&asked.fd);
	if (r != -ETIMEDOUT)
		return r;
	if (asked.n_late == 0)
		asked.late_ms = clock_mono_ms();
	asked.late[asked.n_late++] = pid;
	bounded_leave(&asked.children, 0, asked.id, &asked.fd);
	return r;
}

/*
 * The fields of /proc/PID/stat.  Where the kernel does not tell them in time: what
 * proc_stat_rough() knows.  What has ended cannot hang, and no child is made for it.  0;
 * -errno: there is no such process, or it cannot be understood.
 */
int
proc_stat_read(pid_t pid, struct proc_stat *ret)
{
	struct proc_answer told;
	int r;

	if (asked.is_alone)
		return proc_stat_direct(pid, ret);
	claim();
	if (asked.fd < 0) {
		if ((r = proc_stat_rough(pid, ret)) < 0)
			return r;
		if (pid == asked.owner || proc_stat_is_dead(ret))
			return proc_stat_direct(pid, ret);
	}
	if (ask(SUBJECT_STAT, pid, &told) < 0)
		return proc_stat_rough(pid, ret);
	*ret = told.stat;
	return told.code;
}

/*
 * The mark (SUPD_ID) in the environment of a process; "" where there is none or we may
 * not look.  0; or -EAGAIN: it is in the midst of an exec, or the kernel does not tell,
 * and may do so in a moment.
 */
int
proc_mark_read(pid_t pid, char ret[PROC_MARK_MAX])
{
	struct proc_answer told;

	ret[0] = '\0';
	if (ask(SUBJECT_MARK, pid, &told) < 0)
		return -EAGAIN;
	memcpy(ret, told.mark, sizeof(told.mark));
	return told.code;
}

/* Where in the kernel a process waits (proc(5), wchan); "": nowhere, or that is not told.
 */
void
proc_wchan_read(pid_t pid, char ret[PROC_WCHAN_MAX])
{
	struct proc_answer told;

	ret[0] = '\0';
	if (ask(SUBJECT_WCHAN, pid, &told) == 0)
		memcpy(ret, told.wchan, sizeof(told.wchan));
}
