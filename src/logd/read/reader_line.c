/* SPDX-License-Identifier: ISC */
/* reader_line.c - one line of an actor's log: when, on which stream, what. */
#include "config.h"

#include "logd/read/reader_line.h"

#include <ctype.h>
#include <string.h>

/* True if it is a time as supd writes it into logs.  Two of them compare as texts. */
bool
reader_time_is(const char *text, size_t len)
{
	static const char form[] = "0000-00-00T00:00:00.000Z";

	if (len != READER_TIME_LEN)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (form[i] == '0' ? !isdigit((unsigned char)text[i])
		                   : text[i] != form[i])
			return false;
	}
	return true;
}

/* ---- lines that are JSON ----------------------------------------------------------- */

/* True if `text` is at *p.  Then move behind it. */
static bool
take(const char **p, const char *end, const char *text)
{
	size_t len = strlen(text);

	if ((size_t)(end - *p) < len || memcmp(*p, text, len) != 0)
		return false;
	*p += len;
	return true;
}

static bool
are_hex(const char *p)
{
	for (int i = 0; i < 4; i++)
		if (!isxdigit((unsigned char)p[i]))
			return false;
	return true;
}

/* True if "\uXXXX" at p is a half of a pair, by its second digit. */
static bool
is_surrogate(const char *p, const char *digits)
{
	return (p[2] == 'd' || p[2] == 'D') && strchr(digits, p[3]) != NULL;
}

/* The length of the escape at p (of a surrogate pair, both halves); 0: it is none. */
static size_t
escape_length(const char *p, const char *end)
{
	if (end - p < 2)
		return 0;
	if (p[1] != 'u')
		return p[1] != '\0' && strchr("\"\\/bfnrt", p[1]) != NULL ? 2 : 0;
	if (end - p < 6)
		return 0;
	if (!are_hex(p + 2))
		return 0;
	/* See strbuf_add_json_bytes() for NUL; half of a pair is no character. */
	if (memcmp(p + 2, "0000", 4) == 0 || is_surrogate(p, "cdefCDEF"))
		return 0;
	if (!is_surrogate(p, "89abAB"))
		return 6;
	return end - p >= 12 && p[6] == '\\' && p[7] == 'u' &&
	               is_surrogate(p + 6, "cdefCDEF") && are_hex(p + 8)
	           ? 12
	           : 0;
}

/* What stands between quotes at *p, valid in every respect; NULL: there is no such. */
static const char *
take_string(const char **p, const char *end, size_t *ret_len)
{
	const char *start = *p + 1, *at = start;

	if (*p == end || **p != '"')
		return NULL;
	while (at < end && *at != '"') {
		size_t n = 0;

		if (*at == '\\')
			n = escape_length(at, end);
		else if ((unsigned char)*at >= 0x20)
			n = strbuf_utf8_length(at, end);
		if (n == 0)
			return NULL;
		at += n;
	}
	if (at >= end)
		return NULL;
	*p = at + 1;
	*ret_len = (size_t)(at - start);
	return start;
}

static bool
parse_json(struct reader_line *line, const char *text, size_t len)
{
	const char *p = text, *end = text + len;
	size_t time_len;

	if (!take(&p, end, "{\"time\":"))
		return false;
	line->time = take_string(&p, end, &time_len);
	if (line->time == NULL || !reader_time_is(line->time, time_len) ||
	    !take(&p, end, ",\"stream\":"))
		return false;
	line->stream = take_string(&p, end, &line->stream_len);
	if (line->stream == NULL || !take(&p, end, ",\"text\":"))
		return false;
	line->text = take_string(&p, end, &line->len);
	return line->text != NULL && (take(&p, end, "}") || take(&p, end, ",")) &&
	       end[-1] == '}';
}

/* ---- any line ---------------------------------------------------------------------- */

/*
 * Take a line apart, its newline not included.  One that is not of its format, such as
 * the rest of a line that was too long, is text without a time.
 */
void
reader_line_parse(struct reader_line *ret, enum reader_format format, const char *text,
                  size_t len)
{
	*ret = (struct reader_line){.is_json = true};
	if (format == READER_JSON && parse_json(ret, text, len))
		return;
	*ret = (struct reader_line){.text = text, .len = len};
	if ((format != READER_TIMED && format != READER_JOURNAL) ||
	    len <= READER_TIME_LEN || text[READER_TIME_LEN] != ' ' ||
	    !reader_time_is(text, READER_TIME_LEN))
		return;
	*ret = (struct reader_line){
	    .time = text,
	    .text = text + READER_TIME_LEN + 1,
	    .len = len - READER_TIME_LEN - 1,
	};
}

/* Append the answer for a line; position "" is none. */
void
reader_line_add(struct strbuf *out, const struct reader_line *line, const char *path,
                const char *stream, const char *position)
{
	strbuf_adds(out, "{\"path\":");
	strbuf_add_json(out, path);
	if (line->time != NULL)
		strbuf_addf(out, ",\"time\":\"%.*s\"", READER_TIME_LEN, line->time);
	else
		strbuf_adds(out, ",\"time\":null");
	strbuf_adds(out, ",\"stream\":\"");
	if (line->stream != NULL)
		strbuf_add(out, line->stream, line->stream_len);
	else
		strbuf_adds(out, stream);
	if (position[0] != '\0')
		strbuf_addf(out, "@%s", position);
	strbuf_adds(out, "\",\"text\":");
	if (line->is_json) {
		strbuf_addc(out, '"');
		strbuf_add(out, line->text, line->len);
		strbuf_addc(out, '"');
	} else {
		strbuf_add_json_bytes(out, line->text, line->len);
	}
	if (!line->is_json && !strbuf_is_json_text(line->text, line->len)) {
		strbuf_adds(out, ",\"bytes\":\"");
		strbuf_add_base64(out, line->text, line->len);
		strbuf_addc(out, '"');
	}
	strbuf_adds(out, "}\n");
}
