/* SPDX-License-Identifier: ISC */
/* leftover.c - processes that a supd which died left behind. */
#include "config.h"

#include "os/process/leftover.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/map.h"
#include "os/process/leftover_search.h"
#include "os/process/proc.h"
#include "os/process/proc_file.h"
#include "os/process/proc_sweep.h"
#include "os/self/bounded.h"
#include "os/self/clock.h"

/* How long a child may look at one process, and how often there is a sign of life
 * meanwhile. */
#define SILENT_MS 500
#define BEAT_MS   50
/* How long processes below a walker may take to end.  By then an exec is over, or counts
 * as hanging. */
#define BELOW_MS 4000

/* Identify a walker, our own or what a search looks at: by its pid and the time of its
 * start.  "" if the process is none. */
void
leftover_mark(pid_t walker, char ret[LEFTOVER_MARK_MAX])
{
	struct proc_stat line;

	ret[0] = '\0';
	if (proc_stat_direct(walker, &line) == 0)
		(void)snprintf(ret, LEFTOVER_MARK_MAX, "%d-%llu", (int)walker,
		               (unsigned long long)line.start);
}

static void
beat(const struct leftover_hunt *of)
{
	if (of->beat != NULL)
		of->beat(of->arg);
}

/* True if this child could run, if a processor were free for it. */
static bool
waits_for_processor(pid_t child)
{
	struct proc_stat line;

	return proc_stat_rough(child, &line) == 0 && line.state == 'R';
}

/* Wait for the end of a child; -ETIMEDOUT: it looks at one process for too long. */
static int
await(const struct leftover_search *search, pid_t child, int fd)
{
	const volatile struct findings *found = &search->found;
	uint64_t late_ms = clock_mono_ms() + SILENT_MS, step = found->step;

	while (poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, BEAT_MS) <= 0) {
		beat(search->of);
		if (found->step != step || waits_for_processor(child)) {
			step = found->step;
			late_ms = clock_mono_ms() + SILENT_MS;
		} else if (clock_mono_ms() >= late_ms) {
			return -ETIMEDOUT;
		}
	}
	return found->is_over ? found->error : -EPIPE;
}

/* Have a child go on with the search: its place is in search->id, or -errno. */
static void
send_child(struct leftover_search *search)
{
	search->id = bounded_open(
	    &search->children,
	    &(const struct bounded_task){.run = leftover_search, .data = search},
	    &search->fd);
}

/* Wait for the end of a search, by one child after the other; 0 or -errno. */
static int
run(struct leftover_search *search)
{
	struct findings *found = &search->found;
	int r;

	while (search->id >= 0) {
		r = await(search, search->children.pids[search->id], search->fd);
		bounded_end(&search->children, search->id, &search->fd);
		if (r == -ETIMEDOUT)
			found->silent[found->n_silent++] = found->at;
		if (r != -ETIMEDOUT || found->n_silent == LEFTOVER_SILENT_MAX)
			return r;
		send_child(search);
	}
	return search->id;
}

/*
 * Begin to look, in a child, for a walker, other than `walker`, that lives and has
 * started any of these processes; or, if that is 0, to kill them.  What is looked for is
 * borrowed until the end.  NULL without memory.
 */
