/* SPDX-License-Identifier: ISC */
/* schema_scan.c - texts of a configuration file and what they stand for. */
#include "config.h"

#include "conf/schema/schema_scan.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "base/assert.h"
#include "base/cleanup.h"
#include "base/units.h"
#include "conf/schema/capability.h"
#include "conf/text/shell_words.h"

/* Digits only, up to `max`; -EINVAL, -ERANGE. */
int
scan_digits(const char *text, uint64_t max, uint64_t *ret)
{
	uint64_t n = 0;

	if (*text == '\0')
		return -EINVAL;
	for (; *text != '\0'; text++) {
		if (!isdigit((unsigned char)*text))
			return -EINVAL;
		if (n > (UINT64_MAX - 9) / 10)
			return -ERANGE;
		n = n * 10 + (uint64_t)(*text - '0');
	}
	if (n > max)
		return -ERANGE;
	*ret = n;
	return 0;
}

/* Any text. */
int
scan_text(struct text_scan *scan UNUSED)
{
	return 0;
}

/* A path: absolute, or relative to the file that says it, or below "~". */
int
scan_path(struct text_scan *scan)
{
	if (scan->text[0] != '~' || scan->text[1] == '/' || scan->text[1] == '\0')
		return 0;
	return err_say(
	    scan->why, -EINVAL,
	    "`%.100s`: only the home of supd's own user has a short name, ~/; write "
	    "the whole path",
	    scan->text);
}

/* true or false; the old spellings get a hint. */
int
scan_boolean(struct text_scan *scan)
{
	static const char *const yes[] = {"true", "True", "TRUE"};
	static const char *const no[] = {"false", "False", "FALSE"};
	static const char *const old[] = {"yes", "no", "on", "off",
	                                  "Yes", "No", "On", "Off"};
	bool is_true = names_find(yes, ARRAY_SIZE(yes), scan->text) >= 0;

	if (is_true || names_find(no, ARRAY_SIZE(no), scan->text) >= 0) {
		scan->number = is_true;
		return 0;
	}
	if (names_find(old, ARRAY_SIZE(old), scan->text) >= 0)
		err_set(scan->why, 0, "`%s` is not allowed here; write `true` or `false`",
		        scan->text);
	return -EINVAL;
}

/* A whole number within the type's bounds; one below 0 as what int64_t makes of it. */
int
scan_integer(struct text_scan *scan)
{
	if (scan->type->min < 0 && scan->text[0] == '-') {
		if (scan_digits(scan->text + 1, (uint64_t)-scan->type->min,
		                &scan->number) < 0)
			return -EINVAL;
		scan->number = -scan->number;
		return 0;
	}
	if (scan_digits(scan->text, scan->type->max, &scan->number) < 0)
		return -EINVAL;
	return scan->type->min > 0 && scan->number < (uint64_t)scan->type->min ? -EINVAL
	                                                                       : 0;
}

/* A number with up to three decimals, in thousandths; bounds are in thousandths too. */
int
scan_decimal(struct text_scan *scan)
{
	const char *point = strchr(scan->text, '.');
	size_t whole_len =
	    point != NULL ? (size_t)(point - scan->text) : strlen(scan->text);
	size_t decimals = point != NULL ? strlen(point + 1) : 0;
	char digits[16] = "";

	if (whole_len == 0 || (point != NULL && decimals == 0))
		return -EINVAL;
	if (decimals > 3)
		return err_say(scan->why, -EINVAL, "`%.40s` has more than three decimals",
		               scan->text);
	if (whole_len > 9)
		return -EINVAL;
	memcpy(digits, scan->text, whole_len);
	memcpy(digits + whole_len, "000", 3);
	if (decimals > 0)
		memcpy(digits + whole_len, point + 1, decimals);
	return scan_digits(digits, scan->type->max, &scan->number) < 0 ||
	               scan->number < (uint64_t)scan->type->min
	           ? -EINVAL
	           : 0;
}

