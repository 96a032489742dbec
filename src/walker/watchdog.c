/* SPDX-License-Identifier: ISC */
/* watchdog.c - is a process silent for too long, and what is its superior told meanwhile?
 */
#include "config.h"

#include "walker/watchdog.h"

static uint64_t
earlier(uint64_t a_ms, uint64_t b_ms)
{
	return a_ms < b_ms ? a_ms : b_ms;
}

/* Nothing is watched yet; the superior, if period_ms is not 0, has just been satisfied.
 */
void
watchdog_init(struct watchdog *watchdog, uint64_t period_ms, uint64_t now_ms)
{
	*watchdog = (struct watchdog){
	    .period_ms = period_ms,
	    .turn_ms = WATCHDOG_TURN_MS,
	    .ask_ms = WATCHDOG_SOON_MS,
	    .state = WATCHDOG_NONE,
	    .since_ms = now_ms,
	    .pinged_ms = now_ms,
	    .lost_ms = now_ms,
	};
}

/*
 * A process begins: it has to prove itself within total_ms, and to show a sign of life
 * every quiet_ms until then.
 */
void
watchdog_begin(struct watchdog *watchdog, uint64_t total_ms, uint64_t quiet_ms,
               uint64_t now_ms)
{
	watchdog_enter(watchdog, WATCHDOG_PROVING, now_ms);
	watchdog->total_ms = total_ms;
	watchdog->quiet_ms = quiet_ms;
}

/* The caller has seen this: it has proved itself, or it is gone. */
void
watchdog_enter(struct watchdog *watchdog, enum watchdog_state state, uint64_t now_ms)
{
	if (watchdog->state == WATCHDOG_PROVED)
		watchdog->lost_ms = now_ms;
	watchdog->state = state;
	watchdog->since_ms = now_ms;
	if (!watchdog_has_bitten(watchdog))
		watchdog->heard_ms = now_ms;
	watchdog->question_ms = now_ms;
	watchdog->ask_ms = WATCHDOG_SOON_MS;
	watchdog->asked_ms = watchdog->unanswered_ms = 0;
}

/* The number of actors the watched process looks after: the time that it is given grows
 * with it. */
void
watchdog_expect(struct watchdog *watchdog, uint32_t n_actors)
{
	watchdog->turn_ms =
	    WATCHDOG_TURN_MS + (uint64_t)n_actors * WATCHDOG_TURN_MS_AN_ACTOR;
}

/* A sign of life.  It does not prolong the time to prove itself, and saves nothing that
 * has been aborted. */
void
watchdog_hear(struct watchdog *watchdog, uint64_t now_ms)
{
	watchdog->heard_ms = now_ms;
	watchdog->asked_ms = 0;
}

/* It has answered. */
void
watchdog_answered(struct watchdog *watchdog, uint64_t now_ms)
{
	watchdog_hear(watchdog, now_ms);
	watchdog->question_ms = now_ms;
	watchdog->unanswered_ms = 0;
}

/* It has answered, and has gone to sleep. */
void
watchdog_rests(struct watchdog *watchdog)
{
	watchdog->ask_ms = WATCHDOG_REST_MS;
}

/* It has something to do: it may not rest any more. */
void
watchdog_rouse(struct watchdog *watchdog, uint64_t now_ms)
{
	if (watchdog->ask_ms != WATCHDOG_REST_MS)
		return;
	watchdog->question_ms = now_ms;
	watchdog->ask_ms = WATCHDOG_SOON_MS;
}

/* A sign of life of which the superior hears, too. */
void
watchdog_pinged(struct watchdog *watchdog, uint64_t now_ms)
{
	watchdog_hear(watchdog, now_ms);
	watchdog->pinged_ms = now_ms;
}

static void
ask(struct watchdog *watchdog, uint64_t now_ms)
{
	/* Up to now it slept, and nothing was missed. */
	if (watchdog->ask_ms == WATCHDOG_REST_MS)
		watchdog->heard_ms = now_ms;
	watchdog->asked_ms = watchdog->question_ms = now_ms;
	watchdog->ask_ms = earlier(2 * watchdog->ask_ms, WATCHDOG_ASK_MS);
	if (watchdog->unanswered_ms == 0)
		watchdog->unanswered_ms = now_ms;
}

/*
 * Its end is wanted urgently: do not wait any longer before it is asked.  True if the
 * caller is to ask it now.
 */
