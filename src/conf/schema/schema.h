/* SPDX-License-Identifier: ISC */
/* schema.h - what a table of keys is made of (private to conf/); the tables of all keys
 * are in schema_types.h and read/key_table.c.
 *
 * They drive the parser, the JSON Schema, `supctl cat`, the plan of a reload and the
 * check of the manual page.  A type says what may stand behind a key: a text, a list, a
 * mapping, or several of them.
 */
#ifndef CONF_SCHEMA_H
#define CONF_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "conf/text/conf.h"
#include "conf/text/yaml_node.h"

struct reader;
struct trail;

/* Where a key may stand. */
enum schema_where {
	AT_WORKER = 1,     /* an actor with a command */
	AT_SUPERVISOR = 2, /* an actor with children */
	AT_TOP = 4,        /* the top level of the main file */
	AT_DEFAULTS = 8,
	AT_TEMPLATE = 16,
	AT_INCLUDED = 32, /* the top level of an included file */
	AT_NESTED = 64,   /* in one of the small mappings */
};

/* A text that is scanned. */
struct text_scan {
	const struct schema_type *type;
	const struct yaml *node; /* where the text stands */
	const char *text;        /* not empty, and none of the type's words */
	uint64_t number;         /* result; 0: the text itself is the value */
	struct err *why; /* may get a better sentence than the type's general one */
};

/* Understand the text of a scan; 0 or -EINVAL. */
typedef int scan_fn(struct text_scan *scan);

/* Take a value that was found to be good over into `target`. */
typedef void read_fn(struct reader *reader, const struct yaml *node, void *target,
                     const struct trail *trail);

/* In which form the value of a text is shown: its type in JSON. */
enum schema_show {
	SHOW_TEXT,
	SHOW_INTEGER,
	SHOW_MILLI,
	SHOW_BOOLEAN,
	SHOW_DURATION,
	SHOW_SIZE,
	SHOW_SIGNAL,
	SHOW_CAPABILITY,
	SHOW_RANGE,
};

struct schema_type {
	const char *name;    /* of its definition in the JSON Schema */
	const char *allowed; /* end of a sentence: "a duration such as 5s" */

	/* as a text */
	const char *const *words;
	size_t n_words;
	scan_fn *scan; /* NULL: only the words */
	enum schema_show show;
	const char *pattern; /* of a string that is no word */
	bool integers;       /* may be written as a bare number though it is none */
	int64_t min;
	uint64_t max;
	bool empty_is_word; /* a key without a value means the same as true */

	/* as a list */
	const struct schema_type *items;

	/* as a mapping: of known keys, or of any names to one type */
	const struct schema_table *table;
	unsigned int where;
	const struct schema_type *values;
	const char *names_pattern;
};

/* What has the member that takes a value: what is read, or a part of the actor. */
enum schema_owner { OWNER_TARGET, OWNER_PROCESS, OWNER_SPEC };

struct schema_key {
	const char *name;
	const struct schema_type *type;
	const char *fallback; /* the default as JSON; NULL: none */
	const char *text;     /* what it means, one sentence */
	enum conf_effect effect;
	unsigned int where; /* set of enum schema_where */
	size_t offset;      /* of the member that takes the value */
	size_t size;
	read_fn *read;           /* instead of offset and size */
	enum schema_owner owner; /* of the member */
	bool is_structure;       /* makes the tree; no property of one actor */
};

struct schema_table {
	const char *name;
	const struct schema_key *keys;
	size_t n_keys;
	const char *required; /* a key that cannot be left out */
	bool is_long;         /* too many keys to name them all in a message */
};

/* The words of `when:`, in the order of enum when_word. */
#define WHEN_WORD_MAP(X)                       \
	X(WHEN_ANY, "any")                     \
	X(WHEN_INIT, "init")                   \
	X(WHEN_NORMAL, "normal")               \
	X(WHEN_OOM, "oom")                     \
	X(WHEN_KILLED, "killed")               \
	X(WHEN_EXEC, "exec")                   \
	X(WHEN_START_TIMEOUT, "start_timeout") \
	X(WHEN_EARLY_EXIT, "early_exit")       \
	X(WHEN_WATCHDOG, "watchdog")           \
	X(WHEN_HEALTH, "health")               \
	X(WHEN_SELF_REPORT, "self_report")     \
	X(WHEN_STOPPED, "stopped")             \
	X(WHEN_DEATH_PACT, "death_pact")       \
	X(WHEN_INTENSITY, "intensity")         \
	X(WHEN_UNKILLABLE, "unkillable")
enum when_word { WHEN_WORD_MAP(AS_ENUM) WHEN_WORD_MAX };

/* Words with a meaning of their own, in the order of the tables of types. */
enum shutdown_word { SHUTDOWN_WORD_BRUTAL_KILL };
enum target_word {
	TARGET_WORD_LOG,
	TARGET_WORD_JOURNAL,
	TARGET_WORD_SYSLOG,
	TARGET_WORD_INHERIT,
	TARGET_WORD_NULL,
	TARGET_WORD_STDOUT,
};
enum policy_word {
	POLICY_WORD_OTHER,
	POLICY_WORD_BATCH,
	POLICY_WORD_IDLE,
	POLICY_WORD_FIFO,
	POLICY_WORD_RR,
	POLICY_WORD_MAX
};
enum class_word {
	CLASS_WORD_REALTIME,
	CLASS_WORD_BEST_EFFORT,
	CLASS_WORD_IDLE,
	CLASS_WORD_MAX
};
enum ready_word { READY_WORD_EXEC, READY_WORD_NOTIFY, READY_WORD_EXIT, READY_WORD_MAX };

extern const char *const when_words[WHEN_WORD_MAX];

const struct schema_type *schema_below(const struct schema_type *type, const char *name);
const struct schema_key *schema_find(const struct schema_table *table, const char *name,
                                     unsigned int where);
int schema_scan(const struct schema_type *type, const struct yaml *node,
                struct value *ret_value, struct err *why);
const char *synonym_of_value(const struct schema_type *type, const char *word);
const char *synonym_of_key(const struct schema_type *type, const char *name);
const char *schema_misplaced(const struct schema_key *key, unsigned int where);
const char *synonym_place(const struct schema_type *type, const struct yaml *map,
                          const char *name);
const char *synonym_remark(const struct schema_type *type, const char *name);
char *schema_show(const struct schema_type *type, const struct yaml *node);

#endif
