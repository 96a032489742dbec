/* SPDX-License-Identifier: ISC */
/* hider.c - a program that does what it can to survive its supervisor.
 *
 *	hider MODE
 *
 * MODE: plain | child | session | daemon | runner | sprinter | tree | shed | headless
 *
 * Writes "up\n" to stdout when it is as hidden as it gets.
 */
#include "config.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

_Noreturn static void
wait_for_ever(void)
{
	/* Or until the test has failed and did not kill this process. */
	(void)alarm(120);
	for (;;)
		(void)pause();
}

static void
say_up(void)
{
	(void)!write(1, "up\n", 3);
}

/* Leave the parent, the group and the session, as daemons do. */
static void
hide(void)
{
	if (fork() > 0)
		_exit(0);
	(void)setsid();
	if (fork() > 0)
		_exit(0);
}

/*
 * Never the same process for long: each forks the next one and ends.  It runs out after
 * so many, so that one that gets away cannot fill the machine with zombies.
 */
static void
run_on(long rest_ns)
{
	const struct timespec rest = {.tv_nsec = rest_ns};

	for (int left = 100000; left > 0; left--) {
		if (rest_ns > 0)
			(void)nanosleep(&rest, NULL);
		if (fork() > 0)
			_exit(0);
		(void)setsid();
	}
	_exit(0);
}

/* Three levels, each in a session of its own, all staying. */
static void
grow_tree(void)
{
	for (int i = 0; i < 3; i++)
		if (fork() == 0)
			(void)setsid();
}

static pthread_t first;

/* The first thread ends, another one stays. */
static void *
stay_behind(void *unused)
{
	(void)unused;
	(void)pthread_join(first, NULL);
	say_up();
	wait_for_ever();
}

static void
lose_the_head(void)
{
	pthread_t other;

	first = pthread_self();
	if (pthread_create(&other, NULL, stay_behind, NULL) != 0)
		_exit(9);
	pthread_exit(NULL);
}

int
main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "plain";

	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	if (strcmp(mode, "child") == 0) {
		/* The main process ends, a child in its group stays. */
		if (fork() > 0)
			_exit(3);
	} else if (strcmp(mode, "session") == 0) {
		/* The main process stays, a child in another session too. */
		if (fork() > 0)
			wait_for_ever();
		(void)setsid();
	} else if (strcmp(mode, "daemon") == 0) {
		hide();
	} else if (strcmp(mode, "runner") == 0 || strcmp(mode, "sprinter") == 0) {
		hide();
		say_up();
		run_on(mode[0] == 'r' ? 300000 : 0);
	} else if (strcmp(mode, "headless") == 0) {
		hide();
		lose_the_head();
	} else if (strcmp(mode, "tree") == 0) {
		grow_tree();
	} else if (strcmp(mode, "shed") == 0) {
		/* No mark any more, but still a child of the main process. */
		char *const none[] = {NULL};
		char plain[] = "plain";
		char *const again[] = {argv[0], plain, NULL};

		if (fork() > 0)
			wait_for_ever();
		(void)setsid();
		(void)execve("/proc/self/exe", again, none);
		_exit(9);
	}
	say_up();
	wait_for_ever();
}
