/* SPDX-License-Identifier: ISC */
/* conf.h - a configuration file, read, checked and turned into specs.
 *
 * conf_load() reads everything (includes, environment files, user database) and gives
 * back either a whole configuration or a list of all faults.  A configuration owns all
 * its strings; it is never changed after loading.
 *
 * conf_pack() copies all of it: a pointer that is added here or to struct spec must be
 * named in packed.c, and a change in the meaning of a member increases PACKED_VERSION.
 */
#ifndef CONF_CONF_H
#define CONF_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "conf/text/conf_keys.h"
#include "conf/text/log_words.h"
#include "core/spec.h"

struct arena;
struct err;

#define CONF_NONE UINT32_MAX

/* Bounds on what a file may ask for. */
#define CONF_ACTORS_MAX  100000
#define CONF_REPORTS_MAX 200
#define CONF_BYTES_MAX   (64 * 1024 * 1024)   /* of all files together */
#define CONF_MEMORY_MAX  (1024 * 1024 * 1024) /* of what they expand to */
#define CONF_FILES_MAX   1000
#define CONF_NAME_MAX    100 /* of one actor, "@N" included */
#define CONF_PATH_MAX    1000

/* ---- what was found ---- */

enum conf_severity { CONF_ERROR, CONF_WARNING };

struct conf_report {
	enum conf_severity severity;
	char *file;
	uint32_t line;   /* 1-based; 0: the file as a whole */
	uint32_t column; /* 1-based, in characters */
	char *path;      /* key path, such as "children.db.ready.tcp" */
	char *message;   /* what was found, what is allowed, the nearest valid key */
};

struct conf_reports {
	struct conf_report *at;
	size_t n;
	size_t n_errors;
	bool truncated; /* more than CONF_REPORTS_MAX */
};

/* ---- what a process needs ---- */

#define OUTPUT_MAP(X)                \
	X(OUTPUT_LOG, "log")         \
	X(OUTPUT_INHERIT, "inherit") \
	X(OUTPUT_NULL, "null")       \
	X(OUTPUT_JOURNAL, "journal") \
	X(OUTPUT_SYSLOG, "syslog")   \
	X(OUTPUT_FILE, "file")       \
	X(OUTPUT_PIPE, "pipe")       \
	X(OUTPUT_STDOUT, "stdout")
enum output_kind { OUTPUT_MAP(AS_ENUM) OUTPUT_MAX };

struct conf_output {
	enum output_kind kind;
	bool is_shown; /* on supd's standard output, too */
	char *file;    /* OUTPUT_FILE: the path; OUTPUT_PIPE: the path of the actor */
};

/* How the lines of an actor are kept in its log. */
struct conf_log {
	uint64_t max_size;   /* of one file; a full one is set aside */
	uint32_t keep;       /* number of set-aside files that are kept */
	uint64_t total;      /* of all of them together */
	uint64_t max_age_ms; /* a file older than this is set aside too */
	bool timestamps;
	bool json;     /* one JSON object a line, else text */
	bool compress; /* what was set aside */
	bool drop; /* what a full disk does not take, rather than let the writer wait */
};

#define CONTAINMENT_MAP(X)              \
	X(CONTAINMENT_AUTO, "auto")     \
	X(CONTAINMENT_CGROUP, "cgroup") \
	X(CONTAINMENT_SESSION, "session")
enum containment_kind { CONTAINMENT_MAP(AS_ENUM) CONTAINMENT_MAX };

struct conf_limit {
	int resource; /* RLIMIT_x */
	struct rlimit value;
};

/* Limits of the cgroup: key, controller, file. */
#define CGROUP_KEY_MAP(X)                                             \
	X(CGROUP_MEMORY_MAX, "memory_max", "memory", "memory.max")    \
	X(CGROUP_MEMORY_HIGH, "memory_high", "memory", "memory.high") \
	X(CGROUP_CPU_MAX, "cpu_max", "cpu", "cpu.max")                \
	X(CGROUP_CPU_WEIGHT, "cpu_weight", "cpu", "cpu.weight")       \
	X(CGROUP_PIDS_MAX, "pids_max", "pids", "pids.max")            \
	X(CGROUP_IO_WEIGHT, "io_weight", "io", "io.weight")
