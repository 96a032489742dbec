/* SPDX-License-Identifier: ISC */
/* reader_watch.c - wait for more to read, or until the reader of our output is gone. */
#include "config.h"

#include "logd/read/reader_watch.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/assert.h"

/* What cannot be watched is looked at so often. */
#define LOOK_MS 500

/* A descriptor to watch with; -1 if there is none to be had: then files are looked at. */
int
watch_open(void)
{
	return inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
}

static int
watch_directory(int inotify_fd, const struct source *source)
{
	const char *slash = strrchr(source->name, '/');
	char directory[PATH_MAX];
	size_t len = slash != NULL ? (size_t)(slash - source->name) + 1 : 0;

	if (len == 0 || len >= sizeof(directory))
		return -1;
	memcpy(directory, source->name, len);
	directory[len] = '\0';
	return inotify_add_watch(inotify_fd, directory, IN_CREATE | IN_MOVED_TO);
}

/* Another source may read the same file. */
static void
unwatch_file(int inotify_fd, struct source *source, const struct source *sources,
             size_t n)
{
	size_t users = 0;

	for (size_t i = 0; i < n; i++)
		users += sources[i].watched != 0 &&
		         sources[i].file_watch == source->file_watch;
	if (source->watched != 0 && users == 1)
		(void)inotify_rm_watch(inotify_fd, source->file_watch);
	source->watched = 0;
}

/* Watch the open file, whatever its name is by now. */
static void
watch_file(int inotify_fd, struct source *source)
{
	char name[64];

	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", source->file.fd);
	source->file_watch = inotify_add_watch(inotify_fd, name, IN_MODIFY);
	if (source->file_watch >= 0)
		source->watched = source->file.inode;
}

/*
 * Watch what is not watched yet.  *ret_any: what came before that may have been missed;
 * *ret_all: everything is watched.
 */
static void
watch_all(int inotify_fd, struct source *sources, size_t n, bool *ret_any, bool *ret_all)
{
	*ret_any = false;
	*ret_all = inotify_fd >= 0;
	for (size_t i = 0; i < n && inotify_fd >= 0; i++) {
		struct source *source = &sources[i];
		bool has_file = source->file.fd >= 0 && !source->file.is_packed;

		if (source->directory_watch < 0) {
			source->directory_watch = watch_directory(inotify_fd, source);
			source->is_changed = source->directory_watch >= 0;
		}
		if (has_file && source->watched != source->file.inode) {
			unwatch_file(inotify_fd, source, sources, n);
			watch_file(inotify_fd, source);
			source->is_changed = source->is_changed || source->watched != 0;
		}
		*ret_any = *ret_any || source->is_changed;
		if (source->directory_watch < 0 || (has_file && source->watched == 0))
			*ret_all = false;
	}
}

static void
mark_all(struct source *sources, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sources[i].is_changed = true;
}

static void
take_event(const struct inotify_event *event, struct source *sources, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct source *source = &sources[i];
		const char *slash = strrchr(source->name, '/');

		if (event->wd == source->file_watch && source->watched != 0)
			source->is_changed = true;
		if (event->wd == source->directory_watch && event->len > 0 &&
		    strncmp(event->name, slash + 1, strlen(slash + 1)) == 0)
			source->is_changed = true;
	}
}

/* Which sources do the events concern? */
static void
take_events(int inotify_fd, struct source *sources, size_t n)
{
	_Alignas(struct inotify_event) char data[16 * 1024];
	ssize_t len;

	while ((len = read(inotify_fd, data, sizeof(data))) > 0) {
		const char *p = data;

		while (p < data + len) {
			struct inotify_event event;
			char name[sizeof(event) + NAME_MAX + 1];

			memcpy(&event, p, sizeof(event));
			size_t size = sizeof(event) + event.len;
			if ((event.mask & IN_Q_OVERFLOW) != 0 || size > sizeof(name))
				mark_all(sources, n);
			else
				take_event((const void *)p, sources, n);
			p += size;
		}
	}
}

/*
 * Wait until a source may have more; its is_changed says so. false: the reader of our
 * output is gone.
 */
bool
watch_wait(int inotify_fd, int out_fd, struct source *sources, size_t n)
{
	struct pollfd fds[2] = {
	    {.fd = out_fd},
	    {.fd = inotify_fd, .events = POLLIN},
	};
	bool any, all;
	int r;

	watch_all(inotify_fd, sources, n, &any, &all);
	if (any)
		return true;
	do {
		r = poll(fds, ARRAY_SIZE(fds), all ? -1 : LOOK_MS);
	} while (r < 0 && errno == EINTR);
	if (fds[0].revents != 0)
		return false;
	if (r > 0)
		take_events(inotify_fd, sources, n);
	if (!all)
		mark_all(sources, n);
	return true;
}
