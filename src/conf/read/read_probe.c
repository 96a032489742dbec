/* SPDX-License-Identifier: ISC */
/* read_probe.c - `health`, and the kinds of `ready` for which an actor is asked. */
#include "config.h"

#include <string.h>

#include "base/assert.h"
#include "base/sum.h"
#include "conf/read/read.h"
#include "conf/schema/scan_probe.h"
#include "conf/schema/schema_types.h"

/* Defaults of probes. */
#define PROBE_TIMEOUT_MS   1000
#define READY_INTERVAL_MS  1000
#define HEALTH_INTERVAL_MS 10000
#define HEALTH_FAILURES    3
#define HEALTH_SUCCESSES   1

/* ---- what is asked ---- */

static void
read_url(struct reader *reader, const char *text, struct conf_probe *probe)
{
	struct url url;
	struct err why;

	if (url_parse(text, &url, &why) < 0)
		return;
	probe->address = arena_dup(reader->keep, url.address.text);
	probe->port = url.address.port;
	probe->host = arena_dup(reader->keep, url.host);
	probe->resource = arena_printf(reader->keep, "%s%s",
	                               url.resource[0] == '/' ? "" : "/", url.resource);
}

static void
read_kind(struct reader *reader, const struct yaml *node, struct conf_probe *probe,
          const struct trail *trail)
{
	struct address address;

	switch (probe->kind) {
	case PROBE_TCP:
		if (endpoint_parse(node->text, &address) < 0)
			return;
		probe->address = arena_dup(reader->keep, address.text);
		probe->port = address.port;
		return;
	case PROBE_UNIX:
		probe->address = read_socket_path(reader, node, node->text, trail);
		return;
	case PROBE_HTTP:
		read_url(reader, node->text, probe);
		return;
	case PROBE_EXEC:
		read_words(reader, node, trail, &probe->command);
		return;
	case PROBE_NONE:
	case PROBE_KIND_MAX:
		return;
	}
}

/* The names of the two first of those keys that a mapping has. */
struct kinds {
	const char *first, *second;
};

static void
note_kind(struct kinds *kinds, const struct yaml *map, const char *name)
{
	if (node_get(map, name) == NULL)
		return;
	if (kinds->first == NULL)
		kinds->first = name;
	else
		kinds->second = name;
}

/*
 * The one kind that a mapping has, of the kinds of probes and of `more`, which ends with
 * NULL. NULL: it has none or two, which was reported.
 */
static const char *
the_kind(struct reader *reader, const struct yaml *node, const char *const *more,
         const char *examples, const struct trail *trail)
{
	struct kinds kinds = {NULL, NULL};

	for (; *more != NULL; more++)
		note_kind(&kinds, node, *more);
	for (int kind = PROBE_TCP; kind < PROBE_KIND_MAX; kind++)
		note_kind(&kinds, node, probe_kind_names[kind]);
	if (kinds.first == NULL)
		reader_error(reader, node, trail,
		             "nothing says how it is asked; write %s", examples);
	else if (kinds.second != NULL)
		reader_error(reader, node, trail, "both `%s` and `%s`; keep one of them",
		             kinds.first, kinds.second);
	return kinds.second == NULL ? kinds.first : NULL;
}

static void
read_probe(struct reader *reader, const struct yaml *node, const char *kind,
           struct conf_probe *probe, const struct trail *trail)
{
	const struct yaml *timeout = node_get(node, "timeout");

	probe->timeout_ms = PROBE_TIMEOUT_MS;
	probe->kind = (enum probe_kind)names_find(probe_kind_names, PROBE_KIND_MAX, kind);
	if (timeout != NULL)
		probe->timeout_ms = read_value(&schema_duration, timeout).number;
	read_kind(reader, node_get(node, kind), probe, &(struct trail){trail, kind, 0});
}

static uint64_t
sum_text(const char *text, uint64_t sum)
{
	return text == NULL ? sum : sum_bytes(text, strlen(text) + 1, sum);
}

