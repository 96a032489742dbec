/* SPDX-License-Identifier: ISC */
/* leftover_search.h - the child that looks for processes of a supd which died.
 *
 * The kernel reads environ and stat of a process under locks of that process, which it
 * holds while it maps a file or executes a program: for as long as a file system in user
 * space likes.  So a child searches, and a process at which the child comes to a stop is
 * left out by its successor.
 */
#ifndef OS_PROCESS_LEFTOVER_SEARCH_H
#define OS_PROCESS_LEFTOVER_SEARCH_H

#include "os/process/leftover.h"
#include "os/self/bounded.h"

/* How long the kernel may take to end all that were killed, and to end an exec. */
#define DEATH_TIMEOUT_MS 3000
#define KILLED_MAX       65536

/* A process that was killed. */
struct killed {
	struct leftover process;
	bool is_left; /* at the end of the search */
};

/* What the children of a search find, one after the other, in memory that they share with
 * us: what was found stays if a child has to be replaced. */
struct findings {
	pid_t at;                          /* the child looks at this process, … */
	uint64_t step;                     /* … and goes on: this grows */
	pid_t silent[LEFTOVER_SILENT_MAX]; /* processes at which a child hung, n_silent */
	size_t n_silent;
	bool is_over;
	int error;   /* -errno, or 0 */
	pid_t owner; /* the answer of leftover_owner(), 0: none lives */
	bool none;
	size_t n_killed;
	size_t n; /* of these, the first KILLED_MAX */
	struct killed killed[KILLED_MAX];
};

struct leftover_search {
	const struct leftover_hunt *of;
	pid_t parent;
	pid_t walker; /* not 0: only find out whether another one of theirs lives */
	struct bounded children;
	int id, fd; /* of the child at work, and its channel; id: or -errno */
	struct findings found;
};

bool leftover_is_there(const struct leftover *left);
void leftover_search(int fd, void *data);

#endif
