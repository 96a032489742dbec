/* SPDX-License-Identifier: ISC */
/* reader.h - the process that reads what actors said, for a call of Logs.
 *
 * The guardian never waits for a disk: for each call it has a reader, which finds the
 * files, merges the lines of several actors by their times, goes on across rotation and,
 * if it is to follow, with lines that are written later.  When all is told it takes the
 * next request.  It ends when there is none, after one that cannot be answered or asks to
 * follow, and when its output has no reader any more.
 *
 * A request comes on one descriptor, a file, or a pipe into which it is written in one
 * piece (PIPE_BUF): texts with a NUL behind each.
 *
 *	follow      "1" or "0"
 *	lines       the last so many of each actor, or "all"
 *	since       "2026-11-21T09:12:33.123Z", or ""
 *	positions   "1" or "0"
 *	for each source: path of the actor, stream, format, position, file
 *
 * The format of a foreign file, which the actor chose, goes on with a blank and the owner
 * with whose rights it is read (reader_owner.h).
 *
 * The answer goes to the other, a line for each line that an actor wrote,
 *
 *	{"path":"/user/a","time":"…"|null,"stream":"stdout","text":"…"}
 *
 * with `"bytes":"…"`, in base64, where a byte of it is not in the text as it was written,
 * or for what cannot be read "!PATH SENTENCE", after which it ends.  The last line of an
 * answer that is whole, and does not follow, is READER_WHOLE.
 *
 * With positions each `stream` is followed by "@" and the place behind the line, and
 * before all lines comes one answer for each actor with no text and no stream but "@" and
 * the place where it begins.  Given as the position in a later request it makes that go
 * on there, with nothing left out and nothing twice.  READER_END as position: only what
 * comes from now on.
 *
 * The format journal goes on with a blank and the SUPD_SOCKET of its entries.  It is
 * told of by one more answer, with the stream "journal" and that as its text: the client
 * reads the journal with its own rights.  With no text there is no journal on this
 * machine.
 *
 * Sources of one actor stand together; their places are one text.
 */
#ifndef LOGD_READER_H
#define LOGD_READER_H

#include "base/names.h"

#define READER_FORMAT_MAP(X)         \
	X(READER_TIMED, "timed")     \
	X(READER_PLAIN, "plain")     \
	X(READER_JSON, "json")       \
	X(READER_FOREIGN, "foreign") \
	X(READER_JOURNAL, "journal")
/* A time before each line; lines; objects; lines of a file that is not rotated by us;
 * what may be left from before the lines went to the journal, as with a time before each.
 */
enum reader_format { READER_FORMAT_MAP(AS_ENUM) READER_FORMAT_MAX };

/* Sources of one request. */
#define READER_SOURCES_MAX 1024
#define READER_BYTES_MAX   (16 * 1024 * 1024)
/* Longer lines come in pieces; an answer is at most so long. */
#define READER_LINE_MAX   (256 * 1024)
#define READER_RECORD_MAX (8 * READER_LINE_MAX + 64 * 1024)
/* argv[1] of the process. */
#define READER_ROLE "@logs"
#define READER_END  "end"

#define READER_WHOLE "."

extern const char *const reader_format_names[];

int reader_run(int request_fd, int out_fd);

#endif
