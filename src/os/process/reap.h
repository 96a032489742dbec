/* SPDX-License-Identifier: ISC */
/* reap.h - learn how children ended: peek, then reap.
 *
 * A child that was peeked at is still a zombie: its pid, process group and session cannot
 * be reused, so that is the time to record and to signal.
 */
#ifndef OS_PROCESS_REAP_H
#define OS_PROCESS_REAP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum reap_kind { REAP_EXITED, REAP_SIGNALED, REAP_DUMPED, REAP_STOPPED, REAP_CONTINUED };

struct reap {
	pid_t pid;
	enum reap_kind kind;
	int status;        /* exit code, or the signal */
	uint32_t unused;   /* 0: no hole, for records are sent and summed up */
	uint64_t utime_us; /* including its own reaped children */
	uint64_t stime_us;
	uint64_t maxrss_kib; /* see os_reap_is_own_memory() */
};

#define REAP_TEXT_MAX 40

int os_reap_peek(int pidfd, pid_t pid, struct reap *ret);
int os_reap_pidfd(int pidfd, pid_t pid, struct reap *ret);
int os_reap_wait(int pidfd, pid_t pid, int timeout_ms, struct reap *ret);
int os_reap_any(struct reap *ret);
int os_reap_peek_any(struct reap *ret);
bool os_reap_is_own_memory(const struct reap *reap);
void os_reap_peeked(const struct reap *reap);
const char *os_reap_text(const struct reap *end, char buf[REAP_TEXT_MAX]);
bool os_reap_is_stopped(int pidfd);
int os_become_subreaper(void);

#endif
