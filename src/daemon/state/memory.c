/* SPDX-License-Identifier: ISC */
/* memory.c - what the guardian does when there is no memory for what cannot wait. */
#include "config.h"

#include "daemon/state/memory.h"

#include <errno.h>
#include <ev.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/state/log.h"

/* More than what the loop asks for at once with some thousand descriptors; and so much
 * that malloc(3) gives it back to the kernel, where the rest of the process has it. */
#define RESERVE_BYTES (256 * 1024)

static void *reserve;

/* End the guardian.  What is in the journal is not lost: the next guardian goes on with
 * it, and finds the rest as it is then. */
_Noreturn void
memory_give_up(void)
{
	log_line(LOG_LEVEL_ERROR, "out of memory: the next guardian goes on");
	abort();
}

static _Noreturn void
on_loop_error(const char *text)
{
	log_line(LOG_LEVEL_ERROR, "event loop: %s: %s: the next guardian goes on", text,
	         strerror(errno));
	abort();
}

/*
 * As realloc(3) for libev, which ends the process when it gets NULL; a size of 0 frees.
 * Without memory the reserve goes first: it is taken again by the next call that finds
 * memory for it.
 */
void *
memory_for_loop(void *take, long size)
{
	if (size == 0) {
		free(take);
		return NULL;
	}
	void *memory = realloc(take, (size_t)size);
	if (memory == NULL) {
		free(reserve);
		reserve = NULL;
		memory = realloc(take, (size_t)size);
	} else if (reserve == NULL) {
		reserve = malloc(RESERVE_BYTES);
	}
	if (memory == NULL)
		memory_give_up();
	return memory;
}

/* Before the event loop is made. */
void
memory_begin(void)
{
	reserve = malloc(RESERVE_BYTES);
	ev_set_allocator(memory_for_loop);
	ev_set_syserr_cb(on_loop_error);
}
