/* SPDX-License-Identifier: ISC */
/* scan_address.c - addresses of sockets, taken apart. */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "conf/schema/schema_scan.h"

/*
 * "ADDRESS:PORT" taken apart: a numeric address, in brackets if it is an IPv6 one,
 * "localhost", which is 127.0.0.1, or "*" or nothing for any, which is "".  -ERANGE: it
 * is the port that is none; -EINVAL: the address, as far as it goes, is in ret->text.
 */
int
endpoint_parse(const char *text, struct address *ret)
{
	const char *colon = strrchr(text, ':');
	unsigned char binary[sizeof(struct in6_addr)];
	size_t len = colon != NULL ? (size_t)(colon - text) : 0;
	int family = AF_INET;
	uint64_t port;

	*ret = (struct address){.kind = SOCKET_TCP};
	if (colon == NULL || scan_digits(colon + 1, UINT16_MAX, &port) < 0)
		return -ERANGE;
	ret->port = (uint16_t)port;
	if (len == 0 || (len == 1 && text[0] == '*'))
		return 0;
	if (text[0] == '[' && text[len - 1] == ']') {
		family = AF_INET6;
		text++;
		len -= 2;
	}
	if (len >= sizeof(ret->text))
		len = sizeof(ret->text) - 1;
	memcpy(ret->text, text, len);
	if (strcmp(ret->text, "localhost") == 0)
		strcpy(ret->text, "127.0.0.1");
	if (inet_pton(family, ret->text, binary) != 1)
		return -EINVAL;
	/* One spelling for each. */
	(void)inet_ntop(family, binary, ret->text, sizeof(ret->text));
	return 0;
}

static int
parse_port(const char *text, struct address *address, struct err *why)
{
	const enum socket_kind which = address->kind;
	const char *kind = socket_kind_names[which];
	const int r = endpoint_parse(text, address);

	address->kind = which;
	if (r == -ERANGE)
		err_set(why, 0,
		        "`%s:%.80s` has no port from 0 to 65535; write %s:ADDRESS:PORT, "
		        "such as %s:127.0.0.1:8080 or %s:*:8080",
		        kind, text, kind, kind, kind);
	else if (r < 0)
		err_set(why, 0,
		        "`%.80s` is no address; write a numeric one, `localhost` or "
		        "`*`, an IPv6 address in brackets",
		        address->text);
	return r < 0 ? -EINVAL : 0;
}

static int
parse_path(const char *text, struct address *address, struct err *why)
{
	const size_t max =
	    address->kind == SOCKET_FIFO ? sizeof(address->text) - 1 : SOCKET_PATH_MAX;
	const char *kind = socket_kind_names[address->kind];
	size_t len = strlen(text);

	if (len == 0)
		return err_say(why, -EINVAL, "`%s:` has no path", kind);
	if (len > max)
		return err_say(
		    why, -EINVAL, "the path of a %s has at most %zu bytes, this one %zu",
		    address->kind == SOCKET_FIFO ? "fifo" : "unix socket", max, len);
	memcpy(address->text, text, len);
	return 0;
}

/*
 * Take apart "tcp:ADDRESS:PORT", "unix:PATH" and the other forms.  Addresses are numeric,
 * so that no name server is ever asked; "localhost" is 127.0.0.1. -EINVAL.
 */
int
address_parse(const char *text, struct address *ret, struct err *why)
{
	struct address address = {.kind = SOCKET_KIND_MAX};
	const char *colon = strchr(text, ':');
	int kind = -1;

	for (int i = 0; colon != NULL && i < SOCKET_KIND_MAX; i++)
		if (strlen(socket_kind_names[i]) == (size_t)(colon - text) &&
		    strncmp(text, socket_kind_names[i], (size_t)(colon - text)) == 0)
			kind = i;
	if (kind < 0)
		return -EINVAL;
	address.kind = (enum socket_kind)kind;
	int r = socket_has_port(address.kind) ? parse_port(colon + 1, &address, why)
	                                      : parse_path(colon + 1, &address, why);
	if (r == 0)
		*ret = address;
	return r;
}

/* The address of a socket. */
int
scan_address(struct text_scan *scan)
{
	struct address address;

	return address_parse(scan->text, &address, scan->why);
}
