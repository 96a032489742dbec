/* SPDX-License-Identifier: ISC */
/* handing.c - what the walker has to tell its guardian, and how far it is with that. */
#include "config.h"

#include "ledger/handing.h"

#include <stdbool.h>

/*
 * A new guardian is at the other end: send it everything.  Signals that its predecessor
 * did not hear and news that it did not take are for this guardian; acknowledgements of
 * before are dropped.
 */
void
handing_begin(struct handing *handing, int take_link_fd)
{
	handing->link_fd = take_link_fd;
	handing->step = HANDING_HELLO;
	handing->at = 0;
	handing->has_ack = handing->has_fetch = handing->has_question = false;
}

static int
send_hello(struct handing *handing)
{
	const int fds[2] = {handing->exits_fd, handing->ledger_fd};
	struct link_message message = {.kind = LINK_HELLO, .hello = handing->hello};

	message.hello.has_ledger = handing->ledger_fd >= 0;
	int r =
	    link_send(handing->link_fd, &message, fds, message.hello.has_ledger ? 2 : 1);
	if (r == 0)
		handing->step = HANDING_VAULT;
	return r;
}

/* The next of the vault, or its end. */
static int
send_vault(struct handing *handing, const struct vault *vault)
{
	struct link_message message = {.kind = LINK_VAULT};
	int fds[LINK_FDS_MAX];
	size_t at = handing->at;

	message.n = (uint32_t)vault_next(vault, &at, LINK_FDS_MAX, message.keys, fds);
	if (message.n == 0)
		message.kind = LINK_END;
	int r = link_send(handing->link_fd, &message, fds, message.n);
	if (r < 0)
		return r;
	handing->at = at;
	if (message.kind == LINK_END)
		handing->step = HANDING_NEWS;
	return 0;
}

static int
send_short(const struct handing *handing, enum link_kind kind, uint32_t n)
{
	return link_send(handing->link_fd,
	                 &(const struct link_message){.kind = kind, .n = n}, NULL, 0);
}

/* What the guardian asked for. */
static int
send_wanted(const struct handing *handing, const struct vault *vault)
{
	struct link_message message = {.kind = LINK_VAULT};
	int fds[LINK_STORE_MAX];

	for (uint32_t i = 0; i < handing->n_wanted; i++) {
		fds[message.n] = vault_peek(vault, handing->wanted[i]);
		message.keys[message.n] = handing->wanted[i];
		message.n += fds[message.n] >= 0;
	}
	return link_send(handing->link_fd, &message, fds, message.n);
}

/* One of those that are due after the beginning.  1: none is; 0, or -errno. */
static int
send_news(struct handing *handing, const struct vault *vault)
{
	int r;

	if (handing->has_ack) {
		r = send_short(handing, LINK_ACK, handing->ack);
		handing->has_ack = r < 0;
		return r;
	}
	if (handing->has_fetch) {
		r = send_wanted(handing, vault);
		handing->has_fetch = r < 0;
		return r;
	}
	if (handing->signals != 0) {
		uint32_t signo = (uint32_t)__builtin_ctz(handing->signals);
		r = send_short(handing, LINK_SIGNAL, signo);
		if (r == 0)
			handing->signals &= ~(UINT32_C(1) << signo);
		return r;
	}
	if (handing->has_question) {
		r = send_short(handing, LINK_ASK, 0);
		handing->has_question = r < 0;
		return r;
	}
	if (!handing->has_news)
		return 1;
	r = send_short(handing, LINK_POKE, 0);
	handing->has_news = r < 0;
	return r;
}

/*
 * Send what is due, as far as the link takes it.  Returns 0 when all was sent, or no
 * guardian listens.  Otherwise the rest stays due: -EAGAIN until the link is writable,
 * -EPIPE for the next guardian, any other error until a little later.
 */
int
handing_send(struct handing *handing, const struct vault *vault)
{
	int r = 0;

	if (handing->link_fd < 0)
		return 0;
	while (r == 0) {
		switch (handing->step) {
		case HANDING_HELLO:
			r = send_hello(handing);
			break;
		case HANDING_VAULT:
			r = send_vault(handing, vault);
			break;
		case HANDING_NEWS:
			r = send_news(handing, vault);
			break;
		}
	}
	return r == 1 ? 0 : r;
}
