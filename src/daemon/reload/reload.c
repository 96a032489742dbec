/* SPDX-License-Identifier: ISC */
/* reload.c - from the configuration that runs to the one on disk, all or nothing.
 *
 * Everything that can fail (reading, memory, sockets) comes first; then the tree is
 * changed by steps that cannot.  Actors that are removed keep the configuration that they
 * came with alive until they are gone.
 */
#include "config.h"

#include "daemon/reload/reload.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "daemon/metrics/metrics.h"
#include "daemon/processes/processes.h"
#include "daemon/processes/procs.h"
#include "daemon/reload/before.h"
#include "daemon/reload/follow.h"
#include "daemon/reload/loading.h"
#include "daemon/reload/reload_private.h"
#include "daemon/sockets/mailbox.h"
#include "daemon/sockets/sockets.h"
#include "daemon/sockets/standin.h"
#include "daemon/state/actors.h"
#include "daemon/state/engine.h"
#include "daemon/state/events.h"
#include "daemon/state/keeper.h"
#include "daemon/state/log.h"
#include "daemon/state/options.h"
#include "daemon/state/post.h"
#include "daemon/state/recording.h"
#include "daemon/state/system.h"
#include "ledger/ledger.h"
#include "ledger/link.h"
#include "os/self/clock.h"
#include "os/self/fd.h"

#define PLAN_BYTES_MAX (40 * 1024)

/* Not while a child on its way to exec may have its command there. */
static void
free_retired(struct reloader *reloader, bool all)
{
	struct retired **link = &reloader->retired;

	if (!all && procs_are_starting(reloader->processes->procs))
		return;
	while (*link != NULL) {
		struct retired *retired = *link;

		if (!all && (retired->users > 0 || !retired->has_rested)) {
			/* Nor in the turn in which the ledger before is let go. */
			if (!retired->has_rested)
				post_tick(reloader->post);
			retired->has_rested = true;
			link = &retired->next;
			continue;
		}
		*link = retired->next;
		keeper_release(reloader->keeper, VAULT_KEY(VAULT_CONF, retired->id));
		conf_free(retired->conf);
		free(retired);
	}
}

int
reload_prepare(struct reloader *reloader, const char *file, struct conf_loading *loading,
               struct reload *ret, struct err *err)
{
	if (loading != NULL)
		return loading_take(loading, ret, err);
	*ret = (struct reload){.file = file != NULL ? file : reloader->origin->conf_file};
	ret->conf = loading_apply(reloader, ret->file, &ret->reports, err);
	return reload_compare(reloader, ret, err);
}

int
reload_compare(struct reloader *reloader, struct reload *reload, struct err *err)
{
	if (reload->conf == NULL && err->code != 0)
		return -err->code;
	if (reload->conf == NULL)
		return err_say(err, -EINVAL, "%s: %zu errors, nothing was changed",
		               reload->file, reload->reports.n_errors);
	int r = conf_plan_make(reloader->actors->conf, reload->conf, &reload->plan);
	return r < 0 ? err_set(err, -r, "compare with %s", reload->file) : 0;
}

void
reload_done(struct reload *reload)
{
	conf_plan_done(&reload->plan);
	conf_reports_done(&reload->reports);
	conf_free(reload->conf);
	ledger_free(reload->room);
	*reload = (struct reload){0};
	/* To compare two configurations took memory all over the heap. */
	(void)malloc_trim(0);
}

void
reload_use_ledger(struct reloader *reloader, struct ledger *ledger)
{
	reloader->recording->ledger = ledger;
	reloader->engine->core = ledger_core(ledger);
	events_attach(reloader->events, ledger_events(ledger));
}

/* Complete the ledger: from now on the walker gives this one to our successor. */
void
reload_hand_over(struct reloader *reloader)
{
	struct ledger_size size;

	/* The table of actors may be larger: of an apply that failed. */
	ledger_size(reloader->recording->ledger, &size);
	for (uint32_t slot = 0; slot < size.slots; slot++)
		record_slot(reloader->recording, slot);
	record_facts(reloader->recording);
	post_checkpoint(reloader->post);
	keeper_keep_ledger(reloader->keeper, reloader->recording->ledger);
}

