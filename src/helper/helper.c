/* SPDX-License-Identifier: ISC */
/* helper.c - a helper process of supd: rights given up, one loop, one channel. */
#include "config.h"

#include "helper/helper.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/assert.h"
#include "helper/watchers.h"
#include "os/self/drop.h"
#include "os/self/fd.h"
#include "os/self/signals.h"

/* How many messages are taken at a time; then clients have their turn. */
#define MESSAGES_MAX 64
/* Descriptors for everything that it is given at a time. */
#define FDS_MAX 16384

static const struct helper_role *const roles[] = {
    [HELPER_LETTERS] = &helper_letters,
    [HELPER_PROBE] = &helper_probe,
    [HELPER_METRICS] = &helper_metrics,
};

static void
say_done(struct helper *helper)
{
	int wanted = EV_READ;

	if (helper->owed > 0 && helper_send(HELPER_FD,
	                                    &(const struct helper_message){
	                                        .kind = HELPER_DONE, .n = helper->owed},
	                                    NULL) < 0)
		wanted |= EV_WRITE;
	else
		helper->owed = 0;
	io_begin(helper->loop, &helper->io, HELPER_FD, wanted);
}

static void
act(const struct helper *helper, const struct helper_message *message,
    const struct pass_fds *fds)
{
	size_t i = helper->role->on_message(helper->own, message, fds->at, fds->n);

	for (; i < fds->n; i++)
		(void)close(fds->at[i]);
}

static void
on_channel(struct ev_loop *loop, ev_io *io, int revents UNUSED)
{
	struct helper *helper = io->data;
	int r = 1;

	for (int i = 0; i < MESSAGES_MAX && r > 0; i++) {
		struct helper_message message;
		int received[HELPER_FDS_MAX];
		struct pass_fds fds = {received, HELPER_FDS_MAX};

		r = helper_receive_fds(HELPER_FD, &message, &fds);
		if (r > 0)
			act(helper, &message, &fds);
		/* Without room for its descriptors it cannot be acted upon: what it was
		 * about is not served. */
		if (r == -EMSGSIZE)
			r = 1;
		helper->owed += r > 0;
	}
	if (r != 1 && r != -EAGAIN)
		ev_break(loop, EVBREAK_ALL);
	else
		say_done(helper);
}

static void
on_far(struct ev_loop *loop UNUSED, ev_periodic *periodic UNUSED, int revents UNUSED)
{
}

static void
on_alarm(int signo UNUSED)
{
}

/* The kind of helper process that is started with this argument; -1: none. */
int
helper_find(const char *role)
{
	return role[0] == '@' ? names_find(helper_names, HELPER_MAX, role + 1) : -1;
}

/* Less than all that can be given up is said, and is enough; root's user is not. */
static int
give_up_rights(enum helper_name name)
{
	struct err err;
	int r = os_drop_user(roles[name]->needs == CONFINE_CLIENT);

	if (r < 0)
		(void)fprintf(stderr, "supd: /system/%s: cannot change its user: %s\n",
		              helper_names[name], strerror(-r));
	else if (os_confine(roles[name]->needs, &err) < 0)
		(void)fprintf(stderr, "supd: /system/%s: %s\n", helper_names[name],
		              err.text);
	return r;
}

/* Be that helper until the guardian ends, and exit; returns the exit status if it cannot
 * begin. */
int
helper_run(enum helper_name name)
{
	/* Without SA_RESTART: what blocks is to return. */
	struct helper helper = {.role = roles[name]};

	/* Started by way of /proc it would be called "exe". */
	(void)prctl(PR_SET_NAME, "supd");
	signals_reset();
	(void)signal(SIGPIPE, SIG_IGN);
	(void)sigaction(SIGALRM, &(const struct sigaction){.sa_handler = on_alarm}, NULL);
	(void)fd_raise_limit_up_to(FDS_MAX);
	if (give_up_rights(name) < 0)
		return EX_OSERR;
	helper.loop = ev_loop_new(EVFLAG_NOENV | EVFLAG_AUTO);
	helper.own = helper.loop == NULL ? NULL : helper.role->start(&helper);
	if (helper.own == NULL)
		return EX_OSERR;
	io_prepare(&helper.io, on_channel, &helper);
	/* A mailbox that is to be returned is not served once more before. */
	ev_set_priority(&helper.io, EV_MAXPRI);
	io_begin(helper.loop, &helper.io, HELPER_FD, EV_READ);
	ev_periodic_init(&helper.far, on_far, ev_now(helper.loop) + 1e9, 0., NULL);
	ev_periodic_start(helper.loop, &helper.far);
	(void)ev_run(helper.loop, 0);
	/* What the role has goes with the process. */
	exit(EX_OK);
}
