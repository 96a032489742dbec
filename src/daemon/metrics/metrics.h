/* SPDX-License-Identifier: ISC */
/* metrics.h - where figures are fetched: the socket, which /system/metrics serves.
 *
 * The guardian opens it, and collects the figures when /system/metrics asks for them; it
 * speaks to no client.  The listening socket is kept by the walker: while a guardian
 * takes over, clients queue.
 */
#ifndef DAEMON_METRICS_H
#define DAEMON_METRICS_H

#include "base/err.h"
#include "conf/text/conf.h"

struct actors;
struct bounded;
struct ev_loop;
struct helpers;
struct keeper;

struct metrics *metrics_new(struct ev_loop *loop, struct helpers *helpers,
                            struct keeper *keeper, struct bounded *bounded,
                            const struct actors *actors);
void metrics_free(struct metrics *metrics);

void metrics_begin(struct metrics *metrics, const struct conf *conf);
int metrics_open(struct metrics *metrics, const struct conf *conf, int *ret_fd,
                 struct err *err);
void metrics_use(struct metrics *metrics, const struct conf *conf, int take_fd);
void metrics_cancel(struct metrics *metrics, const struct conf *conf, int take_fd);

#endif
