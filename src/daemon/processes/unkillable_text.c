/* SPDX-License-Identifier: ISC */
/* unkillable_text.c - what SIGKILL did not end, in words: which process, and why. */
#include "config.h"

#include "daemon/processes/unkillable_text.h"

#include "base/strbuf.h"
#include "daemon/state/actors.h"
#include "daemon/state/engine.h"
#include "daemon/state/log.h"
#include "os/process/hindrance.h"

#define TEXT_MAX 4096

/* "cannot be killed (pid 12 is traced by pid 34)" */
void
unkillable_text(struct strbuf *sb, const struct actors *actors, struct ref ref)
{
	const struct actor *actor = actors_get(actors, ref);
	const pid_t pid = actor == NULL ? 0 : actor->pid;
	struct hindrance why;

	strbuf_adds(sb, "cannot be killed (");
	if (pid == 0) {
		strbuf_adds(sb, "processes that the actor has forked are still there)");
		return;
	}
	strbuf_addf(sb, "pid %d is ", (int)pid);
	hindrance_read(pid, &why);
	if (why.tracer != 0) {
		strbuf_addf(sb, "traced by pid %d", (int)why.tracer);
	} else {
		if (why.state == 'D')
			strbuf_adds(sb, "in uninterruptible sleep");
		else
			strbuf_addf(sb, "in state %c", why.state);
		if (why.wchan[0] != '\0')
			strbuf_addf(sb, ", in %s", why.wchan);
	}
	strbuf_addc(sb, ')');
}

/* The next actor, at or below the top, with an unkillable process; REF_NONE ends. */
static struct ref
next_left(const struct engine *engine, struct ref top, struct ref ref)
{
	while (ref.slot != REF_NONE.slot && !engine_view(engine, ref).process.unkillable)
		ref = core_next(engine->core, top, ref);
	return ref;
}

/* The same of each that is at or below the top, with its path where that is another. */
void
unkillable_text_below(struct strbuf *sb, const struct engine *engine,
                      const struct actors *actors, struct ref top)
{
	struct ref ref = next_left(engine, top, top);
	bool is_first = true;

	while (ref.slot != REF_NONE.slot) {
		if (!is_first)
			strbuf_adds(sb, "; ");
		is_first = false;
		strbuf_addf(sb, "%s ",
		            ref.slot == top.slot ? "it" : actors_path(actors, ref));
		unkillable_text(sb, actors, ref);
		ref = next_left(engine, top, core_next(engine->core, top, ref));
	}
}

/* supd ends without these processes and mentions them a last time. */
void
unkillable_log_left(const struct engine *engine, const struct actors *actors)
{
	const struct ref top = core_ref(engine->core, CORE_ROOT);
	struct ref ref = next_left(engine, top, top);
	struct strbuf why;

	while (ref.slot != REF_NONE.slot) {
		strbuf_init(&why, TEXT_MAX);
		unkillable_text(&why, actors, ref);
		log_line(LOG_LEVEL_ERROR, "%s %s; supd ends without it",
		         actors_path(actors, ref), strbuf_str(&why));
		strbuf_done(&why);
		ref = next_left(engine, top, core_next(engine->core, top, ref));
	}
}
