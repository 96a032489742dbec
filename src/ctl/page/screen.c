/* SPDX-License-Identifier: ISC */
/* screen.c - a terminal that is drawn upon: its own page, keys at once, all put back. */
#include "config.h"

#include "ctl/page/screen.h"

#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

/* Without its macros, which have names as `move` and `clear`. */
#define NCURSES_NOMACROS 1
#include <curses.h>
#include <term.h>

#include "base/assert.h"
#include "ctl/wire/client.h"

/* How long the rest of a key may take that begins as the escape key does. */
#define ESCAPE_WAIT_MS 25
/* The cells of one piece of text at most. */
#define CELLS_MAX 1024

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

/* Forget the messages kept so far: what they tell of is over, or told again. */
void
screen_forget_messages(const struct screen *screen)
{
	if (screen->messages_fd >= 0 && ftruncate(screen->messages_fd, 0) == 0)
		(void)lseek(screen->messages_fd, 0, SEEK_SET);
}

/* Characters as the terminal has them, also where the locale is not installed. */
static void
choose_locale(const struct out *out)
{
	if (setlocale(LC_CTYPE, "") == NULL && out->utf8)
		(void)setlocale(LC_CTYPE, "C.UTF-8");
}

static void
choose_colours(struct screen *screen, const struct out *out)
{
	screen->colour = out->colour && start_color() == OK &&
	                 use_default_colors() == OK &&
	                 init_pair(COLOUR_GOOD, COLOR_GREEN, -1) == OK &&
	                 init_pair(COLOUR_BAD, COLOR_RED, -1) == OK &&
	                 init_pair(COLOUR_BUSY, COLOR_YELLOW, -1) == OK;
}

/* A key is told at once and not shown; nothing stops supctl, which would leave the
 * terminal as it is. */
static void
choose_modes(void)
{
	struct termios modes;

	(void)cbreak();
	(void)noecho();
	(void)nonl();
	(void)nodelay(stdscr, true);
	(void)keypad(stdscr, true);
	(void)set_escdelay(ESCAPE_WAIT_MS);
	(void)curs_set(0);
	if (tcgetattr(STDIN_FILENO, &modes) == 0) {
		modes.c_cc[VSUSP] = _POSIX_VDISABLE;
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &modes);
	}
}

/* True if terminfo(5) knows the terminal, and text can be put anywhere on it. */
static bool
is_suitable(void)
{
	if (setupterm(NULL, STDOUT_FILENO, &(int){0}) == ERR)
		return false;
	bool result = cursor_address != NULL;
	/* newterm(3) makes another screen, and forgets the first without freeing it. */
	(void)del_curterm(cur_term);
	return result;
}

/*
 * Take over the terminal of standard input and output.  Returns 0, or -errno and nothing
 * has changed: -ENOTSUP for a terminal that terminfo(5) does not know, or that cannot be
 * drawn upon.  From now on signals do not end the program; screen_wait() tells of them.
 */
int
screen_open(struct screen *screen, const struct out *out)
{
	sigset_t signals;

	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGINT);
	(void)sigaddset(&signals, SIGTERM);
	(void)sigaddset(&signals, SIGHUP);
	(void)sigaddset(&signals, SIGQUIT);
	(void)sigaddset(&signals, SIGWINCH);
	screen->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (screen->signal_fd < 0)
		return -errno;
	choose_locale(out);
	if (!is_suitable() || newterm(NULL, stdout, stdin) == NULL) {
		(void)close(screen->signal_fd);
		return -ENOTSUP;
	}
	(void)sigprocmask(SIG_BLOCK, &signals, &screen->mask_before);
	choose_modes();
	choose_colours(screen, out);
	divert_messages(screen);
	return 0;
}

/* Put everything back. */
void
screen_close(struct screen *screen)
{
	(void)endwin();
	(void)sigprocmask(SIG_SETMASK, &screen->mask_before, NULL);
	(void)close(screen->signal_fd);
	tell_messages(screen);
}

/* Begin to draw, on an empty page; how large it is, is known from now on. */
void
screen_begin(struct screen *screen)
{
	screen->width = (uint32_t)getmaxx(stdscr);
	screen->height = (uint32_t)getmaxy(stdscr);
	(void)werase(stdscr);
}

/* Take one character of text, as it may be shown; how many bytes it has, 0 at the end. */
static size_t
take_character(const char *text, wchar_t *ret, uint32_t *ret_cells)
{
	mbstate_t state = {0};
	size_t len = mbrtowc(ret, text, MB_LEN_MAX, &state);

	if (len == 0)
		return 0;
	if (len == (size_t)-1 || len == (size_t)-2) {
		*ret = L'?';
		len = 1;
	}
	if (*ret == L'\t')
		*ret = L' ';
	int cells = wcwidth(*ret);
	/* Control characters, and characters that reverse the direction of text, are
	 * replaced. */
	if (cells <= 0) {
		*ret = L'?';
		cells = 1;
	}
	*ret_cells = (uint32_t)cells;
	return len;
}