#define AS_CGROUP_KEY(id, key, controller, file) id,
enum cgroup_key { CGROUP_KEY_MAP(AS_CGROUP_KEY) CGROUP_KEY_MAX };

/* cpu_max is this share of time, in microseconds, of each such period. */
#define CGROUP_CPU_PERIOD_US 100000
/* "max": no limit, whatever the cgroup above has. */
#define CGROUP_UNLIMITED UINT64_MAX

struct conf_cgroup {
	uint32_t given; /* set of 1 << enum cgroup_key */
	bool optional;  /* what cannot be kept is warned of, and no failure */
	uint64_t value[CGROUP_KEY_MAX]; /* bytes, microseconds, weights, processes */
};

#define SOCKET_KIND_MAP(X)                         \
	X(SOCKET_TCP, "tcp")                       \
	X(SOCKET_UDP, "udp")                       \
	X(SOCKET_UNIX, "unix")                     \
	X(SOCKET_UNIX_DGRAM, "unix-dgram")         \
	X(SOCKET_UNIX_SEQPACKET, "unix-seqpacket") \
	X(SOCKET_FIFO, "fifo")
enum socket_kind { SOCKET_KIND_MAP(AS_ENUM) SOCKET_KIND_MAX };

/* What becomes of clients while no process is there; the first ones are words. */
#define WHILE_DOWN_MAP(X)              \
	X(WHILE_DOWN_QUEUE, "queue")   \
	X(WHILE_DOWN_REFUSE, "refuse") \
	X(WHILE_DOWN_REPLY, "reply")   \
	X(WHILE_DOWN_HANDLER, "handler")
enum while_down { WHILE_DOWN_MAP(AS_ENUM) WHILE_DOWN_MAX };

#define CONF_REPLY_MAX 8192 /* bytes; no socket is too full for that */

struct conf_socket {
	char *name;
	enum socket_kind kind;
	char *address; /* tcp, udp: numeric, or "" for any; others: absolute path */
	uint16_t port;
	int backlog;
	mode_t mode; /* of its file */
	uid_t uid;   /* of its file; (uid_t)-1: supd's own */
	gid_t gid;
	char
	    *asked_user; /* unknown at boot: looked up when the file is made; else NULL */
	char *asked_group;
	enum while_down while_down;
	char *reply;        /* WHILE_DOWN_REPLY, else NULL */
	char *handler_path; /* WHILE_DOWN_HANDLER, else NULL */
	uint32_t handler;   /* … and the index of that actor; CONF_NONE */
	uint32_t rate;      /* so many clients a second are refused, or answered */
	struct place place;
	uint32_t column;
};

#define PROBE_KIND_MAP(X)     \
	X(PROBE_NONE, "off")  \
	X(PROBE_TCP, "tcp")   \
	X(PROBE_UNIX, "unix") \
	X(PROBE_HTTP, "http") \
	X(PROBE_EXEC, "exec")
enum probe_kind { PROBE_KIND_MAP(AS_ENUM) PROBE_KIND_MAX };

/* How an actor is asked whether it is ready, or well; what comes of the answers is in the
 * spec. */
struct conf_probe {
	enum probe_kind kind;
	char *address; /* tcp, http: numeric; unix: absolute path */
	uint16_t port;
	char *host;     /* http: as the request names it */
	char *resource; /* http: what is asked for, such as "/health?full=1" */
	char **command; /* exec: NULL-terminated */
	uint64_t timeout_ms;
};

/* How a process says that it is ready, with READY_TOLD. */
#define READY_SIGN_MAP(X)            \
	X(READY_BY_NOTIFY, "notify") \
	X(READY_BY_FD, "fd")         \
	X(READY_BY_LOG, "log")
