/* SPDX-License-Identifier: ISC */
/* metrics.c - where figures are fetched: the socket, which /system/metrics serves. */
#include "config.h"

#include "daemon/metrics/metrics.h"

#include <errno.h>
#include <ev.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sum.h"
#include "daemon/metrics/scrape.h"
#include "daemon/sockets/helpers.h"
#include "daemon/state/actors.h"
#include "daemon/state/keeper.h"
#include "daemon/state/log.h"
#include "helper/watchers.h"
#include "ledger/link.h"
#include "os/self/fd.h"
#include "os/socket/sock.h"
#include "os/socket/sockwork.h"

#define BACKLOG 64

/* A socket that cannot be had is tried again after this time, then after twice that. */
#define AGAIN_MIN_S 1.
#define AGAIN_MAX_S 60.

struct metrics {
	struct ev_loop *loop;
	struct helpers *helpers;
	struct keeper *keeper;
	struct bounded *bounded;     /* the file of the socket is touched in these */
	const struct actors *actors; /* with the configuration in force */
	int fd;                      /* listening, or -1 */
	uint64_t key;    /* the key in the walker's vault, also while `again` is active */
	char *unix_path; /* its file, or NULL */
	bool is_told;    /* /system/metrics knows of fd */
	bool is_owed;    /* it asked for figures, and they could not be sent */
	ev_timer again;  /* active while the socket is wanted, and cannot be had */
	double again_s;  /* how long it waits */
	struct scrape_request request;
};

/* ---- the helper -------------------------------------------------------------------- */

/* Say which socket is to be served; without a socket the process ends, or goes on with
 * its clients. */
static void
tell_socket(struct metrics *metrics)
{
	if (metrics->fd >= 0)
		helpers_want(metrics->helpers, HELPER_METRICS);
	metrics->is_told =
	    helpers_send(metrics->helpers, HELPER_METRICS,
	                 &(const struct helper_message){.kind = HELPER_LISTEN},
	                 &(struct pass_fds){&metrics->fd, metrics->fd >= 0}) == 0;
}

/* Ask for figures, unless they are being collected already. */
static void
collect(struct metrics *metrics)
{
	metrics->is_owed = false;
	if (metrics->request.number == 0)
		scraper_ask(&metrics->request);
}

static void
on_text(struct scrape_request *request, struct scrape_text *text)
{
	struct metrics *metrics =
	    (struct metrics *)(void *)((char *)request -
	                               offsetof(struct metrics, request));
	CLEANUP(fd_close)
	int fd = text == NULL
	             ? -1
	             : fd_memory("supd-metrics", text->text.data, text->text.len);

	metrics->is_owed =
	    helpers_send(metrics->helpers, HELPER_METRICS,
	                 &(const struct helper_message){.kind = HELPER_TEXT},
	                 &(struct pass_fds){&fd, fd >= 0}) == -EAGAIN;
}

static void
on_room(void *user, bool is_new)
{
	struct metrics *metrics = user;

	if (is_new || !metrics->is_told)
		tell_socket(metrics);
	if (metrics->is_owed)
		collect(metrics);
}

static void
on_message(void *user, const struct helper_message *message)
{
	if (message->kind == HELPER_ASK)
		collect(user);
}

static void
on_lost(void *user)
{
	struct metrics *metrics = user;

	scraper_cancel(&metrics->request);
	metrics->is_told = metrics->is_owed = false;
}

static const struct helper_user user = {on_room, on_message, on_lost};

/* ---- the socket -------------------------------------------------------------------- */

static uint64_t
key_of(const struct conf *conf)
{
	const char *address = conf->metrics_address;

	return VAULT_KEY(VAULT_METRICS, sum_bytes(address, strlen(address),
	                                          (uint64_t)conf->metrics_kind << 16 |
	                                              conf->metrics_port));
}

/* Observers and clients with control may read; as credentials are not asked for, the
 * file's group decides. */
static gid_t
group_of(const struct conf *conf)
{
	if (conf->has_observers)
		return conf->observers_gid;
	return conf->has_control_group ? conf->control_gid : getegid();
}

/* The file of the socket; its author chose the path, so a child does all with it. */
static struct sock_file
file_of(const char *path, const struct conf *conf)
{
	return (struct sock_file){.path = path,
	                          .type = SOCK_STREAM,
	                          .backlog = BACKLOG,
	                          .mode = 0660,
	                          .uid = (uid_t)-1,
	                          .gid = group_of(conf),
	                          .refuses_rights = true};
}

static int
open_socket(struct metrics *metrics, const struct conf *conf, int *ret_fd,
            struct err *err)
{
	const struct sock_file file = file_of(conf->metrics_address, conf);

	*ret_fd = -1;
	if (!conf->has_metrics || (metrics->fd >= 0 && metrics->key == key_of(conf)))
		return 0;
	/* An earlier guardian may have left this socket in the vault. */
	int fd = keeper_take(metrics->keeper, key_of(conf));
	if (fd < 0 && conf->metrics_kind == SOCKET_TCP)
		fd = sock_listen_tcp(conf->metrics_address, conf->metrics_port, BACKLOG,
		                     err);
	else if (fd < 0)
		fd = sockwork_once(metrics->bounded, key_of(conf), SOCKWORK_OPEN, &file,
		                   err);
	if (fd < 0) {
		err_prefix(err, "metrics.listen");
		return fd;
	}
	*ret_fd = fd_raise(fd);
	keeper_keep(metrics->keeper, key_of(conf), *ret_fd);
	return 0;
}

