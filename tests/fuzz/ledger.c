/* SPDX-License-Identifier: ISC */
/* ledger.c - a damaged ledger: what a guardian finds when it takes over.
 *
 * The input is three bytes for each change, two where and one what; the header's sum is
 * made right again, so that its numbers are met.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/sum.h"
#include "ledger/layout.h"
#include "tests/fuzz/fuzz.h"
#include "tests/ledger/suites.h"

const unsigned int fuzz_runs = 300;

static struct ledger *
make(void)
{
	const struct ledger_facts facts = {.secret = {4}, .version = "4"};
	struct ledger *ledger = new_ledger();

	for (uint32_t n = 0; n < 4; n++) {
		const struct event event = event_of(n);
		const struct ledger_record record = record_of(n, n);

		append_entry(ledger, JOURNAL_POST, n, &event, n);
		ledger_write(ledger, n, &record);
		ledger_set_status(ledger, n, "a text");
	}
	ledger_set_facts(ledger, &facts);
	ledger_set_past(ledger, "/user/a", 3);
	return ledger;
}

/* Most of it is the header and what follows; the rest is reached in steps. */
static void
damage(struct ledger *ledger, const uint8_t *data, size_t size)
{
	char *bytes = (char *)ledger->header;

	for (size_t i = 0; i + 2 < size; i += 3) {
		size_t at = (size_t)data[i] << 8 | data[i + 1];

		if (at >= 0x8000)
			at = (at - 0x8000) * (ledger->bytes / 0x8000);
		if (at < ledger->bytes)
			bytes[at] ^= (char)data[i + 2];
	}
	ledger->header->sum =
	    sum_bytes(ledger->header, offsetof(struct header, sum), LEDGER_MAGIC);
}

static void
look(struct ledger *ledger)
{
	struct ledger_size size;
	struct ledger_record record;
	struct ledger_facts facts;
	struct ledger_task task;

	ledger_size(ledger, &size);
	(void)ledger_restore(ledger);
	for (uint32_t n = 0; n < ledger_entries(ledger); n++)
		(void)ledger_entry(ledger, n);
	for (uint32_t slot = 0; slot < size.slots && slot < SLOTS; slot++) {
		(void)ledger_read(ledger, slot, &record);
		(void)strnlen(ledger_status(ledger, slot), LEDGER_STATUS_MAX);
	}
	for (uint32_t place = 0; place < LEDGER_TASKS_MAX; place++)
		(void)ledger_read_task(ledger, place, &task);
	(void)ledger_facts(ledger, &facts);
	(void)ledger_past(ledger, "/user/a");
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ledger *ledger = make();
	struct ledger *again;
	struct err err;

	damage(ledger, data, size);
	again = try_again(ledger, &err);
	if (again != NULL)
		look(again);
	ledger_free(again);
	ledger_free(ledger);
	return 0;
}