/* Can the walker keep what this configuration needs beyond that in force?  Without that
 * the next crash would end the actors. */
static int
find_room(struct reloader *reloader, const struct conf *conf, struct err *err)
{
	const uint32_t needed = follow_count(conf),
	               had = follow_count(reloader->actors->conf);

	if (keeper_has_room(reloader->keeper, needed > had ? needed - had : 0))
		return 0;
	return err_set(
	    err, EMFILE,
	    "supd can keep no more descriptors over a crash: raise LimitNOFILE= or "
	    "'ulimit -Hn', and restart it");
}

static void
tables_done(struct tables *tables)
{
	for (uint32_t i = 0; tables->paths != NULL && i < tables->n; i++)
		free(tables->paths[i]);
	for (uint32_t i = 0; i < SYSTEM_ACTORS; i++)
		free(tables->own_paths[i]);
	free(tables->paths);
	free(tables->seen);
}

/* The paths of the actors that come: of the plan, or without one of all. */
static int
copy_paths(struct tables *tables, const struct conf *conf, const struct conf_plan *plan)
{
	const size_t n = plan == NULL ? conf->n_actors : plan->n;

	for (size_t i = 0; i < n; i++) {
		const uint32_t index = plan == NULL ? (uint32_t)i : plan->at[i].new_index;

		if (plan != NULL && plan->at[i].kind != CHANGE_ADDED)
			continue;
		tables->paths[index] = strdup(conf->actors[index].path);
		if (tables->paths[index] == NULL)
			return -ENOMEM;
	}
	return 0;
}

static int
tables_init(struct tables *tables, const struct reloader *reloader,
            const struct conf *conf, const struct conf_plan *plan, struct err *err)
{
	*tables = (struct tables){.n = conf->n_actors,
	                          .conf_id = reloader->recording->facts.conf_id + 1,
	                          .metrics_fd = -1};
	tables->paths = calloc(conf->n_actors, sizeof(*tables->paths));
	tables->seen = calloc(conf->n_actors, sizeof(*tables->seen));
	if (tables->paths != NULL && tables->seen != NULL &&
	    copy_paths(tables, conf, plan) == 0)
		return 0;
	return err_set(err, ENOMEM, "names of %u actors", conf->n_actors);
}

static void
add_change(struct events *events, const char *path, const char *change, size_t *bytes)
{
	events_add(events, path, strlen(path));
	events_add(events, change, strlen(change));
	*bytes +=
	    strlen("{\"path\":\"\",\"change\":\"\"},") + strlen(path) + strlen(change);
}

static void
report_applied(struct reloader *reloader, const struct reload *reload,
               const struct conf *old)
{
	const struct conf_plan *plan = &reload->plan;
	uint32_t counts[CHANGE_MAX] = {0};
	size_t bytes = 0;

	events_begin(reloader->events,
	             &(const struct event_head){.kind = NOTICE_APPLIED, .path = "/user"});
	events_open(reloader->events, FIELD_PLAN);
	for (size_t i = 0; i < plan->n; i++) {
		const struct conf_change *change = &plan->at[i];
		const char *path = change->new_index != CONF_NONE
		                       ? reload->conf->actors[change->new_index].path
		                       : old->actors[change->old_index].path;

		counts[change->kind]++;
		if (change->kind != CHANGE_UNCHANGED && bytes <= PLAN_BYTES_MAX)
			add_change(reloader->events, path, change_names[change->kind],
			           &bytes);
	}
	events_close(reloader->events);
	events_end(reloader->events);
	log_line(
	    LOG_LEVEL_NOTICE,
	    "applied %s: %u unchanged, %u updated, %u restarted, %u added, %u removed",
	    reload->file != NULL ? reload->file : "the configuration before",
	    counts[CHANGE_UNCHANGED], counts[CHANGE_UPDATED], counts[CHANGE_RESTARTED],
	    counts[CHANGE_ADDED], counts[CHANGE_REMOVED]);
}

/* What a configuration has before it is in force. */
struct prepared {
	struct tables tables;
	struct mailboxes mailboxes;
	struct ledger *ledger;
};

