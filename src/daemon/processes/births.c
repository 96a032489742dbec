/* SPDX-License-Identifier: ISC */
/* births.c - from the order of a process to a process that runs its program.
 *
 * LEDGER_SPAWNS starts are under way at once; what is ordered beyond that waits in a
 * queue.  The kernel clears a word of each when its child has executed the program or has
 * ended, and only a futex tells of that, no descriptor.  So, when the turn has nothing
 * else to do, it waits for the oldest for a moment: an exec takes a tenth of a
 * millisecond, and no system call more than that wait is made for it.  A start that takes
 * longer is not waited for again: a timer looks at it, and every time supd wakes.  It
 * keeps its place, and supervision goes on beside it.
 *
 * A start has its place, which is also its intent in the ledger, until it is over: then
 * the process is known, watched, put down and told.
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/bounds.h"
#include "daemon/processes/procs_private.h"
#include "daemon/state/log.h"
#include "daemon/state/post.h"
#include "daemon/state/recording.h"
#include "helper/watchers.h"
#include "os/self/clock.h"

/* How long a start is waited for: alone; and while others wait for a place, at a time. */
enum { ALONE_US = 2000, TOGETHER_US = 250 };

/* The pauses in which slow starts are looked at, doubling. */
enum { PAUSE_MIN_MS = 4, PAUSE_MAX_MS = 20 };

/* How long supd, when it ends, waits for a start that it has killed. */
enum { KILL_US = 200000 };

/* ---- a start ----------------------------------------------------------------------- */

/* Free the ledger, unless it is in force, or a start has its intent there: in the next
 * turn, for with thousands of actors that takes a while. */
void
procs_drop_ledger(struct procs *procs, struct ledger *take_ledger)
{
	struct births *births = &procs->births;

	for (unsigned int i = 0; i < births->n; i++)
		if (births->at[births->order[i]].ledger == take_ledger)
			return;
	if (take_ledger == procs->room->recording->ledger)
		return;
	ledger_free(births->dropped);
	births->dropped = take_ledger;
}

/* A place without a start. */
static uint8_t
free_place(const struct births *births)
{
	uint8_t place = 0;

	while (births->at[place].start != NULL) {
		place++;
		ASSERT(place < LEDGER_SPAWNS);
	}
	return place;
}

/* A start is under way at this place. */
static void
enter(struct procs *procs, uint8_t place, uint32_t owner, pid_t pid, bool is_slow)
{
	struct births *births = &procs->births;
	struct birth *birth = &births->at[place];

	birth->owner = owner;
	birth->pid = pid;
	birth->ledger = procs->room->recording->ledger;
	birth->is_slow = is_slow;
	birth->waited_us = 0;
	births->order[births->n++] = place;
}

static void
begin_birth(struct procs *procs, uint32_t owner)
{
	struct births *births = &procs->births;
	const uint8_t place = free_place(births);
	struct ledger_spawn *intent = ledger_spawn(procs->room->recording->ledger, place);
	struct birth *birth = &births->at[place];
	struct launching launching = {
	    .launch = &birth->launch,
	    .intent = intent,
	    .result = {.step = SPAWN_STEP_REMOVED, .which = -1, .said = ""},
	};

	intent->trace = (struct spawn_trace){0};
	intent->begun_ms = clock_mono_ms();
	int r = births->ways->begin(procs, owner, &launching);
	if (r < 0) {
		births->ways->over(procs, owner, r, &launching.result);
		atomic_store(&intent->life, 0);
	} else {
		birth->start = launching.place;
		enter(procs, place, owner, launching.result.pid, false);
	}
}

/*
 * Go on with a start that the guardian before us had under way, at this place of the
 * ledger: its child is another process's, which tells of its end.  0 or -errno.
 */
