/* SPDX-License-Identifier: ISC */
/* verb.h - the verbs of supctl: one table, a function each. */
#ifndef CTL_VERB_H
#define CTL_VERB_H

#include <stdbool.h>
#include <stdint.h>

#include "ctl/wire/ctl.h"

#define VERB_NAMES_ANY UINT32_MAX

typedef int verb_run(struct ctl *ctl, char **names, uint32_t n);

struct verb {
	const char *name;
	const char *alias;     /* one more name or two, parted by a blank, or "" */
	const char *arguments; /* as in its line of usage */
	const char *help;      /* one line */
	enum verb_family family;
	unsigned int options; /* OPTION_… it takes */
	uint32_t names_min, names_max;
	verb_run *run;
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
verb_run verb_status, verb_list, verb_tree;
/* verb_query.c */
verb_run verb_is_active, verb_is_failed, verb_is_healthy, verb_is_ready, verb_pid,
    verb_ping, verb_version, verb_metrics, verb_explain;
/* verb_act.c */
verb_run verb_start, verb_restart, verb_act, verb_signal, verb_kill, verb_fail,
    verb_reload, verb_delete, verb_upgrade, verb_shutdown;
int verb_call(struct ctl *ctl, struct call *call);
/* rolling.c */
int verb_restart_rolling(struct ctl *ctl, char **names, uint32_t n,
                         int (*restart)(struct ctl *ctl, char *name));
/* verb_grow.c */
verb_run verb_add, verb_scale;
/* verb_simulate.c */
verb_run verb_simulate;
/* verb_top.c */
verb_run verb_top;
/* verb_shell.c */
verb_run verb_shell;
/* verb_completion.c */
verb_run verb_completion;
/* verb_events.c */
verb_run verb_events;
/* verb_logs.c */
verb_run verb_logs;
/* verb_watch.c */
verb_run verb_watch, verb_wait;
/* verb_check.c, verb_config.c, verb_cat.c */
verb_run verb_check, verb_diff, verb_apply, verb_cat;

#endif
