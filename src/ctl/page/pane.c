/* SPDX-License-Identifier: ISC */
/* pane.c - the lower part of the page: what a verb says about the chosen actor. */
#include "config.h"

#include "ctl/page/pane.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/ansi.h"
#include "base/sum.h"
#include "ctl/wire/ctl.h"

#define TEXT_BYTES_MAX (512 * 1024)
#define LINE_BYTES_MAX 4096
/* A cursor that moves on asks for nothing on its way. */
#define REST_MS 120
/* However much is written, the page is drawn so often. */
#define PACE_MS 50
/* A stream that ended is asked for again after this time. */
#define AGAIN_MS 1000

/* exec(3) takes words that could be changed. */
static char program[] = "supctl", no_color[] = "--no-color";
static char logs[] = "logs", explain[] = "explain", status[] = "status",
            events[] = "events";
static char follow[] = "-f", some_lines[] = "-n200";

/* The verb of each kind, to which the path of the actor is added. */
static const struct {
	const char *title;
	char *words[6];
	bool follows; /* it does not end by itself */
} kinds[PANE_MAX] = {
    [PANE_LOG] = {"log", {program, no_color, logs, follow, some_lines}, true},
    [PANE_STORY] = {"story", {program, no_color, explain}, false},
    [PANE_DETAILS] = {"details", {program, no_color, status}, false},
    [PANE_EVENTS] = {"events", {program, no_color, events, follow}, true},
    [PANE_NONE] = {"", {NULL}, false},
};

/* It is about nothing yet. */
void
pane_init(struct pane *pane, const struct ctl *ctl)
{
	*pane = (struct pane){
	    .ctl = ctl,
	    .path = STRBUF(OUT_BYTES_MAX),
	    .text = STRBUF(2 * TEXT_BYTES_MAX),
	    .partial = STRBUF(OUT_BYTES_MAX),
	    .rerun = {.fd = -1},
	};
}

/* Free the lines of the pane, and end its verb. */
void
pane_done(struct pane *pane)
{
	rerun_kill(&pane->rerun);
	strbuf_done(&pane->path);
	strbuf_done(&pane->text);
	strbuf_done(&pane->partial);
}

/* What the pane shows, in a word. */
const char *
pane_title(const struct pane *pane)
{
	return kinds[pane->kind].title;
}

/* Run the verb again, from its beginning. */
void
pane_restart(struct pane *pane)
{
	rerun_kill(&pane->rerun);
	pane->is_due = pane->path.len > 0 && kinds[pane->kind].words[0] != NULL;
	pane->due_ms = client_now_ms() + REST_MS;
}

/* Show `kind` of the actor from now on. */
void
pane_choose(struct pane *pane, enum pane_kind kind, const char *path)
{
	if (kind == pane->kind && strcmp(path, strbuf_str(&pane->path)) == 0)
		return;
	if (pane->path.len > 0 && strcmp(path, strbuf_str(&pane->path)) != 0)
		strbuf_clear(&pane->text);
	pane->kind = kind;
	pane->scroll = 0;
	strbuf_clear(&pane->path);
	strbuf_adds(&pane->path, path);
	pane_restart(pane);
}

/* What is known of the actor: where that is new, what is shown of it may be old. */
void
pane_notice(struct pane *pane, int64_t generation, const char *state)
{
	const uint64_t hash = fnv_text(state);

	if (generation == pane->generation && hash == pane->state)
		return;
	pane->generation = generation;
	pane->state = hash;
	if (!kinds[pane->kind].follows && !pane->is_due)
		pane_restart(pane);
}

/* When the pane has something to do, if that is earlier. */
uint64_t
pane_next_ms(const struct pane *pane, uint64_t otherwise)
{
	uint64_t next_ms = otherwise;

	if (pane->is_due && pane->due_ms < next_ms)
		next_ms = pane->due_ms;
	if (pane->rerun.fd >= 0 && pane->read_ms > client_now_ms() &&
	    pane->read_ms < next_ms)
		next_ms = pane->read_ms;
	return next_ms;
}

static void
run(struct pane *pane)
{
	char *words[9];
	size_t n = 0;

	for (; kinds[pane->kind].words[n] != NULL; n++)
		words[n] = kinds[pane->kind].words[n];
	words[n++] = pane->path.data;
	words[n] = NULL;
	pane->is_due = false;
	pane->is_old = true;
	strbuf_clear(&pane->partial);
	if (rerun_open(&pane->rerun, pane->ctl, words) < 0)
		pane->is_due = true;
}

