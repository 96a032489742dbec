/* SPDX-License-Identifier: ISC */
/* shrink.c - from a failed run to the few inputs that it takes to fail. */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/sim/sim.h"

#define ATTEMPTS_MAX 4000

static void
print_event(const struct event *event)
{
	printf("%s #%u.%u", event_kind_names[event->kind], event->ref.slot,
	       event->ref.tenant);
	if (event->life != 0)
		printf(" life %u", event->life);
	if (event->kind == EVENT_EXITED)
		printf(" code %d signal %d%s%s", event->code, event->signal,
		       event->oom ? " oom" : "", event->gone ? " gone" : "");
	if (event->kind == EVENT_STOP && event->hold)
		printf(" hold");
	if (event->token != 0)
		printf(" token %llu", (unsigned long long)event->token);
	if (event->kind == EVENT_WAIT)
		printf(" for %s", wait_for_names[event->wait_for]);
	if (event->kind == EVENT_DELETE && event->stop)
		printf(" stop");
	if (event->kind == EVENT_PROBED)
		printf(" %d", event->code);
	if (event->kind == EVENT_WATCHDOG_EVERY || event->kind == EVENT_EXTEND)
		printf(" %d ms", (int)event->period_ms);
	if (event->stamp != 0)
		printf(" stamp %d", (int)event->stamp);
}

/* One input, in words. */
void
op_print(const struct op *op, uint64_t start_ms)
{
	static const char *const names[] = {"post",   "settle",  "add",
	                                    "update", "remove",  "bounce",
	                                    "place",  "restore", "move"};

	printf("# +%llu ", (unsigned long long)(op->now_ms - start_ms));
	if (op->kind == OP_POST) {
		print_event(&op->event);
		for (uint32_t i = 0; i < op->n_added; i++)
			printf(" spec %u", op->added[i].spec);
	} else if (op->kind == OP_SETTLE || op->kind == OP_MOVE)
		printf("%s", names[op->kind]);
	else
		printf("%s #%u.%u before #%d spec %u", names[op->kind], op->ref.slot,
		       op->ref.tenant, (int)op->before.slot, op->spec);
	printf("\n");
}

/* One action, in words. */
void
action_print(const struct action *action)
{
	printf("#\t-> %s #%u", action_kind_names[action->kind], action->ref.slot);
	if (action->kind == ACTION_REPORT)
		printf(" %s", report_names[action->report]);
	if (action->kind == ACTION_REPORT && action->report == REPORT_FAILURE)
		printf(" %s %s origin #%u reason \"%s\" window %u/%u delay %d",
		       cause_kind_names[action->cause.kind],
		       directive_names[action->ruling.directive], action->origin.slot,
		       decision_reason_names[action->ruling.reason], action->window,
		       action->limit, (int)action->delay_ms);
	if (action->kind == ACTION_REPORT && action->death.watch != 0)
		printf(" of #%d: %s%s", (int)action->origin.slot,
		       reaction_names[action->death.reaction],
		       action->death.confirmed ? "" : ", not confirmed");
	if (action->kind == ACTION_REPLY)
		printf(" token %d result %d", (int)action->token, (int)action->result);
	printf("\n");
}

/* The number of the invariant, or the first word. */
static size_t
family_length(const char *wrong)
{
	return strcspn(wrong, " ");
}

/* Replay in a process of its own, because the core may end it.  Fails the same way? */
static bool
still_fails(struct tape *tape, const struct op *ops, uint32_t n_ops, const char *wrong)
{
	size_t len = family_length(wrong);
	int status;
	pid_t pid;

	strcpy(tape->wrong, "died");
	fflush(stdout);
	pid = fork();
	if (pid < 0)
		return false;
	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

		(void)dup2(null, STDERR_FILENO);
		run_replay(tape, ops, n_ops);
		fflush(stdout);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid)
		return false;
	return tape->wrong[0] != '\0' && family_length(tape->wrong) == len &&
	       strncmp(tape->wrong, wrong, len) == 0;
}

static void
cut(struct op *to, const struct op *from, uint32_t n, uint32_t at, uint32_t len)
{
	memcpy(to, from, at * sizeof(*to));
	memcpy(to + at, from + at + len, (n - at - len) * sizeof(*to));
}

