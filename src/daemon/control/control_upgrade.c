/* SPDX-License-Identifier: ISC */
/* control_upgrade.c - Upgrade: a call that one supd gets and the next one answers.
 *
 * The walker keeps the connection meanwhile, with what it has said and heard and what was
 * not dealt with yet: so every client gets its reply, and goes on as if nothing were.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "daemon/control/handlers.h"
#include "daemon/recovery/upgrade.h"
#include "daemon/state/keeper.h"
#include "daemon/state/options.h"
#include "daemon/state/recording.h"
#include "ledger/link.h"
#include "os/self/fd.h"

/* Not among the numbers that a Shutdown takes. */
#define CALLER_CONNECTION VAULT_KEY(VAULT_CALLER, UINT64_C(1) << 32)
#define CALLER_BYTES      VAULT_KEY(VAULT_CALLER, (UINT64_C(1) << 32) + 1)

/* What is kept with the connection, followed by the bytes.  Part of LINK_VERSION. */
struct kept {
	uint32_t is_oneway;
	uint32_t out; /* bytes that are to be sent */
	uint32_t in;  /* bytes that came, behind the call of Upgrade */
	uint32_t unused;
};

/* ---- the call ---------------------------------------------------------------------- */

/* The binary, or the time, is not one for an upgrade. */
static void
refuse(struct conn *conn, const char *sentence)
{
	char path[UPGRADE_PATH_MAX];

	reply_error(conn, CONTROL_INTERFACE ".InvalidState",
	            json_pack("{s:s,s:s,s:s}", "name",
	                      upgrade_path(conn->control->uses.origin->binary, path),
	                      "state", "", "message", sentence));
}

/* The call is over: the new binary is not wanted any more. */
static void
release(struct conn *conn)
{
	upgrade_free(conn->call.upgrade);
	conn->control->upgrader = NULL;
}

static void
on_checked(void *user)
{
	struct conn *conn = user;
	const struct upgrade *upgrade = conn->call.upgrade;

	/* The rest is for the end of the turn. */
	if (upgrade_verdict(upgrade) == UPGRADE_FIT)
		return;
	if (upgrade_verdict(upgrade) == UPGRADE_CONF)
		reply_error(conn, CONTROL_INTERFACE ".ConfigInvalid",
		            json_incref(upgrade_errors(upgrade)));
	else
		refuse(conn, upgrade_sentence(upgrade));
	call_finish(conn);
	conn_run(conn);
}

/* Replace this supd by the binary on disk; the reply comes from that one. */
void
handle_upgrade(struct conn *conn)
{
	struct control *control = conn->control;
	struct err err = {0};

	if (control->uses.recording->facts.shutting_down) {
		refuse(conn, "supd is shutting down");
	} else if (control->upgrader != NULL) {
		refuse(conn, "another upgrade is under way");
	} else if ((conn->call.upgrade = upgrade_new(control->uses.upgrader, on_checked,
	                                             conn, &err)) == NULL) {
		refuse(conn, err.text);
	} else {
		conn->call.state = CALL_UPGRADE;
		conn->call.release = release;
		control->upgrader = conn;
	}
}

/* ---- making room ------------------------------------------------------------------- */

/* A memory file with the replies that were not sent and the calls that were not begun; or
 * -errno. */
static int
pack(const struct conn *conn)
{
	const struct varlink_reader *reader = &conn->reader;
	const struct kept kept = {
	    .is_oneway = conn->call.message.oneway,
	    .out = (uint32_t)conn_unsent(conn),
	    .in = (uint32_t)varlink_reader_waiting(reader),
	};
	int fd = fd_raise(memfd_create("supd-caller", MFD_CLOEXEC));

	if (fd < 0)
		return -errno;
	int r = fd_write_all(fd, &kept, sizeof(kept));
	if (r == 0 && kept.out > 0)
		r = fd_write_all(fd, conn->out.data + conn->sent, kept.out);
	if (r == 0 && kept.in > 0)
		r = fd_write_all(fd, reader->buf.data + reader->start, kept.in);
	if (r == 0)
		return fd;
	(void)close(fd);
	return r;
}

static void
forget_caller(const struct control_uses *uses)
{
	keeper_release(uses->keeper, CALLER_CONNECTION);
	keeper_release(uses->keeper, CALLER_BYTES);
}