/* Add a line as it may be shown, without colours; no longer than a person reads. */
static void
add_line(struct pane *pane, const char *text, size_t len)
{
	ansi_add_output(&pane->text, text, len < LINE_BYTES_MAX ? len : LINE_BYTES_MAX,
	                false);
	strbuf_addc(&pane->text, '\n');
}

/* The oldest lines go when there are too many. */
static void
bound_text(struct pane *pane)
{
	const char *text = strbuf_str(&pane->text);

	if (pane->text.len <= TEXT_BYTES_MAX)
		return;
	const char *cut =
	    memchr(text + pane->text.len - TEXT_BYTES_MAX / 2, '\n', TEXT_BYTES_MAX / 2);
	strbuf_consume(&pane->text,
	               cut == NULL ? pane->text.len : (size_t)(cut + 1 - text));
}

static void
take_lines(struct pane *pane)
{
	const char *text = strbuf_str(&pane->partial), *end = text + pane->partial.len;
	const char *line_end;

	while ((line_end = memchr(text, '\n', (size_t)(end - text))) != NULL) {
		add_line(pane, text, (size_t)(line_end - text));
		text = line_end + 1;
		bound_text(pane);
	}
	strbuf_consume(&pane->partial, (size_t)(text - strbuf_str(&pane->partial)));
	if (pane->partial.len > LINE_BYTES_MAX) {
		add_line(pane, strbuf_str(&pane->partial), pane->partial.len);
		strbuf_clear(&pane->partial);
	}
}

/* Do what is due: run the verb, or read its output. */
void
pane_turn(struct pane *pane, uint64_t now_ms, bool readable)
{
	if (pane->is_due && now_ms >= pane->due_ms)
		run(pane);
	if (!readable || pane->rerun.fd < 0)
		return;
	bool goes_on = rerun_read(&pane->rerun, &pane->partial);
	pane->read_ms = now_ms + PACE_MS;
	if (pane->is_old)
		strbuf_clear(&pane->text);
	pane->is_old = false;
	if (!goes_on && pane->partial.len > 0)
		strbuf_addc(&pane->partial, '\n');
	take_lines(pane);
	if (goes_on)
		return;
	(void)rerun_close(&pane->rerun);
	/* It is over when supd went away, or the actor did. */
	pane->is_due = kinds[pane->kind].follows;
	pane->due_ms = now_ms + AGAIN_MS;
}

/* ---- to show ----------------------------------------------------------------------- */

/* Of a line that goes on: where its last word that is whole ends, if that is not far. */
static size_t
end_of_word(const char *text, size_t fits)
{
	const char *blank = memrchr(text, ' ', fits);

	return blank != NULL && blank > text + fits / 2 ? (size_t)(blank + 1 - text)
	                                                : fits;
}

/* How many lines of the page the text takes; each that is `from` or later is put there.
 */
static uint32_t
lay_out(const struct pane *pane, const struct screen *screen, uint32_t from,
        struct region *region, uint32_t lines)
{
	const char *text = strbuf_str(&pane->text);
	const char *end = text + pane->text.len;
	char piece[LINE_BYTES_MAX];
	uint32_t n = 0;

	while (text < end) {
		const size_t len =
		    (size_t)((const char *)memchr(text, '\n', (size_t)(end - text)) -
		             text);
		size_t fits = screen_fit(text, screen->width);

		fits = fits < len ? end_of_word(text, fits) : len;
		fits = fits < sizeof(piece) ? fits : sizeof(piece) - 1;
		if (lines > 0 && n >= from && n < from + lines) {
			memcpy(piece, text, fits);
			piece[fits] = '\0';
			(void)screen_put(screen, region, COLOUR_NONE, piece);
			region->line++;
		}
		n++;
		text += fits + (fits == len);
	}
	return n;
}

/* Go so many lines back in the text, or forth. */
void
pane_scroll(struct pane *pane, bool back, uint32_t lines)
{
	/* A log or the events are shown from the end, other text from its beginning. */
	if (back == kinds[pane->kind].follows)
		pane->scroll += lines;
	else
		pane->scroll -= pane->scroll < lines ? pane->scroll : lines;
}

/* Draw it on these lines of the page: of what is followed the end. */
void
pane_draw(struct pane *pane, const struct screen *screen, uint32_t first, uint32_t lines)
{
	struct region region = {.line = first, .room = screen->width};
	const uint32_t all = lay_out(pane, screen, 0, &region, 0);
	const uint32_t hidden = all > lines ? all - lines : 0;

	if (pane->scroll > hidden)
		pane->scroll = hidden;
	(void)lay_out(pane, screen,
	              kinds[pane->kind].follows ? hidden - pane->scroll : pane->scroll,
	              &region, lines);
}