int
births_adopt(struct procs *procs, uint8_t place, uint32_t owner)
{
	struct ledger_spawn *intent = ledger_spawn(procs->room->recording->ledger, place);
	const pid_t pid = intent->trace.pid;
	int r = os_spawn_adopt(procs->room->spawner, pid, intent->begun_ms,
	                       &intent->trace, &procs->births.at[place].start);

	if (r == 0)
		enter(procs, place, owner, pid, true);
	return r;
}

/* The i-th start is over, or given up. */
static void
end(struct procs *procs, unsigned int i)
{
	struct births *births = &procs->births;
	const uint8_t place = births->order[i];
	struct birth *birth = &births->at[place];
	struct spawn_place *start = birth->start;
	struct spawn_result result;

	births->n--;
	memmove(births->order + i, births->order + i + 1, births->n - i);
	birth->start = NULL;
	births->ways->over(procs, birth->owner,
	                   os_spawn_end(procs->room->spawner, start, &result), &result);
	atomic_store(&ledger_spawn(procs->room->recording->ledger, place)->life, 0);
	if (birth->ledger != procs->room->recording->ledger)
		procs_drop_ledger(procs, birth->ledger);
}

/* A child has ended: if it was on its way to its program its start is over. */
void
births_meet(struct procs *procs, pid_t pid)
{
	const struct births *births = &procs->births;

	for (unsigned int i = 0; i < births->n; i++) {
		const struct birth *birth = &births->at[births->order[i]];

		if (birth->pid == pid && os_spawn_is_over(birth->start)) {
			end(procs, i);
			return;
		}
	}
}

/* ---- the queue --------------------------------------------------------------------- */

/* Prepare the next of those that wait, where several do. */
static void
prepare(struct procs *procs)
{
	struct births *births = &procs->births;
	const uint32_t n = SMALLER(births->cap - births->first, births->n_waiting);

	if (births->n_prepared > 0 || births->n_waiting < 2)
		return;
	births->n_prepared = SMALLER(n, BIRTHS_PREPARED_MAX);
	births->ways->prepare(procs, births->waiting + births->first, births->n_prepared);
}

/* Start what waits, as far as there are places. */
static void
begin_waiting(struct procs *procs)
{
	struct births *births = &procs->births;

	while (births->n_waiting > 0 && births->n < LEDGER_SPAWNS) {
		const uint32_t owner = births->waiting[births->first];

		prepare(procs);
		if (births->n_prepared > 0)
			births->n_prepared--;
		births->first = (births->first + 1) % births->cap;
		births->n_waiting--;
		begin_birth(procs, owner);
	}
	if (births->n_waiting == 0)
		leaves_end(procs);
}

void
procs_look(struct procs *procs)
{
	const struct births *births = &procs->births;

	for (unsigned int i = 0; i < births->n;)
		if (os_spawn_is_over(births->at[births->order[i]].start))
			end(procs, i);
		else
			i++;
	/* Here, since a turn that always has other work would begin no start. */
	begin_waiting(procs);
}

/* Start a process, now or when there is a place: of the actor in a slot, or, with
 * PROCS_TASK, the task at this place. */
void
births_order(struct procs *procs, uint32_t owner)
{
	struct births *births = &procs->births;

	ASSERT(births->n_waiting < births->cap);
	births->waiting[(births->first + births->n_waiting++) % births->cap] = owner;
	procs_look(procs);
}

/* The oldest start that is worth to wait for; NULL: there is none. */
static struct birth *
oldest_quick(struct births *births)
{
	for (unsigned int i = 0; i < births->n; i++)
		if (!births->at[births->order[i]].is_slow)
			return &births->at[births->order[i]];
	return NULL;
}