static void
print_spec(const struct tape *tape, uint32_t number, uint64_t name)
{
	const struct spec *spec = &tape->specs[number].spec;

	printf("# spec %u (name %u): %s %s%s", number, (unsigned int)name,
	       restart_type_names[spec->restart], node_kind_names[spec->kind],
	       spec->enabled ? "" : " disabled");
	if (spec->watchdog_ms != 0 || spec->health.on || spec->stopped_is_failure)
		printf(" watchdog %d health %d/%dms%s", (int)spec->watchdog_ms,
		       spec->health.on ? (int)spec->health.failures : 0,
		       (int)spec->health.interval_ms,
		       spec->stopped_is_failure ? " stopped" : "");
	if (spec->kind != NODE_WORKER)
		printf(" %s keep %s intensity %d/%dms decider %s(%u)%s%s limit "
		       "%d",
		       strategy_names[spec->policy.strategy],
		       keep_children_names[spec->policy.keep_children],
		       spec->policy.intensity.unlimited
		           ? -1
		           : (int)spec->policy.intensity.restarts,
		       (int)spec->policy.intensity.within_ms,
		       preset_names[spec->policy.decider.preset],
		       spec->policy.decider.n_rules,
		       spec->policy.start_parallel ? " start-parallel" : "",
		       spec->policy.stop_parallel ? " stop-parallel" : "",
		       spec->policy.limit.on ? (int)spec->policy.limit.restarts : -1);
	if (spec->significant)
		printf(" significant");
	if (spec->kind != NODE_WORKER)
		printf(" auto_shutdown %s when_empty %s",
		       auto_shutdown_names[spec->policy.auto_shutdown],
		       when_empty_names[spec->policy.when_empty]);
	for (uint32_t k = 0; k < spec->n_watches; k++)
		printf(" watch %u:%s", (unsigned int)spec->watches[k].target,
		       reaction_names[spec->watches[k].reaction]);
	for (uint32_t k = 0; k < spec->n_needs; k++)
		printf(" needs %u:%s", (unsigned int)spec->needs[k].target,
		       need_names[spec->needs[k].level]);
	printf(" ready %d shutdown %d/%dms backoff %s%d/%d reset %d start_timeout "
	       "%d on_failure(%u) hooks %x/%dms\n",
	       (int)spec->start.ready, (int)spec->stop.mode, (int)spec->stop.shutdown_ms,
	       spec->backoff.none ? "none " : "", (int)spec->backoff.min_ms,
	       (int)spec->backoff.max_ms, (int)spec->backoff.reset_after_ms,
	       (int)spec->start.timeout_ms, spec->on_failure.n_rules, spec->hooks,
	       (int)spec->hook_timeout_ms);
}

static void
print_specs(const struct tape *tape, const struct op *ops, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t k = 0; k < ops[i].n_added; k++)
			print_spec(tape, ops[i].added[k].spec, ops[i].added[k].name);
		if (ops[i].kind == OP_ADD || ops[i].kind == OP_UPDATE)
			print_spec(tape, ops[i].spec, ops[i].name);
	}
}

/* Leave out inputs as long as the same invariant breaks, then print what is left. */
void
shrink(struct tape *tape)
{
	uint32_t n = tape->n_ops;
	struct op *ops = malloc((n + 1) * sizeof(*ops));
	struct op *fewer = malloc((n + 1) * sizeof(*ops));
	char wrong[SIM_WRONG_MAX];
	uint32_t attempts = 0;

	if (ops == NULL || fewer == NULL)
		abort();
	memcpy(ops, tape->ops, n * sizeof(*ops));
	memcpy(wrong, tape->wrong, sizeof(wrong));
	if (!still_fails(tape, ops, n, wrong)) {
		printf(
		    "# (not seen in a replay: a matter of the end, all inputs follow)\n");
		attempts = ATTEMPTS_MAX;
	}
	for (uint32_t len = n / 2; len > 0; len /= 2)
		for (uint32_t at = 0; at + len <= n && attempts < ATTEMPTS_MAX;) {
			struct op *swap = ops;

			cut(fewer, ops, n, at, len);
			attempts++;
			if (!still_fails(tape, fewer, n - len, wrong)) {
				at += len;
				continue;
			}
			ops = fewer;
			fewer = swap;
			n -= len;
		}
	printf("# in %u inputs:\n", n);
	print_specs(tape, ops, n);
	tape->verbose = true;
	(void)still_fails(tape, ops, n, wrong);
	printf("# %s\n", tape->wrong[0] != '\0' ? tape->wrong : wrong);
	tape->verbose = false;
	memcpy(tape->wrong, wrong, sizeof(wrong));
	free(ops);
	free(fewer);
}
