/* SPDX-License-Identifier: ISC */
/* confine.h - a helper process gives up, for good, what it does not need.
 *
 * Called by the process for itself, as soon as it has what only its start may get
 * (limits, descriptors, another user) and before it touches what an actor or a stranger
 * chose. What it starts later is confined in the same way, or more.
 *
 *	struct err err;
 *
 *	if (os_confine(CONFINE_SERVER, &err) < 0)
 *		say("supd: %s", err.text);
 *	and go on: this is the second line of defence
 *
 * A system call that is not in the list of the kind fails with ENOSYS, as if the kernel
 * did not have it: the C library then does without where it can.  Add to the lists in
 * confine.c what a kind turns out to need; `strace -f` of the process shows it.
 *
 * The user stays as it is: a process that needs no file of root's is started as another
 * one (struct spawn has ids).
 */
#ifndef OS_SELF_CONFINE_H
#define OS_SELF_CONFINE_H

#include "base/err.h"

enum confine_kind {
	CONFINE_LOG,     /* writes files of any owner, forks, unix sockets */
	CONFINE_READER,  /* reads files, as other users, forks; no sockets */
	CONFINE_GZIP,    /* reads and writes the descriptors that it has, and no more */
	CONFINE_SERVER,  /* accepts on sockets that it was given; opens nothing */
	CONFINE_LETTERS, /* the same, and sends to unix sockets whatever their modes */
	CONFINE_CLIENT,  /* connects to internet sockets, and to unix sockets whatever
	                    their modes, forks; opens nothing */
	CONFINE_MAX
};

int os_confine(enum confine_kind kind, struct err *err);

#endif
