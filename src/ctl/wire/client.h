/* SPDX-License-Identifier: ISC */
/* client.h - one connection to a supd: calls out, replies in, with a deadline.
 *
 * Blocking, and bounded by deadline_ms.  A reply's spans point into the connection's
 * buffer: they live until the next client_next(), client_connect() or client_done().
 */
#ifndef CTL_CLIENT_H
#define CTL_CLIENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "ctl/wire/scan.h"
#include "varlink/varlink.h"

#define CLIENT_FOREVER      UINT64_MAX
#define CLIENT_GONE_MS      100  /* how soon a process ends after its connection */
#define CLIENT_RECONNECT_MS 5000 /* without a deadline, try again for so long */
#define CLIENT_HELD_MS      250  /* so old, a connection was served, not refused */
#define CLIENT_LOST_MAX     5    /* guardians that one call may lose in a row … */
#define CLIENT_ROW_MS \
	15000 /* … each within this time; a guardian that hangs is replaced sooner */
#define CLIENT_PAUSE_MS     10 /* between two attempts, doubled each time */
#define CLIENT_PAUSE_MS_MAX 400

struct client {
	const char *path;      /* of the socket, borrowed */
	int fd;                /* -1: not connected */
	int hangup_fd;         /* stop waiting when its reader goes away; -1: none */
	uint64_t deadline_ms;  /* CLOCK_MONOTONIC, or CLIENT_FOREVER */
	uint64_t connected_ms; /* when the connection was made */
	uint64_t lost_ms;      /* since when no connection held; 0: one does */
	int pause_ms;
	int n_lost;     /* guardians lost in a row, since the last message */
	pid_t lost_pid; /* the last of them; 0: none, or not visible */
	struct varlink_reader reader;
};

struct reply {
	struct span parameters; /* an object; none if there were none */
	struct span error;      /* the name of the error; empty: no error */
	bool continues;
};

uint64_t client_now_ms(void);
void client_init(struct client *client, const char *path);
void client_done(struct client *client);
int client_connect(struct client *client, struct err *err);
int client_reconnect(struct client *client, struct err *err);
int client_send(struct client *client, const char *method, json_t *take_parameters,
                bool more, struct err *err);
int client_next(struct client *client, struct reply *ret, struct err *err);
bool client_has_next(const struct client *client);
int client_wait_end(struct client *client, int pidfd);
int client_wait_gone(const struct client *client, int pidfd);
pid_t client_peer_pid(const struct client *client);

#endif
