/* SPDX-License-Identifier: ISC */
/* pane.h - the lower part of the page: what a verb says about the chosen actor. */
#ifndef CTL_PANE_H
#define CTL_PANE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "ctl/page/rerun.h"
#include "ctl/page/screen.h"

enum pane_kind { PANE_LOG, PANE_STORY, PANE_DETAILS, PANE_EVENTS, PANE_NONE, PANE_MAX };

struct pane {
	const struct ctl *ctl;
	enum pane_kind kind;
	struct strbuf path;    /* of the actor it is about; empty: none */
	struct strbuf text;    /* whole lines, printable */
	struct strbuf partial; /* the incomplete line behind them */
	struct rerun rerun;
	bool is_old;        /* text is of the run before this */
	bool is_due;        /* to be run (again) at due_ms */
	uint64_t due_ms;    /* CLOCK_MONOTONIC, as read_ms */
	uint64_t read_ms;   /* not to be read before this */
	uint32_t scroll;    /* lines from where it stands by itself */
	int64_t generation; /* of the actor, and a hash of its state: pane_notice() */
	uint64_t state;
};

void pane_init(struct pane *pane, const struct ctl *ctl);
void pane_done(struct pane *pane);
const char *pane_title(const struct pane *pane);
void pane_choose(struct pane *pane, enum pane_kind kind, const char *path);
void pane_notice(struct pane *pane, int64_t generation, const char *state);
void pane_restart(struct pane *pane);
void pane_scroll(struct pane *pane, bool back, uint32_t lines);
uint64_t pane_next_ms(const struct pane *pane, uint64_t otherwise);
void pane_turn(struct pane *pane, uint64_t now_ms, bool readable);
void pane_draw(struct pane *pane, const struct screen *screen, uint32_t first,
               uint32_t lines);

#endif