/* Everything that can fail; on an error all of it is undone. */
static int
prepare_apply(struct reloader *reloader, struct reload *reload, struct prepared *ret,
              struct err *err)
{
	const struct conf *conf = reload->conf;
	const struct coming coming = reload_coming(reload);
	struct tables *tables = &ret->tables;
	int r = tables_init(tables, reloader, conf, &reload->plan, err);

	if (r == 0)
		r = find_room(reloader, conf, err);
	if (r == 0)
		r = keeper_keep_conf(reloader->keeper, conf, tables->conf_id, err);
	if (r < 0) {
		tables_done(tables);
		return r;
	}
	r = mailboxes_open(reloader->sockets, &ret->mailboxes, conf,
	                   &reloader->sockets->mailboxes, err);
	if (r == 0) {
		r = metrics_open(reloader->metrics, conf, &tables->metrics_fd, err);
		ret->ledger = r < 0 ? NULL : reload_new_ledger(reloader, &coming, err);
		if (ret->ledger != NULL)
			return 0;
		if (r == 0)
			metrics_cancel(reloader->metrics, conf, tables->metrics_fd);
		mailboxes_cancel(reloader->sockets, &ret->mailboxes);
		r = r < 0 ? r : -ENOMEM;
	}
	keeper_release(reloader->keeper, VAULT_KEY(VAULT_CONF, tables->conf_id));
	tables_done(tables);
	return r;
}

int
reload_apply(struct reloader *reloader, struct reload *reload, struct err *err)
{
	CLEANUP_FREE struct retired *retired = calloc(1, sizeof(*retired));
	struct prepared new;
	const uint64_t id = reloader->recording->facts.conf_id;
	int before_fd, r;

	if (retired == NULL || reloader->recording->facts.shutting_down)
		return err_set(err, retired == NULL ? ENOMEM : ESHUTDOWN,
		               "apply the configuration");
	post_finish(reloader->post);
	struct ledger *before = reloader->recording->ledger;
	r = before_keep(reloader, reload, id + 1, &before_fd, err);
	if (r == 0) {
		/* New sockets are opened next: pipes and cgroups give way. */
		(void)follow_room(&reloader->limits, reload->conf);
		r = prepare_apply(reloader, reload, &new, err);
		if (r < 0) {
			(void)follow_room(&reloader->limits, reloader->actors->conf);
			before_cancel(reloader, id + 1, before_fd);
		}
	}
	if (r < 0)
		return r;
	/* A guardian that dies from here on leaves the old state, and from the hand-over
	 * on the new state. */
	reload_use_ledger(reloader, new.ledger);
	retired->conf = reloader->actors->conf;
	retired->id = id;
	reload_carry_out(reloader, reload, &new.tables, retired);
	report_applied(reloader, reload, reloader->actors->conf);
	reloader->recording->facts.conf_id = new.tables.conf_id;
	reloader->recording->facts.before_wall_us =
	    reloader->recording->facts.conf_wall_us;
	reloader->recording->facts.conf_wall_us = clock_wall_us();
	reload_hand_over(reloader);
	before_use(reloader, id, before_fd);
	procs_drop_ledger(reloader->processes->procs, before);
	tables_done(&new.tables);
	mailboxes_retire(reloader->sockets, &reloader->sockets->mailboxes,
	                 &new.mailboxes);
	reloader->sockets->mailboxes = new.mailboxes;
	standin_touch_all(reloader->sockets->standin);
	reloader->actors->conf = reload->conf;
	metrics_use(reloader->metrics, reloader->actors->conf, new.tables.metrics_fd);
	follow_conf(reloader, retired->conf);
	reload->conf = NULL;
	/* The plan borrows from the old one: it goes with the plan at the earliest. */
	retired->next = reloader->retired;
	reloader->retired = retired;
	retired = NULL;
	/* Have a turn, so that the marked actors move. */
	post_tick(reloader->post);
	return 0;
}

void
reload_release(struct reloader *reloader, const struct conf *owner)
{
	for (struct retired *r = reloader->retired; owner != NULL && r != NULL;
	     r = r->next)
		if (r->conf == owner)
			r->users--;
}

void
reload_on_turn(struct reloader *reloader)
{
	free_retired(reloader, false);
}

void
reload_free(struct reloader *reloader)
{
	free_retired(reloader, true);
	fd_close(&reloader->before_fd);
}

