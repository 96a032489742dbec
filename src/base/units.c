/* SPDX-License-Identifier: ISC */
/* units.c - durations, sizes and signals as people write them. */
#include "config.h"

#include "base/units.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/strbuf.h"

struct unit {
	const char *name;
	uint64_t factor;
};

/* From long to short: a duration is printed greedily in this order. */
static const struct unit duration_units[] = {
    {"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1},
};

/* Digits at *p; -EINVAL without one, -ERANGE past 2^63. */
static int
read_number(const char **p, uint64_t *ret)
{
	uint64_t n = 0;
	const char *start = *p;

	for (; isdigit((unsigned char)**p); (*p)++) {
		if (n > (UINT64_MAX >> 4) / 10)
			return -ERANGE;
		n = n * 10 + (uint64_t)(**p - '0');
	}
	if (*p == start)
		return -EINVAL;
	*ret = n;
	return 0;
}

static const struct unit *
read_duration_unit(const char **p)
{
	const struct unit *found = NULL;

	/* The longest match wins, so that "ms" is not read as "m". */
	for (size_t i = 0; i < ARRAY_SIZE(duration_units); i++) {
		size_t len = strlen(duration_units[i].name);

		if (strncmp(*p, duration_units[i].name, len) == 0 &&
		    (found == NULL || len > strlen(found->name)))
			found = &duration_units[i];
	}
	if (found != NULL)
		*p += strlen(found->name);
	return found;
}

/*
 * "250ms", "3s", "1m30s", "2h", "30d", "infinity" to milliseconds.
 *
 * -EINVAL for anything else, a bare number included; -ERANGE above DURATION_MS_MAX.
 */
int
duration_parse(const char *text, uint64_t *ret_ms)
{
	const char *p = text;
	uint64_t sum = 0;

	if (strcmp(text, "infinity") == 0) {
		*ret_ms = DURATION_INFINITE;
		return 0;
	}
	if (*p == '\0')
		return -EINVAL;
	while (*p != '\0') {
		uint64_t n;
		int r = read_number(&p, &n);

		if (r < 0)
			return r;
		const struct unit *unit = read_duration_unit(&p);
		if (unit == NULL)
			return -EINVAL;
		if (n > DURATION_MS_MAX / unit->factor)
			return -ERANGE;
		sum += n * unit->factor;
		if (sum > DURATION_MS_MAX)
			return -ERANGE;
	}
	*ret_ms = sum;
	return 0;
}

/* The shortest text that duration_parse() reads back: "1m30s", "0s", "infinity". */
const char *
duration_format(uint64_t ms, char buf[DURATION_TEXT_MAX])
{
	size_t used = 0;

	if (ms == DURATION_INFINITE)
		return "infinity";
	if (ms == 0)
		return "0s";
	for (size_t i = 0; i < ARRAY_SIZE(duration_units); i++) {
		const struct unit *unit = &duration_units[i];

		if (ms < unit->factor)
			continue;
		used +=
		    (size_t)snprintf(buf + used, DURATION_TEXT_MAX - used, "%llu%s",
		                     (unsigned long long)(ms / unit->factor), unit->name);
		ms %= unit->factor;
	}
	return buf;
}

/*
 * A duration for people: two units at most, tenths of seconds below ten: "1.8s", "1h25m".
 * As duration_format() otherwise, which is for values that are read again.
 */
const char *
age_format(uint64_t ms, char buf[DURATION_TEXT_MAX])
{
	static const struct {
		uint64_t ms;
		char name;
	} units[] = {{86400000, 'd'}, {3600000, 'h'}, {60000, 'm'}, {1000, 's'}};
	struct strbuf sb;
	size_t i = 0;

	if (ms == DURATION_INFINITE)
		return "infinity";
	strbuf_borrow(&sb, buf, DURATION_TEXT_MAX);
	while (i < ARRAY_SIZE(units) && ms < units[i].ms)
		i++;
	if (i == ARRAY_SIZE(units)) {
		strbuf_add_number(&sb, ms);
		strbuf_adds(&sb, "ms");
		return buf;
	}
	uint64_t rest = ms % units[i].ms;
	strbuf_add_number(&sb, ms / units[i].ms);
	if (ms < 10000 && rest >= 100) {
		strbuf_addc(&sb, '.');
		strbuf_add_number(&sb, rest / 100);
		rest = 0;
	}
	strbuf_addc(&sb, units[i].name);
	if (i + 1 < ARRAY_SIZE(units) && rest >= units[i + 1].ms) {
		strbuf_add_number(&sb, rest / units[i + 1].ms);
		strbuf_addc(&sb, units[i + 1].name);
	}
	return buf;
}

static const char size_suffixes[] = "KMGT";

/* "64K", "10M", "1G", "2T" (binary) or a bare number of bytes; -EINVAL, -ERANGE. */
int
size_parse(const char *text, uint64_t *ret_bytes)
{
	const char *p = text, *suffix;
	unsigned int shift = 0;
	uint64_t n;
	int r = read_number(&p, &n);

	if (r < 0)
		return r;
	if (*p != '\0') {
		suffix = strchr(size_suffixes, *p);
		if (suffix == NULL || p[1] != '\0')
			return -EINVAL;
		shift = 10 * (unsigned int)(suffix - size_suffixes + 1);
	}
	if (n > (UINT64_MAX >> 1) >> shift)
		return -ERANGE;
	*ret_bytes = n << shift;
	return 0;
}

/* A size in the largest unit that leaves no rest, such as "10M" or "1000"; returns buf.
 */
const char *
size_format(uint64_t bytes, char buf[SIZE_TEXT_MAX])
{
	size_t n = 0;

	while (bytes > 0 && bytes % 1024 == 0 && n < strlen(size_suffixes)) {
		bytes /= 1024;
		n++;
	}
	(void)snprintf(buf, SIZE_TEXT_MAX, "%llu%.1s", (unsigned long long)bytes,
	               n > 0 ? &size_suffixes[n - 1] : "");
	return buf;
}

/* True if the whole text is the number of a user or group.  2^32-1 is refused: it means
 * "unchanged" to the kernel. */
bool
id_parse(const char *text, uint32_t *ret_id)
{
	uint64_t n;

	if (read_number(&text, &n) < 0 || *text != '\0' || n >= UINT32_MAX)
		return false;
	*ret_id = (uint32_t)n;
	return true;
}

/* For programs: the C library keeps the two before for itself. */
#define REAL_TIME_MIN 34
#define REAL_TIME_MAX 64

/* "RTMIN", "RTMIN+3" or "RTMAX-1" to its number, or -EINVAL. */
static int
real_time_parse(const char *text)
{
	const bool down = strncmp(text, "RTMAX", 5) == 0;
	const int from = down ? REAL_TIME_MAX : REAL_TIME_MIN;
	const char *p = text + 6;
	uint64_t n;

	if (!down && strncmp(text, "RTMIN", 5) != 0)
		return -EINVAL;
	if (text[5] == '\0')
		return from;
	if (text[5] != (down ? '-' : '+') || read_number(&p, &n) < 0 || *p != '\0' ||
	    n > REAL_TIME_MAX - REAL_TIME_MIN)
		return -EINVAL;
	return down ? from - (int)n : from + (int)n;
}

/* "TERM", "SIGTERM", "RTMIN+3" or "15" to its number, or -EINVAL. */
int
signal_parse(const char *text)
{
	const char *p = text;
	uint64_t n;

	if (isdigit((unsigned char)*p)) {
		if (read_number(&p, &n) < 0 || *p != '\0' || n < 1 || n > 64)
			return -EINVAL;
		return (int)n;
	}
	if (strncmp(text, "SIG", 3) == 0)
		text += 3;
	for (int signo = 1; signo < NSIG; signo++) {
		const char *name = sigabbrev_np(signo);

		if (name != NULL && strcmp(name, text) == 0)
			return signo;
	}
	return real_time_parse(text);
}

/* "SIGTERM" for 15, "SIGRTMIN+3" for 37, "SIG?" for what is none. */
const char *
signal_name(int signo)
{
	static const char real_time[][sizeof("SIGRTMIN+30")] = {
	    "SIGRTMIN",    "SIGRTMIN+1",  "SIGRTMIN+2",  "SIGRTMIN+3",  "SIGRTMIN+4",
	    "SIGRTMIN+5",  "SIGRTMIN+6",  "SIGRTMIN+7",  "SIGRTMIN+8",  "SIGRTMIN+9",
	    "SIGRTMIN+10", "SIGRTMIN+11", "SIGRTMIN+12", "SIGRTMIN+13", "SIGRTMIN+14",
	    "SIGRTMIN+15", "SIGRTMIN+16", "SIGRTMIN+17", "SIGRTMIN+18", "SIGRTMIN+19",
	    "SIGRTMIN+20", "SIGRTMIN+21", "SIGRTMIN+22", "SIGRTMIN+23", "SIGRTMIN+24",
	    "SIGRTMIN+25", "SIGRTMIN+26", "SIGRTMIN+27", "SIGRTMIN+28", "SIGRTMIN+29",
	    "SIGRTMIN+30",
	};
	static const char *const names[] = {
	    "SIG?",    "SIGHUP",  "SIGINT",    "SIGQUIT", "SIGILL",    "SIGTRAP",
	    "SIGABRT", "SIGBUS",  "SIGFPE",    "SIGKILL", "SIGUSR1",   "SIGSEGV",
	    "SIGUSR2", "SIGPIPE", "SIGALRM",   "SIGTERM", "SIGSTKFLT", "SIGCHLD",
	    "SIGCONT", "SIGSTOP", "SIGTSTP",   "SIGTTIN", "SIGTTOU",   "SIGURG",
	    "SIGXCPU", "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH",  "SIGPOLL",
	    "SIGPWR",  "SIGSYS",
	};

	if (signo >= 0 && (size_t)signo < ARRAY_SIZE(names))
		return names[signo];
	return signo >= REAL_TIME_MIN && signo <= REAL_TIME_MAX
	           ? real_time[signo - REAL_TIME_MIN]
	           : "SIG?";
}
