/* SPDX-License-Identifier: ISC */
/* lending.c - mailboxes of actors that are down are lent to /system/letters. */
#include "config.h"

#include "daemon/sockets/lending.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "daemon/sockets/deadletter.h"
#include "daemon/sockets/helpers.h"
#include "daemon/sockets/mailbox.h"
#include "daemon/sockets/sockets.h"
#include "daemon/sockets/standin.h"
#include "daemon/state/log.h"
#include "os/self/fd.h"

/* The helper has a lease busy for some microseconds.  One that was put off the processor
 * in them gets so many times so long; then it is killed. */
#define BUSY_TRIES 40
#define BUSY_US    250

enum loan_state {
	LOAN_FREE,
	LOAN_GIVEN,    /* the helper serves it */
	LOAN_UNTOLD,   /* its lease is over, and the helper is to be told */
	LOAN_RETURNED, /* the helper was told: free when it has acted upon that */
};

struct loan {
	enum loan_state state;
	/* LOAN_RETURNED: number of the message that returned it */
	uint64_t number;
	struct deadletters *dead; /* NULL: the mailbox is gone */
	const struct mailbox *mailbox;
	bool owes_count; /* the helper waits to hear that its letters are counted */
	uint32_t
	    *holder; /* LOAN_GIVEN: set to LENDING_NONE when it is not lent any more */
};

struct lending {
	struct helpers *helpers;
	struct standin *standin;      /* whose sockets are lent */
	struct helper_leases *leases; /* shared with the process of now; NULL: none */
	uint32_t next;                /* where a free place is looked for */
	bool is_short;                /* no place was free: mailboxes wait for a place */
	struct loan at[HELPER_MAILBOXES_MAX];
};

/* ---- the page of leases ------------------------------------------------------------ */

