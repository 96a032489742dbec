/* SPDX-License-Identifier: ISC */
/* control_private.h - what the files of the control server share.
 *
 *	control_out.c     what is to be sent, what is to be looked at
 *	control_conn.c    one connection: bytes in and out, one call at a time
 *	control_reply.c   replies and errors
 *	control_answers.c  replies that several methods give
 *	control_calls.c   from a message to its handler
 *	control_params.c  are the parameters what the interface says?
 *	control_auth.c    permissions
 *	control_rights.c  clients that send descriptors
 *	control_share.c   the share of an observer
 *	control_wait.c    calls that wait for actors
 *	control_token.c   answers that are given again
 *	control_memory.c  what is remembered for that
 *
 * A connection owns the call that it is at.  Whoever finishes a call says so with
 * call_finish(); connections are only freed at the end of conn_run().
 */
#ifndef DAEMON_CONTROL_PRIVATE_H
#define DAEMON_CONTROL_PRIVATE_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/log_pace.h"
#include "conf/text/conf.h"
#include "core/core.h"
#include "daemon/metrics/scrape.h"
#include "daemon/report/resolve.h"
#include "daemon/server/server.h"
#include "daemon/sockets/control_file.h"
#include "daemon/state/events.h"
#include "daemon/state/post.h"
#include "os/process/proc.h"
#include "os/socket/sock.h"
#include "os/socket/sockwork.h"
#include "varlink/varlink.h"

#define CONTROL_CONNS_UID_MAX 128
/* The most connections, with those that wait for a child to close them. */
#define CONTROL_LEFT_MAX (2 * CONTROL_CONNS_MAX)
/* The last places are for clients with control, so that observers cannot shut them out.
 */
#define CONTROL_CONNS_KEPT 32
/* Calls of one connection that wait for their turn. */
#define CONTROL_CALLS_MAX 64
/* Names in one call. */
#define CONTROL_NAMES_MAX 256
/* Bytes of a name and of a pattern: a pattern is compared with every actor. */
#define CONTROL_NAME_MAX    CONF_PATH_MAX
#define CONTROL_PATTERN_MAX 255
/* Names that are to be looked for, times actors, in one call of an observer. */
#define CONTROL_SEARCH_MAX 1000000
/* Actors that are gone in one call: for each all events are looked through. */
#define CONTROL_GONE_MAX (CONTROL_SEARCH_MAX / EVENTS_MAX)
/* Bytes that one connection may have to be sent, and when a call or a stream goes on. */
#define CONTROL_OUT_MAX    (2 * VARLINK_REPLY_MAX)
#define CONTROL_OUT_STREAM (256 * 1024)
/* A list of actors is sent in pieces of so many bytes: its client reads one while the
 * next is made. */
#define CONTROL_OUT_PIECE (32 * 1024)
/* … that all connections of one observer, and of all of them, may have before another of
 * their calls is begun. */
#define CONTROL_OUT_UID      (16 * 1024 * 1024)
#define CONTROL_OUT_OBSERVED (64 * 1024 * 1024)
/* Actors that calls of a single observer, and of all observers, may wait for; the rest of
 * WAITERS_MAX is for clients with control. */
#define CONTROL_WAITERS_UID      1024
#define CONTROL_WAITERS_OBSERVED 3072
/* Calls of a single observer that follow events. */
#define CONTROL_FOLLOWERS_UID 32
/* Processes that read logs. */
#define CONTROL_READERS_MAX  16
#define CONTROL_READERS_KEPT 4
#define CONTROL_READERS_UID  6 /* of one observer */
/* Commands whose answers are remembered. */
#define CONTROL_TOKENS_MAX 256
#define CONTROL_TOKEN_LEN  128
#define CONTROL_ANSWER_MAX 4096
/* The parts of a token that the core is given: see control_wait.c. */
#define TOKEN_WAITER_MASK  UINT32_C(0xffff)
#define TOKEN_MEMORY_SHIFT 16
/* How long no connection is accepted after descriptors or memory ran out. */
#define CONTROL_ACCEPT_PAUSE 1.0

#define CONTROL_INTERFACE "io.supd.Control"
#define SERVICE_INTERFACE "org.varlink.service"

enum access {
	ACCESS_EVERYBODY,
	ACCESS_OBSERVE,
	ACCESS_CONTROL,
};

