/* SPDX-License-Identifier: ISC */
/* verb.h - the verbs of supctl: one table, a function each. */
#ifndef CTL_VERB_H
#define CTL_VERB_H

#include <stdbool.h>
#include <stdint.h>

#include "ctl/wire/ctl.h"

#define VERB_NAMES_ANY UINT32_MAX

struct verb {
	const char *name;
	const char *alias;     /* one more name or two, parted by a blank, or "" */
	const char *arguments; /* as in its line of usage */
	const char *help;      /* one line */
	enum verb_family family;
	unsigned int options; /* OPTION_… it takes */
	uint32_t names_min;
	uint32_t names_max;
	int (*run)(struct ctl *ctl, char **names, uint32_t n);
};

/* What getopt_long(3) returns for options without a letter. */
enum {
	LONG_NO_COLOR = 256,
	LONG_UTC,
	LONG_TIMEOUT,
	LONG_RUNTIME_DIR,
	LONG_VERB, /* the first option of the table; those of verbs count from here */
};

#define OPTIONS_MAX 64

/* An option: its spellings, its completion, the member of struct options. */
struct verb_option {
	unsigned int bit; /* OPTION_…; 0: of every verb */
	const char *name;
	const char *brief; /* NULL: it has none */
	/* the values the option takes, words between bars; NULL: none */
	const char *value;
	const char *help;
	int id;        /* of every verb: what getopt_long(3) returns */
	size_t target; /* of single verbs: the member that takes the value; 0: none */
};

/* supctl.c */
int supctl_run(int argc, char **argv, const struct terminal *terminal);

const struct verb *verb_next(const struct verb *verb);
const struct verb_option *verb_option_at(size_t i);
const struct verb_option *verb_option_next(const struct verb *verb,
                                           const struct verb_option *option);
const struct verb *verb_find(const char *name);
const char *verb_nearest(const char *name);
/* verb_help.c */
void verb_print_list(struct strbuf *sb);
void verb_print_help(struct strbuf *sb, const struct verb *verb);

/* verb_status.c, verb_tree.c */
int verb_status(struct ctl *ctl, char **names, uint32_t n);
int verb_list(struct ctl *ctl, char **names, uint32_t n);
int verb_tree(struct ctl *ctl, char **names, uint32_t n);
/* verb_query.c */
int verb_is_active(struct ctl *ctl, char **names, uint32_t n);
int verb_is_failed(struct ctl *ctl, char **names, uint32_t n);
int verb_is_healthy(struct ctl *ctl, char **names, uint32_t n);
int verb_is_ready(struct ctl *ctl, char **names, uint32_t n);
int verb_pid(struct ctl *ctl, char **names, uint32_t n);
int verb_ping(struct ctl *ctl, char **names, uint32_t n);
int verb_version(struct ctl *ctl, char **names, uint32_t n);
int verb_metrics(struct ctl *ctl, char **names, uint32_t n);
int verb_explain(struct ctl *ctl, char **names, uint32_t n);
/* verb_act.c */
int verb_start(struct ctl *ctl, char **names, uint32_t n);
int verb_stop(struct ctl *ctl, char **names, uint32_t n);
int verb_restart(struct ctl *ctl, char **names, uint32_t n);
int verb_suspend(struct ctl *ctl, char **names, uint32_t n);
int verb_resume(struct ctl *ctl, char **names, uint32_t n);
int verb_reset(struct ctl *ctl, char **names, uint32_t n);
int verb_signal(struct ctl *ctl, char **names, uint32_t n);
int verb_kill(struct ctl *ctl, char **names, uint32_t n);
int verb_fail(struct ctl *ctl, char **names, uint32_t n);
int verb_reload(struct ctl *ctl, char **names, uint32_t n);
int verb_upgrade(struct ctl *ctl, char **names, uint32_t n);
int verb_shutdown(struct ctl *ctl, char **names, uint32_t n);
/* rolling.c */
int verb_restart_rolling(struct ctl *ctl, char **names, uint32_t n,
                         int (*restart)(struct ctl *ctl, char *name));
/* verb_grow.c */
int verb_add(struct ctl *ctl, char **names, uint32_t n);
int verb_delete(struct ctl *ctl, char **names, uint32_t n);
int verb_scale(struct ctl *ctl, char **names, uint32_t n);
/* verb_simulate.c */
int verb_simulate(struct ctl *ctl, char **names, uint32_t n);
/* verb_top.c */
int verb_top(struct ctl *ctl, char **names, uint32_t n);
/* verb_shell.c */
int verb_shell(struct ctl *ctl, char **names, uint32_t n);
/* verb_completion.c */
int verb_completion(struct ctl *ctl, char **names, uint32_t n);
/* verb_events.c */
int verb_events(struct ctl *ctl, char **names, uint32_t n);
/* verb_logs.c */
int verb_logs(struct ctl *ctl, char **names, uint32_t n);
/* verb_watch.c */
int verb_watch(struct ctl *ctl, char **names, uint32_t n);
int verb_wait(struct ctl *ctl, char **names, uint32_t n);
/* verb_config.c, verb_cat.c */
/* verb_check.c */
int verb_check(struct ctl *ctl, char **names, uint32_t n);
int verb_diff(struct ctl *ctl, char **names, uint32_t n);
int verb_apply(struct ctl *ctl, char **names, uint32_t n);
int verb_cat(struct ctl *ctl, char **names, uint32_t n);

#endif