bool
watchdog_hurry(struct watchdog *watchdog, uint64_t now_ms)
{
	bool is_proved = watchdog->state == WATCHDOG_PROVED;

	if (watchdog->asked_ms != 0 ||
	    (!is_proved && watchdog->state != WATCHDOG_PROVING))
		return false;
	if (is_proved)
		ask(watchdog, now_ms);
	watchdog->asked_ms = now_ms;
	return is_proved;
}

/* True if what is watched now was aborted or killed for its silence. */
bool
watchdog_has_bitten(const struct watchdog *watchdog)
{
	return watchdog->state == WATCHDOG_ABORTED || watchdog->state == WATCHDOG_KILLED;
}

/*
 * When silence becomes too long.  Counted from a question, not from the last sign of
 * life: a caller that stood still itself asks first.  Of the superior's period three
 * quarters: the rest is for the successor (DECISIONS 10).
 */
static uint64_t
hang_ms(const struct watchdog *watchdog)
{
	uint64_t end_ms = UINT64_MAX;

	if (watchdog->asked_ms != 0)
		end_ms = watchdog->asked_ms + WATCHDOG_ANSWER_MS;
	switch (watchdog->state) {
	case WATCHDOG_PROVING:
		end_ms = earlier(end_ms, watchdog->since_ms + watchdog->total_ms);
		return earlier(end_ms, watchdog->heard_ms + watchdog->quiet_ms);
	case WATCHDOG_PROVED:
		if (watchdog->unanswered_ms != 0)
			end_ms =
			    earlier(end_ms, watchdog->unanswered_ms + watchdog->turn_ms);
		if (watchdog->period_ms != 0)
			end_ms = earlier(end_ms, watchdog->heard_ms +
			                             watchdog->period_ms * 3 / 4);
		return end_ms;
	case WATCHDOG_ABORTED:
		return watchdog->since_ms + WATCHDOG_ABORT_MS;
	case WATCHDOG_KILLED:
		return watchdog->since_ms + WATCHDOG_KILL_MS;
	case WATCHDOG_NONE:
		break;
	}
	return UINT64_MAX;
}

/* When it is to be asked. */
static uint64_t
ask_ms(const struct watchdog *watchdog)
{
	return watchdog->state != WATCHDOG_PROVED || watchdog->asked_ms != 0
	           ? UINT64_MAX
	           : watchdog->question_ms + watchdog->ask_ms;
}

/* When the superior is to be told in the place of what does not. */
static uint64_t
ping_ms(const struct watchdog *watchdog)
{
	uint64_t next_ms = watchdog->pinged_ms + watchdog->period_ms / 2;

	if (watchdog->period_ms == 0 || watchdog->state == WATCHDOG_PROVED ||
	    next_ms > watchdog->lost_ms + WATCHDOG_GRACE_MS)
		return UINT64_MAX;
	return next_ms;
}

/* When watchdog_next() is due; UINT64_MAX: not before something else happens. */
uint64_t
watchdog_deadline_ms(const struct watchdog *watchdog)
{
	return earlier(earlier(hang_ms(watchdog), ping_ms(watchdog)), ask_ms(watchdog));
}

static enum watchdog_act
bite(struct watchdog *watchdog, uint64_t now_ms)
{
	switch (watchdog->state) {
	case WATCHDOG_KILLED:
		watchdog->since_ms = now_ms;
		return WATCHDOG_LEAVE;
	case WATCHDOG_ABORTED:
		watchdog_enter(watchdog, WATCHDOG_KILLED, now_ms);
		return WATCHDOG_KILL;
	case WATCHDOG_NONE:
	case WATCHDOG_PROVING:
	case WATCHDOG_PROVED:
		break;
	}
	watchdog_enter(watchdog, WATCHDOG_ABORTED, now_ms);
	return WATCHDOG_ABORT;
}

/* What the caller is to do now, one thing at a time; it is noted as done. */
enum watchdog_act
watchdog_next(struct watchdog *watchdog, uint64_t now_ms)
{
	if (hang_ms(watchdog) <= now_ms)
		return bite(watchdog, now_ms);
	if (ping_ms(watchdog) <= now_ms) {
		watchdog->pinged_ms = now_ms;
		return WATCHDOG_PING;
	}
	if (ask_ms(watchdog) <= now_ms) {
		ask(watchdog, now_ms);
		return WATCHDOG_ASK;
	}
	return WATCHDOG_WAIT;
}