/* When a call begins. */
enum beginning {
	AT_REST,    /* not in the midst of a turn: it asks the core, or changes it */
	AFTER_NEWS, /* once the core was told what has happened */
	AT_ONCE,
};

enum param_type {
	PARAM_STRING,
	PARAM_STRINGS,
	PARAM_NAME, /* of an actor, or a pattern */
	PARAM_NAMES,
	PARAM_INT, /* never negative */
	PARAM_INTS,
	PARAM_BOOL,
	PARAM_TEXTS, /* an object of texts */
};

struct param {
	const char *name; /* NULL ends a list */
	enum param_type type;
	bool required; /* else absent and null mean the same */
};

struct conn;

typedef void method_fn(struct conn *conn);

struct method {
	const char *name; /* without the interface; NULL ends a table */
	enum access access;
	bool needs_more;
	const struct param *params;
	method_fn *handle;
	enum beginning begins;
};

struct interface {
	const char *name; /* NULL ends a table */
	const struct method *methods;
};

/* An actor that a call waits for. */
struct target {
	struct ref ref; /* REF_NONE: Watch of a name that no actor has */
	uint64_t token; /* 0: answered or nothing is waited for */
	bool answered;
	bool confirmed; /* Watch: the actor existed and has ended */
	enum reply_result result;
	struct cause cause;
	enum node_state state; /* when it was answered */
	uint32_t incarnation;
	char *path; /* owned; for Watch and Add, as the actor may not exist */
};

enum call_state {
	CALL_FINISHED,  /* nothing more to do */
	CALL_HELD,      /* begins once the turn is over */
	CALL_LOADING,   /* begins once its configuration was read */
	CALL_NEXT_TURN, /* answered once the core had its turn */
	CALL_TARGETS,   /* answered once all targets are */
	CALL_AGAIN,     /* made before: answered once all that it did then has come */
	CALL_WATCH,     /* one reply a target */
	CALL_LIST,      /* one reply an actor */
	CALL_EVENTS,    /* one reply an event */
	CALL_LOGS,      /* one reply a line */
	CALL_UPGRADE,   /* answered by the next guardian */
	CALL_TRIAL,     /* answered when the configuration is kept, or taken back */
	CALL_METRICS,   /* answered when the figures were collected */
};

/* The figures: they are waited for, or being sent from the call's `position` on. */
struct served_text {
	struct scrape_request request;
	struct scrape_text *text; /* NULL: not yet */
};

/* Is the next guardian told what becomes of the call? */
enum call_keep {
	KEEP_NOT,
	KEEP_FOR_CLIENT, /* as long as the client is connected */
	KEEP_ALWAYS,     /* also for the client that connects again */
};

struct served_call {
	struct varlink_call message;
	const struct method *method;
	enum call_state state;
	uint64_t turn; /* CALL_NEXT_TURN: in which it came; CALL_HELD: the next */
	/* CALL_AGAIN to CALL_LOGS, CALL_METRICS or NULL: go on with it; false: it waits
	 */
	bool (*progress)(struct conn *conn);
	/* The call is over: free its state; NULL: nothing to free. */
	void (*release)(struct conn *conn);
	ev_timer timer;

	struct target *targets;
	size_t n_targets;
	size_t n_open;     /* not answered */
	uint32_t *answers; /* the targets in the order in which they were answered */
	size_t n_answers;
	size_t n_sent;                     /* Watch: of the answers */
	void (*finish)(struct conn *conn); /* all went well: the reply */
	/* the first that did not: the error; NULL: as for all */
	void (*fail)(struct conn *conn, const struct target *target);
	char *base_path; /* Scale: the replicated actor; owned */

	struct ref_list list; /* the actors that the call is about */
	size_t position;      /* CALL_LIST: in it */
	unsigned int wanted;  /* Status: VIEW_… */

	uint64_t next_seq;  /* CALL_EVENTS: the next to be sent, or to be looked at */
	uint64_t until_seq; /* CALL_EVENTS: behind the last, UINT64_MAX: follow */
	const char *pattern;

	struct logs *logs; /* CALL_LOGS: the reader */

	struct served_text served_text; /* CALL_METRICS */

	char *plan;                   /* CALL_TRIAL: of what was applied; owned */
	struct conf_loading *loading; /* the configuration that was asked for, or NULL */