/* ---- the first one ----------------------------------------------------------------- */

static int
name_system(struct reloader *reloader, struct tables *tables, struct err *err)
{
	for (uint32_t i = 0; i < SYSTEM_ACTORS; i++) {
		tables->own_paths[i] =
		    strdup(system_conf(reloader->system)->actors[i].path);
		if (tables->own_paths[i] == NULL)
			return err_set(err, ENOMEM, "names of supd's own actors");
	}
	return 0;
}

/* supd's own actors: before /user, so that they are started first and stopped last. */
static void
add_system(struct reloader *reloader, struct tables *tables)
{
	const struct conf *conf = system_conf(reloader->system);
	struct ref parent = core_ref(reloader->engine->core, CORE_ROOT);
	struct ref before = core_ref(reloader->engine->core, CORE_USER);

	for (uint32_t i = 0; i < SYSTEM_ACTORS; i++) {
		struct ref ref =
		    core_add(reloader->engine->core, parent, before,
		             &conf->actors[i].spec->core, reloader->engine->now_ms);

		core_set_incarnation(reloader->engine->core, ref, 1);
		actors_set(reloader->actors, ref, tables->own_paths[i]);
		tables->own_paths[i] = NULL;
		actors_assign(reloader->actors, ref, conf, 0, i);
		if (i == SYSTEM_TOP)
			parent = ref;
		before = REF_NONE;
	}
}

int
reload_boot(struct reloader *reloader, struct conf *conf, uint64_t seed,
            struct ledger **room, struct err *err)
{
	struct ledger *ledger = NULL;
	CLEANUP(tables_done) struct tables tables;
	int r = tables_init(&tables, reloader, conf, NULL, err);

	if (r < 0)
		return r;
	r = name_system(reloader, &tables, err);
	if (r == 0 && !keeper_has_room(reloader->keeper, follow_count(conf)))
		log_line(
		    LOG_LEVEL_ERROR,
		    "so few descriptors may be open that not all sockets and pipes of "
		    "the actors are kept over a crash of supd, and actors may end "
		    "with it: raise LimitNOFILE= or 'ulimit -Hn'");
	if (r == 0)
		r = keeper_keep_conf(reloader->keeper, conf, tables.conf_id, err);
	if (r == 0)
		r = mailboxes_open(reloader->sockets, &reloader->sockets->mailboxes, conf,
		                   NULL, err);
	if (r == 0)
		ledger = reload_new_ledger(reloader,
		                           &(struct coming){.conf = conf,
		                                            .n_added = conf->n_actors,
		                                            .seed = seed,
		                                            .room = room},
		                           err);
	if (ledger == NULL) {
		mailboxes_cancel(reloader->sockets, &reloader->sockets->mailboxes);
		return r < 0 ? r : -ENOMEM;
	}
	reload_use_ledger(reloader, ledger);
	for (uint32_t i = 0; i < conf->n_actors; i++)
		reload_add(reloader, conf, i, &tables);
	add_system(reloader, &tables);
	reloader->recording->facts.conf_id = tables.conf_id;
	reloader->recording->facts.conf_wall_us = clock_wall_us();
	reloader->actors->conf = conf;
	metrics_begin(reloader->metrics, conf);
	return 0;
}

/* The configuration before, which removed actors still have; taken over at an adoption.
 */
int
reload_adopt_retired(struct reloader *reloader, uint64_t id, struct conf **ret,
                     struct err *err)
{
	struct retired *retired;

	for (retired = reloader->retired; retired != NULL; retired = retired->next) {
		if (retired->id == id) {
			retired->users++;
			*ret = retired->conf;
			return 0;
		}
	}
	retired = calloc(1, sizeof(*retired));
	if (retired == NULL)
		return err_set(err, ENOMEM, "an earlier configuration");
	*retired = (struct retired){
	    .conf = keeper_take_conf(reloader->keeper, id, err),
	    .next = reloader->retired,
	    .id = id,
	    .users = 1,
	};
	if (retired->conf == NULL) {
		free(retired);
		return -EBADMSG;
	}
	reloader->retired = retired;
	*ret = retired->conf;
	return 0;
}
