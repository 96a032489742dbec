/* SPDX-License-Identifier: ISC */
/* envfile.c - files of KEY=value. */
#include "config.h"

#include "conf/read/envfile.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "conf/text/arena.h"
#include "conf/text/file.h"

#define LETTERS   "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
#define DIGITS    "0123456789"
#define BLANKS    " \t"
#define NEWLINES  "\r\n"
#define SPECIAL   "\"\\`$" /* what a backslash protects in double quotes */
#define BYTES_MAX (ENVFILE_BYTES_MAX + 64 * 1024)

/* A file that is read in place: a value is never longer than its text in the file. */
struct envfile {
	const char *path;
	char *at;
	unsigned int line;
	struct err *err;
};

/* Where in a value: quotes count where a word begins, and only there. */
enum where { BEFORE, WORD, SINGLE, DOUBLE };

/* A value, written over the text that was read. */
struct unquoted {
	enum where where;
	char *to;   /* the next character goes here */
	char *keep; /* behind the last one that is no blank at the end */
};

/* Leave out blanks, empty lines and comments; false: that was all. */
static bool
find_line(struct envfile *file)
{
	for (;;) {
		file->at += strspn(file->at, BLANKS);
		if (*file->at == '#' || *file->at == ';')
			file->at += strcspn(file->at, NEWLINES);
		if (*file->at == '\0')
			return false;
		if (strchr(NEWLINES, *file->at) == NULL)
			return true;
		file->line += *file->at++ == '\n';
	}
}

/* The text may be a misplaced secret, so the message does not repeat the text. */
static int
refuse_key(const struct envfile *file, const char *key)
{
	static const char export[] = "export ";

	if (strncmp(key, export, strlen(export)) == 0)
		err_set(file->err, 0, "%s:%u: write KEY=value without `export`",
		        file->path, file->line);
	else
		err_set(file->err, 0,
		        "%s:%u: what is before the = cannot be a name; names have "
		        "letters, digits and _, and begin with no digit",
		        file->path, file->line);
	return -EINVAL;
}

/* What is before the "=". */
static int
take_key(struct envfile *file, char **ret)
{
	char *key = file->at;
	size_t len = strcspn(key, "=" NEWLINES);

	if (key[len] != '=')
		return err_say(file->err, -EINVAL, "%s:%u: that is no KEY=value",
		               file->path, file->line);
	file->at += len + 1;
	while (len > 0 && strchr(BLANKS, key[len - 1]) != NULL)
		len--;
	key[len] = '\0';
	if (len == 0 || strspn(key, LETTERS DIGITS) < len ||
	    strchr(DIGITS, key[0]) != NULL)
		return refuse_key(file, key);
	*ret = key;
	return 0;
}

static void
add(struct unquoted *value, char c)
{
	*value->to++ = c;
	value->keep = value->to;
}

/* A backslash, and what it is before: the end of a line is left out together with it. */
static void
take_escaped(struct envfile *file, struct unquoted *value)
{
	char c = *++file->at;

	if (c == '\r' && file->at[1] == '\n')
		c = *++file->at;
	if (value->where == DOUBLE && c != '\n' &&
	    (c == '\0' || strchr(SPECIAL, c) == NULL))
		add(value, '\\');
	if (value->where == BEFORE)
		value->where = WORD;
	if (c == '\0')
		return;
	file->at++;
	if (c == '\n')
		file->line++;
	else
		add(value, c);
}

static void
take_quoted(struct envfile *file, struct unquoted *value)
{
	const char end = value->where == SINGLE ? '\'' : '"';
	char c = *file->at;

	if (c == '\\' && value->where == DOUBLE) {
		take_escaped(file, value);
		return;
	}
	file->at++;
	file->line += c == '\n';
	if (c == end)
		value->where = BEFORE;
	else
		add(value, c);
}

static void
take_bare(struct envfile *file, struct unquoted *value)
{
	char c = *file->at;

	if (c == '\\') {
		take_escaped(file, value);
		return;
	}
	file->at++;
	if (value->where == BEFORE && (c == '\'' || c == '"')) {
		value->where = c == '\'' ? SINGLE : DOUBLE;
	} else if (strchr(BLANKS, c) == NULL) {
		value->where = WORD;
		add(value, c);
	} else if (value->where == WORD) {
		*value->to++ = c;
	}
}

/* What is behind the "=", up to the end of the line, or further in quotes. */
static int
take_value(struct envfile *file, char **ret)
{
	const unsigned int line = file->line;
	char *begin = file->at;
	struct unquoted value = {.to = begin, .keep = begin};

	while (*file->at != '\0') {
		if (value.where == SINGLE || value.where == DOUBLE)
			take_quoted(file, &value);
		else if (strchr(NEWLINES, *file->at) == NULL)
			take_bare(file, &value);
		else
			break;
	}
	if (value.where == SINGLE || value.where == DOUBLE)
		return err_say(file->err, -EINVAL, "%s:%u: the quote %c is not closed",
		               file->path, line, value.where == SINGLE ? '\'' : '"');
	/* The end of the value may be where the end of the line is. */
	if (*file->at != '\0')
		file->line += *file->at++ == '\n';
	*value.keep = '\0';
	*ret = begin;
	return 0;
}

/*
 * As envfile_read() for what was read already.  Without memory and without the C
 * library's state, for a child of os/spawn/spawn.h.
 */
int
envfile_parse(const struct envfile_text *read, envfile_fn *on_variable, void *data,
              struct err *err)
{
	struct envfile file = {
	    .path = read->path, .at = read->text, .line = 1, .err = err};
	char *key = NULL, *value = NULL;
	int r = 0;

	if (memchr(read->text, '\0', read->len) != NULL)
		return err_say(err, -EINVAL, "%s has a NUL character in it", read->path);
	while (r == 0 && find_line(&file)) {
		r = take_key(&file, &key);
		if (r == 0)
			r = take_value(&file, &value);
		if (r == 0)
			on_variable(data, key, value);
	}
	return r;
}

/*
 * Read a file of KEY=value: of a path with a "-" before it, if it is there.  Comments
 * begin with # or ;, a backslash goes on with the next line, values may be quoted, and
 * nothing is expanded.  -EINVAL: what stands there is wrong; -errno: it cannot be read;
 * err has the sentence.  The variables before that were given out.
 */
int
envfile_read(const char *path, envfile_fn *on_variable, void *data, struct err *err)
{
	const bool is_optional = path[0] == '-';
	struct file_text text = {0};
	CLEANUP(arena_done) struct arena arena = ARENA(BYTES_MAX);

	path += is_optional;
	int r = file_read(&arena, path, ENVFILE_BYTES_MAX, &text, err);
	if (r == -EFBIG)
		err_set(err, 0, "%s is too large: it may have %d bytes", path,
		        ENVFILE_BYTES_MAX);
	if (r == 0)
		r = envfile_parse(&(struct envfile_text){path, text.text, text.len},
		                  on_variable, data, err);
	return r == -ENOENT && is_optional ? 0 : r;
}