/* How many bytes of the text fit into so many columns: at least one character. */
size_t
screen_fit(const char *text, uint32_t room)
{
	uint32_t used = 0, cells;
	size_t at = 0, len;
	wchar_t wide;

	while ((len = take_character(text + at, &wide, &cells)) > 0 &&
	       (used + cells <= room || at == 0)) {
		used += cells;
		at += len;
	}
	return at;
}

static attr_t
attributes_of(const struct screen *screen, enum colour colour, short *ret_pair)
{
	*ret_pair = 0;
	switch (colour) {
	case COLOUR_GOOD:
	case COLOUR_BAD:
	case COLOUR_BUSY:
		*ret_pair = screen->colour ? (short)colour : 0;
		break;
	case COLOUR_DIM:
		return screen->colour ? A_DIM : A_NORMAL;
	case COLOUR_BOLD:
		return A_BOLD;
	case COLOUR_NONE:
		break;
	}
	return A_NORMAL;
}

/* Show text, cut off where the region ends; the columns that it took. */
uint32_t
screen_put(const struct screen *screen, const struct region *region, enum colour colour,
           const char *text)
{
	uint32_t room = region->room, used = 0, cells = 0;
	wchar_t wide[CELLS_MAX];
	size_t n = 0, len;
	short pair;
	attr_t attributes = attributes_of(screen, colour, &pair);

	if (region->line >= screen->height || region->column >= screen->width)
		return 0;
	if (room > screen->width - region->column)
		room = screen->width - region->column;
	while (n < CELLS_MAX && (len = take_character(text, &wide[n], &cells)) > 0 &&
	       used + cells <= room) {
		used += cells;
		text += len;
		n++;
	}
	(void)wattr_set(stdscr, attributes | (region->reversed ? A_REVERSE : A_NORMAL),
	                pair, NULL);
	(void)mvwaddnwstr(stdscr, (int)region->line, (int)region->column, wide, (int)n);
	(void)wattr_set(stdscr, A_NORMAL, 0, NULL);
	return used;
}

/* Show what was drawn. */
void
screen_end(void)
{
	(void)wrefresh(stdscr);
}

static int
take_signal(const struct screen *screen)
{
	struct signalfd_siginfo info;
	struct winsize size = {0};

	if (read(screen->signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return SCREEN_TIME;
	if (info.ssi_signo != SIGWINCH)
		return SCREEN_END;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 &&
	    size.ws_row > 0)
		(void)resizeterm(size.ws_row, size.ws_col);
	return SCREEN_RESIZED;
}

/* A key that was pressed already, SCREEN_TIME if there is none. */
static int
take_key(void)
{
	static const struct {
		int curses, key;
	} keys[] = {
	    {KEY_UP, SCREEN_UP},
	    {KEY_DOWN, SCREEN_DOWN},
	    {KEY_PPAGE, SCREEN_PAGE_UP},
	    {KEY_NPAGE, SCREEN_PAGE_DOWN},
	    {KEY_HOME, SCREEN_FIRST},
	    {KEY_END, SCREEN_LAST},
	    {KEY_ENTER, SCREEN_ENTER},
	    {'\r', SCREEN_ENTER},
	    {KEY_BACKSPACE, SCREEN_BACKSPACE},
	    {'\b', SCREEN_BACKSPACE},
	    {127, SCREEN_BACKSPACE},
	};
	int key = wgetch(stdscr);

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (keys[i].curses == key)
			return keys[i].key;
	if (key == ERR)
		return SCREEN_TIME;
	return key > 0 && key < 256 ? key : SCREEN_OTHER;
}

/* The terminal has something: a key, or its other end is gone. */
static int
take_input(void)
{
	int left = 0;
	int key = take_key();

	if (key != SCREEN_TIME)
		return key;
	return ioctl(STDIN_FILENO, FIONREAD, &left) < 0 || left == 0 ? SCREEN_END
	                                                             : SCREEN_OTHER;
}

/*
 * Wait for a key, until it is so late (CLOCK_MONOTONIC), or until one of `fds` (borrowed,
 * at most SCREEN_FDS_MAX; -1 is passed over) is ready: the key, or SCREEN_….
 */
int
screen_wait(struct screen *screen, const struct pollfd *fds, uint32_t n,
            uint64_t until_ms)
{
	struct pollfd all[2 + SCREEN_FDS_MAX] = {
	    {.fd = STDIN_FILENO, .events = POLLIN},
	    {.fd = screen->signal_fd, .events = POLLIN},
	};
	const uint64_t now_ms = client_now_ms();
	int key = take_key();

	ASSERT(n <= SCREEN_FDS_MAX);
	if (key != SCREEN_TIME)
		return key;
	memcpy(all + 2, fds, n * sizeof(*fds));
	if (poll(all, 2 + n, until_ms > now_ms ? (int)(until_ms - now_ms) : 0) <= 0)
		return SCREEN_TIME;
	if (all[1].revents != 0)
		return take_signal(screen);
	return all[0].revents != 0 ? take_input() : SCREEN_TIME;
}
