/* SPDX-License-Identifier: ISC */
/* private.h - the rooms of the walker among themselves. */
#ifndef WALKER_PRIVATE_H
#define WALKER_PRIVATE_H

#include "ledger/exits.h"
#include "ledger/link.h"
#include "os/cgroup.h"
#include "os/sdnotify.h"
#include "walker/vault.h"

/* So long the service manager is kept patient while no guardian supervises. */
#define GRACE_MS 90000

enum feed { FEED_HELLO, FEED_VAULT, FEED_END, FEED_DONE };

/* What the walker is, and takes along when it executes itself: no pointers. */
struct walker_state {
	uint64_t bytes; /* sizeof: of another one nothing can be known */
	uint32_t version;
	int32_t pid;
	int binary_fd; /* what guardians run */
	int old_fd;    /* the one before, until the new one has adopted; or -1 */
	int lock_fd;
	int exits_fd;
	int ledger_fd; /* -1: none yet */
	int link_fd;   /* -1: there is no guardian */

	pid_t guardian; /* 0: none */
	uint64_t started_ms;
	uint64_t next_ms;  /* when the next one is started */
	uint64_t delay_ms; /* of the last wait */
	enum feed feed;    /* what it was told yet */
	size_t fed;
	bool is_upgrade;
	bool fell_back; /* the new binary was given up, and none has adopted since */
	bool adopted;   /* this one supervises */
	bool ever_adopted;
	uint32_t attempts;
	uint32_t new_attempts; /* deaths of the new binary before it adopted */
	uint32_t crashes;
	struct reap last_end;
	uint64_t died_ms;

	uint32_t signals; /* not yet passed on: bit n */
	uint32_t ending;  /* those of them that end supd: every guardian hears them */
	uint32_t n_acks;
	uint32_t ack_code;
	bool poke;
	bool is_full;      /* the exits are: zombies are waiting */
	uint64_t pause_ms; /* the link is full of descriptors: not before this time */

	uint64_t heard_ms;   /* WATCHDOG=1 of the guardian */
	uint64_t pinged_ms;  /* the service manager was satisfied */
	uint64_t grace_ms;   /* until then the walker satisfies it by itself */
	uint64_t aborted_ms; /* 0: the guardian was not */
	bool killed;

	uint64_t vault_max;
	struct rlimit nofile;
	char binary[1024];
	char cgroup[CGROUP_PATH_MAX];
};

struct walker {
	struct walker_state s;
	struct vault vault;
	struct exits *exits;
	struct notifier systemd;
	int signal_fd;
	int64_t exit_status; /* -1: goes on */
	uint64_t now_ms;
	char **guardian_argv;
	char **walker_argv;
};

void walker_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

void guardian_start(struct walker *walker);
void guardian_feed(struct walker *walker);
void guardian_receive(struct walker *walker);
void guardian_died(struct walker *walker, const struct reap *end);

void watchdog_mind(struct walker *walker);
uint64_t watchdog_deadline(const struct walker *walker);

void walker_exec(struct walker *walker);
int walker_unpack(struct walker *walker, struct err *err);

#endif
