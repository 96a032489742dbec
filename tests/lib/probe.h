/* SPDX-License-Identifier: ISC */
/* probe.h - the actor for the tests: what its parts share.
 *
 *	probe.c         what it is told, and does
 *	probe_report.c  what it finds around itself
 *	probe_forks.c   its offspring
 *	probe_notify.c  what it tells supd of itself
 */
#ifndef TESTS_LIB_PROBE_H
#define TESTS_LIB_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define LATER_MAX 8
#define TEXT_MAX  1024
#define FORKS_MAX 256

struct later {
	uint64_t due_ms; /* 0: free */
	char text[TEXT_MAX];
};

struct probe {
	const char *dir;
	const char *name;
	int log_fd;
	int command_fd;
	int signal_fd;
	bool ignores_stop;
	bool serves;
	bool asks;      /* its clients for their orders */
	long serve_max; /* exit 1 after that many clients, 0: never */
	uint64_t stop_delay_ms;
	struct later later[LATER_MAX];
	pid_t forks[FORKS_MAX];
	size_t n_forks;
};

/* Write a line of this kind to the fifo. */
void probe_tell(const struct probe *probe, char kind, const char *more);

void probe_notify(const struct probe *probe, const char *text);
void probe_flood(const char *text) __attribute__((noreturn));

void probe_report(const struct probe *probe);

void probe_daemonize(const struct probe *probe, bool forks_on, bool bare);
void probe_fork(struct probe *probe, long n);
void probe_end_forks(struct probe *probe);

#endif