bool
procs_bear(struct procs *procs)
{
	const size_t before = procs->room->post->posted.n;
	struct births *births = &procs->births;

	if (births->n == 0 && births->n_waiting == 0)
		return false;
	leaves_make(procs);
	for (;;) {
		const bool is_alone = births->n_waiting == 0;

		procs_look(procs);
		struct birth *birth = oldest_quick(births);
		if (birth == NULL || clock_mono_ms() > procs->room->post->until_ms ||
		    (is_alone && procs->room->post->posted.n > before))
			break;
		procs_reap(procs);
		log_flush();
		if (!os_spawn_await(birth->start, is_alone ? ALONE_US : TOGETHER_US)) {
			birth->waited_us += is_alone ? ALONE_US : TOGETHER_US;
			birth->is_slow = birth->waited_us >= ALONE_US;
		}
	}
	return procs->room->post->posted.n > before;
}

bool
procs_wants_turn(struct procs *procs)
{
	return oldest_quick(&procs->births) != NULL ||
	       (procs->births.n_waiting > 0 && procs->births.n < LEDGER_SPAWNS);
}

bool
procs_are_starting(const struct procs *procs)
{
	return procs->births.n > 0;
}

/* ---- slow starts ------------------------------------------------------------------- */

static void
arm(struct procs *procs, unsigned int pause_ms)
{
	struct births *births = &procs->births;

	births->pause_ms = pause_ms;
	timer_begin(procs->loop, &births->timer, pause_ms / 1e3);
}

static void
on_pause(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
	struct procs *procs = timer->data;
	struct births *births = &procs->births;
	const unsigned int pause_ms = births->pause_ms;

	procs_look(procs);
	for (unsigned int i = 0; i < births->n && pause_ms >= PAUSE_MAX_MS;)
		if (os_spawn_urge(births->at[births->order[i]].start))
			end(procs, i);
		else
			i++;
	if (births->n > 0)
		arm(procs, 2 * pause_ms < PAUSE_MAX_MS ? 2 * pause_ms : PAUSE_MAX_MS);
}

/* The turn is over. */
void
births_on_turn(struct procs *procs)
{
	struct births *births = &procs->births;

	ledger_free(births->dropped);
	births->dropped = NULL;
	if (births->n > 0 && !ev_is_active(&births->timer))
		arm(procs, PAUSE_MIN_MS);
}

/* ---- all of them ------------------------------------------------------------------- */

/* Room for orders of so many slots and of all tasks; -ENOMEM. */
int
births_reserve(struct births *births, uint32_t slots)
{
	const uint32_t cap = slots + LEDGER_TASKS_MAX;
	uint32_t *grown = calloc(cap, sizeof(*grown));

	if (grown == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < births->n_waiting; i++)
		grown[i] = births->waiting[(births->first + i) % births->cap];
	free(births->waiting);
	births->waiting = grown;
	births->first = 0;
	births->cap = cap;
	return 0;
}

/* Prepare; the ways are those of actors and of tasks.  0 or -errno. */
int
births_init(struct procs *procs, const struct birth_ways *ways, struct err *err)
{
	struct births *births = &procs->births;
	int r = births_reserve(births, 0);

	births->ways = ways;
	timer_prepare(&births->timer, on_pause, procs);
	if (r < 0)
		err_set(err, -r, "starts");
	for (uint32_t place = 0; place < LEDGER_SPAWNS && r == 0; place++)
		r = launch_init(&births->at[place].launch, procs->room->launcher, err);
	return r;
}

/* Kill what is on its way, and give everything back. */
void
births_done(struct procs *procs)
{
	struct births *births = &procs->births;

	ev_timer_stop(procs->loop, &births->timer);
	leaves_end(procs);
	for (unsigned int i = 0; i < births->n; i++) {
		struct birth *birth = &births->at[births->order[i]];
		struct spawn_result result;

		(void)kill(birth->pid, SIGKILL);
		(void)os_spawn_await(birth->start, KILL_US);
		(void)os_spawn_end(procs->room->spawner, birth->start, &result);
		fd_close(&result.pidfd);
	}
	for (uint32_t place = 0; place < LEDGER_SPAWNS; place++)
		environment_done(&births->at[place].launch.environment);
	ledger_free(births->dropped);
	free(births->waiting);
}
