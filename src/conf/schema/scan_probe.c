/* SPDX-License-Identifier: ISC */
/* scan_probe.c - texts that say where a probe connects to, and what a line has to match.
 */
#include "config.h"

#include "conf/schema/scan_probe.h"

#include <errno.h>
#include <string.h>

#include "base/pattern.h"

/* The port that a URL means by itself. */
#define HTTP_PORT ":80"

/* Somewhere to connect to: "ADDRESS:PORT", both of them.  -EINVAL. */
static int
parse_endpoint(const char *text, struct address *ret, struct err *why)
{
	int r = endpoint_parse(text, ret);

	if (r == -ERANGE || (r == 0 && ret->port == 0))
		err_set(
		    why, 0,
		    "`%.80s` has no port from 1 to 65535; write ADDRESS:PORT, such as "
		    "127.0.0.1:8080",
		    text);
	else if (r == 0 && ret->text[0] == '\0')
		err_set(why, 0,
		        "`%.80s` says nowhere to connect to; write an address, such as "
		        "127.0.0.1 or [::1]",
		        text);
	else if (r < 0)
		err_set(why, 0,
		        "`%.80s` is no address; write a numeric one or `localhost`, an "
		        "IPv6 address in brackets: names are not looked up",
		        ret->text);
	else
		return 0;
	return -EINVAL;
}

/* A port to connect to. */
int
scan_probe_tcp(struct text_scan *scan)
{
	struct address address;

	return parse_endpoint(scan->text, &address, scan->why);
}

/* The path of a socket to connect to. */
int
scan_probe_path(struct text_scan *scan)
{
	size_t len = strlen(scan->text);
	int r = scan_path(scan);

	if (r < 0 || len <= SOCKET_PATH_MAX)
		return r;
	return err_say(scan->why, -EINVAL,
	               "the path of a unix socket has at most %zu bytes, this one %zu",
	               SOCKET_PATH_MAX, len);
}

/* True if all characters can stand in a request as they are. */
static bool
is_plain(const char *text)
{
	for (; *text != '\0'; text++)
		if (*text <= ' ' || *text > '~' || *text == '#')
			return false;
	return true;
}

/* Host and port of a URL; a port that is not written is that of http. */
static int
parse_host(const char *text, struct url *url, struct err *why)
{
	char whole[PROBE_URL_MAX + 8];
	const char *bracket = strrchr(url->host, ']'), *colon = strrchr(url->host, ':');
	bool has_port = colon != NULL && (bracket == NULL || colon > bracket);

	if (strchr(url->host, '@') != NULL)
		return err_say(
		    why, -EINVAL,
		    "`%.80s`: a user in a URL is not supported; use {exec: ...}", text);
	strcpy(whole, url->host);
	if (!has_port)
		strcat(whole, HTTP_PORT);
	return parse_endpoint(whole, &url->address, why);
}

/*
 * Take apart the URL of a probe; ret->resource points into the text.  -EINVAL: it is
 * none, or none that is supported, and `why` says so.
 */
int
url_parse(const char *text, struct url *ret, struct err *why)
{
	static const char scheme[] = "http://";
	const char *host = text + strlen(scheme);

	if (strncmp(text, "https://", 8) == 0)
		return err_say(
		    why, -EINVAL,
		    "`%.80s`: TLS is not supported; write an http:// URL, or {exec: "
		    "[curl, ...]}",
		    text);
	if (strncmp(text, scheme, strlen(scheme)) != 0)
		return err_say(why, -EINVAL,
		               "`%.80s` is no URL that can be asked; write one such as "
		               "http://127.0.0.1:8080/health",
		               text);
	if (strlen(text) > PROBE_URL_MAX)
		return err_say(why, -EINVAL,
		               "a URL has at most %d bytes here, this one %zu",
		               PROBE_URL_MAX, strlen(text));
	if (!is_plain(text))
		return err_say(
		    why, -EINVAL,
		    "`%.80s` has a blank, a # or another character that must be "
		    "written as %%XX in a URL",
		    text);
	size_t len = strcspn(host, "/?");
	*ret = (struct url){.resource = host + len};
	memcpy(ret->host, host, len);
	return parse_host(text, ret, why);
}

/* What is asked for by http. */
int
scan_probe_url(struct text_scan *scan)
{
	struct url url;

	return url_parse(scan->text, &url, scan->why);
}

/* What a line has to match. */
int
scan_pattern(struct text_scan *scan)
{
	struct pattern pattern;
	int r = pattern_compile(&pattern, scan->text, scan->why);

	pattern_done(&pattern);
	return r;
}
