/* SPDX-License-Identifier: ISC */
/* place.c - paths of a file that are relative to the file, or to a home. */
#include "config.h"

#include "conf/text/place.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

/*
 * The directory of this file as an absolute path, which the arena owns; a name without
 * one is in the working directory.  NULL: out of memory.
 */
char *
place_directory(struct arena *arena, const char *file)
{
	const char *slash = strrchr(file, '/');
	const int len = slash != NULL ? (int)(slash - file) : 0;
	char here[PATH_MAX];

	if (file[0] == '/')
		return len == 0 ? arena_dup(arena, "/")
		                : arena_printf(arena, "%.*s", len, file);
	/* A directory that was removed has no name. */
	if (getcwd(here, sizeof(here)) == NULL || here[0] != '/')
		return arena_dup(arena, "/");
	while (strncmp(file, "./", 2) == 0)
		file += 2;
	slash = strrchr(file, '/');
	if (slash == NULL)
		return arena_dup(arena, here);
	return arena_printf(arena, "%s%s%.*s", here, here[1] != '\0' ? "/" : "",
	                    (int)(slash - file), file);
}

/*
 * The path as an absolute path: "~" stands for `home` (NULL: there is none), and a
 * relative path begins at the directory of `file`, in which it is written.  The arena
 * owns the result.  NULL: out of memory.
 */
char *
place_path(struct arena *arena, const char *path, const char *file, const char *home)
{
	if (path[0] == '/')
		return arena_dup(arena, path);
	if (path[0] == '~' && (path[1] == '/' || path[1] == '\0') && home != NULL)
		return arena_printf(arena, "%s%s", home, path + 1);
	char *directory = place_directory(arena, file);
	while (strncmp(path, "./", 2) == 0)
		path += 2;
	if (directory == NULL || path[0] == '\0' || strcmp(path, ".") == 0)
		return directory;
	return arena_printf(arena, "%s%s%s", directory, directory[1] != '\0' ? "/" : "",
	                    path);
}
