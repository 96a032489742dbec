/* SPDX-License-Identifier: ISC */
/* layout.c - where everything is, and whether another supd puts it at the same place. */
#include "config.h"

#include "ledger/layout.h"

#include <string.h>

#include "base/sum.h"

#define PAGE 4096

/* The next place that is a multiple of `align`; *at moves behind what is put there. */
static size_t
place_part(size_t *at, size_t bytes, size_t align)
{
	size_t place = (*at + align - 1) / align * align;

	*at = place + bytes;
	return place;
}

/* Where the parts of a ledger of this size are. */
void
layout_of(const struct ledger_size *size, struct layout *ret)
{
	size_t at = sizeof(struct header);

	ret->facts = place_part(&at, sizeof(struct ledger_facts), sizeof(uint64_t));
	ret->records =
	    place_part(&at, size->slots * sizeof(struct ledger_record), sizeof(uint64_t));
	ret->tasks = place_part(&at, LEDGER_TASKS_MAX * sizeof(struct ledger_task),
	                        sizeof(uint64_t));
	ret->journal =
	    place_part(&at, (size_t)size->journal * sizeof(struct journal_entry), 64);
	ret->statuses = place_part(&at, (size_t)size->slots * LEDGER_STATUS_MAX, 64);
	ret->past = place_part(&at, sizeof(struct past_ring), 64);
	/* Copied and summed as a whole; much of the rest is never touched. */
	ret->cores[0] = place_part(&at, size->core_bytes, PAGE);
	ret->cores[1] = place_part(&at, size->core_bytes, PAGE);
	ret->events = place_part(&at, size->events_bytes, PAGE);
	ret->tokens = place_part(&at, LEDGER_TOKENS_BYTES, PAGE);
	ret->bytes = place_part(&at, 0, PAGE);
}

#define FIELD(type, field) offsetof(struct type, field)

static uint64_t
shape_of_events(void)
{
	const uint64_t shape[] = {
	    sizeof(struct event),
	    FIELD(event, ref),
	    FIELD(event, life),
	    FIELD(event, code),
	    FIELD(event, signal),
	    FIELD(event, error),
	    FIELD(event, core),
	    FIELD(event, gone),
	    FIELD(event, hold),
	    FIELD(event, token),
	    FIELD(event, wait_for),
	    FIELD(event, serial),
	    EVENT_KIND_MAX,
	    WAIT_FOR_MAX,
	    NODE_STATE_MAX,
	    CAUSE_KIND_MAX,
	    NOTICE_MAX,
	    FIELD_MAX,
	};

	return sum_bytes(shape, sizeof(shape), LEDGER_VERSION);
}

static uint64_t
shape_of_records(void)
{
	const uint64_t shape[] = {
	    sizeof(struct ledger_record),
	    FIELD(ledger_record, conf_id),
	    FIELD(ledger_record, life),
	    FIELD(ledger_record, pid),
	    FIELD(ledger_record, failed.step),
	    FIELD(ledger_record, hung_since),
	    FIELD(ledger_record, state),
	    FIELD(ledger_record, asked.stop),
	    FIELD(ledger_record, asked.stop_command),
	    FIELD(ledger_record, asked.reloads),
	    FIELD(ledger_record, end),
	    FIELD(ledger_record, failed_at_wall_us),
	    LEDGER_TASKS_MAX,
	    sizeof(struct ledger_task),
	    FIELD(ledger_task, deadline_ms),
	    FIELD(ledger_task, cause),
	    FIELD(ledger_task, pid),
	    FIELD(ledger_task, kind),
	    FIELD(ledger_task, is_late),
	    FIELD(ledger_task, is_left),
	    FIELD(ledger_task, end),
	};

	return sum_bytes(shape, sizeof(shape), shape_of_events());
}

/*
 * A number for the form of everything that is stored: another compiler, another kind of
 * machine or a forgotten LEDGER_VERSION gives another one.  What is inside the core can
 * be told by its size only.
 */
uint64_t
layout_shape(void)
{
	const uint64_t shape[] = {
	    core_bytes(&(struct core_size){.nodes = 100}),
	    core_bytes(&(struct core_size){.nodes = 101}),
	    core_bytes(&(struct core_size){.nodes = 100, .waiters = 1}),
	    core_bytes(&(struct core_size){.nodes = 100, .watches = 1}),
	    sizeof(struct spec),
	    sizeof(struct rule),
	    sizeof(struct cause),
	    sizeof(struct journal_entry),
	    FIELD(journal_entry, event),
	    FIELD(journal_entry, kind),
	    FIELD(journal_entry, sum),
	    sizeof(struct reap),
	    FIELD(reap, status),
	    FIELD(reap, maxrss_kib),
	    sizeof(struct ledger_spawn),
	    FIELD(ledger_spawn, task),
	    FIELD(ledger_spawn, trace),
	    FIELD(ledger_spawn, begun_ms),
	    sizeof(struct ledger_facts),
	    FIELD(ledger_facts, upgrade_ms),
	    FIELD(ledger_facts, version),
	    sizeof(struct header),
	    FIELD(header, commit),
	    FIELD(header, pending),
	    sizeof(struct past_ring),
	    LEDGER_STATUS_MAX,
	    LEDGER_TOKENS_BYTES,
	};

	return sum_bytes(shape, sizeof(shape), shape_of_records());
}
