/* SPDX-License-Identifier: ISC */
/* match.h - lines that are awaited: a stream may have a pattern. */
#ifndef LOGD_MATCH_H
#define LOGD_MATCH_H

#include "logd/write/stream.h"

void match_take(const struct state *state, struct stream *stream,
                const struct feed_message *message);
size_t match_trim(const struct stream *stream, const char *data, size_t len);
void match_lines(const struct state *state, struct stream *stream, const char *data,
                 size_t len);
void match_done(struct stream *stream);

#endif
