/* SPDX-License-Identifier: ISC */
/* exposition.h - /system/metrics: figures by HTTP.
 *
 *	exposition.c  the figures, from the guardian; accepting
 *	http.c        one client: a request, an answer
 */
#ifndef HELPER_EXPOSITION_H
#define HELPER_EXPOSITION_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#define REQUEST_MAX 8192
#define HEAD_MAX    256
/* How old the figures may be at most. */
#define FRESH_MS 1000

enum client_state {
	CLIENT_ASKS,  /* the request is not complete */
	CLIENT_WAITS, /* the figures are asked for */
	CLIENT_GETS,  /* the answer is being sent */
	CLIENT_ENDS,  /* the answer was sent, the other end is still open */
};

/* What the guardian said. */
struct figures {
	uint32_t holders;
	char *data; /* a mapped file */
	size_t len;
};

struct http_client {
	struct exposition *metrics;
	TAILQ_ENTRY(http_client) link;
	int fd;
	enum client_state state;
	uint64_t moved_ms; /* when it last did something */
	ev_io io;
	ev_timer timer;
	bool head_only;
	bool wants_health; /* it asked for /healthz */
	char in[REQUEST_MAX + 1];
	size_t in_len;
	char head[HEAD_MAX]; /* of the answer, and its text where it is no figures */
	size_t head_len;
	struct figures *text;
	size_t sent; /* of both */
};

TAILQ_HEAD(http_clients, http_client);

struct exposition {
	struct ev_loop *loop;
	int fd; /* listening, or -1 */
	ev_io accept_io;
	ev_timer pause;
	struct http_clients clients; /* the client that moved last is at the end */
	size_t n_clients;
	struct figures *text; /* the newest; NULL: none yet */
	uint64_t text_ms;
	bool is_asking;
	ev_timer again; /* the guardian could not be asked */
};

/* exposition.c */
void exposition_ask(struct exposition *metrics);
void figures_drop(struct figures *text);

/* http.c */
void http_admit(struct exposition *metrics, int take_fd);
void http_drop(struct http_client *client);
void http_answer(struct http_client *client, const char *status, const char *line);
void http_answer_figures(struct http_client *client, struct figures *text);

#endif
