/* SPDX-License-Identifier: ISC */
/* deadletter.c - clients of an actor that is down, and that nothing serves, are counted.
 */
#include "config.h"

#include "daemon/sockets/deadletter.h"

#include "daemon/sockets/mailbox.h"
#include "daemon/sockets/sockets.h"
#include "daemon/state/actors.h"
#include "daemon/state/engine.h"
#include "daemon/state/events.h"
#include "daemon/state/log.h"
#include "daemon/state/recording.h"
#include "helper/watchers.h"

/* An event tells of all dead letters of so long. */
#define TELL_EVERY_S 0.1

/* Tell of what was not told yet. */
static void
tell_dead_letters(struct deadletters *dead)
{
	struct sockets *sockets = dead->sockets;
	struct event_head head = {.kind = NOTICE_DEAD_LETTER};

	if (dead->untold == 0 || !core_valid(sockets->engine->core, dead->owner))
		return;
	const struct node_view view = engine_view(sockets->engine, dead->owner);
	head.path = actors_path(sockets->actors, dead->owner);
	head.incarnation = view.run.incarnation;
	head.generation = view.run.generation;
	events_begin(sockets->events, &head);
	events_text(sockets->events, FIELD_SOCKET, dead->socket);
	events_number(sockets->events, FIELD_COUNT, dead->untold);
	events_end(sockets->events);
	log_line(LOG_LEVEL_DEBUG, "%s: %u dead letters at socket %s", head.path,
	         dead->untold, dead->socket);
	dead->untold = 0;
}

static void
on_tell(struct ev_loop *loop UNUSED, ev_timer *watcher, int revents UNUSED)
{
	tell_dead_letters(watcher->data);
}

void
deadletters_init(struct deadletters *dead, struct sockets *sockets)
{
	*dead = (struct deadletters){.sockets = sockets, .owner = REF_NONE};
	timer_prepare(&dead->tell, on_tell, dead);
}

void
deadletters_done(struct deadletters *dead)
{
	ev_timer_stop(dead->sockets->loop, &dead->tell);
	tell_dead_letters(dead);
}

/* `n` more dead letters came.  The first is told at once, those of the next moment
 * together. */
void
deadletters_count(struct deadletters *dead, const struct mailbox *mailbox, uint32_t n)
{
	struct sockets *sockets = dead->sockets;
	struct actor *actor = actors_get(sockets->actors, dead->owner);

	if (actor == NULL || n == 0)
		return;
	actor->dead_letters += n;
	record_slot(sockets->recording, actor->ref.slot);
	dead->untold += n;
	dead->socket = mailbox->socket->name;
	if (ev_is_active(&dead->tell))
		return;
	tell_dead_letters(dead);
	timer_begin(sockets->loop, &dead->tell, TELL_EVERY_S);
}