/* A duration with its unit, in milliseconds. */
int
scan_duration(struct text_scan *scan)
{
	uint64_t ms, bare;
	int r = duration_parse(scan->text, &ms);

	if (r < 0) {
		if (r == -ERANGE)
			err_set(scan->why, 0,
			        "`%.40s` is longer than 100 years; write `infinity`",
			        scan->text);
		else if (scan_digits(scan->text, UINT64_MAX, &bare) == 0)
			err_set(scan->why, 0,
			        "`%s` has no unit: write %ss, not %s, for seconds, "
			        "%sms for milliseconds",
			        scan->text, scan->text, scan->text, scan->text);
		return -EINVAL;
	}
	if (scan->type->min > 0 && ms < (uint64_t)scan->type->min) {
		if (scan->type->min == 1)
			err_set(scan->why, 0,
			        "`%.40s` is too short: it must be longer than 0s",
			        scan->text);
		return -EINVAL;
	}
	if (ms == DURATION_INFINITE && scan->type->max != DURATION_INFINITE)
		return err_say(scan->why, -EINVAL,
		               "`infinity` is not allowed here; write %s",
		               scan->type->allowed);
	scan->number = ms;
	return 0;
}

/* A signal by name or number. */
int
scan_signal(struct text_scan *scan)
{
	int signo = signal_parse(scan->text);

	if (signo < 0)
		return err_say(
		    scan->why, -EINVAL,
		    "`%.40s` is no signal; write a name such as TERM or SIGTERM, "
		    "or a number",
		    scan->text);
	scan->number = (uint64_t)signo;
	return 0;
}

static const struct {
	const char *name;
	unsigned int code;
} sysexits[] = {
    {"ok", EX_OK},
    {"usage", EX_USAGE},
    {"dataerr", EX_DATAERR},
    {"noinput", EX_NOINPUT},
    {"nouser", EX_NOUSER},
    {"nohost", EX_NOHOST},
    {"unavailable", EX_UNAVAILABLE},
    {"software", EX_SOFTWARE},
    {"oserr", EX_OSERR},
    {"osfile", EX_OSFILE},
    {"cantcreat", EX_CANTCREAT},
    {"ioerr", EX_IOERR},
    {"tempfail", EX_TEMPFAIL},
    {"protocol", EX_PROTOCOL},
    {"noperm", EX_NOPERM},
    {"config", EX_CONFIG},
};

/* "N" or "N-M"; see RANGE_FIRST. */
static int
parse_range(const char *text, uint64_t max, uint64_t *ret, struct err *why)
{
	const char *dash = strchr(text, '-');
	char first[16] = "";
	uint64_t from, to;

	if (dash != NULL && (size_t)(dash - text) < sizeof(first)) {
		memcpy(first, text, (size_t)(dash - text));
		if (scan_digits(first, max, &from) < 0 ||
		    scan_digits(dash + 1, max, &to) < 0)
			return -EINVAL;
	} else {
		if (scan_digits(text, max, &from) < 0)
			return -EINVAL;
		to = from;
	}
	if (from > to)
		return err_say(why, -EINVAL, "the range `%.40s` runs backwards", text);
	*ret = from << 32 | to;
	return 0;
}

/* The number of a processor, or a range of them. */
int
scan_cpus(struct text_scan *scan)
{
	return parse_range(scan->text, scan->type->max, &scan->number, scan->why);
}

/* An exit code, a range of them, or a name of sysexits.h; see RANGE_FIRST. */
int
scan_exit_codes(struct text_scan *scan)
{
	for (size_t i = 0; i < ARRAY_SIZE(sysexits); i++) {
		if (strcmp(sysexits[i].name, scan->text) != 0)
			continue;
		scan->number = (uint64_t)sysexits[i].code << 32 | sysexits[i].code;
		return 0;
	}
	return parse_range(scan->text, scan->type->max, &scan->number, scan->why);
}

/* The symbolic name of an errno value. */
int
scan_errno(struct text_scan *scan)
{
	int code = err_code(scan->text);

	if (code <= 0)
		return -EINVAL;
	scan->number = (uint64_t)code;
	return 0;
}

/* An octal mode, in quotes: unquoted, YAML readers disagree about what 0644 is. */
int
scan_mode(struct text_scan *scan)
{
	size_t len = strlen(scan->text);

	if (len < 3 || len > 5 || strspn(scan->text, "01234567") != len ||
	    strtoul(scan->text, NULL, 8) > 07777)
		return -EINVAL;
	if (scan->node->plain)
		return err_say(scan->why, -EINVAL,
		               "an octal mode stands in quotes: write \"%s\"",
		               scan->text);
	scan->number = strtoul(scan->text, NULL, 8);
	return 0;
}