enum ready_sign { READY_SIGN_MAP(AS_ENUM) READY_SIGN_MAX };

/* How many sockets an actor may have, and descriptors its fd store. */
#define CONF_SOCKETS_MAX  60
#define CONF_CPUS_MAX     8192
#define CONF_FD_STORE_MAX 128
#define CONF_READY_FD_MAX 200

struct conf_process {
	char **argv; /* NULL-terminated */
	/* A user or group of it was not known at boot: this sentence says so, NULL: all
	 * were.  Until conf_take_identity() it has no ids, and nothing may be started. */
	char *unknown;
	bool unknown_is_group;
	char *asked_user; /* what was asked for then, as written; or NULL */
	char *asked_group;
	char **asked_groups; /* NULL-terminated */
	bool has_user;       /* there are ids to switch to; false: supd's own */
	uid_t uid;
	gid_t gid;
	gid_t *groups; /* supplementary: of `user` as the group database has them, more */
	size_t n_groups;
	char
	    *user_name; /* for USER, LOGNAME; NULL without `user`, or for a bare number */
	char *home;     /* for HOME; NULL without `user` */
	char *shell;
	char *root;      /* absolute; NULL: supd's own */
	char *directory; /* absolute, below the root; NULL: "/" */
	mode_t umask;
	char **environment;       /* NULL-terminated "KEY=value": what the file adds */
	char **environment_files; /* NULL-terminated paths: to be read at each start */
	bool clear_environment;   /* nothing else is inherited */
	char *input;              /* the file that it reads from; NULL: /dev/null */
	struct attributes attributes;
	struct conf_limit *limits;
	size_t n_limits;
	struct conf_output out;
	struct conf_output err;
	bool out_is_err; /* the same target for both: one descriptor, order kept */
	struct conf_log log;
	enum containment_kind containment;
	struct conf_cgroup cgroup;
	bool asks_for_oom; /* a rule tells want of memory from other deaths */
	int stop_signal;
	int reload_signal;
	char **stop_command; /* NULL-terminated, or NULL */
	char **reload_command;
	char **hooks[HOOK_MAX]; /* also of supervisors */
	int watchdog_signal;
	bool notify; /* ready: notify, or notify: true: gets a NOTIFY_SOCKET */
	struct conf_socket *sockets;
	size_t n_sockets;
	uint32_t fd_store; /* number of descriptors the process may store; 0: none */
	bool runtime_directory;
	bool keep_fds; /* a restart does not clear it */
	bool keep_runtime_directory;
	enum ready_sign ready_sign; /* READY_TOLD */
	int ready_fd;               /* READY_BY_FD: 3 and on */
	char *ready_pattern;     /* READY_BY_LOG: a POSIX extended regular expression */
	struct conf_probe ready; /* READY_PROBED */
	struct conf_probe health;
};

/* ---- the tree ---- */

/* The watched actor; the reaction is in the spec, at the same index. */
struct conf_watch {
	char *path; /* absolute; perhaps of nobody */
	char **run; /* REACTION_RUN: NULL-terminated, else NULL */
};

/* The needed actor; the needed progress is in the spec, at the same index. */
struct conf_need {
	char *path; /* absolute; of an actor, or of replicas without "@N" */
};

struct conf_actor {
	char *name;
	char *path;      /* "/user/app/api" */
	uint32_t parent; /* index; CONF_NONE for /user */
	struct spec spec;
	struct conf_process process; /* kind worker */
	struct conf_watch *watches;  /* spec.n_watches */
	struct conf_need *needs;     /* spec.n_needs */
	char *description;           /* or NULL */
	char *base;                  /* replicas: the name without "@N", else NULL */
	struct conf_key *keys;       /* those in the files, sorted by key */
	size_t n_keys;
	uint32_t defaults;  /* index into conf.defaults: all others */
	struct place place; /* of the name */
	uint32_t column;
};

