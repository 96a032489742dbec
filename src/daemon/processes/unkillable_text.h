/* SPDX-License-Identifier: ISC */
/* unkillable_text.h - what SIGKILL did not end, in words. */
#ifndef DAEMON_UNKILLABLE_TEXT_H
#define DAEMON_UNKILLABLE_TEXT_H

#include "core/core.h"

struct shell;
struct strbuf;

void unkillable_text(struct strbuf *sb, const struct shell *shell, struct ref ref);
void unkillable_text_below(struct strbuf *sb, const struct shell *shell, struct ref top);
void unkillable_log_left(const struct shell *shell);

#endif
