/* SPDX-License-Identifier: ISC */
/* impostor.c - a binary that is no supd, for tests of upgrades.
 *
 * The word behind "impostor:" in the binary says how the program answers the question
 * whether it can take over, and how it behaves as a guardian; tests write this word.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile char mode[] = "impostor:fit-and-dies    ";

static int
is(const char *word)
{
	const volatile char *at = mode + strlen("impostor:");

	while (*word != '\0')
		if (*word++ != *at++)
			return 0;
	return 1;
}

/* The part is played by the file "stranger" beside us. */
static int
play_stranger(char **argv)
{
	char path[4096] = "";
	char *slash;

	if (readlink("/proc/self/exe", path, sizeof(path) - sizeof("stranger")) < 0)
		return EXIT_FAILURE;
	slash = strrchr(path, '/');
	(void)strcpy(slash + 1, "stranger");
	(void)execv(path, argv);
	return EXIT_FAILURE;
}

static int
guard(char **argv)
{
	if (is("fit-and-dies"))
		abort();
	if (is("fit-and-strange"))
		return play_stranger(argv);
	return is("fit-and-fails") ? 70 : 0;
}

/* Say it, and then be long in dying: there is much to give back. */
static int
linger(void)
{
	const size_t size = (size_t)1 << 30;
	char *much =
	    mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (much == MAP_FAILED)
		return EXIT_FAILURE;
	(void)madvise(much, size, MADV_NOHUGEPAGE);
	(void)memset(much, 1, size);
	(void)puts("{\"message\": \"not on a Monday\"}");
	(void)fclose(stdout);
	(void)fclose(stderr);
	return pause();
}

int
main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "@guardian") == 0)
		return guard(argv);
	if (is("hangs"))
		for (;;)
			(void)pause();
	while (is("chatters"))
		if (puts("and so on, and so forth") < 0)
			return EXIT_FAILURE;
	if (is("babbles"))
		return puts("{\"who\":\n\033[31mme") < 0;
	if (is("lingers"))
		return linger();
	if (is("objects"))
		return puts("{\"message\": \"not on a Sunday\"}") < 0;
	return puts("{\"version\": \"9.9.9\"}") < 0;
}