/* A checksum of the question, equal for equal probes. */
static uint64_t
sum_probe(const struct conf_probe *probe)
{
	const uint64_t numbers[] = {(uint64_t)probe->kind, probe->port,
	                            probe->timeout_ms};
	uint64_t sum = sum_bytes(numbers, sizeof(numbers), 0);

	sum = sum_text(probe->address, sum);
	sum = sum_text(probe->host, sum);
	sum = sum_text(probe->resource, sum);
	for (char **word = probe->command; word != NULL && *word != NULL; word++)
		sum = sum_text(*word, sum);
	return sum;
}

/* Refuse keys about pace where no probe is made. */
static void
refuse_pace(struct reader *reader, const struct yaml *node, const char *kind,
            const struct trail *trail)
{
	static const char *const pace[] = {"interval", "timeout"};

	for (size_t i = 0; i < ARRAY_SIZE(pace); i++) {
		const struct yaml *key = node_key(node, pace[i]);

		if (key != NULL)
			reader_error(reader, key, &(struct trail){trail, pace[i], 0},
			             "`%s` is for probes; with `%s` there are none",
			             pace[i], kind);
	}
}

/* How a process tells by itself, without being asked. */
static const char *const ready_kinds[] = {"after", "fd", "log", NULL};

static void
read_unasked(struct reader *reader, const struct yaml *node, const char *kind,
             struct conf_actor *actor)
{
	struct conf_process *process = actor->process;

	if (strcmp(kind, "after") == 0) {
		actor->spec->core.start.ready = READY_AFTER;
		actor->spec->core.start.ready_after_ms =
		    read_value(&schema_duration, node).number;
		return;
	}
	actor->spec->core.start.ready = READY_TOLD;
	if (strcmp(kind, "log") == 0) {
		process->readiness.sign = READY_BY_LOG;
		process->readiness.pattern = arena_dup(reader->keep, node->text);
		return;
	}
	process->readiness.sign = READY_BY_FD;
	process->readiness.fd = (int)read_value(&schema_ready_fd, node).number;
}

static void
read_ready_map(struct reader *reader, const struct yaml *node, struct conf_actor *actor,
               const struct trail *trail)
{
	const struct yaml *interval = node_get(node, "interval");
	const char *kind =
	    the_kind(reader, node, ready_kinds, schema_ready.allowed, trail);

	if (kind == NULL)
		return;
	if (names_find(probe_kind_names, PROBE_KIND_MAX, kind) < 0) {
		refuse_pace(reader, node, kind, trail);
		read_unasked(reader, node_get(node, kind), kind, actor);
		return;
	}
	read_probe(reader, node, kind, &actor->process->readiness.probe, trail);
	actor->spec->core.start.ready = READY_PROBED;
	actor->spec->core.start.ready_interval_ms =
	    interval == NULL ? READY_INTERVAL_MS
	                     : read_value(&schema_duration, interval).number;
}

/* `ready`; what follows from it for other keys is seen to when all of them are read. */
void
read_ready(struct reader *reader, const struct yaml *node, void *target,
           const struct trail *trail)
{
	struct conf_actor *actor = target;

	if (node->type == NODE_MAP) {
		read_ready_map(reader, node, actor, trail);
		return;
	}
	switch (read_value(&schema_ready, node).word) {
	case READY_WORD_NOTIFY:
		actor->spec->core.start.ready = READY_TOLD;
		return;
	case READY_WORD_EXIT:
		actor->spec->core.start.ready = READY_EXIT;
		return;
	default:
		actor->spec->core.start.ready = READY_EXEC;
	}
}

/* `health`: keys that are absent keep their defaults. */
void
read_health(struct reader *reader, const struct yaml *node, void *target,
            const struct trail *trail)
{
	struct conf_actor *actor = target;
	struct probe_spec *spec = &actor->spec->core.health;
	static const char *const no_kinds[] = {NULL};

	if (node->type == NODE_TEXT)
		return;
	const char *kind = the_kind(reader, node, no_kinds, schema_health.allowed, trail);
	if (kind == NULL)
		return;
	spec->on = true;
	spec->interval_ms = HEALTH_INTERVAL_MS;
	spec->failures = HEALTH_FAILURES;
	spec->successes = HEALTH_SUCCESSES;
	read_table(reader, node, schema_health.table, spec);
	read_probe(reader, node, kind, &actor->process->health, trail);
	spec->what = sum_probe(&actor->process->health);
}

