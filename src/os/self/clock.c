/* SPDX-License-Identifier: ISC */
/* clock.c - the monotonic clock for decisions, the wall clock for people. */
#include "config.h"

#include "os/self/clock.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>

#include "base/assert.h"
#include "base/cleanup.h"

static uint64_t
read_ns(clockid_t id)
{
	struct timespec now;

	ASSERT(clock_gettime(id, &now) == 0);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* CLOCK_MONOTONIC in nanoseconds: never goes back, stands still during suspend. */
uint64_t
clock_mono_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

/* CLOCK_MONOTONIC in whole milliseconds, rounded down. */
uint64_t
clock_mono_ms(void)
{
	return clock_mono_ns() / 1000000;
}

/* When so much time will have passed: clock_mono_ms() is not that far any earlier. */
uint64_t
clock_due_ms(uint64_t delay_ms)
{
	return (clock_mono_ns() + 999999) / 1000000 + delay_ms;
}

/* CLOCK_REALTIME in microseconds since 1970: for people, never for a decision. */
uint64_t
clock_wall_us(void)
{
	return read_ns(CLOCK_REALTIME) / 1000;
}

/* How long poll(2) is to wait, now, until then; UINT64_MAX: for ever. */
int
clock_wait_ms(uint64_t now_ms, uint64_t until_ms)
{
	if (until_ms == UINT64_MAX)
		return -1;
	if (until_ms <= now_ms)
		return 0;
	return until_ms - now_ms < INT_MAX ? (int)(until_ms - now_ms) : INT_MAX;
}

/*
 * Disarm every timerfd of this process. libev has a timerfd that wakes it up when the
 * wall clock is set, to move its periodic watchers; a process without periodic watchers
 * need not wake up for that.
 */
void
clock_ignore_steps(void)
{
	struct dirent *entry;
	CLEANUP_DIR DIR *fds = opendir("/proc/self/fd");

	if (fds == NULL)
		return;
	/* EINVAL of what is none. */
	while ((entry = readdir(fds)) != NULL)
		(void)timerfd_settime(atoi(entry->d_name), 0,
		                      &(const struct itimerspec){0}, NULL);
}

/* Write so many digits of a number and the character behind them; the end of that. */
static char *
put_number(char *to, unsigned int n, unsigned int digits, char behind)
{
	for (unsigned int i = digits; i > 0; i--, n /= 10)
		to[i - 1] = (char)('0' + n % 10);
	to[digits] = behind;
	return to + digits + 1;
}

/*
 * The date of a day since 1970-01-01, and a T behind it.  Reckoned in years that begin in
 * March, so that the day that not every year has is the last, and in the 146,097 days of
 * 400 years, after which the calendar repeats itself.
 */
static char *
put_date(char *to, unsigned int day)
{
	const unsigned int in_era =
	    (day + 719468) % 146097; /* of an era from March 0000 */
	const unsigned int of_era =
	    (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
	const unsigned int in_year = in_era - (365 * of_era + of_era / 4 - of_era / 100);
	const unsigned int month = (5 * in_year + 2) / 153; /* 0: March */
	const unsigned int year = (day + 719468) / 146097 * 400 + of_era + (month >= 10);

	to = put_number(to, year, year > 9999 ? 6 : 4, '-');
	to = put_number(to, month < 10 ? month + 3 : month - 9, 2, '-');
	return put_number(to, in_year - (153 * month + 2) / 5 + 1, 2, 'T');
}

/*
 * A wall clock time as RFC 3339 in UTC, "2026-11-21T09:12:33.123Z", with 3 or 6 digits
 * of the second, rounded down.  Without gmtime_r(3), which looks at the time zone, and
 * strftime(3), as the status of thousands of actors has a time of each.  Returns buf.
 */
const char *
clock_format(uint64_t wall_us, unsigned int digits, char buf[CLOCK_TEXT_MAX])
{
	const unsigned int second = (unsigned int)(wall_us / 1000000 % 86400);
	const unsigned int fraction =
	    (unsigned int)(wall_us % 1000000) / (digits == 3 ? 1000 : 1);
	char *to = put_date(buf, (unsigned int)(wall_us / 1000000 / 86400));

	ASSERT(digits == 3 || digits == 6);
	to = put_number(to, second / 3600, 2, ':');
	to = put_number(to, second / 60 % 60, 2, ':');
	to = put_number(to, second % 60, 2, '.');
	*put_number(to, fraction, digits, 'Z') = '\0';
	return buf;
}
