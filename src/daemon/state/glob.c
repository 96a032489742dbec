/* SPDX-License-Identifier: ISC */
/* glob.c - which actors does a pattern mean? */
#include "config.h"

#include "daemon/state/glob.h"

#include <stddef.h>
#include <string.h>

#include "base/names.h"

/* True if the text has a wildcard in it: a star, '?' or '['.  No name of an actor has
 * one. */
bool
glob_is_pattern(const char *text)
{
	return strpbrk(text, "*?[") != NULL;
}

/* The path without "/user/", as people write it; /user and "/" as they are. */
const char *
glob_below_user(const char *path)
{
	return strncmp(path, "/user/", 6) == 0 ? path + 6 : path;
}

/*
 * True if c is in the set that begins behind a '['.  *ret_end is what follows the set; a
 * set without an end matches nothing.
 */
static bool
set_has(const char *set, char c, const char **ret_end)
{
	bool negated = *set == '!' || *set == '^';
	bool found = false;
	const char *p = set + negated;

	do {
		char from = *p, to = from;

		if (from == '\0')
			return false;
		if (p[1] == '-' && p[2] != ']' && p[2] != '\0') {
			to = p[2];
			p += 2;
		}
		found = found || (c >= from && c <= to);
		p++;
	} while (*p != ']');
	*ret_end = p + 1;
	return found != negated;
}

/* True if one element of the pattern matches the character.  *glob moves behind it
 * then. */
static bool
match_one(const char **glob, char c, bool within_level)
{
	const char *end = *glob + 1;
	bool matched;

	if (**glob == '[')
		matched = !(within_level && c == '/') && set_has(*glob + 1, c, &end);
	else if (**glob == '?')
		matched = !(within_level && c == '/');
	else
		matched = **glob == c;
	if (matched)
		*glob = end;
	return matched;
}

/* A star, and how far it reaches. */
struct star {
	const char *rest;  /* of the pattern, behind it; NULL: there is none */
	const char *taken; /* the text behind the characters taken in */
};

/* Let a star take in one character more, and go on behind it. */
static void
take_more(struct star *star, const char **glob, const char **text)
{
	*glob = star->rest;
	*text = ++star->taken;
}

/*
 * True if the text matches.  The wildcards are those of fnmatch(3), and "**", which
 * crosses levels.  Only the last star of a level and the last "**" can have to take in
 * more; the C library tries all stars, and patterns come from clients.
 */
static bool
match(const char *glob, const char *text, bool within_level)
{
	struct star star = {NULL, NULL};
	struct star wide = {NULL, NULL};

	while (*text != '\0') {
		if (*glob == '*') {
			const bool is_wide = !within_level || glob[1] == '*';

			glob += strspn(glob, "*");
			*(is_wide ? &wide : &star) = (struct star){glob, text};
			if (is_wide)
				star.rest = NULL;
		} else if (*glob != '\0' && match_one(&glob, *text, within_level)) {
			text++;
		} else if (star.rest != NULL && *star.taken != '/') {
			take_more(&star, &glob, &text);
		} else if (wide.rest != NULL) {
			star.rest = NULL;
			take_more(&wide, &glob, &text);
		} else {
			return false;
		}
	}
	while (*glob == '*')
		glob++;
	return *glob == '\0';
}

static bool
matches(const char *glob, const char *path, bool within_level)
{
	return match(glob, path, within_level) ||
	       (glob[0] != '/' && match(glob, glob_below_user(path), within_level));
}

/*
 * True if the pattern, used as a name, selects the path.  A wildcard stays within one
 * level, so that "app/" and a star is the children of app and not their children too;
 * with two stars it is all below app.
 */
bool
glob_selects(const char *glob, const char *path)
{
	return matches(glob, path, true);
}

/* True if the pattern has no slash, and matches the last name of the path. */
bool
glob_selects_last_name(const char *glob, const char *path)
{
	return strchr(glob, '/') == NULL && match(glob, names_last(path), true);
}

/*
 * True if the pattern, used as a filter of events, lets the path pass.  A wildcard
 * matches across levels, and a pattern without a slash matches the last name as well;
 * NULL lets all pass.
 */
bool
glob_filters(const char *glob, const char *path)
{
	return glob == NULL || matches(glob, path, false) ||
	       glob_selects_last_name(glob, path);
}
