/* SPDX-License-Identifier: ISC */
/* scan_probe.h - targets of probes, written as a text (private to conf/). */
#ifndef CONF_SCAN_PROBE_H
#define CONF_SCAN_PROBE_H

#include "conf/schema/schema_scan.h"

/* The longest URL. */
#define PROBE_URL_MAX 1000

/* A URL that was taken apart. */
struct url {
	struct address address;
	char host[PROBE_URL_MAX + 1]; /* with its port if the URL has a port */
	const char *resource;         /* in the text; what is behind host and port */
};

scan_fn scan_pattern, scan_probe_path, scan_probe_tcp, scan_probe_url;

int url_parse(const char *text, struct url *ret, struct err *why);

#endif
