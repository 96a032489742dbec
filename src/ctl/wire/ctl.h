/* SPDX-License-Identifier: ISC */
/* ctl.h - what every verb of supctl is given, and how it calls supd.
 *
 * A verb returns supctl's exit status.  Functions here that return an int return 0 or
 * such a status, and have then said on standard error what went wrong.
 */
#ifndef CTL_CTL_H
#define CTL_CTL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "ctl/wire/client.h"
#include "ctl/wire/print.h"

enum exit_status {
	CTL_OK = 0,
	CTL_FAILED = 1,
	CTL_USAGE = 2,
	CTL_NOT_RUNNING = 3,
	CTL_NO_SUCH_ACTOR = 4,
	CTL_DENIED = 5,
	CTL_WRONG_STATE = 7,
	CTL_TIMED_OUT = 124,
};

/* With a timeout supd is the first to say so, and knows better what is going on. */
#define CTL_TIMEOUT_GRACE_MS 500

/* The options of verbs; `given` tells which were there. */
#define OPTION_DOT      0x01u
#define OPTION_HOLD     0x02u
#define OPTION_NO_WAIT  0x04u
#define OPTION_FOLLOW   0x08u
#define OPTION_SINCE    0x10u
#define OPTION_FOR      0x20u
#define OPTION_LINES    0x40u
#define OPTION_CAUSE    0x80u
#define OPTION_TIMES    0x100u
#define OPTION_USE      0x200u
#define OPTION_WITH     0x400u
#define OPTION_SORT     0x800u
#define OPTION_ROLLBACK 0x1000u
#define OPTION_COMMIT   0x2000u
#define OPTION_SIGNAL   0x4000u
#define OPTION_UNTIL    0x8000u
#define OPTION_GREP     0x10000u
#define OPTION_STAMPS   0x20000u
#define OPTION_REVERSE  0x40000u
#define OPTION_FAILED   0x1000000u
#define OPTION_TYPE     0x80000u
#define OPTION_SETTLE   0x100000u
#define OPTION_RERUN    0x200000u
#define OPTION_EXIT     0x400000u
#define OPTION_UNDO     0x800000u
#define OPTION_ROLLING  0x2000000u

#define OPTION_WITH_MAX 64

struct options {
	const char *socket;      /* NULL: the default */
	const char *runtime_dir; /* instead: the socket is in it */
	bool json, no_color, help, version;
	uint64_t timeout_ms; /* CLIENT_FOREVER: none */
	unsigned int given;  /* OPTION_… */
	const char *since;   /* the verb knows its form */
	const char *until;   /* the same */
	const char *grep;    /* the same */
	const char *types;   /* the same */
	const char *settle;  /* the same */
	const char *lines;   /* the same */
	const char *for_state, *cause;
	const char *times; /* the verb knows its form */
	const char *use;
	const char *rollback; /* the same */
	const char *signal;   /* name or number, checked by its verb; NULL: none */
	bool s_is_signal;     /* -s means --signal, not --socket */
	bool is_before_verb;  /* -r means --runtime-dir, not --reverse */
	const char *sort;     /* the verb knows the words */
	const char *with[OPTION_WITH_MAX];
	uint32_t n_with;
};

/* When supd cannot be reached, verbs that only look say 4, the others 1. */
enum verb_family { FAMILY_LOOK, FAMILY_ACT };

struct ctl {
	struct options options;
	struct out out;
	struct client client;
	char *const *argv; /* of this program */
	/* NULL: this program has no libraries for terminals (supctl-terminal has) */
	const struct terminal *terminal;
	const char *verb;
	enum verb_family family;
	char *socket;     /* owned */
	uint64_t end_ms;  /* of --timeout, CLOCK_MONOTONIC */
	bool unreachable; /* no supd there, which was said: do not try again */
	bool reader_gone; /* the reader of our output is gone: end without a word */
	/* of a verb that starts actors: where they are noted, or NULL */
	struct settle *settle;
	uint32_t shown;     /* blocks printed: an empty line goes between two */
	bool output_hangs;  /* last lines did not come: do without those of others */
	bool array_started; /* the JSON array that is being printed has an element */
};

/* A call of a method, with its target for messages. */
struct call {
	const char *method;
	const char *target; /* the name that messages are about, or NULL */
	json_t *parameters; /* owned; may be sent again */
	bool more;
	bool repeat; /* harmless when supd gets it twice */
	bool once;   /* … because it has a token */
	/* a parameter that an older supd refuses, and answers without it, or NULL */
	const char *dispensable;
};

void ctl_init(struct ctl *ctl);
char *ctl_find_socket(const char *socket, const char *directory);
int ctl_configure(struct ctl *ctl, const struct options *options,
                  enum verb_family family);
void ctl_done(struct ctl *ctl);
bool ctl_may_go_on(const struct ctl *ctl);
int ctl_no_memory(const struct ctl *ctl);
int64_t ctl_give_timeout_ms(struct ctl *ctl);
bool ctl_parse_number(const char *text, int64_t *ret);
bool ctl_parse_lines(const char *text, int64_t *ret);

/* What to do with a reply of a stream; an exit status other than 0 ends it. */
typedef int ctl_take(void *user, const struct call *call, const struct reply *reply);

/* What came of a stream. */
struct stream_end {
	struct reply reply; /* the last; the error, where supd ended it with one */
	struct err err;     /* why the connection is of no use any more */
	int status;         /* what take() said last */
};

void ctl_do_once(struct call *call);
void ctl_call_done(struct call *call);
int ctl_take_replies(struct ctl *ctl, const struct call *call, ctl_take *take, void *user,
                     struct stream_end *ret);
int ctl_stream(struct ctl *ctl, const struct call *call, ctl_take *take, void *user,
               struct stream_end *ret);
int ctl_connect(struct ctl *ctl);
int ctl_call(struct ctl *ctl, const struct call *call, struct reply *ret);
int ctl_give_up(struct ctl *ctl, const struct call *call, int r, const struct err *err);
int ctl_each(struct ctl *ctl, char **names, uint32_t n,
             int (*act)(struct ctl *ctl, const char *name));
int ctl_ask(struct ctl *ctl, const struct call *call, struct reply *ret_reply,
            json_t **ret);
int ctl_load(struct ctl *ctl, const struct call *call, const struct reply *reply,
             json_t **ret);

void ctl_remark(struct ctl *ctl, const char *name, const char *what);
void ctl_array_begin(struct ctl *ctl);
void ctl_array_add(struct ctl *ctl, struct span object);
void ctl_array_end(struct ctl *ctl);
void ctl_array_print(struct ctl *ctl, const struct reply *reply, const char *name);

/* complain.c: the sentences on standard error. */
int complain_of(const struct ctl *ctl, enum exit_status status, const char *target,
                const char *fmt, ...) __attribute__((format(printf, 4, 5)));
#define complain(ctl, target, ...) \
	((void)complain_of(ctl, CTL_FAILED, target, __VA_ARGS__))
int complain_refusal(const struct ctl *ctl, const struct call *call,
                     const struct reply *reply);
int complain_unreachable(const struct ctl *ctl, int r);

#endif
