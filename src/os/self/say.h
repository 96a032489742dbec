/* SPDX-License-Identifier: ISC */
/* say.h - a line for people, in the form of supd's log, without ever waiting.
 *
 * For processes without a log of their own.  Nothing here fails: a line that cannot be
 * written is lost.
 */
#ifndef OS_SELF_SAY_H
#define OS_SELF_SAY_H

#include <stdbool.h>

/* Where systemd-journald listens, as its native protocol says. */
#define JOURNAL_SOCKET "/run/systemd/journal/socket"

void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void say_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void say_refusal(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
bool say_raw(int fd, bool is_plain, const char *line);
bool say_line(int fd, bool is_plain, int priority, const char *level, const char *line);
bool say_is_journal(int fd);

#endif
