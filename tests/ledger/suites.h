/* SPDX-License-Identifier: ISC */
/* suites.h - what the tests of the ledger share. */
#ifndef TESTS_LEDGER_SUITES_H
#define TESTS_LEDGER_SUITES_H

#include <check.h>

#include "ledger/ledger.h"

#define CORE_BYTES   4096
#define EVENTS_BYTES 4096
#define SLOTS        16
#define JOURNAL      32

Suite *contract_suite(void);
Suite *damage_suite(void);
Suite *death_suite(void);
Suite *record_steps_suite(void);
Suite *replay_suite(void);
Suite *steps_suite(void);

struct ledger *new_ledger(void);
struct ledger *open_again(const struct ledger *ledger);
struct ledger *try_again(const struct ledger *ledger, struct err *err);
void append_entry(struct ledger *ledger, enum journal_kind kind, uint64_t now_ms,
                  const struct event *event, uint64_t tag);
void replicate(struct ledger *to, const struct ledger *from);
struct ledger_record record_of(uint32_t slot, uint32_t n);
bool record_is(const struct ledger_record *record, uint32_t n);
struct event event_of(uint32_t n);
bool event_is(const struct event *event, uint32_t n);

#endif
