/* SPDX-License-Identifier: ISC */
/* metrics.h - figures for whoever fetches them: /metrics by HTTP.
 *
 * One request a connection.  Clients are few, their requests short and their time is
 * bounded; none of them ever makes supd wait.  The listening socket is kept by the
 * walker: while a guardian takes over, clients queue.
 */
#ifndef DAEMON_METRICS_H
#define DAEMON_METRICS_H

#include "base/err.h"
#include "conf/conf.h"

/* So many clients at a time. */
#define METRICS_CLIENTS_MAX 32

struct metrics;
struct shell;

struct metrics *metrics_new(struct shell *shell);
void metrics_free(struct metrics *metrics);

int metrics_open(struct metrics *metrics, const struct conf *conf, int *ret_fd,
                 struct err *err);
void metrics_use(struct metrics *metrics, const struct conf *conf, int take_fd);
void metrics_cancel(struct metrics *metrics, const struct conf *conf, int take_fd);

#endif
