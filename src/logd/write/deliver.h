/* SPDX-License-Identifier: ISC */
/* deliver.h - one piece of a stream, brought to its sink and taken out of its pipe. */
#ifndef LOGD_DELIVER_H
#define LOGD_DELIVER_H

#include "base/strbuf.h"
#include "logd/write/batch.h"
#include "logd/write/display.h"
#include "logd/write/stream.h"

/* As much text may be made of one piece. */
#define DELIVER_TEXT_MAX (1024 * 1024)

struct delivery {
	struct batch batch;
	struct strbuf text;
	struct display display;
};

ssize_t deliver(struct delivery *delivery, struct stream *stream);
bool deliver_owes(const struct delivery *delivery, const struct stream *stream);
ssize_t deliver_drop(struct delivery *delivery, struct stream *stream);
ssize_t deliver_lines(struct delivery *delivery, struct stream *stream);

#endif
