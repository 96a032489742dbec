/* SPDX-License-Identifier: ISC */
/* moment.c - points in time as people and machines write them. */
#include "config.h"

#include "base/moment.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/units.h"

/* CLOCK_REALTIME. */
uint64_t
moment_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* "2026-11-21T09:12:33.123Z"; struct tm has more years than 64 bits of microseconds. */
void
moment_print(uint64_t us, char ret[MOMENT_BYTES])
{
	const time_t seconds = (time_t)(us / 1000000);
	struct tm tm;

	(void)gmtime_r(&seconds, &tm);
	size_t len = strftime(ret, MOMENT_BYTES, "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(ret + len, MOMENT_BYTES - len, ".%03uZ",
	               (unsigned int)(us / 1000 % 1000));
}

/* Exactly n digits at *p, a number from 0 to max; -1 if they are not there. */
static int
take_digits(const char **p, int n, int max)
{
	int value = 0;

	for (int i = 0; i < n; i++, (*p)++) {
		if (!isdigit((unsigned char)**p))
			return -1;
		value = value * 10 + (**p - '0');
	}
	return value <= max ? value : -1;
}

/* Digits behind a full stop, as microseconds; none is 0.  More than six are dropped. */
static int
take_fraction(const char **p)
{
	int scale = 100000, us = 0;

	if (**p != '.' || !isdigit((unsigned char)(*p)[1]))
		return 0;
	for ((*p)++; isdigit((unsigned char)**p); (*p)++) {
		us += scale * (**p - '0');
		scale /= 10;
	}
	return us;
}

/* Read a date such as "2026-11-21"; false: it is none. */
static bool
take_date(const char **p, struct tm *tm)
{
	int year = take_digits(p, 4, 9999);

	if (year < 1970 || *(*p)++ != '-')
		return false;
	int month = take_digits(p, 2, 12);
	if (month < 1 || *(*p)++ != '-')
		return false;
	int day = take_digits(p, 2, 31);
	if (day < 1)
		return false;
	tm->tm_year = year - 1900;
	tm->tm_mon = month - 1;
	tm->tm_mday = day;
	return true;
}

/* Read a time such as "09:12", "09:12:33" or "09:12:33.123"; false: it is none. */
static bool
take_clock(const char **p, struct tm *tm, int *us)
{
	tm->tm_hour = take_digits(p, 2, 23);
	if (tm->tm_hour < 0 || *(*p)++ != ':')
		return false;
	tm->tm_min = take_digits(p, 2, 59);
	tm->tm_sec = 0;
	*us = 0;
	if (tm->tm_min < 0 || **p != ':')
		return tm->tm_min >= 0;
	(*p)++;
	tm->tm_sec = take_digits(p, 2, 60);
	*us = take_fraction(p);
	return tm->tm_sec >= 0;
}

/* "Z", "+01:00"; false: something else. */
static bool
take_zone(const char **p, int *ret_seconds)
{
	int sign = **p == '-' ? -1 : 1;

	*ret_seconds = 0;
	if (**p == 'Z' || **p == 'z') {
		(*p)++;
		return true;
	}
	if (**p != '+' && **p != '-')
		return false;
	(*p)++;
	int hours = take_digits(p, 2, 23);
	if (hours < 0 || *(*p)++ != ':')
		return false;
	int minutes = take_digits(p, 2, 59);
	*ret_seconds = sign * (hours * 3600 + minutes * 60);
	return minutes >= 0;
}

static int
to_us(time_t seconds, int us, uint64_t *ret_us)
{
	if (seconds < 0)
		return -EINVAL;
	*ret_us = (uint64_t)seconds * 1000000 + (uint64_t)us;
	return 0;
}

/*
 * A time of RFC 3339: date, time to the second or finer, zone.  -EINVAL for anything
 * else, and for times before 1970.
 */
int
moment_parse(const char *text, uint64_t *ret_us)
{
	struct tm tm = {0};
	const char *p = text;
	int zone, us;

	if (!take_date(&p, &tm) || (*p != 'T' && *p != 't' && *p != ' '))
		return -EINVAL;
	p++;
	if (!take_clock(&p, &tm, &us) || !take_zone(&p, &zone) || *p != '\0')
		return -EINVAL;
	return to_us(timegm(&tm) - zone, us, ret_us);
}