/* One piece of the file's `templates`, `defaults` and `replicas` as they are written:
 * everything in one row, keys and values and what is in them behind their mapping. */
struct conf_recipe {
	char *text;    /* NULL: a list or a mapping */
	bool is_map;   /* without a text: a mapping, else a list */
	bool is_plain; /* a text without quotes */
	bool has_dollar;
	uint32_t n; /* items, or pairs of key and value */
	uint32_t file;
	uint32_t line;
	uint32_t column;
};

/* A configuration without pointers, in which places have become pointers again. */
struct conf_block {
	void *at; /* NULL: the configuration was read */
	size_t bytes;
	bool is_mapped; /* else it was allocated */
	int sealed_fd;  /* the memory file that says the same; -1: there is none */
};

struct conf {
	/* control */
	char *control_socket; /* NULL: <runtime dir>/control.sock */
	mode_t control_mode;
	bool has_control_group;
	gid_t control_gid;
	bool has_observers;
	gid_t observers_gid;
	/* metrics */
	bool has_metrics;
	enum socket_kind metrics_kind; /* SOCKET_TCP or SOCKET_UNIX */
	char *metrics_address;         /* as of a struct conf_socket; NULL without */
	uint16_t metrics_port;
	/* log */
	enum log_level log_level; /* LOG_LEVEL_MAX: as is usual */
	enum log_show log_show;
	struct conf_log own_log; /* of supd itself, where it is a file: its sizes */
	enum log_target log_target;
	char *log_directory;
	/* a new guardian kills the processes that it finds, instead of adopting them */
	bool on_crash_kill;
	/* the tree: preorder, siblings in file order; [0] is /user */
	struct conf_actor *actors;
	uint32_t n_actors;
	struct conf_defaults *defaults;
	uint32_t n_defaults;
	struct conf_recipe *recipes; /* for conf_compose() */
	uint32_t n_recipes;
	char **files; /* every file that was read, the main one first */
	uint32_t n_files;
	/* private to conf/ */
	struct map by_path;
	struct arena *memory;
	struct conf_found *found; /* of conf_take_identity() */
	struct conf_block block;  /* instead: what everything lies in */
};

/* Options of the loader. */
/* What a load waits for that may never answer: a file, or the user database.  For the
 * process that has had a child load (the memory is shared by both). */
struct conf_wait {
	volatile bool is_on;
	bool is_for_users;
	char what[300]; /* "the user database (user x)" */
};

struct conf_options {
	bool warn; /* also look for what is probably not meant */
	/* And at the programs and files of actors.  Not in the guardian: they may lie
	 * where a file system never answers. */
	bool look;
	/* An unknown user or group of an actor is no error: its start will fail. */
	bool boot;
	/* The environment files are looked at also without `look`. */
	bool look_environment;
	bool no_users;          /* the user database does not answer, and is not asked */
	struct conf_wait *wait; /* NULL: nobody wants to know */
	char **environ;         /* for ${env:…} */
	/* Of the machine's cgroup v2 hierarchy, parted by blanks; NULL: not looked at. */
	const char *controllers;
};

struct conf *conf_load(const char *file, const struct conf_options *options,
                       struct conf_reports *ret_reports);
void conf_free(struct conf *conf);
void conf_unseal(struct conf *conf);
void conf_identify(const struct conf_process *process, int fd);
int conf_take_identity(struct conf *conf, struct conf_process *process,
                       const void *answer, size_t size);
const char *conf_own_home(const char *variable, char *buf, size_t size);
void conf_reports_init(struct conf_reports *reports);
void conf_reports_done(struct conf_reports *reports);
void conf_report_format(const struct conf_report *report, struct strbuf *out);
void conf_reports_format(const struct conf_reports *reports, struct strbuf *out);
void conf_reports_print(const struct conf_reports *reports);
uint32_t conf_find(const struct conf *conf, const char *path);
bool conf_output_is_captured(const struct conf_output *output);

