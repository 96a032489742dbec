/* SPDX-License-Identifier: ISC */
/* fake_rooms.h - rooms without processes around the real core and the real control
 * server, and a client that talks to it over a socket pair.
 *
 * Spawns succeed and a process that is to stop dies of it, each in a turn of its own,
 * unless a test says otherwise.  For tests only: a lack of memory ends the program.
 */
#ifndef TESTS_LIB_FAKE_ROOMS_H
#define TESTS_LIB_FAKE_ROOMS_H

#include <check.h>
#include <jansson.h>

#include "daemon/control/handlers.h"
#include "daemon/loop/owner.h"
#include "daemon/messages/messages.h"
#include "daemon/processes/processes.h"
#include "daemon/recovery/upgrade.h"
#include "daemon/reload/reload.h"
#include "daemon/report/report.h"
#include "daemon/sockets/control_file.h"
#include "daemon/sockets/sockets.h"
#include "ledger/handover.h"
#include "ledger/vault.h"
#include "tests/lib/rig.h"

#define FAKE_ACTORS_MAX 16384
#define FAKE_CONF_FILE  "supd.yaml"

struct fake {
	struct supd supd;
	struct messages messages;
	struct processes processes;
	struct reloader reloader;
	struct reporter reporter;
	struct upgrader upgrader;
	struct sockets sockets;
	struct control_uses uses;
	struct control_file control_file;
	struct rig rig;
	struct conf conf;
	struct conf_actor *confs; /* by slot */
	struct conf_spec *specs;  /* by slot */
	struct actor *actors;     /* by slot */
	size_t performed;         /* of the log of the rig */
	size_t n_unwaited;        /* EVENT_UNWAITs that the core was given */
	bool keeps_alive;         /* nobody dies of a stop */
	bool never_ready;         /* spawns are not answered */
	int exec_error;           /* spawns fail with this errno */
	int last_signal;
	size_t n_signals;
	bool cut;           /* the guardian dies before its callers hear of the turn */
	struct vault vault; /* of the walker */
	int walker_fd;      /* its end of the link */
	struct handover handover;
	struct upgrade *upgrade; /* that is under way, or NULL */
	int go_result;           /* of upgrade_go() */
	bool gone;               /* it made room */
};

struct fake *fake_new(void);
void fake_free(struct fake *fake);
struct ref fake_add(struct fake *fake, const char *path, enum node_kind kind);
struct ref fake_add_spec(struct fake *fake, const char *path, const struct spec *spec);
struct fake *fake_family(void);
void fake_boot(struct fake *fake);
void fake_run(struct fake *fake);
void fake_guardian_dies(struct fake *fake);
void fake_dies(struct fake *fake, const char *path, int code, int signo);
struct ref fake_ref(struct fake *fake, const char *path);
enum node_state fake_state(struct fake *fake, const char *path);

/* The walker at the other end of the link: it begins, does what it was asked for, ends.
 */
void fake_begin_link(struct fake *fake);
void fake_walk(struct fake *fake);
void fake_end_walker(struct fake *fake);
/* The next guardian has what the walker keeps; then it needs no more of it. */
void fake_hand_over(struct fake *fake);
void fake_settle(struct fake *fake);
void fake_checked(struct fake *fake, enum upgrade_verdict verdict);
void fake_successor(struct fake *fake, const struct upgrade_story *story);

struct client {
	struct fake *fake;
	int fd;
	struct varlink_reader reader;
	bool closed;
};

void client_open(struct client *client, struct fake *fake);
void client_open_as(struct client *client, struct fake *fake, uid_t uid, gid_t gid);
void client_close(struct client *client);
void client_send(struct client *client, const char *text);
/* NULL: no reply although everything was done that could be. */
json_t *client_reply(struct client *client);
/* The reply to one call, sent with these parameters and flags. */
json_t *client_call(struct client *client, const char *method, const char *parameters,
                    const char *flags);
bool client_is_closed(struct client *client);

/* Looking at replies. */
const char *text_at(const json_t *object, const char *key);
const json_t *parameters_of(const json_t *reply);
const json_t *actor_of(const json_t *reply, size_t i);
void check_error(json_t *take_reply, const char *error, const char *key,
                 const char *value);
json_t *check_reply(json_t *take_reply);
void check_done(json_t *take_reply);
size_t count_events(const struct fake *fake, const char *needle);

/* Run a suite of one case: what main() of each of these tests returns. */
int fake_main(const char *name, void (*set_up)(void), void (*tear_down)(void),
              void (*add_tests)(TCase *tcase));

#endif
