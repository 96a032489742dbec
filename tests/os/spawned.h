/* SPDX-License-Identifier: ISC */
/* spawned.h - starts of a program that says what it sees, for tests. */
#ifndef TESTS_OS_SPAWNED_H
#define TESTS_OS_SPAWNED_H

#include <check.h>
#include <string.h>

#include "os/process/reap.h"
#include "os/spawn/spawn.h"

/* Of the fixture: a directory of the test, the program, the spawner. */
extern char directory[64];
extern char probe[4200];
extern struct spawner spawner;

#define HAS(text, line) ck_assert_msg(strstr(text, line "\n") != NULL, "%s", text)

void begin_spawner(void);
void set_up(void);
void tear_down(void);
struct spawn plain(char *const *argv, const int *fds, size_t n_fds);
void wait_for_end(const struct spawn_result *child, struct reap *ret);
void run_probe(struct spawn *spawn, int *fds, char *text, size_t size);
void assert_fails(const struct spawn *spawn, int code, const char *step);

#endif
