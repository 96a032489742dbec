/* SPDX-License-Identifier: ISC */
/* expect.c - the statements of a story that compare what happened with what should. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/scenario/cast.h"
#include "tests/scenario/script.h"

/* "a b, c d" from the words of the line: one item up to a comma. */
static uint32_t
item(const struct words *words, uint32_t at, char buf[NOTE_MAX])
{
	bool more = true;

	buf[0] = '\0';
	while (at < words->n && more) {
		size_t len = strlen(words->at[at]);
		size_t used = strlen(buf);

		more = words->at[at][len - 1] != ',';
		snprintf(buf + used, NOTE_MAX - used, "%s%.*s", used > 0 ? " " : "",
		         (int)(more ? len : len - 1), words->at[at]);
		at++;
	}
	return at;
}

/* What was not read yet, for a message. */
static const char *
rest_of(const struct notes *notes, char buf[200])
{
	size_t used = 0;

	buf[0] = '\0';
	for (size_t i = notes->read; i < notes->n && used < 190; i++)
		used += (size_t)snprintf(buf + used, 200 - used, "%s%s",
		                         i > notes->read ? ", " : "", notes->at[i]);
	return notes->read == notes->n ? "nothing" : buf;
}

/* Is this what happened next, or, in any order, at all?  Then it comes next. */
static bool
next_is(struct notes *notes, const char *wanted, bool any_order)
{
	size_t end = any_order ? notes->n : notes->read + 1;
	char next[NOTE_MAX];

	for (size_t i = notes->read; i < end && i < notes->n; i++) {
		if (strcmp(notes->at[i], wanted) != 0)
			continue;
		memcpy(next, notes->at[notes->read], sizeof(next));
		memcpy(notes->at[notes->read], notes->at[i], sizeof(next));
		memcpy(notes->at[i], next, sizeof(next));
		return true;
	}
	return false;
}

static void
expect_notes(struct stage *stage, struct notes *notes, const struct words *words,
             bool any_order)
{
	char wanted[NOTE_MAX];
	char rest[200];

	rest_of(notes, rest);
	for (uint32_t i = 1; i < words->n;) {
		i = item(words, i, wanted);
		if (strcmp(wanted, "nothing") == 0) {
			if (notes->read != notes->n)
				stage_blame(stage, "expected nothing, got: %s", rest);
			return;
		}
		if (!next_is(notes, wanted, any_order)) {
			stage_blame(stage, "expected \"%s\", got: %s", wanted,
			            rest_of(notes, rest));
			return;
		}
		notes->read++;
	}
}

/* "count S a 12, S b 3": so many in what was not read yet; all of it is then read. */
static void
expect_count(struct stage *stage, const struct words *words)
{
	struct notes *notes = &stage->acts;
	char wanted[NOTE_MAX];

	for (uint32_t i = 1; i < words->n;) {
		char *last;
		unsigned long n = 0;

		i = item(words, i, wanted);
		last = strrchr(wanted, ' ');
		if (last == NULL) {
			stage_blame(stage, "count what, how often?");
			return;
		}
		*last++ = '\0';
		for (size_t k = notes->read; k < notes->n; k++)
			if (strcmp(notes->at[k], wanted) == 0)
				n++;
		if (n != strtoul(last, NULL, 10))
			stage_blame(stage, "\"%s\" happened %lu times", wanted, n);
	}
	notes->read = notes->n;
}

static bool
log_is(enum rule_log log, const char *value, enum directive directive)
{
	static const enum rule_log defaults[DIRECTIVE_MAX] = {
	    [DIRECTIVE_RESUME] = RULE_LOG_WARNING,
	    [DIRECTIVE_RESTART] = RULE_LOG_ERROR,
	    [DIRECTIVE_STOP] = RULE_LOG_ERROR,
	    [DIRECTIVE_ESCALATE] = RULE_LOG_OFF};

	if (log == RULE_LOG_AS_DIRECTIVE)
		log = defaults[directive];
	return strcmp(rule_log_names[log], value) == 0;
}