/* ---- more actors than the files have ---- */

/* The most actors of an addition: the added actor and its children. */
#define CONF_ADDED_MAX 64

/* An actor that is wanted at run time.  Everything is borrowed. */
struct conf_addition {
	const char *parent; /* path of its supervisor */
	const char *name;   /* name of the actor, or of the replicas that it belongs to */
	uint32_t replica;   /* 1 and on: one more of the file's replicas; 0: it is not */
	const char *use;    /* the template, or NULL */
	const char *const *with; /* name, value, name, value, …, NULL */
	char *const *command;    /* instead of a template: NULL-terminated, or NULL */
};

struct conf *conf_compose(const struct conf *conf, const struct conf_addition *addition,
                          const struct conf_options *options,
                          struct conf_reports *ret_reports);
bool conf_has_template(const struct conf *conf, const char *name);
bool conf_has_replicas(const struct conf *conf, const char *path);

/* ---- without its files ---- */

int conf_pack_block(const struct conf *conf, void **ret_block, size_t *ret_bytes,
                    struct err *err);
struct conf *conf_unpack_block(const void *block, size_t bytes, struct err *err);
int conf_pack(const struct conf *conf, struct err *err);
struct conf *conf_unpack(int fd, struct err *err);

/* The JSON Schema of everything above; the caller frees it.  NULL: out of memory. */
char *conf_schema_json(void);

/* ---- from one configuration to the next ---- */

#define CHANGE_MAP(X)                    \
	X(CHANGE_UNCHANGED, "unchanged") \
	X(CHANGE_UPDATED, "updated")     \
	X(CHANGE_RESTARTED, "restarted") \
	X(CHANGE_ADDED, "added")         \
	X(CHANGE_REMOVED, "removed")
enum change_kind { CHANGE_MAP(AS_ENUM) CHANGE_MAX };

/*
 * Actors are compared by path.  `updated`: every key that differs takes effect in place,
 * nothing is stopped, and what a supervisor changes of itself leaves its children alone.
 * `restarted`: at least one needs a new process.  Besides the keys of the file there are
 *
 *	order   it changed places with siblings that are there before and after; given to
 *		the fewest of them, and by itself an update (it has a say at the next
 *start) kind    a worker became a supervisor or the other way round.  That is another
 *		actor: one change `removed` and one `added` of the same path.
 *
 * /user itself is never added or removed.  What stands under `control`, `log` and
 *`on_crash` is not part of the plan: compare those members of the two configurations.
 */
struct conf_change {
	enum change_kind kind;
	uint32_t old_index; /* CONF_NONE: added */
	uint32_t new_index; /* CONF_NONE: removed */
	const char **keys;  /* the keys that differ; borrowed from the configurations */
	size_t n_keys;
};

/* In the order of the new file; the removed ones last, in the order of the old. */
struct conf_plan {
	struct conf_change *at;
	size_t n;
};

int conf_plan_make(const struct conf *old, const struct conf *new_conf,
                   struct conf_plan *ret_plan);
void conf_plan_done(struct conf_plan *plan);

const char *conf_limit_name(int resource);
const char *conf_capability_name(int number);

extern const char *const cgroup_key_names[];
extern const char *const cgroup_controllers[];
extern const char *const cgroup_files[];
/* It has a port, and no file. */
static inline bool
socket_has_port(enum socket_kind kind)
{
	return kind == SOCKET_TCP || kind == SOCKET_UDP;
}

/* Clients connect to it, and wait in its backlog. */
static inline bool
socket_accepts(enum socket_kind kind)
{
	return kind == SOCKET_TCP || kind == SOCKET_UNIX || kind == SOCKET_UNIX_SEQPACKET;
}

extern const char *const socket_kind_names[];
extern const char *const while_down_names[];
extern const char *const output_names[];
extern const char *const containment_names[];
extern const char *const probe_kind_names[];
extern const char *const change_names[];

#endif
