/* SPDX-License-Identifier: ISC */
/* main.c - play many seeds, each twice, and print TAP. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/sim/sim.h"

#define SEEDS     2000 /* of `make check` */
#define SHOWN_MAX 5    /* so many failed seeds are looked into */

struct range {
	uint64_t from, to; /* both included */
};

/* One seed: made up, then replayed; the same actions must come of it. */
static void
play_seed(struct tape *tape, uint64_t seed)
{
	struct run *run = malloc(sizeof(*run));
	uint64_t hash;

	if (run == NULL)
		abort();
	tape->seed = seed;
	run_begin(run, tape, false);
	strcpy(tape->wrong, "died");
	world_play(run);
	run_end(run);
	free(run);
	if (tape->wrong[0] != '\0')
		return;
	hash = tape->hash;
	run_replay(tape, tape->ops, tape->n_ops);
	if (tape->wrong[0] == '\0' && tape->hash != hash)
		strcpy(tape->wrong, "I33 the same events give other actions");
}

/* Play from..to in a process of its own; the first seed that failed, or to + 1. */
static uint64_t
play_until_failure(struct tape *tape, uint64_t from, uint64_t to)
{
	int status;
	pid_t pid;

	tape->seed = from;
	fflush(stdout);
	pid = fork();
	if (pid < 0)
		return from;
	if (pid == 0) {
		for (uint64_t seed = from; seed <= to; seed++) {
			play_seed(tape, seed);
			if (tape->wrong[0] != '\0')
				_exit(1);
		}
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? to + 1 : tape->seed;
}

/* How many seeds of the range failed. */
static unsigned int
play_range(struct tape *tape, struct range range)
{
	unsigned int failed = 0;

	for (uint64_t seed = range.from; seed <= range.to; seed++) {
		seed = play_until_failure(tape, seed, range.to);
		if (seed > range.to)
			break;
		failed++;
		printf("# seed %llu: %s\n", (unsigned long long)seed, tape->wrong);
		if (failed <= SHOWN_MAX)
			shrink(tape);
	}
	return failed;
}

/* The seeds that failed once, from tests/sim/seeds. */
static unsigned int
play_old_seeds(struct tape *tape)
{
	const char *top = getenv("top_srcdir");
	char name[1024];
	char line[128];
	unsigned int failed = 0;
	FILE *file;

	snprintf(name, sizeof(name), "%s/tests/sim/seeds", top == NULL ? "." : top);
	file = fopen(name, "re");
	if (file == NULL) {
		printf("# cannot read %s\n", name);
		return 1;
	}
	while (fgets(line, sizeof(line), file) != NULL) {
		uint64_t seed = strtoull(line, NULL, 10);

		if (line[0] != '#' && seed != 0)
			failed += play_range(tape, (struct range){seed, seed});
	}
	fclose(file);
	return failed;
}

/* sim [FROM-TO], or SIM_SEEDS=FROM-TO sim */
int
main(int argc, char **argv)
{
	struct range range = {1, SEEDS};
	struct tape *tape = mmap(NULL, sizeof(*tape), PROT_READ | PROT_WRITE,
	                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const char *seeds = argc > 1 ? argv[1] : getenv("SIM_SEEDS");
	unsigned int failed;
	unsigned int old;

	if (tape == MAP_FAILED)
		abort();
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (seeds != NULL) {
		char *end;

		range.from = strtoull(seeds, &end, 10);
		range.to = *end == '-' ? strtoull(end + 1, NULL, 10) : range.from;
	}
	printf("1..2\n");
	old = play_old_seeds(tape);
	printf("%s 1 - seeds that failed once hold all invariants\n",
	       old == 0 ? "ok" : "not ok");
	failed = play_range(tape, range);
	printf("%s 2 - seeds %llu-%llu hold all invariants, twice alike\n",
	       failed == 0 ? "ok" : "not ok", (unsigned long long)range.from,
	       (unsigned long long)range.to);
	return old + failed == 0 ? 0 : 1;
}
