/* SPDX-License-Identifier: ISC */
/* conf_process.h - what a process needs: output, limits, sockets, probes, its user. */
#ifndef CONF_CONF_PROCESS_H
#define CONF_CONF_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "core/spec.h"

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

/* The user that a process runs as: read/users.c. */
struct conf_identity {
	/* A user or group of it was not known at boot: this sentence says so, NULL: all
	 * were.  Until conf_take_identity() it has no ids, and nothing may be started. */
	char *unknown;
	bool unknown_is_group;
	bool has_user;    /* there are ids to switch to; false: supd's own */
	char *asked_user; /* what was asked for then, as written; or NULL */
	char *asked_group;
	char **asked_groups; /* NULL-terminated */
	uid_t uid;
	gid_t gid;
	gid_t *groups; /* supplementary: of `user` as the group database has them, more */
	size_t n_groups;
	char
	    *user_name; /* for USER, LOGNAME; NULL without `user`, or for a bare number */
	char *home;     /* for HOME; NULL without `user` */
	char *shell;
};

/* What a process finds when it begins: read/process.c. */
struct conf_world {
	char *root;               /* absolute; NULL: supd's own */
	char *directory;          /* absolute, below the root; NULL: "/" */
	char *input;              /* the file that it reads from; NULL: /dev/null */
	char **environment;       /* NULL-terminated "KEY=value": what the file adds */
	char **environment_files; /* NULL-terminated paths: to be read at each start */
	bool clear_environment;   /* nothing else is inherited */
	mode_t umask;
};

/* Where the output of a process goes: read/read_output.c. */
struct conf_outputs {
	struct conf_output out, err;
	bool out_is_err; /* the same target for both: one descriptor, order kept */
	struct conf_log log;
};

/* How a process is told what to do. */
struct conf_orders {
	int stop_signal, reload_signal, watchdog_signal;
	char **stop_command; /* NULL-terminated, or NULL */
	char **reload_command;
};

/* How a process says, or is asked, whether it is ready: read/read_probe.c. */
struct conf_readiness {
	bool notify;          /* ready: notify, or notify: true: gets a NOTIFY_SOCKET */
	enum ready_sign sign; /* READY_TOLD */
	int fd;               /* READY_BY_FD: 3 and on */
	char *pattern;        /* READY_BY_LOG: a POSIX extended regular expression */
	struct conf_probe probe; /* READY_PROBED */
};

/* What outlives a process. */
struct conf_kept {
	uint32_t fd_store; /* number of descriptors the process may store; 0: none */
	bool runtime_directory;
	bool fds_on_restart; /* a restart does not clear them */
	bool directory_on_restart;
};

/* Of several actors, where they have the same: keep/pack_conf.c. */
struct conf_process {
	struct conf_identity identity;
	struct conf_world world;
	struct attributes attributes;
	struct conf_limit *limits;
	size_t n_limits;
	struct conf_outputs output;
	enum containment_kind containment;
	struct conf_cgroup cgroup;
	bool asks_for_oom; /* a rule tells want of memory from other deaths */
	struct conf_orders orders;
	char **hooks[HOOK_MAX]; /* also of supervisors */
	struct conf_readiness readiness;
	struct conf_probe health;
	struct conf_socket *sockets;
	size_t n_sockets;
	struct conf_kept kept;
};

#endif
