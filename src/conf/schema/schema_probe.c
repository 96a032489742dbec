/* SPDX-License-Identifier: ISC */
/* schema_probe.c - what may stand behind `ready` and `health`. */
#include "config.h"

#include "base/assert.h"
#include "conf/schema/scan_probe.h"
#include "conf/schema/schema_types.h"

/* A word of a list, or a mapping with given keys. */
#define WORD_OR_KEYS(title, sentence, list, keys)                       \
	{                                                               \
		.name = (title), .allowed = (sentence), WORDS_OF(list), \
		.table = &(keys), .where = AT_NESTED                    \
	}

static const struct schema_type probe_tcp = {
    .name = "probe_tcp",
    .allowed = "ADDRESS:PORT, such as \"127.0.0.1:5432\", \"localhost:80\" or "
               "\"[::1]:80\"",
    .scan = scan_probe_tcp,
    .pattern = "^[^*]+:[0-9]+$",
};
static const struct schema_type probe_unix = {
    .name = "probe_unix",
    .allowed = "the path of a socket",
    .scan = scan_probe_path,
};
static const struct schema_type probe_url = {
    .name = "probe_url",
    .allowed = "a URL with a numeric address, such as http://127.0.0.1:8080/health",
    .scan = scan_probe_url,
    .pattern = "^http://[^/]+",
};
static const struct schema_type ready_log = {
    .name = "ready_log",
    .allowed = "a POSIX extended regular expression, such as '^listening on [0-9]+'",
    .scan = scan_pattern,
};
const struct schema_type schema_ready_fd = {
    .name = "ready_fd",
    .allowed = "a number from 3 to 200, behind its sockets",
    .scan = scan_integer,
    .show = SHOW_INTEGER,
    .min = 3,
    .max = CONF_READY_FD_MAX,
};
static const struct schema_type count = {
    .name = "count",
    .allowed = "a number from 1 to 1000",
    .scan = scan_integer,
    .show = SHOW_INTEGER,
    .min = 1,
    .max = 1000,
};

#define PROBES(effect)                                                                  \
	{"tcp",  &probe_tcp, NULL,        "A connection to this address is accepted.",  \
	 effect, AT_NESTED,  .read = NULL},                                             \
	    {"unix",      &probe_unix,                                                  \
	     NULL,        "A connection to this address is accepted.",                  \
	     effect,      AT_NESTED,                                                    \
	     .read = NULL},                                                             \
	    {"http",      &probe_url,                                                   \
	     NULL,        "GET of this URL is answered with a status from 200 to 399.", \
	     effect,      AT_NESTED,                                                    \
	     .read = NULL},                                                             \
	{                                                                               \
		"exec", &schema_command, NULL, "This command ends with status 0.",      \
		    effect, AT_NESTED, .read = NULL                                     \
	}

static const char *const ready_words[] = {[READY_WORD_EXEC] = "exec",
                                          [READY_WORD_NOTIFY] = "notify",
                                          [READY_WORD_EXIT] = "exit"};
static const struct schema_key ready_keys[] = {
    {"after", &schema_duration, NULL, "Ready once the process has lived this long.",
     CONF_RESTARTS, AT_NESTED, .read = NULL},
    PROBES(CONF_RESTARTS),
    {"interval", &schema_duration, NULL,
     "Time from one probe to the next; 1s by default.", CONF_RESTARTS, AT_NESTED,
     .read = NULL},
    {"timeout", &schema_duration, NULL, "How long an answer may take; 1s by default.",
     CONF_RESTARTS, AT_NESTED, .read = NULL},
    {"fd", &schema_ready_fd, NULL,
     "Ready once the process writes a newline to this descriptor, or closes it.",
     CONF_RESTARTS, AT_NESTED, .read = NULL},
    {"log", &ready_log, NULL, "Ready once a line of its output matches this expression.",
     CONF_RESTARTS, AT_NESTED, .read = NULL},
};
TABLE(ready_table, ready_keys, NULL);
const struct schema_type schema_ready =
    WORD_OR_KEYS("ready",
                 "`exec`, `notify`, `exit`, {after: 5s}, {fd: 3}, {log: REGEX}, "
                 "{tcp: \"127.0.0.1:80\"}, {unix: PATH}, {http: URL} or {exec: CMD}",
                 ready_words, ready_table);

static const char *const health_words[] = {"off"};
static const struct schema_key health_keys[] = {
    PROBES(CONF_IN_PLACE),
    {"interval", &schema_duration, "\"10s\"", "Time from one probe to the next.",
     CONF_IN_PLACE, AT_NESTED, INTO(struct probe_spec, interval_ms), NULL},
    {"timeout", &schema_duration, "\"1s\"", "How long an answer may take.", CONF_IN_PLACE,
     AT_NESTED, .read = NULL},
    {"failures", &count, "3", "How many bad answers in a row are a failure.",
     CONF_IN_PLACE, AT_NESTED, INTO(struct probe_spec, failures), NULL},
    {"successes", &count, "1",
     "How many good answers in a row make up for bad answers before.", CONF_IN_PLACE,
     AT_NESTED, INTO(struct probe_spec, successes), NULL},
    {"initial_delay", &schema_duration_or_zero, "\"0s\"",
     "How long after the actor is ready the first probe is made.", CONF_IN_PLACE,
     AT_NESTED, INTO(struct probe_spec, initial_delay_ms), NULL},
};
TABLE(health_table, health_keys, NULL);
const struct schema_type schema_health = WORD_OR_KEYS(
    "health",
    "`off`, or a mapping such as {http: \"http://127.0.0.1:8080/\", interval: "
    "10s}",
    health_words, health_table);