/*
 * Open what the configuration asks for: the caller then uses or cancels it.  *ret_fd is
 * -1 where there is nothing to be opened: it listens there already, or nowhere; or the
 * configuration before could not listen there either.  -errno and a sentence.
 */
int
metrics_open(struct metrics *metrics, const struct conf *conf, int *ret_fd,
             struct err *err)
{
	const bool was_missing = ev_is_active(&metrics->again);
	int r = open_socket(metrics, conf, ret_fd, err);

	return r < 0 && was_missing && metrics->key == key_of(conf) ? 0 : r;
}

static void
close_socket(struct metrics *metrics, uint64_t key, const char *unix_path, int *fd)
{
	const struct sock_file file = {.fd = *fd, .path = unix_path, .type = SOCK_STREAM};
	struct err err;

	if (*fd < 0)
		return;
	if (unix_path != NULL &&
	    sockwork_once(metrics->bounded, key, SOCKWORK_REMOVE, &file, &err) < 0)
		log_line(LOG_LEVEL_WARNING, "%s: its file is left", err.text);
	/* The walker closes the last copy, and with it the connections in the queue. */
	fd_close(fd);
	keeper_release(metrics->keeper, key);
}

/* What metrics_open() opened is not used after all. */
void
metrics_cancel(struct metrics *metrics, const struct conf *conf, int take_fd)
{
	if (take_fd >= 0)
		close_socket(metrics, key_of(conf),
		             conf->metrics_kind == SOCKET_UNIX ? conf->metrics_address
		                                               : NULL,
		             &take_fd);
}

static void
stop_listening(struct metrics *metrics)
{
	/* For all that have it, now: the helper closes it a little later. */
	if (metrics->fd >= 0)
		(void)shutdown(metrics->fd, SHUT_RDWR);
	close_socket(metrics, metrics->key, metrics->unix_path, &metrics->fd);
	free(metrics->unix_path);
	metrics->unix_path = NULL;
}

/* The configuration is in force: listen where it says, with what metrics_open() gave.
 * Clients that are being served are served. */
void
metrics_use(struct metrics *metrics, const struct conf *conf, int take_fd)
{
	struct err err;

	if (!conf->has_metrics || take_fd >= 0) {
		ev_timer_stop(metrics->loop, &metrics->again);
		stop_listening(metrics);
	}
	if (take_fd >= 0) {
		metrics->fd = take_fd;
		metrics->key = key_of(conf);
		if (conf->metrics_kind == SOCKET_UNIX)
			metrics->unix_path = strdup(conf->metrics_address);
	}
	tell_socket(metrics);
	if (metrics->unix_path == NULL)
		return;
	struct sock_file file = file_of(metrics->unix_path, conf);
	file.fd = metrics->fd;
	int r =
	    sockwork_once(metrics->bounded, metrics->key, SOCKWORK_ADJUST, &file, &err);
	if (r < 0)
		log_line(LOG_LEVEL_ERROR, "mode and group: %s", err.text);
}

static void
wait_to_try(struct metrics *metrics, double seconds)
{
	metrics->again_s = seconds < AGAIN_MAX_S ? seconds : AGAIN_MAX_S;
	timer_begin(metrics->loop, &metrics->again, metrics->again_s);
}

static void
on_again(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
	struct metrics *metrics = timer->data;
	const struct conf *conf = metrics->actors->conf;
	struct err err;
	int fd;

	if (open_socket(metrics, conf, &fd, &err) < 0) {
		wait_to_try(metrics, 2 * metrics->again_s);
	} else {
		metrics_use(metrics, conf, fd);
		log_line(LOG_LEVEL_INFO, "metrics.listen: it is served at %s now",
		         conf->metrics_address);
	}
}

/*
 * supd begins with this configuration, or a guardian takes over: as metrics_open() and
 * metrics_use().  Actors need not wait for a socket that cannot be had: it is said, and
 * tried again until it can, or until another configuration wants another (DECISIONS 62).
 */
void
metrics_begin(struct metrics *metrics, const struct conf *conf)
{
	struct err err;
	int fd;

	if (open_socket(metrics, conf, &fd, &err) == 0) {
		metrics_use(metrics, conf, fd);
		return;
	}
	log_line(LOG_LEVEL_ERROR, "%s; it is tried again until it can be had", err.text);
	metrics->key = key_of(conf);
	wait_to_try(metrics, AGAIN_MIN_S);
}

/* All are borrowed.  NULL: out of memory. */
struct metrics *
metrics_new(struct ev_loop *loop, struct helpers *helpers, struct keeper *keeper,
            struct bounded *bounded, const struct actors *actors)
{
	struct metrics *metrics = calloc(1, sizeof(*metrics));

	if (metrics == NULL)
		return NULL;
	*metrics = (struct metrics){
	    .loop = loop,
	    .helpers = helpers,
	    .keeper = keeper,
	    .bounded = bounded,
	    .actors = actors,
	    .fd = -1,
	    .request.on_text = on_text,
	    .again.data = metrics,
	};
	ev_timer_init(&metrics->again, on_again, 0., 0.);
	helpers_use(helpers, HELPER_METRICS, &user, metrics);
	return metrics;
}

/* It is served no longer; NULL is fine. */
void
metrics_free(struct metrics *metrics)
{
	if (metrics == NULL)
		return;
	scraper_cancel(&metrics->request);
	ev_timer_stop(metrics->loop, &metrics->again);
	stop_listening(metrics);
	free(metrics);
}