/* ---- what is probably not meant ---- */

/* True if supd holds the very socket that is connected to. */
static bool
is_own_socket(const struct conf_socket *socket, const struct conf_probe *probe)
{
	if (socket->address == NULL || probe->address == NULL)
		return false;
	if (probe->kind == PROBE_UNIX)
		return socket->kind == SOCKET_UNIX &&
		       strcmp(socket->address, probe->address) == 0;
	return probe->kind == PROBE_TCP && socket->kind == SOCKET_TCP &&
	       socket->port == probe->port &&
	       (socket->address[0] == '\0' ||
	        strcmp(socket->address, probe->address) == 0);
}

static void
check_probe(struct reader *reader, const struct yaml *node,
            const struct conf_process *process, const struct conf_probe *probe,
            const struct trail *trail)
{
	for (size_t i = 0; i < process->n_sockets; i++)
		if (is_own_socket(&process->sockets[i], probe))
			reader_warn(
			    reader, node, trail,
			    "supd itself keeps this socket open (`sockets.%.100s`): a "
			    "connection succeeds even when no process serves it; probe "
			    "with `http` or `exec`",
			    process->sockets[i].name);
}

/* The descriptor of `ready: fd` comes behind the sockets, and before the fd store. */
static void
check_ready_fd(struct reader *reader, const struct yaml *node,
               const struct conf_process *process, const struct trail *ready)
{
	const struct trail trail = {ready, "fd", 0};
	const int first = 3 + (int)process->n_sockets;

	if (process->readiness.sign != READY_BY_FD || node == NULL)
		return;
	if (process->readiness.fd < first)
		reader_error(reader, node, &trail,
		             "descriptor %d is one of its sockets; the first that is "
		             "free is %d",
		             process->readiness.fd, first);
	else if (process->kept.fd_store > 0 && process->readiness.fd != first)
		reader_error(
		    reader, node, &trail,
		    "with `fd_store` this descriptor has to be %d, because stored "
		    "descriptors follow right behind",
		    first);
}

/* ready.log needs the output to be read by the log process. */
static void
check_ready_log(struct reader *reader, const struct yaml *node,
                const struct conf_process *process, const struct trail *ready)
{
	if (process->readiness.sign == READY_BY_LOG && node != NULL &&
	    !conf_output_is_captured(&process->output.out) &&
	    !conf_output_is_captured(&process->output.err))
		reader_error(
		    reader, node, &(struct trail){ready, "log", 0},
		    "supd does not see what this actor prints: write `output: log`, "
		    "`journal` or `syslog`");
}

/* Warn of probes that are never made, or never fail: called after all keys are read. */
void
probes_check(struct reader *reader, const struct yaml *map,
             const struct conf_actor *actor, const struct trail *up)
{
	const struct conf_process *process = actor->process;
	const struct trail ready = {up, "ready", 0};
	const struct trail health = {up, "health", 0};
	const struct yaml *node = node_get(map, "health");
	const struct yaml *sign = node_get(map, "ready");

	check_ready_fd(reader, node_get(sign, "fd"), process, &ready);
	check_ready_log(reader, node_get(sign, "log"), process, &ready);
	check_probe(reader, sign, process, &process->readiness.probe, &ready);
	check_probe(reader, node, process, &process->health, &health);
	/* An actor that is ready only when it has ended is never probed. */
	if (actor->spec->core.health.on && actor->spec->core.start.ready == READY_EXIT)
		reader_warn(
		    reader, node, &health,
		    "`health` has no effect with `ready: exit`: probes begin when "
		    "the actor is ready, and then it has ended");
}