/* A command as a single text: check only that it can be split. */
int
scan_command(struct text_scan *scan)
{
	CLEANUP(arena_done) struct arena arena = ARENA(CONF_BYTES_MAX);
	char **words;
	size_t n;

	return words_split(&arena, scan->text, &words, &n, scan->why);
}

/* A size within the type's bounds. */
int
scan_size(struct text_scan *scan)
{
	return size_parse(scan->text, &scan->number) < 0 ||
	               scan->number < (uint64_t)scan->type->min ||
	               scan->number > scan->type->max
	           ? -EINVAL
	           : 0;
}

/* file:PATH or pipe:ACTOR; what else there is stands in the type's words. */
int
scan_output(struct text_scan *scan)
{
	if (strncmp(scan->text, "pipe:", 5) == 0)
		return scan->text[5] != '\0' ? 0 : -EINVAL;
	return strncmp(scan->text, "file:", 5) == 0 && scan->text[5] != '\0' ? 0
	                                                                     : -EINVAL;
}

/* file:PATH; what else there is stands in the type's words. */
int
scan_input(struct text_scan *scan)
{
	return strncmp(scan->text, "file:", 5) == 0 && scan->text[5] != '\0' ? 0
	                                                                     : -EINVAL;
}

/* A path, perhaps with a "-" before it. */
int
scan_environment_file(struct text_scan *scan)
{
	return scan->text[scan->text[0] == '-'] != '\0' ? 0 : -EINVAL;
}

/* A capability by name, with or without CAP_. */
int
scan_capability(struct text_scan *scan)
{
	int number = capability_parse(scan->text);

	if (number < 0)
		return -EINVAL;
	scan->number = (uint64_t)number;
	return 0;
}

static int
parse_rlimit_value(const char *text, size_t len, rlim_t *ret)
{
	char copy[32];
	uint64_t n;

	if (len >= sizeof(copy))
		return -EINVAL;
	memcpy(copy, text, len);
	copy[len] = '\0';
	if (strcmp(copy, "unlimited") == 0 || strcmp(copy, "infinity") == 0) {
		*ret = RLIM_INFINITY;
		return 0;
	}
	if (size_parse(copy, &n) < 0)
		return -EINVAL;
	*ret = (rlim_t)n;
	return 0;
}

/* "N", "soft:hard", each a number, a size or "unlimited"; -ERANGE: soft over hard. */
int
rlimit_parse(const char *text, struct rlimit *ret)
{
	const char *colon = strchr(text, ':');
	size_t soft_len = colon != NULL ? (size_t)(colon - text) : strlen(text);
	const char *hard = colon != NULL ? colon + 1 : text;
	struct rlimit limit;

	if (parse_rlimit_value(text, soft_len, &limit.rlim_cur) < 0 ||
	    parse_rlimit_value(hard, strlen(hard), &limit.rlim_max) < 0)
		return -EINVAL;
	if (limit.rlim_cur > limit.rlim_max)
		return -ERANGE;
	*ret = limit;
	return 0;
}

/* A resource limit. */
int
scan_rlimit(struct text_scan *scan)
{
	struct rlimit limit;
	int r = rlimit_parse(scan->text, &limit);

	if (r == -ERANGE)
		err_set(scan->why, 0, "`%.60s`: the soft limit is above the hard one",
		        scan->text);
	return r < 0 ? -EINVAL : 0;
}

/* "100/s": how many of something come in a second. */
int
scan_rate(struct text_scan *scan)
{
	const char *slash = strchr(scan->text, '/');
	char digits[16];

	if (slash == NULL || strcmp(slash, "/s") != 0 ||
	    (size_t)(slash - scan->text) >= sizeof(digits))
		return -EINVAL;
	(void)snprintf(digits, sizeof(digits), "%.*s", (int)(slash - scan->text),
	               scan->text);
	if (scan_digits(digits, RATE_MAX, &scan->number) == 0 && scan->number > 0)
		return 0;
	return err_say(scan->why, -EINVAL, "`%.40s` is not from 1/s to %d/s", scan->text,
	               RATE_MAX);
}

/* What clients are told: some bytes, not too many. */
int
scan_reply(struct text_scan *scan)
{
	const size_t len = strlen(scan->text);

	if (len > 0 && len <= CONF_REPLY_MAX)
		return 0;
	return err_say(scan->why, -EINVAL,
	               "a reply has from 1 to %d bytes, this one %zu; see `refuse`",
	               CONF_REPLY_MAX, len);
}
