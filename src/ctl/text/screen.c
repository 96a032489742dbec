/* SPDX-License-Identifier: ISC */
/* screen.c - a terminal that is drawn upon: its own page, keys at once, all put back. */
#include "config.h"

#include "ctl/text/screen.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "ctl/wire/client.h"

/* Control sequences of every terminal since the VT100, and of xterm (ECMA-48). */
#define ESC          "\033["
#define PAGE_OPEN    ESC "?1049h" ESC "?25l"
#define PAGE_CLOSE   ESC "?25h" ESC "?1049l"
#define CURSOR_HOME  ESC "H"
#define ERASE_TO_EOL ESC "K"
#define ERASE_BELOW  ESC "J"

#define WIDTH_USUAL  80
#define HEIGHT_USUAL 24

/* Keep what is said on standard error: it would be lost with the page. */
static void
divert_messages(struct screen *screen)
{
	screen->messages_fd = memfd_create("messages", MFD_CLOEXEC);
	screen->stderr_before = dup(STDERR_FILENO);
	if (screen->messages_fd >= 0 && screen->stderr_before >= 0)
		(void)dup2(screen->messages_fd, STDERR_FILENO);
}

static void
tell_messages(struct screen *screen)
{
	char buf[4096];
	ssize_t n;

	if (screen->stderr_before >= 0)
		(void)dup2(screen->stderr_before, STDERR_FILENO);
	if (screen->messages_fd >= 0) {
		(void)lseek(screen->messages_fd, 0, SEEK_SET);
		while ((n = read(screen->messages_fd, buf, sizeof(buf))) > 0 &&
		       write(STDERR_FILENO, buf, (size_t)n) > 0)
			continue;
		(void)close(screen->messages_fd);
	}
	if (screen->stderr_before >= 0)
		(void)close(screen->stderr_before);
}

/*
 * Take over the terminal of standard input and output.  Returns 0 or -errno, and nothing
 * has changed.  What would end the program is told by screen_wait() from now on.
 */
int
screen_open(struct screen *screen, struct out *out)
{
	struct termios raw;
	sigset_t signals;

	if (tcgetattr(STDIN_FILENO, &screen->before) < 0)
		return -errno;
	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGINT);
	(void)sigaddset(&signals, SIGTERM);
	(void)sigaddset(&signals, SIGHUP);
	(void)sigaddset(&signals, SIGQUIT);
	(void)sigaddset(&signals, SIGWINCH);
	screen->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (screen->signal_fd < 0)
		return -errno;
	(void)sigprocmask(SIG_BLOCK, &signals, &screen->mask_before);
	raw = screen->before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	/* A stopped supctl would leave the terminal in raw mode. */
	raw.c_cc[VSUSP] = _POSIX_VDISABLE;
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	divert_messages(screen);
	strbuf_adds(&out->buf, PAGE_OPEN);
	print_flush(out);
	return 0;
}

/* Put everything back. */
void
screen_close(struct screen *screen, struct out *out)
{
	strbuf_clear(&out->buf);
	strbuf_adds(&out->buf, PAGE_CLOSE);
	print_flush(out);
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &screen->before);
	(void)sigprocmask(SIG_SETMASK, &screen->mask_before, NULL);
	(void)close(screen->signal_fd);
	tell_messages(screen);
}

/* Begin to draw; how large the page is, is known from now on. */
void
screen_begin(struct screen *screen, struct out *out)
{
	struct winsize size = {0};

	screen->width = WIDTH_USUAL;
	screen->height = HEIGHT_USUAL;
	if (ioctl(out->fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 &&
	    size.ws_row > 0) {
		screen->width = size.ws_col;
		screen->height = size.ws_row;
	}
	strbuf_adds(&out->buf, CURSOR_HOME);
}

/* The rest of the line is empty, and the next one begins. */
void
screen_end_line(struct out *out)
{
	strbuf_adds(&out->buf, ERASE_TO_EOL "\r\n");
}

/* The rest of the page is empty; show it. */
void
screen_end(struct out *out)
{
	strbuf_adds(&out->buf, ERASE_TO_EOL ERASE_BELOW);
	print_flush(out);
}

static int
take_signal(const struct screen *screen)
{
	struct signalfd_siginfo info;

	if (read(screen->signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return SCREEN_TIME;
	return info.ssi_signo == SIGWINCH ? SCREEN_RESIZED : SCREEN_END;
}

/* Wait for a key, until it is so late (CLOCK_MONOTONIC): the key, or SCREEN_…. */
int
screen_wait(struct screen *screen, uint64_t until_ms)
{
	struct pollfd fds[] = {
	    {.fd = STDIN_FILENO, .events = POLLIN},
	    {.fd = screen->signal_fd, .events = POLLIN},
	};
	const uint64_t now_ms = client_now_ms();
	unsigned char key;

	if (poll(fds, 2, until_ms > now_ms ? (int)(until_ms - now_ms) : 0) <= 0)
		return SCREEN_TIME;
	if (fds[1].revents != 0)
		return take_signal(screen);
	/* Nobody sits there any more. */
	if (read(STDIN_FILENO, &key, 1) != 1)
		return SCREEN_END;
	return key;
}
