/* SPDX-License-Identifier: ISC */
/* link.h - what walker and guardian say to each other.
 *
 * A SOCK_SEQPACKET pair: one message a packet, in order, up to LINK_FDS_MAX descriptors
 * with each.  The guardian tells what is to survive it (LINK_STORE, LINK_LEDGER); the
 * walker drains the link to its end before it starts the next guardian, so what was sent
 * is kept.  Sending waits while the link is full; the walker is always prompt.
 *
 * Each guardian has a link of its own.  The walker closes its end of it before it starts
 * the next guardian: so nothing that one of before might still say can arrive.
 *
 * A new guardian gets, in this order: LINK_HELLO (with the exits and, if there is one,
 * the ledger), any number of LINK_VAULT, LINK_END.
 */
#ifndef LEDGER_LINK_H
#define LEDGER_LINK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include "base/names.h"
#include "os/process/reap.h"

/* Both sides must speak the same; part of the ledger's version. */
#define LINK_VERSION 6
#define LINK_FDS_MAX 253 /* SCM_MAX_FD */
/* Of the guardian to the walker, which has not many descriptors to spare. */
#define LINK_STORE_MAX 16
#define LINK_TEXT_MAX  4096

/* From the guardian to the walker, then the other way round. */
#define LINK_MAP(X)                \
	X(LINK_LEDGER, "ledger")   \
	X(LINK_STORE, "store")     \
	X(LINK_DROP, "drop")       \
	X(LINK_NOTIFY, "notify")   \
	X(LINK_ADOPTED, "adopted") \
	X(LINK_UPGRADE, "upgrade") \
	X(LINK_ALIVE, "alive")     \
	X(LINK_LOCK, "lock")       \
	X(LINK_ROOM, "room")       \
	X(LINK_FETCH, "fetch")     \
	X(LINK_STATUS, "status")   \
	X(LINK_HELLO, "hello")     \
	X(LINK_VAULT, "vault")     \
	X(LINK_END, "end")         \
	X(LINK_ACK, "ack")         \
	X(LINK_POKE, "poke")       \
	X(LINK_SIGNAL, "signal")   \
	X(LINK_ASK, "ask")
enum link_kind { LINK_MAP(AS_ENUM) LINK_KIND_MAX };

/*
 * LINK_LEDGER   1 descriptor, n: from now on this is the ledger, with room for n actors;
 *               answered by LINK_ACK
 * LINK_STORE    keys[n], n descriptors: keep them; a key that is there is replaced
 * LINK_DROP     keys[n]: close them
 * LINK_NOTIFY   text: for the service manager, sd_notify(3)
 * LINK_ADOPTED  the guardian supervises: this start has succeeded
 * LINK_UPGRADE  1 descriptor: the binary to run from now on; the guardian ends next, with
 *               LINK_EXIT_UPGRADE
 * LINK_ALIVE    n: 1: the answer to LINK_ASK, given at the end of a turn; 0: a
 *               sign of life in the midst of long work, or at waking up
 * LINK_LOCK     1 descriptor: from now on this is the lock of the runtime directory
 * LINK_ROOM     n: is there room for so many descriptors more, and for what must be kept?
 *               Answered by LINK_ACK
 * LINK_FETCH    keys[n]: copies of these; answered by LINK_VAULT, in this order, without
 *               those that are not kept
 * LINK_STATUS   n: the exit status of supd; the guardian ends next, with 0.  A status
 * that an actor chose may be that of any end of a guardian LINK_HELLO    hello;
 * descriptors: the exits, and the ledger where there is one LINK_VAULT    keys[n], n
 * descriptors: what was stored LINK_END      the vault is complete LINK_ACK      n: 0:
 * LINK_LEDGER is done, or there is room; else an errno LINK_POKE     there is news in the
 * exits LINK_SIGNAL   n: the walker got this signal, the guardian acts on it LINK_ASK is
 * the guardian alive?  LINK_ALIVE is expected soon
 */

/* Exit status of a guardian that makes room for its successor on purpose. */
#define LINK_EXIT_UPGRADE 99

/* What a stored descriptor is: the top byte of its key; the rest is the owner's. */
enum vault_kind {
	VAULT_CONTROL = 1, /* the listening control socket */
	VAULT_SOCKET,      /* a mailbox */
	VAULT_NOTIFY,      /* a notify socket */
	VAULT_CONF,        /* a frozen configuration */
	VAULT_PIPE,        /* an actor's output */
	VAULT_LOG,         /* what the log process needs: see logd/ */
	VAULT_CALLER,      /* the connection of the client that called Upgrade */
	VAULT_CGROUP,      /* the directory of the actors' cgroups */
	VAULT_SHELF,       /* what is in an actor's store of descriptors */
	VAULT_STORED,      /* one of those */
	VAULT_ADDITIONS,   /* what was added at run time */
	VAULT_READY,       /* what an actor says on the descriptor of `ready: fd` */
	VAULT_TRIAL,       /* the configuration before the one on trial */
	VAULT_METRICS,     /* the listening socket of the metrics */
	VAULT_GIVEN,       /* a socket that supd was started with */
	VAULT_BEFORE,      /* the configuration before the one of this number */
};
#define VAULT_KEY(kind, id) ((uint64_t)(kind) << 56 | ((id)&UINT64_C(0xffffffffffffff)))
#define VAULT_KIND_OF(key)  ((enum vault_kind)((key) >> 56))

/* How many killed guardians that do not end (they sleep in the kernel) are left behind;
 * with that many the next guardian waits for the end of one of them. */
#define LINK_LEFT_MAX 8

/* Without padding: the struct is sent as bytes. */
struct link_hello {
	uint32_t version;  /* LINK_VERSION */
	uint32_t attempts; /* guardians in a row that died before LINK_ADOPTED */
	uint32_t crashes;  /* guardians that died in all */
	int32_t walker_pid;
	uint32_t has_ledger;
	uint32_t is_upgrade; /* this is the new binary, which has adopted nothing yet */
	/* the new binary failed and the one before is running again */
	uint32_t fell_back;
	int32_t left[LINK_LEFT_MAX]; /* guardians that were left behind; 0: none */
	int32_t oom_score_adj;       /* as supd was started with */
	uint32_t ignores_hangup;     /* supd was started with SIGHUP ignored (nohup(1)) */
	uint32_t unused;
	uint64_t lock_dev; /* which file the lock of the runtime directory is */
	uint64_t lock_ino;
	struct reap last_end; /* of the guardian before; pid 0: this is the first */
	uint64_t died_ms;     /* when it was last heard of, CLOCK_MONOTONIC */
	struct rlimit nofile; /* as supd was started with */
	char binary[1024];    /* the path that supd was started from */
};

struct link_message {
	uint32_t kind;
	uint32_t n; /* keys, bytes of text, or the signal */
	union {
		uint64_t keys[LINK_FDS_MAX];
		char text[LINK_TEXT_MAX];
		struct link_hello hello;
	};
};

extern const char *const link_names[];

int link_pair(int ret_fds[2]);
int link_adopt(int fd);
int link_send(int fd, const struct link_message *message, const int *fds, size_t n_fds);
int link_try(int fd, const struct link_message *message, const int *fds, size_t n_fds);
int link_receive(int fd, int flags, struct link_message *ret, int ret_fds[LINK_FDS_MAX],
                 size_t *ret_n_fds);

#endif
