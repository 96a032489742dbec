/* SPDX-License-Identifier: ISC */
/* log_words.h - the words of supd's own log. */
#ifndef CONF_LOG_WORDS_H
#define CONF_LOG_WORDS_H

#include "base/names.h"

#define LOG_LEVEL_MAP(X)                \
	X(LOG_LEVEL_DEBUG, "debug")     \
	X(LOG_LEVEL_INFO, "info")       \
	X(LOG_LEVEL_NOTICE, "notice")   \
	X(LOG_LEVEL_WARNING, "warning") \
	X(LOG_LEVEL_ERROR, "error")
enum log_level { LOG_LEVEL_MAP(AS_ENUM) LOG_LEVEL_MAX };

#define LOG_TARGET_MAP(X)                \
	X(LOG_TARGET_AUTO, "auto")       \
	X(LOG_TARGET_JOURNAL, "journal") \
	X(LOG_TARGET_SYSLOG, "syslog")   \
	X(LOG_TARGET_STDERR, "stderr")   \
	X(LOG_TARGET_FILE, "file")
enum log_target { LOG_TARGET_MAP(AS_ENUM) LOG_TARGET_MAX };

/* What of the actors' output is shown on supd's standard output. */
#define LOG_SHOW_MAP(X)          \
	X(LOG_SHOW_AUTO, "auto") \
	X(LOG_SHOW_TEXT, "text") \
	X(LOG_SHOW_JSON, "json") \
	X(LOG_SHOW_OFF, "off")
enum log_show { LOG_SHOW_MAP(AS_ENUM) LOG_SHOW_MAX };

extern const char *const log_level_names[];
extern const char *const log_target_names[];
extern const char *const log_show_names[];

#endif
