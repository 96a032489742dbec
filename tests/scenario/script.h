/* SPDX-License-Identifier: ISC */
/* script.h - the lines of a story, carried out one after another. */
#ifndef TESTS_SCENARIO_SCRIPT_H
#define TESTS_SCENARIO_SCRIPT_H

#include "tests/scenario/stage.h"

#define SCRIPT_WORDS_MAX 48

struct script {
	struct stage stage;
	bool in_tree; /* the following indented lines are the tree */
	bool booted;
	uint32_t parents[SPEC_DEPTH_MAX]; /* player index by depth, while in the tree */
};

/* The words of one line; they point into the line. */
struct words {
	char *at[SCRIPT_WORDS_MAX];
	uint32_t n;
};

void script_line(struct script *script, char *line);
void script_end(struct script *script);

/* expect.c: the statements that compare. */
bool expect_statement(struct stage *stage, const struct words *words);
bool expect_all_read(struct stage *stage);

/* script.c, for the statements that name new actors. */
struct player *script_player(struct stage *stage, const char *name);
void script_describe(struct stage *stage, struct player *player,
                     const struct words *words, uint32_t from);

/* script_command.c: the statements that give commands, and change the tree. */
bool command_statement(struct stage *stage, struct player *player,
                       const struct words *words);
bool reload_statement(struct stage *stage, struct player *player,
                      const struct words *words);
void add_statement(struct stage *stage, const struct words *words);
void grow_statement(struct stage *stage, const struct words *words);
void system_statement(struct stage *stage, const struct words *words);

#endif
