/* SPDX-License-Identifier: ISC */
/* lending.h - mailboxes of actors that are down are lent to /system/letters.
 *
 * What is lent is taken back before a process of its actor is started: from then on the
 * helper takes no client any more, also if it never hears of it.
 *
 * Dead letters are counted when the helper says so, which it does before the client is
 * sent away.  Those that it took and did not tell of when it was killed are lost.
 */
#ifndef DAEMON_LENDING_H
#define DAEMON_LENDING_H

#include <stdint.h>

#include "base/err.h"

struct deadletters;
struct helpers;
struct mailbox;
struct standin;

/* It is not lent, or not any more. */
#define LENDING_NONE UINT32_MAX

struct lending *lending_new(struct helpers *helpers, struct standin *standin,
                            struct err *err);
void lending_free(struct lending *lending);
void lending_give(struct lending *lending, const struct mailbox *mailbox,
                  struct deadletters *dead, uint32_t *loan);
void lending_take_back(struct lending *lending, uint32_t *loan);
void lending_forget(struct lending *lending, const struct mailbox *mailbox);

#endif
