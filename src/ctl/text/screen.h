/* SPDX-License-Identifier: ISC */
/* screen.h - a terminal that is drawn upon: its own page, keys at once, all put back.
 *
 * While it is open messages on standard error are kept; they come out when it is closed.
 */
#ifndef CTL_SCREEN_H
#define CTL_SCREEN_H

#include <signal.h>
#include <stdint.h>
#include <termios.h>

#include "ctl/wire/print.h"

/* What screen_wait() tells besides keys. */
#define SCREEN_TIME    0
#define SCREEN_END     (-1)
#define SCREEN_RESIZED (-2)

struct screen {
	struct termios before;
	sigset_t mask_before;
	int signal_fd;
	int stderr_before;
	int messages_fd;
	uint32_t width;
	uint32_t height;
};

int screen_open(struct screen *screen, struct out *out);
void screen_close(struct screen *screen, struct out *out);
void screen_begin(struct screen *screen, struct out *out);
void screen_end_line(struct out *out);
void screen_end(struct out *out);
int screen_wait(struct screen *screen, uint64_t until_ms);

#endif