	struct upgrade *upgrade; /* CALL_UPGRADE: the look at the new binary */

	uint32_t memory; /* where the answer is kept, counted from 1; 0: nowhere */
	uint64_t memory_serial;
	enum call_keep keeps;
};

/* The program that calls: looked at once a call, which may have thousands of events. */
struct caller {
	bool is_known;
	char program[PROC_PROGRAM_MAX]; /* its name, or "" */
};

/* What of a connection is over. */
struct conn_over {
	bool in;   /* nothing more comes in */
	bool out;  /* nothing more can go out */
	bool both; /* it is to be closed at once */
};

struct conn {
	struct control *control;
	TAILQ_ENTRY(conn) link;
	TAILQ_ENTRY(conn) attention_link;
	bool in_attention;

	int fd;
	ev_io io;
	int hangup_fd; /* tells of a hang-up while nothing is read or written; or -1 */
	ev_io hangup_io;
	struct sock_peer peer;
	struct varlink_reader reader;
	struct strbuf out;
	size_t sent; /* of out */
	size_t mark; /* where the reply that is being written begins */
	struct conn_over over;
	bool busy;       /* call is in use */
	bool running;    /* conn_run() is below us */
	bool awaits_end; /* its end tells the client that supd is gone */
	bool observes;   /* by its last call: it may only look */
	bool held_back;  /* its next call waits until others of its kind were answered */
	bool may_bring;  /* the kernel lets descriptors through: see os/socket/rights.h */
	bool is_kept;    /* the walker has it, too: for the next supd, or until the end */
	struct caller caller; /* of that call */
	struct served_call call;
};

struct wait_entry {
	struct conn *conn; /* NULL: free */
	uint32_t target, serial, next_free;
};

/* A command that came with a token, in the ledger: it outlives this guardian. */
struct remembered {
	_Atomic uint32_t state; /* enum remembered_state */
	uint32_t answer_len;
	uint64_t serial;
	uid_t uid;
	bool is_orphaned;      /* begun under an earlier guardian */
	uint32_t first_serial; /* of the token of its first target */
	uint32_t n_targets;
	uint32_t n_tried; /* Signal: targets that a signal was about to be sent to */
	uint32_t n_done;  /* targets posted to the core, or signalled */
	uint32_t failed;  /* the first target that failed; n_targets: none so far */
	enum reply_result result; /* … and how */
	struct cause cause;
	struct ref ref;
	enum node_state node_state;
	uint8_t answered[WAITERS_MAX / 8]; /* a bit a target */
	char method[32];
	char token[CONTROL_TOKEN_LEN + 1];
	char answer[CONTROL_ANSWER_MAX];
};

enum remembered_state {
	REMEMBERED_FREE,
	REMEMBERED_BEGUN,    /* nothing of it was carried out yet */
	REMEMBERED_DONE,     /* its events are in the journal, or some signal was sent */
	REMEMBERED_ANSWERED, /* the answer is kept */
};

TAILQ_HEAD(conn_list, conn);
TAILQ_HEAD(logs_list, logs);

/* A connection that is still to be closed. */
struct left {
	int fd;
	uid_t uid;
};

struct control {
	struct control_uses uses;
	const struct interface *interfaces;
	int reserve_fd; /* given up to serve one more when descriptors ran out */
	bool owns_path;
	/* The file of the socket; ino 0: not known to be there. */
	struct sockwork_seen file;
	bool closing;
	ev_io accept_io;
	ev_timer accept_timer;
	struct conn_list conns;
	size_t n_conns;
	struct conn_list attention; /* something may have happened to their calls */
	uint64_t turn;
	uint64_t seen_seq; /* of the events that followers were told of */
	size_t n_followers, n_held_back;
	struct logs_list readers;
	size_t n_readers;
	struct logs *spare;    /* the reader that waits for a call; or NULL */
	ev_timer spare_timer;  /* ends the process of spare */
	struct conn *upgrader; /* the connection that called Upgrade; or NULL */

	struct wait_entry *waiters;
	uint32_t waiters_cap, n_waiters;
	uint32_t free_waiter; /* UINT32_MAX: none */
	uint32_t waiter_serial;

	uint64_t next_remembered;

	/* Connections that are still to be closed, of these users. */
	struct left left[CONTROL_LEFT_MAX];
	size_t n_left;
	struct log_pace rights_pace; /* of lines about clients that send descriptors */
};

