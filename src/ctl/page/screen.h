/* SPDX-License-Identifier: ISC */
/* screen.h - a terminal that is drawn upon: its own page, keys at once, all put back.
 *
 * There is at most one (curses(3) has one).  While it is open messages on standard error
 * are kept; the last of them come out when it is closed.
 */
#ifndef CTL_SCREEN_H
#define CTL_SCREEN_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "ctl/wire/print.h"

/* What screen_wait() tells besides characters. */
enum screen_key {
	SCREEN_TIME = 0, /* nothing was pressed */
	SCREEN_ENTER = '\n',
	SCREEN_ESCAPE = 27,
	SCREEN_END = 256,
	SCREEN_RESIZED,
	SCREEN_UP,
	SCREEN_DOWN,
	SCREEN_PAGE_UP,
	SCREEN_PAGE_DOWN,
	SCREEN_FIRST,
	SCREEN_LAST,
	SCREEN_BACKSPACE,
	SCREEN_OTHER,
};

#define SCREEN_FDS_MAX 4

struct screen {
	sigset_t mask_before;
	int signal_fd, stderr_before, messages_fd;
	bool colour;
	uint32_t width, height;
};

/* A region of the page: `room` columns of a line, shown as the row of the cursor is or
 * not. */
struct region {
	uint32_t line, column, room;
	bool reversed;
};

int screen_open(struct screen *screen, const struct out *out);
void screen_close(struct screen *screen);
void screen_begin(struct screen *screen);
uint32_t screen_put(const struct screen *screen, const struct region *region,
                    enum colour colour, const char *text);
size_t screen_fit(const char *text, uint32_t room);
void screen_end(void);
void screen_forget_messages(const struct screen *screen);
int screen_wait(struct screen *screen, const struct pollfd *fds, uint32_t n,
                uint64_t until_ms);

#endif