/* A last attempt to hand out what is queued, never blocking. */
void
control_flush(struct control *control)
{
	struct conn *conn;
	uint64_t n = 0;

	TAILQ_FOREACH (conn, &control->conns, link) {
		conn_flush(conn);
		/* The walker outlives us, and so do the connections in its vault. */
		if (conn->awaits_end) {
			conn->is_kept = true;
			keeper_keep(control->uses.keeper, VAULT_KEY(VAULT_CALLER, n++),
			            conn->fd);
		}
	}
}

static int
make_room(struct conn *conn)
{
	const struct control_uses *uses = &conn->control->uses;
	CLEANUP(fd_close) int fd = pack(conn);

	if (fd < 0)
		return fd;
	keeper_keep(uses->keeper, CALLER_BYTES, fd);
	keeper_keep(uses->keeper, CALLER_CONNECTION, conn->fd);
	int r = upgrade_go(conn->call.upgrade);
	conn->is_kept = r == 0;
	if (r < 0)
		forget_caller(uses);
	return r;
}

void
control_upgrade_if_due(struct control *control)
{
	struct conn *conn = control->upgrader;

	if (conn == NULL)
		return;
	if (control->uses.recording->facts.shutting_down) {
		refuse(conn, "supd is shutting down");
	} else if (upgrade_verdict(conn->call.upgrade) != UPGRADE_FIT) {
		return;
	} else {
		command_event(conn, REF_NONE, "upgrade");
		control_flush(control);
		int r = make_room(conn);
		if (r == 0)
			return;
		refuse(conn, strerror(-r));
	}
	call_finish(conn);
	conn_run(conn);
}

/* ---- the answer -------------------------------------------------------------------- */

/* Go on with what was not sent and not dealt with; false: that is lost. */
static bool
unpack_bytes(struct conn *conn, const char *bytes, size_t len)
{
	struct kept kept;

	memcpy(&kept, bytes, sizeof(kept));
	if (len - sizeof(kept) != (size_t)kept.out + kept.in)
		return false;
	conn->call.message.oneway = kept.is_oneway != 0;
	strbuf_add(&conn->out, bytes + sizeof(kept), kept.out);
	const char *in = bytes + sizeof(kept) + kept.out;
	for (size_t left = kept.in, n; left > 0; in += n, left -= n) {
		n = left < VARLINK_FEED_MAX ? left : VARLINK_FEED_MAX;
		if (varlink_reader_feed(&conn->reader, in, n) < 0)
			return false;
	}
	return !conn->out.failed;
}

static bool
unpack(struct conn *conn, int fd)
{
	bool is_whole = false;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size < (off_t)sizeof(struct kept))
		return false;
	void *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return false;
	is_whole = unpack_bytes(conn, bytes, (size_t)st.st_size);
	(void)munmap(bytes, (size_t)st.st_size);
	return is_whole;
}

static void
reply_story(struct conn *conn, const struct upgrade_story *story)
{
	if (story->is_upgrade)
		reply_json(conn, json_pack("{s:s,s:s,s:I}", "from", story->from, "to",
		                           PACKAGE_VERSION, "outage_ms",
		                           (json_int_t)story->outage_ms));
	else if (story->fell_back)
		refuse(conn, "it failed while it took over; supd " PACKAGE_VERSION
		             " is back, and goes on as before: see its log");
	else
		refuse(conn, "supd died before it was replaced, and goes on as before: "
		             "see its log");
}

static void
answer(struct control *control, int take_fd, int bytes_fd,
       const struct upgrade_story *story)
{
	struct sock_peer peer;

	if (sock_peer(take_fd, &peer) < 0) {
		rights_close(control, take_fd, (uid_t)-1);
		return;
	}
	struct conn *conn = control_insert(control, take_fd, &peer);
	if (conn == NULL)
		return;
	if (unpack(conn, bytes_fd))
		reply_story(conn, story);
	else
		conn->over.both = true;
	conn->call = (struct served_call){0};
	conn_run(conn);
}

void
control_answer_caller(struct control *control, const struct upgrade_story *story)
{
	const struct control_uses *uses = &control->uses;
	int fd = keeper_take(uses->keeper, CALLER_CONNECTION);
	CLEANUP(fd_close) int bytes_fd = keeper_take(uses->keeper, CALLER_BYTES);

	if (fd >= 0)
		answer(control, fd, bytes_fd, story);
	if (fd >= 0 || bytes_fd >= 0)
		forget_caller(uses);
}
