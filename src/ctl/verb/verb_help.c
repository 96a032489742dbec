/* SPDX-License-Identifier: ISC */
/* verb_help.c - what supctl says of its verbs: all in groups, and one with its options.
 */
#include "config.h"

#include <ctype.h>
#include <string.h>

#include "base/assert.h"
#include "ctl/verb/verb.h"

/* What the table of verbs does not say: a title begins a group, in the order in which the
 * first screen has them. */
static const struct {
	const char *title; /* of the group that begins here, or NULL */
	const char *verb;
	const char *examples; /* lines */
} texts[] = {
    {"To look", "status", "supctl status\nsupctl status --failed\nsupctl status db\n"},
    {NULL, "list", "supctl list 'app/*'\n"},
    {NULL, "tree", "supctl tree app\nsupctl tree --dot | dot -Tsvg > tree.svg\n"},
    {NULL, "top", "supctl top\nsupctl top -n 1 --sort memory | head\n"},
    {NULL, "pid", "strace -p \"$(supctl pid web)\"\n"},
    {NULL, "is-active", "supctl is-active web || supctl start web\n"},
    {NULL, "is-failed", "supctl is-failed 'app/**' && echo trouble\n"},
    {NULL, "is-healthy", "supctl is-healthy\nsupctl is-healthy app\n"},
    {NULL, "is-ready", "supctl is-ready db\n"},
    {"To know why", "explain", "supctl explain web\n"},
    {NULL, "logs",
     "supctl logs -f\nsupctl logs -n 50 web\nsupctl logs --since '10 min ago' -g error "
     "'app/*'\n"},
    {NULL, "events",
     "supctl events -f\nsupctl events -n 20 --type failure '/user/app/**'\n"},
    {NULL, "simulate",
     "supctl simulate web --times 10\nsupctl simulate db --cause oom\n"},
    {"To act", "start", "supctl start web\n"},
    {NULL, "stop", "supctl stop --hold db\nsupctl --timeout 30s stop app\n"},
    {NULL, "restart", "supctl restart web\nsupctl restart --rolling 'web@*'\n"},
    {NULL, "suspend", "supctl suspend app/batch\n"},
    {NULL, "resume", "supctl resume app/batch\n"},
    {NULL, "signal", "supctl signal web HUP\n"},
    {NULL, "kill", "supctl kill web\nsupctl kill -s USR1 web\n"},
    {NULL, "fail", "supctl fail web\n"},
    {NULL, "reset", "supctl reset web\n"},
    {NULL, "wait",
     "supctl wait --for ready db\nsupctl --timeout 1m wait --for done migrate\n"},
    {NULL, "watch", "supctl watch job && echo it is over\n"},
    {"To change the tree while it runs", "add",
     "supctl add app/eve --use worker --with queue=mail\nsupctl add tmp -- sleep 60\n"},
    {NULL, "delete", "supctl stop tmp && supctl delete tmp\n"},
    {NULL, "scale", "supctl scale app/worker 8\n"},
    {"The configuration", "check", "supctl check tree.yaml\n"},
    {NULL, "diff", "supctl diff\nsupctl diff -e || supctl apply\n"},
    {NULL, "apply", "supctl apply\nsupctl apply --rollback 30s\nsupctl apply --undo\n"},
    {NULL, "reload", "supctl reload\nsupctl reload nginx\n"},
    {NULL, "cat", "supctl cat web\n"},
    {"supd itself", "ping", "supctl ping\n"},
    {NULL, "metrics", "supctl metrics | grep restarts\n"},
    {NULL, "version", "supctl version\n"},
    {NULL, "upgrade", "supctl upgrade\n"},
    {NULL, "shutdown", "supctl shutdown\n"},
    {"This program", "shell", "supctl shell\n"},
    {NULL, "completion", "supctl completion bash > ~/.supctl-completion\n"},
};

/* An option as this verb has it, where the words of the table of options say too little.
 */
