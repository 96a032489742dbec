/* SPDX-License-Identifier: ISC */
/* file.c - the bytes of a target as a file. */
#include "config.h"

#include "tests/fuzz/file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"

#define NAMES_MAX 8

/* A directory of this program's own, and the files made in it. */
static char directory[64];
static char made[NAMES_MAX][PATH_MAX];
static size_t n_made;

static void
remove_all(void)
{
	for (size_t i = 0; i < n_made; i++)
		(void)unlink(made[i]);
	(void)rmdir(directory);
}

static char *
place_of(const char *name)
{
	char *place = made[n_made];

	if (n_made == 0) {
		(void)snprintf(directory, sizeof(directory), "/tmp/supd-fuzz.XXXXXX");
		ASSERT(mkdtemp(directory) != NULL);
		ASSERT(atexit(remove_all) == 0);
	}
	for (size_t i = 0; i < n_made; i++)
		if (strcmp(strrchr(made[i], '/') + 1, name) == 0)
			return made[i];
	ASSERT(n_made++ < NAMES_MAX);
	(void)snprintf(place, PATH_MAX, "%s/%s", directory, name);
	return place;
}

/* A file with these bytes; the path stays until the program ends. */
const char *
fuzz_file(const char *name, const uint8_t *data, size_t size)
{
	const char *path = place_of(name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ASSERT(fd >= 0);
	ASSERT(write(fd, data, size) == (ssize_t)size);
	(void)close(fd);
	return path;
}

/* Does a configuration stand alone?  A pattern of `include` may search all of the disk.
 */
bool
fuzz_is_alone(const uint8_t *data, size_t size)
{
	return memmem(data, size, "include", strlen("include")) == NULL;
}