static bool
reason_is(enum decision_reason reason, const char *value)
{
	static const char *const words[] = {
	    [DECIDED_BY_RULE] = "rule",
	    [DECIDED_BY_ON_FAILURE] = "on_failure",
	    [DECIDED_NO_RULE_MATCHED] = "no_rule",
	    [DECIDED_TEMPORARY] = "temporary",
	    [DECIDED_NEVER] = "never",
	    [DECIDED_LIMIT] = "limit",
	    [DECIDED_INTENSITY] = "intensity",
	    [DECIDED_RESUME_GUARD] = "guard",
	    [DECIDED_MANUAL_START] = "manual",
	    [DECIDED_NOT_ADDED] = "not_added",
	    [DECIDED_ROOT] = "root",
	};

	return reason < DECISION_REASON_MAX && strcmp(words[reason], value) == 0;
}

/* The actor that ended, of a notice or a death pact. */
static const char *
watched(struct stage *stage, const struct action *action)
{
	const bool pact = action->death.watch == 0;
	const struct player *player =
	    stage_player_of(stage, pact ? action->origin : action->ref);
	const uint32_t watch = pact ? action->cause.watch : action->death.watch;

	return player == NULL || watch == 0 ? "?" : player->watched[watch - 1];
}

/* One "key=value" of a report line. */
static bool
report_key(struct stage *stage, const struct action *action, const char *word)
{
	const char *value = strchr(word, '=') + 1;
	size_t len = (size_t)(value - 1 - word);
	uint64_t n = strtoull(value, NULL, 10);
	char name[STAGE_NAME_MAX];

#define KEY(text) (len == sizeof(text) - 1 && strncmp(word, text, len) == 0)
	if (KEY("origin"))
		return strcmp(stage_name(stage, action->origin, name), value) == 0;
	if (KEY("to"))
		return strcmp(stage_name(stage, action->to, name), value) == 0;
	if (KEY("reason"))
		return reason_is(action->ruling.reason, value);
	if (KEY("log"))
		return log_is(action->log, value, action->ruling.directive);
	if (KEY("rule"))
		return action->ruling.place.line == n;
	if (KEY("preset"))
		return strcmp(preset_names[action->ruling.preset], value) == 0;
	if (KEY("group"))
		return action->group == (strcmp(value, "yes") == 0);
	if (KEY("window"))
		return action->window == n;
	if (KEY("limit"))
		return action->limit == n;
	if (KEY("hook"))
		return strcmp(hook_names[action->call.hook], value) == 0;
	if (KEY("timed_out"))
		return action->timed_out == (strcmp(value, "yes") == 0);
	if (KEY("delay"))
		return cast_duration(value, &n) && action->delay_ms == n;
	if (KEY("confirmed"))
		return action->death.confirmed == (strcmp(value, "yes") == 0);
	if (KEY("child_failed"))
		return action->death.child_failed == (strcmp(value, "yes") == 0);
	if (KEY("incarnation"))
		return action->incarnation == n;
	if (KEY("of"))
		return strcmp(watched(stage, action), value) == 0;
#undef KEY
	stage_blame(stage, "a report has no \"%s\"", word);
	return false;
}

/* "told": the report of an end to one watcher. */
static const char *
report_kind(const struct action *action)
{
	return action->report == REPORT_TERMINATED && action->death.watch != 0
	           ? "told"
	           : report_names[action->report];
}

static const char *
report_text(struct stage *stage, const struct action *action, char buf[300])
{
	char name[STAGE_NAME_MAX];
	char cause[NOTE_MAX];

	snprintf(
	    buf, 300,
	    "%s %s %s %s origin=#%u to=#%u reason=\"%s\" rule=%u group=%d "
	    "window=%u limit=%u delay=%llums of=%s confirmed=%d child_failed=%d "
	    "incarnation=%u",
	    report_kind(action), stage_name(stage, action->ref, name),
	    cast_cause(&action->cause, cause),
	    action->report == REPORT_FAILURE ? directive_names[action->ruling.directive]
	                                     : "",
	    action->origin.slot, action->to.slot,
	    action->ruling.reason < DECISION_REASON_MAX
	        ? decision_reason_names[action->ruling.reason]
	        : "?",
	    action->ruling.place.line, action->group, action->window, action->limit,
	    (unsigned long long)action->delay_ms, watched(stage, action),
	    action->death.confirmed, action->death.child_failed, action->incarnation);
	return buf;
}