/* A page for a new process: it cannot be made smaller under us.  -errno. */
static int
make_page(struct lending *lending)
{
	const size_t size = sizeof(*lending->leases);
	int fd = memfd_create("supd-leases", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r = 0;

	if (fd < 0)
		return -errno;
	fd = fd_raise(fd);
	if (ftruncate(fd, (off_t)size) < 0 || fallocate(fd, 0, 0, (off_t)size) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		r = -errno;
	void *page = r < 0 ? MAP_FAILED
	                   : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		r = r < 0 ? r : -errno;
		(void)close(fd);
		return r;
	}
	lending->leases = page;
	return fd;
}

static void
on_lost(void *user)
{
	struct lending *lending = user;

	if (lending->leases != NULL)
		(void)munmap(lending->leases, sizeof(*lending->leases));
	lending->leases = NULL;
	for (uint32_t id = 0; id < HELPER_MAILBOXES_MAX; id++) {
		struct loan *loan = &lending->at[id];

		if (loan->state == LOAN_GIVEN)
			*loan->holder = LENDING_NONE;
		if (loan->state != LOAN_FREE)
			*loan = (struct loan){.state = LOAN_FREE};
	}
}

/* ---- to the helper ----------------------------------------------------------------- */

static void
tell_return(struct lending *lending, uint32_t id)
{
	struct helpers *helpers = lending->helpers;
	struct loan *loan = &lending->at[id];

	loan->state = LOAN_UNTOLD;
	if (helpers_send(helpers, HELPER_LETTERS,
	                 &(const struct helper_message){.kind = HELPER_RETURN, .id = id},
	                 NULL) < 0)
		return;
	loan->state = LOAN_RETURNED;
	loan->number = helpers_sent(helpers, HELPER_LETTERS);
}

/* A place for one more; NULL: all are taken. */
static struct loan *
find_free(struct lending *lending)
{
	for (uint32_t i = 0; i < HELPER_MAILBOXES_MAX; i++) {
		struct loan *loan = &lending->at[lending->next];

		lending->next = (lending->next + 1) % HELPER_MAILBOXES_MAX;
		if (loan->state == LOAN_FREE ||
		    (loan->state == LOAN_RETURNED &&
		     helpers_has_done(lending->helpers, HELPER_LETTERS, loan->number)))
			return loan;
	}
	lending->is_short = true;
	return NULL;
}

static int
send_mailbox(struct lending *lending, const struct mailbox *mailbox, uint32_t id)
{
	const struct conf_socket *socket = mailbox->socket;
	const struct helper_message give = {
	    .kind = HELPER_GIVE,
	    .id = id,
	    .mailbox = {.accepts = socket_accepts(socket->kind),
	                .is_fifo = socket->kind == SOCKET_FIFO,
	                .resets = socket->kind == SOCKET_TCP,
	                .replies = socket->while_down == WHILE_DOWN_REPLY,
	                .rate = socket->rate}};
	int fds[HELPER_FDS_MAX] = {mailbox->fd, -1};

	if (give.mailbox.replies)
		fds[1] = fd_memory("supd-reply", socket->reply, strlen(socket->reply));
	if (give.mailbox.replies && fds[1] < 0)
		return -ENOMEM;
	int r = helpers_send(lending->helpers, HELPER_LETTERS, &give,
	                     &(struct pass_fds){fds, give.mailbox.replies ? 2 : 1});
	fd_close(&fds[1]);
	return r;
}

/*
 * Have its clients dealt with, while *loan, which stays where it is, is not LENDING_NONE;
 * `dead` counts them.  Where it cannot be lent now standin_touch_all() says when to try
 * again.
 */
void
lending_give(struct lending *lending, const struct mailbox *mailbox,
             struct deadletters *dead, uint32_t *loan_id)
{
	helpers_want(lending->helpers, HELPER_LETTERS);
	struct loan *loan = lending->leases == NULL ? NULL : find_free(lending);
	if (loan == NULL)
		return;
	uint32_t id = (uint32_t)(loan - lending->at);
	atomic_store(&lending->leases->at[id], LEASE_GIVEN);
	if (send_mailbox(lending, mailbox, id) < 0) {
		atomic_store(&lending->leases->at[id], LEASE_OVER);
		*loan = (struct loan){.state = LOAN_FREE};
		return;
	}
	*loan = (struct loan){
	    .state = LOAN_GIVEN, .dead = dead, .mailbox = mailbox, .holder = loan_id};
	*loan_id = id;
}

/* End the lease; false: the helper holds it, and does not let it go. */
static bool
end_lease(_Atomic uint32_t *lease)
{
	for (int i = 0; i < BUSY_TRIES; i++) {
		uint32_t given = LEASE_GIVEN;

		if (atomic_compare_exchange_strong(lease, &given, LEASE_OVER) ||
		    given != LEASE_BUSY)
			return true;
		(void)nanosleep(&(const struct timespec){.tv_nsec = BUSY_US * 1000},
		                NULL);
	}
	return false;
}

/*
 * A process of the actor is about to have it, or it goes.  The helper takes nothing from
 * it any more when this returns, or is killed.
 */
void
lending_take_back(struct lending *lending, uint32_t *loan)
{
	const uint32_t id = *loan;

	*loan = LENDING_NONE;
	if (id == LENDING_NONE || lending->leases == NULL)
		return;
	if (end_lease(&lending->leases->at[id]))
		tell_return(lending, id);
	else
		helpers_kill(lending->helpers, HELPER_LETTERS,
		             "it does not give back a socket");
}

/* ---- from the helper --------------------------------------------------------------- */

static void
tell_counted(struct lending *lending, uint32_t id)
{
	lending->at[id].owes_count =
	    helpers_send(lending->helpers, HELPER_LETTERS,
	                 &(const struct helper_message){.kind = HELPER_COUNTED, .id = id},
	                 NULL) == -EAGAIN;
}

static void
on_room(void *user, bool is_new)
{
	struct lending *lending = user;

	if (is_new) {
		int fd = make_page(lending);
		if (fd < 0) {
			(void)log_errno(fd, "memory to share with /system/letters");
			return;
		}
		(void)helpers_send(lending->helpers, HELPER_LETTERS,
		                   &(const struct helper_message){.kind = HELPER_LEASES},
		                   &(struct pass_fds){&fd, 1});
		(void)close(fd);
	}
	for (uint32_t id = 0; id < HELPER_MAILBOXES_MAX; id++) {
		if (lending->at[id].state == LOAN_UNTOLD)
			tell_return(lending, id);
		if (lending->at[id].owes_count)
			tell_counted(lending, id);
	}
	standin_touch_all(lending->standin);
}

static void
on_message(void *user, const struct helper_message *message)
{
	struct lending *lending = user;

	if (message->kind == HELPER_DONE && lending->is_short) {
		lending->is_short = false;
		standin_touch_all(lending->standin);
	}
	if (message->kind != HELPER_DEAD || message->id >= HELPER_MAILBOXES_MAX)
		return;
	const struct loan *loan = &lending->at[message->id];
	if (loan->dead != NULL)
		deadletters_count(loan->dead, loan->mailbox, message->n);
	if (loan->state == LOAN_GIVEN)
		tell_counted(lending, message->id);
}

/* The mailbox goes: what was not told of it is told to nothing. */
void
lending_forget(struct lending *lending, const struct mailbox *mailbox)
{
	for (uint32_t id = 0; id < HELPER_MAILBOXES_MAX; id++)
		if (lending->at[id].mailbox == mailbox)
			lending->at[id].dead = NULL;
}

static const struct helper_user user = {on_room, on_message, on_lost};

struct lending *
lending_new(struct helpers *helpers, struct standin *standin, struct err *err)
{
	struct lending *lending = err_calloc(sizeof(*lending), err, "table of mailboxes");

	if (lending == NULL)
		return NULL;
	lending->helpers = helpers;
	lending->standin = standin;
	helpers_use(helpers, HELPER_LETTERS, &user, lending);
	return lending;
}

void
lending_free(struct lending *lending)
{
	if (lending == NULL)
		return;
	if (lending->leases != NULL)
		(void)munmap(lending->leases, sizeof(*lending->leases));
	free(lending);
}