/* "09:12": the last time that the clocks here showed that. */
static int
parse_clock(const char *text, const struct tm *today, time_t now, uint64_t *ret_us)
{
	struct tm tm = *today;
	const char *p = text;
	int us;

	if (!take_clock(&p, &tm, &us) || *p != '\0')
		return -EINVAL;
	tm.tm_isdst = -1;
	time_t seconds = mktime(&tm);
	if (seconds > now) {
		tm.tm_mday = today->tm_mday - 1;
		tm.tm_isdst = -1;
		seconds = mktime(&tm);
	}
	return to_us(seconds, us, ret_us);
}

/* "min", of as many letters as there are; 0: there is no unit of that name. */
static uint64_t
unit_ms(const char *name, size_t len)
{
	static const struct {
		const char *name;
		uint64_t ms;
	} units[] = {
	    {"ms", 1},           {"s", 1000},     {"sec", 1000},     {"second", 1000},
	    {"m", 60000},        {"min", 60000},  {"minute", 60000}, {"h", 3600000},
	    {"hour", 3600000},   {"d", 86400000}, {"day", 86400000}, {"w", 604800000},
	    {"week", 604800000},
	};

	if (len > 3 && name[len - 1] == 's')
		len--;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strlen(units[i].name) == len &&
		    strncmp(units[i].name, name, len) == 0)
			return units[i].ms;
	return 0;
}

/* "5 min ago", "1h 30 minutes", "10m": how long ago that is. */
static int
parse_ago(const char *text, uint64_t *ret_ms)
{
	const char *p = text;
	uint64_t sum = 0;

	do {
		uint64_t n = 0;

		if (!isdigit((unsigned char)*p))
			return -EINVAL;
		for (; isdigit((unsigned char)*p) && n < DURATION_MS_MAX; p++)
			n = n * 10 + (uint64_t)(*p - '0');
		p += strspn(p, " ");
		size_t len = strspn(p, "abcdefghijklmnopqrstuvwxyz");
		uint64_t ms = unit_ms(p, len);
		if (ms == 0 || n > DURATION_MS_MAX / ms)
			return -EINVAL;
		sum += n * ms;
		p += len;
		p += strspn(p, " ");
	} while (sum <= DURATION_MS_MAX && *p != '\0' && strcmp(p, "ago") != 0);
	*ret_ms = sum;
	return sum <= DURATION_MS_MAX ? 0 : -EINVAL;
}

/* "now", and the midnights that began "today" and "yesterday". */
static int
parse_word(const char *text, const struct tm *today, time_t now, uint64_t *ret_us)
{
	struct tm tm = {.tm_year = today->tm_year,
	                .tm_mon = today->tm_mon,
	                .tm_mday = today->tm_mday};

	if (strcmp(text, "now") == 0)
		return to_us(now, 0, ret_us);
	if (strcmp(text, "yesterday") == 0)
		tm.tm_mday--;
	else if (strcmp(text, "today") != 0)
		return -EINVAL;
	tm.tm_isdst = -1;
	return to_us(mktime(&tm), 0, ret_us);
}

/*
 * A moment in the past as people write it: as moment_parse(); without a zone, which then
 * is the one of the user, and without seconds or a time of day; "09:12", the last time
 * that it was; "10m", "1h30m" or "5 min ago", so long before now_us; "now", "today",
 * "yesterday".  -EINVAL for anything else.
 */
int
moment_parse_past(const char *text, uint64_t now_us, uint64_t *ret_us)
{
	time_t now = (time_t)(now_us / 1000000);
	struct tm tm = {.tm_isdst = -1};
	const char *p = text;
	struct tm today;
	uint64_t ago_ms;
	int us = 0;

	if (moment_parse(text, ret_us) == 0)
		return 0;
	if (duration_parse(text, &ago_ms) == 0 || parse_ago(text, &ago_ms) == 0) {
		*ret_us = ago_ms < now_us / 1000 ? now_us - ago_ms * 1000 : 0;
		return 0;
	}
	if (localtime_r(&now, &today) == NULL)
		return -EINVAL;
	if (parse_word(text, &today, now, ret_us) == 0)
		return 0;
	if (!take_date(&p, &tm))
		return parse_clock(text, &today, now, ret_us);
	if (*p == 'T' || *p == ' ') {
		p++;
		if (!take_clock(&p, &tm, &us))
			return -EINVAL;
	}
	return *p == '\0' ? to_us(mktime(&tm), us, ret_us) : -EINVAL;
}
