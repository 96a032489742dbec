/* SPDX-License-Identifier: ISC */
/* support.c - ledgers to try things on, and things that can be told whole from torn. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ledger/layout.h"
#include "tests/ledger/suites.h"

/* A small one that has a first checkpoint, of a core of zeros. */
struct ledger *
new_ledger(void)
{
	const struct ledger_size size = {.slots = SLOTS,
	                                 .journal = JOURNAL,
	                                 .core_bytes = CORE_BYTES,
	                                 .events_bytes = EVENTS_BYTES};
	struct err err;
	struct ledger *ledger = ledger_new(&size, &err);

	if (ledger == NULL)
		abort();
	ledger_checkpoint(ledger, &(struct core_used){.first = CORE_BYTES});
	return ledger;
}

/* As a successor does it; NULL with a sentence. */
struct ledger *
try_again(const struct ledger *ledger, struct err *err)
{
	int fd = dup(ledger_fd(ledger));

	if (fd < 0)
		abort();
	return ledger_open(fd, err);
}

struct ledger *
open_again(const struct ledger *ledger)
{
	struct err err;
	struct ledger *again = try_again(ledger, &err);

	if (again == NULL)
		abort();
	return again;
}

/* Make `to`, of the same size, what `from` is at this moment, but for the tokens. */
void
replicate(struct ledger *to, const struct ledger *from)
{
	memcpy(to->header, from->header, from->layout.tokens);
}

/* Prepare and commit one entry. */
void
append_entry(struct ledger *ledger, enum journal_kind kind, uint64_t now_ms,
             const struct event *event, uint64_t tag)
{
	ledger_prepare(ledger, kind, now_ms, event, tag);
	ledger_commit(ledger);
}

/* A record of this slot in which every other byte is about n. */
struct ledger_record
record_of(uint32_t slot, uint32_t n)
{
	struct ledger_record record;

	memset(&record, 0, sizeof(record));
	record.ref = (struct ref){slot, n};
	record.predecessor = (struct ref){n, n};
	record.successor = (struct ref){n, n};
	record.conf_id = n;
	record.conf_index = n;
	record.life = n;
	record.pid = (int32_t)n;
	record.failed.error = (int16_t)n;
	record.ready_life = n;
	record.failed.step = (uint8_t)(n % SPAWN_STEP_MAX);
	record.state = (uint8_t)(n % 6);
	record.asked.stop = (uint8_t)(n % 3);
	record.end = (struct reap){.pid = (int)n,
	                           .kind = REAP_SIGNALED,
	                           .status = (int)n,
	                           .utime_us = n,
	                           .stime_us = n,
	                           .maxrss_kib = n};
	record.process_started_ms = n;
	record.dead_letters = n;
	record.failed_at_wall_us = n;
	return record;
}

bool
record_is(const struct ledger_record *record, uint32_t n)
{
	const struct ledger_record want = record_of(0, n);

	return record->ref.tenant == n && record->predecessor.slot == n &&
	       record->successor.tenant == n && record->conf_id == n &&
	       record->conf_index == n && record->life == n && record->pid == want.pid &&
	       record->failed.error == want.failed.error && record->ready_life == n &&
	       record->failed.step == want.failed.step && record->state == want.state &&
	       record->asked.stop == want.asked.stop && record->end.pid == want.end.pid &&
	       record->end.kind == want.end.kind &&
	       record->end.status == want.end.status && record->end.utime_us == n &&
	       record->end.stime_us == n && record->end.maxrss_kib == n &&
	       record->process_started_ms == n && record->dead_letters == n &&
	       record->failed_at_wall_us == n;
}

struct event
event_of(uint32_t n)
{
	return (struct event){.kind = (enum event_kind)(n % EVENT_KIND_MAX),
	                      .ref = {n, n},
	                      .life = n,
	                      .code = (int32_t)n,
	                      .signal = (int32_t)n,
	                      .error = (int32_t)n,
	                      .core = n % 2,
	                      .gone = n % 3 == 0,
	                      .hold = n % 5 == 0,
	                      .token = n,
	                      .wait_for = (enum wait_for)(n % WAIT_FOR_MAX)};
}

bool
event_is(const struct event *event, uint32_t n)
{
	const struct event want = event_of(n);

	return event->kind == want.kind && event->ref.slot == n &&
	       event->ref.tenant == n && event->life == n && event->code == want.code &&
	       event->signal == want.signal && event->error == want.error &&
	       event->core == want.core && event->gone == want.gone &&
	       event->hold == want.hold && event->token == n &&
	       event->wait_for == want.wait_for;
}