/* control_out.c */
void control_attend(struct conn *conn);
size_t conn_unsent(const struct conn *conn);
void conn_go_mute(struct conn *conn);
void conn_flush(struct conn *conn);
void share_forget(struct conn *conn);
void share_freed(struct control *control);

/* control_conn.c */
void conn_free(struct conn *conn);
void conn_run(struct conn *conn);
void conn_read(struct conn *conn);
struct conn *control_insert(struct control *control, int take_fd,
                            const struct sock_peer *peer);
void conn_hold_reserve(struct control *control);
void call_finish(struct conn *conn);

/* control_reply.c */
struct strbuf *reply_begin(struct conn *conn);
struct strbuf *reply_begin_error(struct conn *conn, const char *error);
void reply_end(struct conn *conn, bool continues);
void reply_empty(struct conn *conn);
void reply_json(struct conn *conn, json_t *take_parameters);
void reply_raw(struct conn *conn, const char *message, size_t len);
void reply_to_stranger(int fd);
void reply_without_memory(struct conn *conn);
void reply_error(struct conn *conn, const char *error, json_t *take_parameters);

/* control_calls.c */
void call_dispatch(struct conn *conn);

/* control_params.c */
const char *params_check(const struct param *params, const json_t *parameters);
const char *param_string(const struct conn *conn, const char *name);
bool param_bool(const struct conn *conn, const char *name, bool otherwise);
int64_t param_int(const struct conn *conn, const char *name, int64_t otherwise);
const json_t *param_get(const struct conn *conn, const char *name);

/* control_share.c */
bool share_may_begin(struct conn *conn);
bool share_has_waiters(const struct conn *conn, size_t n);
bool share_has_stream(const struct conn *conn, enum call_state kind, size_t max);
bool share_may_search(struct conn *conn, const json_t *names);

/* control_rights.c */
ssize_t rights_read(struct conn *conn, void *ret, size_t size);
void rights_close(struct control *control, int take_fd, uid_t uid);
bool rights_tend(struct control *control);

/* control_auth.c */
bool auth_allows(const struct conn *conn, enum access access);

/* control_wait.c */
bool wait_prepare(struct conn *conn, size_t n_targets);
void wait_post(struct conn *conn, size_t target, const struct event *event);
void wait_answered(struct conn *conn, size_t target);
void wait_forget(struct conn *conn);
void wait_start_timer(struct conn *conn);
void wait_finish(struct conn *conn);

/* control_answers.c */
const char *control_state_of(const struct engine *engine, struct ref ref);
void reply_no_such_actor(struct conn *conn, const char *name,
                         const struct candidates *candidates);
/* False, for a function that says so of the call. */
bool reply_invalid_parameter(struct conn *conn, const char *name);
void reply_invalid_state(struct conn *conn, struct ref ref, const char *message);
void reply_start_failed(struct conn *conn, const char *name, const struct cause *cause,
                        struct ref origin, const char *rolled_back_to);
bool reply_limit(struct conn *conn, const char *name, int limit);
void reply_outcome_unknown(struct conn *conn);
void reply_target_error(struct conn *conn, const struct target *target);
void reply_actors(struct conn *conn);
void reply_actor(struct conn *conn);

/* control_token.c */
enum token_state {
	TOKEN_NEW,     /* or there is none */
	TOKEN_WAITING, /* begun by a call that still waits */
};
bool token_begin(struct conn *conn, enum token_state *ret_state);
void token_keep(struct conn *conn, enum call_keep keeps);
bool token_is_orphaned(struct conn *conn);
bool token_waits_again(struct conn *conn, void (*finish)(struct conn *conn));
bool token_resumes(struct conn *conn, void (*finish)(struct conn *conn),
                   void (*fail)(struct conn *conn, const struct target *target));
struct remembered *token_find(struct conn *conn, bool *ret_replied);

/* control_memory.c */
void tokens_init(struct control *control);
struct remembered *memory_find(struct control *control, uid_t uid, const char *token);
struct remembered *memory_add(struct conn *conn, const char *token);
void memory_use(struct conn *conn, const struct remembered *memory);
struct remembered *token_memory(struct conn *conn);
void token_answer(struct conn *conn, const char *message, size_t len);
void wait_target(const struct engine *engine, struct target *target,
                 const struct action *action);

#endif
