/* SPDX-License-Identifier: ISC */
/* head.c - the head of an answer of HTTP/1, taken in piece by piece. */
#include "config.h"

#include "probe/head.h"

#include <errno.h>
#include <string.h>

/* How a first line begins: # is a digit of the status, d is any digit. */
static const char form[] = "HTTP/1.d ###";

static void
begin_line(struct head *head, bool is_first)
{
	head->is_first = is_first;
	head->is_empty = true;
	head->at = 0;
}

/* Ready for the first byte. */
void
head_init(struct head *head)
{
	*head = (struct head){0};
	begin_line(head, true);
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* One byte of the first line, its end excepted; false: no answer begins so. */
static bool
take_first(struct head *head, char c)
{
	const size_t len = sizeof(form) - 1;
	const size_t at = head->at;

	if (at > len)
		return true;
	head->at++;
	if (at == len)
		return c == ' ';
	if (form[at] == '#') {
		head->status = head->status * 10 + (c - '0');
		return is_digit(c);
	}
	return form[at] == 'd' ? is_digit(c) : c == form[at];
}

/* The end of a line; 1: it was that of the head. */
static int
end_line(struct head *head)
{
	const bool was_empty = head->is_empty;
	const bool is_announced = head->status < 200;

	if (head->is_first && head->at < sizeof(form) - 1)
		return -EPROTO;
	begin_line(head, was_empty && is_announced);
	if (!was_empty)
		return 0;
	if (is_announced)
		head->status = 0;
	return is_announced ? 0 : 1;
}

/*
 * Take in what has come.  1: the head is whole, and head->status is the answer's; 0: more
 * has to come; -EPROTO: this is no answer; -EMSGSIZE: it is too long.
 */
int
head_take(struct head *head, const char *data, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		int r = 0;

		if (++head->bytes > HEAD_BYTES_MAX)
			return -EMSGSIZE;
		if (data[i] == '\n') {
			r = end_line(head);
		} else if (data[i] != '\r') {
			head->is_empty = false;
			if (head->is_first && !take_first(head, data[i]))
				r = -EPROTO;
		}
		if (r != 0)
			return r;
	}
	return 0;
}