/* "report failure a exit:1 restart delay=1s": the next report says so; * is any. */
static void
expect_report(struct stage *stage, const struct words *words)
{
	const struct action *action;
	char name[STAGE_NAME_MAX];
	char text[300];
	bool same;

	if (stage->reports_read == stage->n_reports) {
		if (words->n < 2 || strcmp(words->at[1], "nothing") != 0)
			stage_blame(stage, "expected a report, got nothing");
		return;
	}
	action = &stage->reports[stage->reports_read++];
	same = words->n > 2 && strcmp(words->at[1], report_kind(action)) == 0;
	if (same && strcmp(words->at[2], "*") != 0)
		same = strcmp(stage_name(stage, action->ref, name), words->at[2]) == 0;
	for (uint32_t i = 3; same && i < words->n; i++) {
		const char *word = words->at[i];
		int found = names_find(directive_names, DIRECTIVE_MAX, word);

		if (strchr(word, '=') != NULL)
			same = report_key(stage, action, word);
		else if (found >= 0)
			same = action->ruling.directive == (enum directive)found;
		else if (strcmp(word, "*") != 0)
			same = cast_cause_is(&action->cause, word);
	}
	if (!same)
		stage_blame(stage, "got: %s", report_text(stage, action, text));
}

/* "a,b": the needs that are not met; an unknown name has a "?" behind it.
 */
static bool
lacks_are(struct stage *stage, const struct node_view *view, const char *text)
{
	const struct player *player = stage_player_of(stage, view->ref);
	char found[256] = "";
	size_t used = 0;

	for (uint32_t i = 0; i < SPEC_NEEDS_MAX; i++) {
		struct ref ref = REF_NONE;
		char name[STAGE_NAME_MAX];

		if ((view->unmet >> i & 1) == 0)
			continue;
		ref = core_unmet_next(stage->rig.core, view->ref, i, ref);
		if (ref.slot == REF_NONE.slot)
			used += (size_t)snprintf(found + used, sizeof(found) - used,
			                         ",%s?", player->needed[i]);
		for (; ref.slot != REF_NONE.slot && used < sizeof(found) - STAGE_NAME_MAX;
		     ref = core_unmet_next(stage->rig.core, view->ref, i, ref))
			used += (size_t)snprintf(found + used, sizeof(found) - used,
			                         ",%s", stage_name(stage, ref, name));
	}
	if (strcmp(used == 0 ? "no" : found + 1, text) == 0)
		return true;
	stage_blame(stage, "%s lacks %s", player->name, found);
	return false;
}

