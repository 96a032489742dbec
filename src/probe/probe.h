/* SPDX-License-Identifier: ISC */
/* probe.h - is a server there, and well?  One question over one connection.
 *
 * A probe never waits: its owner calls it when its descriptor is ready, and ends it when
 * its time is over.  A tcp probe is answered well when the connection is accepted; http
 * when GET is answered with a status from 200 to 399.  A shortage of supd itself
 * (descriptors, memory, ports) is no bad answer.
 */
#ifndef PROBE_PROBE_H
#define PROBE_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "probe/head.h"

/* What is asked, and where; everything is borrowed until probe_begin() returns. */
struct probe_question {
	const char *host; /* a numeric address */
	uint16_t port;
	const char *resource; /* asked for by http; NULL: that it is accepted is enough */
	const char *name;     /* http: the host in the request */
};

enum probe_answer {
	PROBE_GOES_ON, /* … and has to be called again */
	PROBE_IS_GOOD,
	PROBE_IS_BAD,
	PROBE_IS_NONE, /* it could not be asked: to be tried later */
};

struct probe_result {
	enum probe_answer answer;
	int error;  /* errno of the failure; ETIMEDOUT is set by the owner */
	int status; /* http: that of a bad answer, else 0 */
};

/* What a probe waits for. */
enum probe_wants {
	PROBE_WANTS_READ,
	PROBE_WANTS_WRITE,
};

struct probe {
	int fd; /* -1: none */
	enum probe_wants wants;
	bool is_connected;
	struct sockaddr_storage address;
	socklen_t address_len;
	char *request; /* http; NULL: none */
	size_t request_len, sent;
	struct head head;
};

void probe_init(struct probe *probe);
void probe_done(struct probe *probe);
void probe_begin(struct probe *probe, const struct probe_question *question,
                 struct probe_result *ret);
struct probe_result probe_failed(int error);
void probe_continue(struct probe *probe, struct probe_result *ret);

#endif