struct leftover_search *
leftover_begin(const struct leftover_hunt *of, pid_t walker)
{
	/* Shared with children. */
	struct leftover_search *search =
	    mmap(NULL, sizeof(*search), PROT_READ | PROT_WRITE,
	         MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (search == MAP_FAILED)
		return NULL;
	search->of = of;
	search->parent = getpid();
	search->walker = walker;
	send_child(search);
	return search;
}

/*
 * Wait for what was found, and free the search, which may be NULL.  Returns the pid of
 * that walker; 0: there is none, or that is not known.  *ret_none, false before: there
 * are no processes of theirs, so that none need be killed.
 */
pid_t
leftover_owner_end(struct leftover_search *take_search, bool *ret_none)
{
	if (take_search == NULL)
		return 0;
	*ret_none = run(take_search) == 0 && take_search->found.none;
	pid_t owner = take_search->found.owner;
	(void)munmap(take_search, sizeof(*take_search));
	return owner;
}

/* List the killed processes that still exist; 0 or -ENOMEM. */
static int
take_left(const struct findings *found, struct leftovers *ret)
{
	ret->n_killed = found->n_killed;
	ret->n_silent = found->n_silent;
	memcpy(ret->silent, found->silent, sizeof(ret->silent));
	for (size_t i = 0; i < found->n; i++)
		ret->n_left += found->killed[i].is_left;
	ret->left = calloc(ret->n_left + 1, sizeof(*ret->left));
	if (ret->left == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < found->n && ret->n < LEFTOVERS_MAX; i++)
		if (found->killed[i].is_left)
			ret->left[ret->n++] = found->killed[i].process;
	return 0;
}

/*
 * Kill every process of an actor that was started with this variable
 * ("SUPD_SOCKET=/run/supd/control.sock"), and its new children: all at once, and with a
 * single wait of three seconds at most.  To be called by the holder of the lock of that
 * supd's directory, as these processes have no supervisor. `uids`: processes of these
 * users only; none: of any user, where the variable is a secret.
 *
 * Returns 0, also when some are left, which cannot be killed; -ETIMEDOUT: more than
 * LEFTOVER_SILENT_MAX processes cannot be looked at; or another -errno.
 */
int
leftover_kill(const struct leftover_hunt *of, struct leftovers *ret)
{
	struct leftover_search *search = leftover_begin(of, 0);

	*ret = (struct leftovers){0};
	if (search == NULL)
		return -ENOMEM;
	int r = run(search);
	int taken = take_left(&search->found, ret);
	(void)munmap(search, sizeof(*search));
	return r < 0 ? r : taken;
}

/* Put one more into a list; false without memory. */
bool
leftovers_add(struct leftovers *list, const struct leftover *left)
{
	if (!ARRAY_RESIZE(list->left, list->n + 1))
		return false;
	list->left[list->n++] = *left;
	return true;
}

/* Take an existing leftover of this actor out of a list; false: none. */
bool
leftovers_take(struct leftovers *list, const char *path, struct leftover *ret)
{
	size_t i = 0;

	while (i < list->n) {
		if (strncmp(list->left[i].path, path, LEFTOVER_PATH_MAX - 1) != 0) {
			i++;
			continue;
		}
		*ret = list->left[i];
		list->left[i] = list->left[--list->n];
		if (leftover_is_there(ret))
			return true;
	}
	return false;
}

/* Give back the list; nothing is in it then. */
void
leftovers_done(struct leftovers *found)
{
	free(found->left);
	*found = (struct leftovers){0};
}

/*
 * Kill all descendants of a walker but us: the actors, whatever their environment.
 * Processes of the walker's own session were there before supd.  Waits for their end.
 *
 * Returns 0; -EBUSY when a process would not die; or another -errno.
 */
int
leftover_kill_below(const struct leftover_hunt *of, pid_t walker, const pid_t *left,
                    size_t n_left, size_t *ret_killed)
{
	const uint64_t end_ms = clock_mono_ms() + BELOW_MS;
	struct proc_sweep *sweep = proc_sweep_new(walker);
	int count, r;

	*ret_killed = 0;
	if (sweep == NULL)
		return -ENOMEM;
	proc_sweep_include_left(sweep, left, n_left);
	do {
		beat(of);
		r = proc_sweep_take(sweep, &(struct map){0});
		count = of->spared_mark != NULL
		            ? proc_sweep_kill_marked(sweep, of->spared_mark)
		            : proc_sweep_signal_all(sweep, getsid(walker), SIGKILL);
		if ((size_t)count > *ret_killed)
			*ret_killed = (size_t)count;
		if (r < 0 || (count == 0 && !proc_sweep_has(sweep, -1, "")))
			break;
		r = -EBUSY;
		(void)poll(NULL, 0, 1);
	} while (clock_mono_ms() < end_ms);
	proc_sweep_free(sweep);
	return r;
}
