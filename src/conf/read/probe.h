/* SPDX-License-Identifier: ISC */
/* probe.h - how an actor is asked whether it is ready, or well (private to conf/). */
#ifndef CONF_PROBE_H
#define CONF_PROBE_H

#include "conf/schema/schema.h"

/* The longest URL. */
#define PROBE_URL_MAX 1000

/* Defaults of probes. */
#define PROBE_TIMEOUT_MS   1000
#define READY_INTERVAL_MS  1000
#define HEALTH_INTERVAL_MS 10000
#define HEALTH_FAILURES    3
#define HEALTH_SUCCESSES   1

scan_fn scan_pattern;
scan_fn scan_probe_path;
scan_fn scan_probe_tcp;
scan_fn scan_probe_url;

#endif
