/* SPDX-License-Identifier: ISC */
/* child.h - supervisors and their children while the tree is built (private to conf/). */
#ifndef CONF_CHILD_H
#define CONF_CHILD_H

#include "conf/tree/build.h"

/* A child as in the file, with its template merged below its keys. */
struct child {
	const struct yaml *name;
	const struct yaml *map;      /* NULL: reported, and left out */
	const struct yaml *replicas; /* NULL: just one */
	bool is_broken;              /* its template is not there */
	uint32_t n, done;
};

/* A supervisor while its children are read. */
struct brood {
	uint32_t index;
	const struct yaml *children;
	size_t next;
	const struct scope *scope;
	const struct trail *trail; /* up to "children" */
	struct map names;
	struct child child;
};

/* The parameters that an actor was given where it is written. */
struct parameters {
	const struct parameters *next;
	const struct yaml *with;
	const struct scope *scope;
	const struct trail *trail; /* of the actor */
};

struct builder {
	struct reader *reader;
	const struct tree_input *input;
	struct map templates;
	const struct yaml *supervisor_defaults;
	struct brood broods[SPEC_DEPTH_MAX];
	size_t n_broods, cap;
	struct conf_process *spare; /* that the last actor did not need, or NULL */
	bool only_checks;   /* an actor with 0 replicas is built, too, and so checked */
	bool left_out_some; /* an actor with 0 replicas was left out */
	bool is_addition;   /* a single actor, `replicas` ignored … */
	uint32_t replica;   /* … or one of these */
	const struct parameters *given;
};

void parameters_note(struct builder *builder, const struct brood *brood,
                     const struct scope *scope, const struct trail *trail);
void parameters_check(struct builder *builder);
void child_open(struct builder *builder, struct brood *brood);

#endif
