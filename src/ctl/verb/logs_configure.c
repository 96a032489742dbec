/* SPDX-License-Identifier: ISC */
/* logs_configure.c - the options of logs. */
#include "config.h"

#include <string.h>

#include "base/assert.h"
#include "ctl/verb/logs.h"

#define FOLLOW_LINES 10

/* Turn a time that people write into a time of RFC 3339, for supd; false: it is no time.
 */
static bool
parse_time(const char *text, char ret[MOMENT_BYTES])
{
	uint64_t us;

	if (moment_parse_past(text, moment_now(), &us) < 0)
		return false;
	moment_print(us, ret);
	return strlen(ret) == LOGS_TIME_LEN;
}

/* From when until when, which lines. */
static int
configure_filter(struct log_stream *stream)
{
	const struct options *options = &stream->ctl->options;
	const struct {
		unsigned int given;
		const char *name, *text;
		char *ret;
	} times[] = {
	    {OPTION_SINCE, "--since", options->since, stream->since},
	    {OPTION_UNTIL, "--until", options->until, stream->until},
	};
	struct err why;

	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		if ((options->given & times[i].given) == 0 ||
		    parse_time(times[i].text, times[i].ret))
			continue;
		return complain_of(stream->ctl, CTL_USAGE, NULL,
		                   "%s '%s': write a time, as %s", times[i].name,
		                   times[i].text, MOMENT_FORMS);
	}
	if ((options->given & OPTION_GREP) != 0 &&
	    pattern_compile(&stream->pattern, options->grep, &why) < 0)
		return complain_of(stream->ctl, CTL_USAGE, NULL, "-g '%s': %s",
		                   options->grep, why.text);
	return 0;
}

/* What the options say; without them all of it, and before following the last lines. */
int
logs_configure(struct log_stream *stream)
{
	const struct options *options = &stream->ctl->options;
	const unsigned int ends = options->given & (OPTION_UNTIL | OPTION_REVERSE);

	stream->follow = (options->given & OPTION_FOLLOW) != 0;
	stream->style.json = options->json;
	stream->style.timed = (options->given & OPTION_STAMPS) != 0;
	stream->lines = -1;
	if (stream->follow && (options->given & OPTION_SINCE) == 0)
		stream->lines = FOLLOW_LINES;
	if ((options->given & OPTION_LINES) != 0 &&
	    !ctl_parse_lines(options->lines, &stream->lines))
		return complain_of(stream->ctl, CTL_USAGE, NULL,
		                   "-n '%s': write a number, or all", options->lines);
	if (stream->follow && ends != 0)
		return complain_of(stream->ctl, CTL_USAGE, NULL,
		                   "-f has no end: leave out %s",
		                   (ends & OPTION_UNTIL) != 0 ? "--until" : "-r");
	return configure_filter(stream);
}
