/* SPDX-License-Identifier: ISC */
/* logs.h - what a call of logs is to print, and how far it is. */
#ifndef CTL_LOGS_H
#define CTL_LOGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/moment.h"
#include "base/pattern.h"
#include "ctl/text/journalctl.h"
#include "ctl/text/kept.h"
#include "ctl/text/log_text.h"

#define LOGS_ACTORS_MAX 4096
/* "2026-11-21T09:12:33.123Z", as supd writes times. */
#define LOGS_TIME_LEN 24

/* An actor and how far its log was read. */
struct log_place {
	char *path;      /* owned */
	char *position;  /* owned, NULL: not known */
	bool is_missing; /* its lines go to a missing journal; the user was told */
	struct kept_origin lines;
};

/* Actors with `output: journal`: journalctl reads their lines for supctl. */
struct log_journal {
	char *socket; /* owned; SUPD_SOCKET of their entries; NULL: not told yet */
	char *paths[LOGS_ACTORS_MAX]; /* of the places */
	uint32_t n;
	uint32_t n_read;     /* for so many a journalctl was started */
	uint32_t n_children; /* that follow */
	bool is_past;        /* what there was is printed: only new lines are wanted */
	bool is_child;
	struct journal journal;
};

struct log_stream {
	struct ctl *ctl;
	char **names;
	uint32_t n_names;
	bool everything; /* no name was given */
	bool follow;
	bool keeps;               /* lines are kept back until supd has told all */
	bool done;                /* a line came that is too late: the rest is, too */
	int64_t lines;            /* -1: all */
	char since[MOMENT_BYTES]; /* "": no bound, as for until */
	char until[MOMENT_BYTES];
	struct pattern pattern; /* of --grep; not there: all lines are printed */
	struct log_place places[LOGS_ACTORS_MAX];
	uint32_t n;
	struct map by_path;
	bool progress; /* something came since the last call */
	struct log_style style;
	struct kept_lines kept;
	struct strbuf text; /* scratch */
	struct log_journal in_journal;
};

int logs_configure(struct log_stream *stream);

/* verb_logs.c */
struct log_place *logs_place(struct log_stream *stream, struct span path);
bool logs_are_named(const struct log_stream *stream);
int logs_take(struct log_stream *stream, struct log_place *place,
              const struct log_line *line);

/* logs_journal.c */
int logs_note_journal(struct log_stream *stream, struct log_place *place,
                      struct span socket);
int logs_begin_journal(struct log_stream *stream);
int logs_drain_journal(struct log_stream *stream, const struct span *until);

#endif