static const struct {
	const char *verb;
	unsigned int bit;
	const char *help;
} meanings[] = {
    {"top", OPTION_LINES, "print the table N times, and end"},
    {"top", OPTION_SORT, "the greatest first; path: in the order of the tree"},
    {"logs", OPTION_LINES, "the last N lines of each actor, or all"},
    {"logs", OPTION_SINCE, "from this time on: 14:30, '2 h ago', today, 2026-01-31"},
    {"logs", OPTION_UNTIL, "up to this time, in the same forms"},
    {"logs", OPTION_FOLLOW, "go on with new lines, until an interrupt"},
    {"logs", OPTION_GREP, "only lines that match this extended regular expression"},
    {"events", OPTION_FOLLOW, "go on with new events, until an interrupt"},
    {"events", OPTION_LINES, "the last N events, or all"},
    {"events", OPTION_SINCE, "after this number, or from this time on, as in logs"},
    {"events", OPTION_UNTIL, "up to this number or time"},
    {"reload", OPTION_ROLLBACK, "without a name: on trial, as with apply"},
    {"reload", OPTION_COMMIT, "end the trial when all changed actors are ready"},
    {"start", OPTION_NO_WAIT, "return before the actors are ready"},
    {"stop", OPTION_NO_WAIT, "return before the actors are gone"},
    {"stop", OPTION_HOLD, "keep the actors down until they are started by hand"},
    {"restart", OPTION_NO_WAIT, "return before the actors are ready again"},
    {"shutdown", OPTION_NO_WAIT, "return before supd is gone"},
    {"kill", OPTION_SIGNAL, "name or number of the signal, such as HUP or 1"},
    {"tree", OPTION_DOT, "for the program dot of Graphviz"},
    {"status", OPTION_FAILED, "only unhealthy actors"},
    {"simulate", OPTION_CAUSE,
     "the cause of the failure: a word above, exit:N or signal:NAME"},
    {"simulate", OPTION_TIMES, "number of failures, each right after a start"},
    {"add", OPTION_USE, "the template in the configuration"},
    {"add", OPTION_WITH, "a parameter of the template; may be repeated"},
    {"apply", OPTION_ROLLBACK,
     "on trial for this time: a failure restores the old configuration"},
    {"apply", OPTION_COMMIT, "end the trial when all changed actors are ready"},
    {"wait", OPTION_FOR, "the state to wait for"},
};

/* All verbs, a line each, in groups. */
void
verb_print_list(struct strbuf *sb)
{
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		const struct verb *verb = verb_find(texts[i].verb);

		if (texts[i].title != NULL)
			strbuf_addf(sb, "%s%s\n", i == 0 ? "" : "\n", texts[i].title);
		strbuf_addf(sb, "  %-11s %s\n", verb->name, verb->help);
	}
	strbuf_adds(sb, "\nfor example:\n"
	                "  supctl status              is all well?\n"
	                "  supctl explain web         why was it restarted?\n"
	                "  supctl logs -f web         what does it say?\n"
	                "  supctl restart web         ready again when this returns\n");
}

static const char *
meaning_of(const struct verb *verb, const struct verb_option *option)
{
	for (size_t i = 0; i < ARRAY_SIZE(meanings); i++)
		if (option->bit == meanings[i].bit &&
		    strcmp(meanings[i].verb, verb->name) == 0)
			return meanings[i].help;
	return option->help;
}

/* "  -n, --lines N     how many"; where that is too long for a column, on a line of its
 * own. */
static void
add_option(struct strbuf *sb, const struct verb *verb, const struct verb_option *option)
{
	size_t start = sb->len;

	strbuf_addf(sb, "  %s%s%s", option->brief == NULL ? "" : option->brief,
	            option->brief == NULL ? "    " : ", ", option->name);
	if (option->value != NULL)
		strbuf_addf(sb, " %s", option->value);
	if (sb->len - start > 24) {
		strbuf_addc(sb, '\n');
		start = sb->len;
	}
	while (sb->len - start < 26)
		strbuf_addc(sb, ' ');
	strbuf_addf(sb, "%s\n", meaning_of(verb, option));
}

static void
add_options(struct strbuf *sb, const struct verb *verb)
{
	const struct verb_option *option = NULL;
	bool any = false;

	while (verb->options != 0 && (option = verb_option_next(verb, option)) != NULL) {
		strbuf_adds(sb, any ? "" : "\n");
		add_option(sb, verb, option);
		any = true;
	}
}

static void
add_examples(struct strbuf *sb, const struct verb *verb)
{
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		const char *line = texts[i].examples;

		if (strcmp(texts[i].verb, verb->name) != 0)
			continue;
		strbuf_adds(sb, "\nfor example:\n");
		for (; *line != '\0'; line += strcspn(line, "\n") + 1)
			strbuf_addf(sb, "  %.*s\n", (int)strcspn(line, "\n"), line);
	}
}

/* How to use one verb. */
void
verb_print_help(struct strbuf *sb, const struct verb *verb)
{
	strbuf_addf(sb, "usage: supctl %s%s%s\n\n%c%s.\n", verb->name,
	            verb->arguments[0] != '\0' ? " " : "", verb->arguments,
	            toupper((unsigned char)verb->help[0]), verb->help + 1);
	if (verb->alias[0] != '\0')
		strbuf_addf(sb, "Also called: %s.\n", verb->alias);
	add_options(sb, verb);
	add_examples(sb, verb);
	strbuf_addc(sb, '\n');
	if (strstr(verb->arguments, "NAME") != NULL)
		strbuf_adds(sb,
		            "NAME is a path, a path below /user, a last name that occurs "
		            "once, or a glob.\n");
	strbuf_adds(sb,
	            "'supctl help' has the options of every verb, supctl(1) the rest.\n");
}
