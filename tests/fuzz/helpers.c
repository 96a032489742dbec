/* SPDX-License-Identifier: ISC */
/* helpers.c - the channel between guardian and helper processes: any packets.
 *
 * The same packets are what the guardian hears of its helpers, and what it says to them.
 * No helper asks a question of it: the addresses would be those of strangers.
 */
#include "config.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "daemon/sockets/helpers.h"
#include "daemon/sockets/sockets.h"
#include "helper/helper.h"
#include "os/self/pass.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/packets.h"
#include "tests/lib/fake_rooms.h"

const unsigned int fuzz_runs = 100;

/* ---- the guardian ---- */

static void
on_room(void *data, bool is_new)
{
	(void)data;
	(void)is_new;
}

/* Each text is in the message, and ends there. */
static void
check_texts(const struct helper_message *message)
{
	const char *end = message->text + message->text_len;
	const char *at = NULL;

	for (int i = 0; i < 4; i++) {
		at = helper_next_text(message, at);
		if (at[0] == '\0')
			continue;
		ASSERT(at >= message->text && at < end);
		ASSERT(memchr(at, '\0', (size_t)(end - at)) != NULL);
	}
}

static void
on_heard(void *data, const struct helper_message *message)
{
	(void)data;
	ASSERT(message->kind < HELPER_KIND_MAX);
	check_texts(message);
}

static void
on_lost(void *data)
{
	(void)data;
}

static void
kill_process(void *data, struct ref ref)
{
	(void)data;
	(void)ref;
}

static const struct helper_user user = {on_room, on_heard, on_lost};

static struct fake *fake; /* made once */

static void
as_guardian(struct packets packets)
{
	const struct helper_message said = {.kind = HELPER_RETURN};
	struct supd *supd;
	struct err err;
	int fd;

	/* It is large: made once. */
	if (fake == NULL)
		fake = fake_new();
	supd = &fake->supd;
	supd->sockets->helpers = helpers_new(supd->sockets, kill_process, NULL, &err);
	ASSERT(supd->sockets->helpers != NULL);
	for (int i = 0; i < HELPER_MAX; i++)
		helpers_use(supd->sockets->helpers, (enum helper_name)i, &user, NULL);
	fd = helpers_launch(supd->sockets->helpers, HELPER_LETTERS);
	ASSERT(fd >= 0);
	helpers_on_turn(supd->sockets->helpers);
	while (packets_send(&packets, fd)) {
		(void)helpers_send(supd->sockets->helpers, HELPER_LETTERS, &said, NULL);
		ev_run(supd->loop, EVRUN_NOWAIT);
	}
	(void)close(fd);
	helpers_free(supd->sockets->helpers);
	ev_run(supd->loop, EVRUN_NOWAIT);
}

/* ---- the helpers ---- */

static void
on_alarm(int signo)
{
	(void)signo;
}

static void
hear(struct helper *helper)
{
	struct helper_message message;
	int received[HELPER_FDS_MAX], r = 1;

	while (r == 1) {
		struct pass_fds fds = {received, HELPER_FDS_MAX};

		r = helper_receive_fds(HELPER_FD, &message, &fds);
		ASSERT(r == 1 || fds.n == 0);
		if (r != 1)
			break;
		check_texts(&message);
		size_t i = helper->role->on_message(helper->own, &message, fds.at, fds.n);
		for (; i < fds.n; i++)
			(void)close(fds.at[i]);
		ev_run(helper->loop, EVRUN_NOWAIT);
	}
}

/* One process of each kind for all inputs; the channel is that of this input. */
static void
as_helper(struct packets packets, const struct helper_role *role, struct helper *helper)
{
	struct sigaction before;
	struct helper_message heard;
	int fds[2];

	ASSERT(pass_pair(fds) == 0);
	if (fds[0] == HELPER_FD)
		fds[0] = fcntl(HELPER_FD, F_DUPFD_CLOEXEC, HELPER_FD + 1);
	ASSERT(dup2(fds[1], HELPER_FD) == HELPER_FD);
	if (fds[1] != HELPER_FD)
		(void)close(fds[1]);
	if (helper->own == NULL) {
		*helper = (struct helper){.role = role, .loop = ev_loop_new(EVFLAG_AUTO)};
		ASSERT(helper->loop != NULL);
		helper->own = role->start(helper);
		ASSERT(helper->own != NULL);
		/* Without one the alarm of /system/letters ends the program. */
		ASSERT(sigaction(SIGALRM, NULL, &before) == 0);
		if (before.sa_handler == SIG_DFL)
			(void)signal(SIGALRM, on_alarm);
	}
	while (packets_send(&packets, fds[0])) {
		hear(helper);
		while (helper_receive(fds[0], &heard) == 1)
			check_texts(&heard);
	}
	(void)close(fds[0]);
}

static struct helper letters, metrics; /* made once */

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* The loops have descriptors, too, which are to be others. */
	if (fcntl(HELPER_FD, F_GETFD) < 0)
		ASSERT(dup2(STDIN_FILENO, HELPER_FD) == HELPER_FD);
	as_guardian((struct packets){data, size});
	as_helper((struct packets){data, size}, &helper_letters, &letters);
	as_helper((struct packets){data, size}, &helper_metrics, &metrics);
	return 0;
}
