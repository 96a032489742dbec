/* SPDX-License-Identifier: ISC */
/* schema_scan.h - texts of a configuration file and what they stand for (private to
 * conf/). */
#ifndef CONF_SCAN_H
#define CONF_SCAN_H

#include <sys/un.h>

#include "conf/schema/schema.h"

scan_fn scan_address, scan_boolean, scan_capability, scan_command, scan_cpus,
    scan_decimal, scan_duration, scan_environment_file, scan_errno, scan_exit_codes,
    scan_input, scan_integer, scan_mode, scan_output, scan_path, scan_rate, scan_reply,
    scan_rlimit, scan_signal, scan_size, scan_text;

/* What scan_exit_codes() or scan_cpus() made of "64-78": first in the high half, last in
 * the low one. */
#define RANGE_FIRST(n) ((unsigned int)((n) >> 32))
#define RANGE_LAST(n)  ((unsigned int)((n)&UINT32_MAX))

#define RATE_MAX 1000000

/* The longest path that a unix socket can have. */
#define SOCKET_PATH_MAX (sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1)

/* An address that scan_address() accepted, taken apart. */
struct address {
	enum socket_kind kind;
	char text[256]; /* host, "" for any, or path */
	uint16_t port;
};

int scan_digits(const char *text, uint64_t max, uint64_t *ret);
int endpoint_parse(const char *text, struct address *ret);
int address_parse(const char *text, struct address *ret, struct err *why);
int rlimit_parse(const char *text, struct rlimit *ret);

#endif
