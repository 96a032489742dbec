/* SPDX-License-Identifier: ISC */
/* starve.c - to be preloaded: in a guardian of supd some calls of malloc(3) fail.
 *
 * $STARVE names a file with a struct starve, which the test writes and reads while supd
 * runs.  Which calls fail is decided by its seed alone.  It is for the GNU C library, of
 * which malloc can be replaced while its own stays at hand under another name.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct starve {
	_Atomic uint32_t pid;   /* of the guardian; 0: none */
	_Atomic uint32_t every; /* the number of calls of which the last fails */
	_Atomic uint32_t left;  /* so many calls fail still */
	_Atomic uint32_t failed;
	_Atomic uint64_t seed;
	_Atomic uint64_t ends; /* the guardian: with the last call that fails */
};

#ifdef __GLIBC__
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *memory, size_t size);

static struct starve *starve;
static uint32_t own_pid;

/* The C library calls this with what main() will get. */
__attribute__((constructor)) static void
begin(int argc, char **argv)
{
	const char *path = getenv("STARVE");
	void *memory;
	int fd;

	if (argc < 2 || strcmp(argv[1], "@guardian") != 0 || path == NULL)
		return;
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return;
	memory = mmap(NULL, sizeof(*starve), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	(void)close(fd);
	own_pid = (uint32_t)getpid();
	if (memory != MAP_FAILED)
		starve = memory;
}

static int
fails(void)
{
	uint32_t pid, every, left;
	uint64_t seed;

	if (starve == NULL)
		return 0;
	pid = atomic_load(&starve->pid);
	every = atomic_load(&starve->every);
	left = atomic_load(&starve->left);
	if (pid != own_pid || every == 0 || left == 0)
		return 0;
	/* xorshift64, of Marsaglia. */
	seed = atomic_load(&starve->seed);
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	atomic_store(&starve->seed, seed);
	if (seed % every != 0)
		return 0;
	atomic_store(&starve->left, left - 1);
	atomic_fetch_add(&starve->failed, 1);
	/* As memory_give_up(), which no test can bring about at a certain call. */
	if (left == 1 && atomic_load(&starve->ends) != 0)
		abort();
	errno = ENOMEM;
	return 1;
}

void *
malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

void *
calloc(size_t n, size_t size)
{
	return fails() ? NULL : __libc_calloc(n, size);
}

void *
realloc(void *memory, size_t size)
{
	/* That frees it. */
	if (size == 0)
		return __libc_realloc(memory, size);
	return fails() ? NULL : __libc_realloc(memory, size);
}
#endif
