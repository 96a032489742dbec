/* SPDX-License-Identifier: ISC */
/* err.c - one failure, as a number for the program and a sentence for a person. */
#include "config.h"

#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 3, 0))) static void
set(struct err *err, int code, const char *fmt, va_list ap)
{
	if (err == NULL)
		return;
	err->code = code;
	(void)vsnprintf(err->text, sizeof(err->text), fmt, ap);
	size_t used = strlen(err->text);
	if (code != 0)
		(void)snprintf(err->text + used, sizeof(err->text) - used, ": %s",
		               strerror(code));
}

/*
 * Say what failed.  With a code other than 0 the system's words for it are appended,
 * so the sentence names the thing and the code says why: "open /x: No such file …".
 * A NULL err is allowed: the caller does not want to know.  Returns -code, for the
 * caller to return: `return err_set(err, errno, "open %s", path);`.
 */
int
err_set(struct err *err, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set(err, code, fmt, ap);
	va_end(ap);
	return -code;
}

/* The same where the sentence says it all, without the system's words.  Returns r, such
 * as -EINVAL, of which the err has nothing. */
int
err_say(struct err *err, int r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set(err, 0, fmt, ap);
	va_end(ap);
	return r;
}

/* Put the caller's view in front of what the callee said: "load a.yaml: open …". */
void
err_prefix(struct err *err, const char *fmt, ...)
{
	char old[sizeof(err->text)];
	va_list ap;

	if (err == NULL)
		return;
	memcpy(old, err->text, sizeof(old));
	va_start(ap, fmt);
	(void)vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	size_t used = strlen(err->text);
	(void)snprintf(err->text + used, sizeof(err->text) - used, ": %s", old);
}

/*
 * Why a file was not taken, in words: one that was to be opened without following a link
 * or waiting for another process, and to be a regular file with one name.
 */
const char *
err_of_file(int code)
{
	static const char *const words[] = {
	    [ELOOP] = "it is a symbolic link",
	    [EMLINK] = "it has a second name",
	    [EINVAL] = "it is no regular file",
	    [ENXIO] = "it is a socket, or a named pipe that nothing reads",
	};
	const size_t n = sizeof(words) / sizeof(words[0]);

	return (size_t)code < n && words[code] != NULL ? words[code] : strerror(code);
}

/* The symbolic name of an errno value ("ENOENT"), or "E?" for one that has none. */
const char *
err_name(int code)
{
	const char *name = code > 0 ? strerrorname_np(code) : NULL;

	return name != NULL ? name : "E?";
}

/* The errno value of a symbolic name, or -1 for a name that the system does not know. */
int
err_code(const char *name)
{
	for (int code = 1; code < 4096; code++) {
		const char *known = strerrorname_np(code);

		if (known != NULL && strcmp(known, name) == 0)
			return code;
	}
	return -1;
}

/*
 * True if this is for want of descriptors or of memory, ours or the machine's.  Then it
 * says nothing about what was asked for, and may go well a little later.
 */
bool
err_is_shortage(int code)
{
	return code == EMFILE || code == ENFILE || code == ENOMEM || code == ENOBUFS;
}

/* Memory for one of that size, all zero; NULL and a sentence. */
void *
err_calloc(size_t size, struct err *err, const char *what)
{
	void *memory = calloc(1, size);

	if (memory == NULL)
		err_set(err, ENOMEM, "%s", what);
	return memory;
}
