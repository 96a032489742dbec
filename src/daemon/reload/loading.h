/* SPDX-License-Identifier: ISC */
/* loading.h - read the configuration in a child. */
#ifndef DAEMON_LOADING_H
#define DAEMON_LOADING_H

#include "base/err.h"
#include "conf/text/conf.h"

struct bounded;
struct origin;
struct reload;
struct reloader;

struct conf *loading_boot(const struct origin *origin, struct bounded *bounded,
                          struct conf_reports *ret_reports, struct err *err);
struct conf *loading_apply(const struct reloader *reloader, const char *file,
                           struct conf_reports *ret_reports, struct err *err);

/* What a configuration is for. */
enum loading_use { LOADING_DIFF, LOADING_APPLY };

/* A configuration that a child reads. */
typedef void loading_fn(void *user);

struct conf_loading *loading_begin(struct reloader *reloader, const char *file,
                                   enum loading_use use, loading_fn *on_ready,
                                   void *user);
bool loading_is_current(const struct conf_loading *loading);
int loading_take(struct conf_loading *loading, struct reload *ret, struct err *err);
void loading_end(struct conf_loading *loading);
struct conf *loading_add(const struct reloader *reloader,
                         const struct conf_addition *addition,
                         struct conf_reports *ret_reports, struct err *err);

/* Takes the i-th of some configurations, which is borrowed; false: no more. */
struct conf_taker {
	bool (*take)(void *user, uint32_t i, const struct conf *conf);
	void *user;
};

/* Replicas of an actor, by their numbers; borrowed. */
struct conf_replicas {
	const struct conf_addition *addition;
	const uint32_t *numbers;
	uint32_t n;
};

void loading_add_replicas(const struct reloader *reloader,
                          const struct conf_replicas *replicas,
                          const struct conf_taker *taker,
                          struct conf_reports *ret_reports, struct err *err);

#endif
