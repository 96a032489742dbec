/* SPDX-License-Identifier: ISC */
/* reader_owner.h - open a file that an actor chose, with no more rights than its user.
 *
 * An owner is a text, "UID:GID:GID..." with the user, the group and all supplementary
 * groups; "" is the user that we are.
 */
#ifndef LOGD_READER_OWNER_H
#define LOGD_READER_OWNER_H

#include <stdbool.h>

bool reader_owner_is(const char *text);
int reader_owner_open(const char *owner, const char *path, int flags);

#endif
