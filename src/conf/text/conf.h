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
#include "base/cleanup.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "conf/text/conf_keys.h"
#include "conf/text/conf_process.h"
#include "conf/text/log_words.h"
#include "core/spec.h"

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
	size_t n, n_errors;
	bool truncated; /* more than CONF_REPORTS_MAX */
};

/* ---- the tree ---- */

/* The watched actor; the reaction is in the core's spec, at the same index. */
struct conf_watch {
	char *path; /* absolute; perhaps of nobody */
	char **run; /* REACTION_RUN: NULL-terminated, else NULL */
};

/* The needed actor; the needed progress is in the core's spec, at the same index. */
struct conf_need {
	char *path; /* absolute; of an actor, or of replicas without "@N" */
};

/* Of several actors, where they have the same: keep/pack_conf.c. */
struct conf_spec {
	struct spec core;           /* without a name: conf_name_spec() */
	struct conf_watch *watches; /* core.n_watches */
	struct conf_need *needs;    /* core.n_needs */
};

struct conf_actor {
	char *path;             /* "/user/app/api": conf_name() is its end */
	uint32_t parent;        /* index; CONF_NONE for /user */
	uint32_t defaults;      /* index into conf.common.defaults: all other keys */
	struct conf_spec *spec; /* perhaps of other actors, too */
	struct conf_process *process; /* the same */
	char **argv;                  /* kind worker: NULL-terminated */
	char *description;            /* or NULL */
	char *base;                   /* replicas: the name without "@N", else NULL */
	struct conf_key *keys;        /* those in the files, sorted by key */
	uint32_t n_keys;
	uint32_t column; /* of the name, as place */
	struct place place;
};

/* What actors have in common. */
struct conf_common {
	struct conf_process *processes;
	struct conf_spec *specs;
	struct conf_defaults *defaults;
	uint32_t n_processes, n_specs, n_defaults;
};

/* One piece of the file's `templates`, `defaults` and `replicas` as they are written:
 * everything in one row, keys and values and what is in them behind their mapping. */
struct conf_recipe {
	char *text;    /* NULL: a list or a mapping */
	bool is_map;   /* without a text: a mapping, else a list */
	bool is_plain; /* a text without quotes */
	bool has_dollar;
	uint32_t n; /* items, or pairs of key and value */
	uint32_t file, line, column;
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
	struct place metrics_place; /* of the address */
	uint32_t metrics_column;
	/* log */
	enum log_level log_level; /* LOG_LEVEL_MAX: the default */
	enum log_show log_show;
	struct conf_log own_log; /* of supd itself, where it is a file: its sizes */
	enum log_target log_target;
	char *log_directory;
	/* a new guardian kills the processes that it finds, instead of adopting them */
	bool on_crash_kill;
	/* the tree: preorder, siblings in file order; [0] is /user */
	struct conf_actor *actors;
	uint32_t n_actors;
	struct conf_common common;
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
	bool no_users;          /* the user database did not answer: do not ask it */
	struct conf_wait *wait; /* NULL: the caller does not want it */
	char **environ;         /* for ${env:…} */
	/* Of the machine's cgroup v2 hierarchy, parted by blanks; NULL: not looked at. */
	const char *controllers;
};

struct conf *conf_load(const char *file, const struct conf_options *options,
                       struct conf_reports *ret_reports);
void conf_free(struct conf *conf);

/* For CLEANUP(): the configuration that a local points to. */
static inline void
conf_drop(struct conf **conf)
{
	conf_free(*conf);
}

void conf_unseal(struct conf *conf);
void conf_identify(const struct conf_process *process, int fd);
int conf_take_identity(struct conf *conf, struct conf_process *process,
                       const void *answer, size_t size);
const char *conf_own_home(const char *variable, char *buf, size_t size);
void conf_reports_done(struct conf_reports *reports);
void conf_report_format(const struct conf_report *report, struct strbuf *out);
void conf_reports_format(const struct conf_reports *reports, struct strbuf *out);
void conf_reports_print(const struct conf_reports *reports);
uint32_t conf_find(const struct conf *conf, const char *path);
const char *conf_name(const struct conf_actor *actor);
void conf_name_spec(const struct conf_actor *actor, struct spec *ret);
bool conf_is_below(const struct conf *conf, const struct conf_actor *actor, uint32_t top);
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
bool conf_packs_alike(const struct conf *a, const struct conf *b);
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
 *		the fewest of them, and by itself an update (it has a say at the
 *		next start)
 *	kind    a worker became a supervisor or the other way round.  That is another
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
	uint32_t n_added, n_moved; /* moved: their order changes */
};

int conf_plan_make(const struct conf *old, const struct conf *new_conf,
                   struct conf_plan *ret_plan);
void conf_plan_done(struct conf_plan *plan);

const char *conf_limit_name(int resource);
const char *conf_capability_name(int number);

extern const char *const cgroup_key_names[];
extern const char *const cgroup_controllers[];
extern const char *const cgroup_files[];
/* True for a socket with a port, false for one with a file. */
static inline bool
socket_has_port(enum socket_kind kind)
{
	return kind == SOCKET_TCP || kind == SOCKET_UDP;
}

/* True if clients connect to the socket, and wait in its backlog. */
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
