/* SPDX-License-Identifier: ISC */
/* view.h - an actor as a reader sees it: the core's view joined with what the guardian
 * knows besides, as JSON. */
#ifndef DAEMON_VIEW_H
#define DAEMON_VIEW_H

#include "base/strbuf.h"
#include "core/core.h"
#include "daemon/report/resolve.h"

struct actor;

/* What is told of an actor on top: what its processes take of the machine, which costs a
 * few system calls; and what the configuration says of it, in short.  Or it is told only
 * what a line of a list has. */
#define VIEW_RESOURCES 0x1u
#define VIEW_DETAILS   0x2u
#define VIEW_BRIEF     0x4u

/* Both clocks at one moment, to tell when something happened that the core timed. */
struct view_clock {
	uint64_t mono_ms, wall_us;
	unsigned int wanted; /* VIEW_… */
};

struct view_clock view_clock_now(void);
uint64_t view_wall_us(const struct view_clock *clock, uint64_t at_ms);
bool view_is_well(const struct node_view *view, bool is_blocked);
const char *view_output_trouble(const struct reporter *reporter, struct ref ref,
                                int error);
void view_actor_json(struct strbuf *sb, const struct reporter *reporter,
                     const struct view_clock *clock, struct ref ref);
void view_actors_json(struct strbuf *sb, const struct reporter *reporter,
                      const struct ref_list *list, unsigned int wanted);
/* view_details.c */
void view_conf_file(struct strbuf *sb, const char *conf_file);
void view_details_json(struct strbuf *sb, const struct reporter *reporter,
                       const struct actor *actor);

#endif