/* One "key=value" of a view line. */
static bool
view_key(struct stage *stage, const struct node_view *view, const char *word)
{
	const char *value = strchr(word, '=') + 1;
	size_t len = (size_t)(value - 1 - word);
	uint64_t n = strtoull(value, NULL, 10);
	bool yes = strcmp(value, "yes") == 0;

#define KEY(text) (len == sizeof(text) - 1 && strncmp(word, text, len) == 0)
	if (KEY("ready"))
		return view->ready == yes;
	if (KEY("held"))
		return view->held == yes;
	if (KEY("sigstopped"))
		return view->process.sigstopped == yes;
	if (KEY("watchdog"))
		return view->process.watchdog == yes;
	if (KEY("degraded"))
		return view->degraded == yes;
	if (KEY("restarts"))
		return view->run.restarts == n;
	for (size_t i = 0; i < RESTART_KIND_MAX; i++)
		if (len == strlen(restart_kind_names[i]) &&
		    strncmp(word, restart_kind_names[i], len) == 0)
			return view->run.restarts_by[i] == n;
	if (KEY("window"))
		return view->counted.window == n;
	if (KEY("failures"))
		return view->backoff.failures == n;
	if (KEY("generation"))
		return view->run.generation == n;
	if (KEY("children"))
		return view->children == n;
	if (KEY("suspended"))
		return view->suspended == n;
	if (KEY("lacks"))
		return lacks_are(stage, view, value);
	if (KEY("since"))
		return cast_duration(value, &n) &&
		       view->since_ms == stage->rig.now_ms - n;
	if (KEY("cause"))
		return view->has_failure && cast_cause_is(&view->failure.cause, value);
	if (KEY("delay"))
		return cast_duration(value, &n) && view->backoff.delay_ms == n;
	if (KEY("due"))
		return yes ? view->backoff.due_ms != 0
		           : (strcmp(value, "no") == 0
		                  ? view->backoff.due_ms == 0
		                  : cast_duration(value, &n) &&
		                        view->backoff.due_ms == n + stage->rig.now_ms);
#undef KEY
	stage_blame(stage, "a view has no \"%s\"", word);
	return false;
}

/* "view a running window=2 due=no" */
static void
expect_view(struct stage *stage, const struct words *words)
{
	const struct player *player =
	    words->n < 2 ? NULL : stage_player(stage, words->at[1]);
	struct node_view view;

	if (player == NULL) {
		stage_blame(stage, "view of whom?");
		return;
	}
	if (!core_valid(stage->rig.core, player->ref)) {
		if (words->n != 3 || strcmp(words->at[2], "unknown") != 0)
			stage_blame(stage, "%s is no longer there", player->name);
		return;
	}
	view = rig_view(&stage->rig, player->ref);
	for (uint32_t i = 2; i < words->n; i++) {
		const char *word = words->at[i];
		bool fine = strchr(word, '=') != NULL
		                ? view_key(stage, &view, word)
		                : strcmp(word, node_state_names[view.state]) == 0;

		if (!fine)
			stage_blame(
			    stage,
			    "%s is not %s: %s ready=%d restarts=%llu window=%u "
			    "failures=%u delay=%llums due in %lldms",
			    player->name, word, node_state_names[view.state], view.ready,
			    (unsigned long long)view.run.restarts, view.counted.window,
			    view.backoff.failures,
			    (unsigned long long)view.backoff.delay_ms,
			    view.backoff.due_ms == 0
			        ? -1LL
			        : (long long)(view.backoff.due_ms - stage->rig.now_ms));
	}
}

/* Before anything else happens the story must have read everything. */
bool
expect_all_read(struct stage *stage)
{
	char rest[300];

	if (stage->acts.read != stage->acts.n)
		stage_blame(stage, "not expected: %s", rest_of(&stage->acts, rest));
	if (stage->replies.read != stage->replies.n)
		stage_blame(stage, "no such reply expected: %s",
		            rest_of(&stage->replies, rest));
	if (stage->reports_read != stage->n_reports)
		stage_blame(
		    stage, "no such report expected: %s",
		    report_text(stage, &stage->reports[stage->reports_read], rest));
	return stage->fault[0] == '\0';
}

/* expect, count, reply, report, view.  False: it is none of these. */
bool
expect_statement(struct stage *stage, const struct words *words)
{
	const char *verb = words->at[0];

	if (strcmp(verb, "expect") == 0)
		expect_notes(stage, &stage->acts, words, false);
	else if (strcmp(verb, "count") == 0)
		expect_count(stage, words);
	else if (strcmp(verb, "reply") == 0)
		expect_notes(stage, &stage->replies, words, true);
	else if (strcmp(verb, "report") == 0)
		expect_report(stage, words);
	else if (strcmp(verb, "reports") == 0)
		stage->reports_read = stage->n_reports;
	else if (strcmp(verb, "view") == 0)
		expect_view(stage, words);
	else
		return false;
	return true;
}
