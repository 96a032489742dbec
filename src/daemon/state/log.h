/* SPDX-License-Identifier: ISC */
/* log.h - what supd itself has to say: one line each, to stderr, journal, syslog, file.
 *
 * Never blocks supervision: a line that cannot be written at once is counted and the
 * count is told with the next one that can.
 */
#ifndef DAEMON_LOG_H
#define DAEMON_LOG_H

#include "base/err.h"
#include "base/log_pace.h"
#include "conf/text/conf.h"

/* Choose level and target; `directory` is for LOG_TARGET_FILE.  Keeps the old on error.
 */
int log_open(enum log_level level, enum log_target target, const char *directory,
             struct err *err);
void log_reopen(void);
void log_close(void);
/* How large the file may become, and how many older files are kept. */
void log_limit(const struct conf_log *limits);
int log_set_aside(const char *path, int fd, const struct conf_log *limits);
/* What may take a line instead of standard error; false: it cannot. */
typedef bool log_taker(void *arg, int priority, const char *line);
void log_divert(log_taker *take, void *arg);
/* The log file, and if its lines are JSON; NULL: supd logs to no file. */
const char *log_file(bool *ret_json);
/* Where the lines go. */
enum log_target log_goes_to(void);
bool log_wants(enum log_level level);
/* Lines may be put off while there is more urgent work: `flush` writes them, before any
 * other line at the latest; NULL: none are. */
typedef void log_flusher(void *arg);
void log_put_off(log_flusher *flush, void *arg);
void log_flush(void);
void log_line(enum log_level level, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* For a line that others can cause as often as they like. */
void log_paced(struct log_pace *pace, enum log_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Log and hand the error through: return log_errno(r, "open %s", path); */
int log_errno(int r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
