/* SPDX-License-Identifier: ISC */
/* drive.c - a target without libFuzzer: its corpus, and mutations that are always the
 * same.
 *
 * Prints TAP.  What ends the program is left in crash-NAME, to be given as an argument.
 */
#include "config.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/rng.h"
#include "tests/fuzz/fuzz.h"

#define INPUTS_MAX 256
#define BYTES_MAX  (64 * 1024)
#define CHANGES    8

struct input {
	uint8_t *data;
	size_t size;
};

struct drive {
	const char *name;
	struct input inputs[INPUTS_MAX];
	size_t n;
	struct rng rng;
	uint8_t now[BYTES_MAX]; /* what the target is given */
	size_t size;
};

/* For the signal handler. */
static struct drive drive;

static void
on_crash(int signo)
{
	char path[256];
	int fd;

	(void)snprintf(path, sizeof(path), "crash-%s", drive.name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd >= 0)
		(void)!write(fd, drive.now, drive.size);
	(void)signal(signo, SIG_DFL);
	(void)raise(signo);
}

static bool
take_file(const char *path)
{
	FILE *file = fopen(path, "re");
	struct input *input = &drive.inputs[drive.n];

	if (file == NULL || drive.n == INPUTS_MAX)
		return false;
	input->data = malloc(BYTES_MAX);
	ASSERT(input->data != NULL);
	input->size = fread(input->data, 1, BYTES_MAX, file);
	(void)fclose(file);
	drive.n++;
	return true;
}

/* All files of the corpus, in the order of their names: the same ones in each run. */
static void
take_corpus(void)
{
	const char *top = getenv("top_srcdir");
	struct dirent **names;
	char path[4096];
	int n;

	(void)snprintf(path, sizeof(path), "%s/tests/fuzz/corpus/%s",
	               top != NULL ? top : ".", drive.name);
	n = scandir(path, &names, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		(void)snprintf(path, sizeof(path), "%s/tests/fuzz/corpus/%s/%s",
		               top != NULL ? top : ".", drive.name, names[i]->d_name);
		if (names[i]->d_name[0] != '.')
			(void)take_file(path);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
}

static size_t
below(size_t n)
{
	return n == 0 ? 0 : (size_t)(rng_next(&drive.rng) % n);
}

/* Replace `gone` bytes at `at` by these; what does not fit is cut off. */
static void
splice_in(size_t at, size_t gone, const uint8_t *data, size_t size)
{
	uint8_t rest[BYTES_MAX];
	size_t n_rest = drive.size - at - gone;

	memcpy(rest, drive.now + at + gone, n_rest);
	if (size > BYTES_MAX - at)
		size = BYTES_MAX - at;
	if (size > 0)
		memmove(drive.now + at, data, size);
	if (n_rest > BYTES_MAX - at - size)
		n_rest = BYTES_MAX - at - size;
	memcpy(drive.now + at + size, rest, n_rest);
	drive.size = at + size + n_rest;
}

static void
change(void)
{
	static const uint8_t odd[] = {0,   1,   9,   '\n', ' ', '"', '\'', ':', '-', '/',
	                              '*', '[', ']', '{',  '}', '0', '9',  127, 128, 255};
	const size_t at = below(drive.size + 1);
	const size_t len = below(drive.size - at < 64 ? drive.size - at + 1 : 64);
	const struct input *other = &drive.inputs[below(drive.n)];
	const size_t from = below(other->size);
	const size_t some = below(other->size - from < 64 ? other->size - from + 1 : 64);

	switch (below(5)) {
	case 0:
		if (at < drive.size)
			drive.now[at] ^= (uint8_t)(1u << below(8));
		break;
	case 1:
		splice_in(at, at < drive.size, &odd[below(sizeof(odd))], 1);
		break;
	case 2:
		splice_in(at, len, NULL, 0);
		break;
	case 3:
		splice_in(at, 0, drive.now + at, len);
		break;
	default:
		splice_in(at, len, other->data + from, some);
		break;
	}
}

static void
give(const struct input *input, size_t changes)
{
	memcpy(drive.now, input->data, input->size);
	drive.size = input->size;
	for (size_t i = 0; i < changes; i++)
		change();
	(void)LLVMFuzzerTestOneInput(drive.now, drive.size);
}

int
main(int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/');

	drive.name = slash != NULL ? slash + 1 : argv[0];
	rng_seed(&drive.rng, 1);
	(void)signal(SIGABRT, on_crash);
	(void)signal(SIGSEGV, on_crash);
	(void)signal(SIGPIPE, SIG_IGN);
	for (int i = 1; i < argc; i++)
		if (!take_file(argv[i]))
			return EXIT_FAILURE;
	if (argc == 1)
		take_corpus();
	(void)printf("1..1\n");
	(void)fflush(stdout);
	for (size_t i = 0; i < drive.n; i++)
		give(&drive.inputs[i], 0);
	for (unsigned int i = 0; argc == 1 && drive.n > 0 && i < fuzz_runs; i++)
		give(&drive.inputs[i % drive.n], 1 + below(CHANGES));
	(void)printf("%sok 1 - %zu inputs and %u changed ones are taken or refused\n",
	             drive.n > 0 ? "" : "not ", drive.n, fuzz_runs);
	for (size_t i = 0; i < drive.n; i++)
		free(drive.inputs[i].data);
	return drive.n > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
