/* SPDX-License-Identifier: ISC */
/* start.c - the ways in which a guardian begins. */
#include "config.h"

#include "daemon/loop/start.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "conf/text/safe.h"
#include "daemon/control/control.h"
#include "daemon/launch/launch.h"
#include "daemon/loop/alone.h"
#include "daemon/loop/loop.h"
#include "daemon/loop/owner.h"
#include "daemon/loop/rooms.h"
#include "daemon/loop/seat.h"
#include "daemon/loop/supd.h"
#include "daemon/messages/messages.h"
#include "daemon/messages/output.h"
#include "daemon/messages/rundir.h"
#include "daemon/processes/processes.h"
#include "daemon/processes/strays.h"
#include "daemon/recovery/adopt.h"
#include "daemon/reload/additions.h"
#include "daemon/reload/before.h"
#include "daemon/reload/follow.h"
#include "daemon/reload/loading.h"
#include "daemon/reload/reload.h"
#include "daemon/report/report.h"
#include "daemon/sockets/control_file.h"
#include "daemon/state/engine.h"
#include "daemon/state/keeper.h"
#include "daemon/state/log.h"
#include "daemon/state/options.h"
#include "daemon/state/post.h"
#include "daemon/state/recording.h"
#include "daemon/state/system.h"
#include "ledger/exits.h"
#include "ledger/handover.h"
#include "ledger/ledger.h"
#include "os/process/leftover.h"
#include "os/self/clock.h"
#include "os/socket/sock.h"

/* The number of guardians in a row that died during their takeover, after which the state
 * counts as the fault (DECISIONS 9). */
#define ATTEMPTS_MAX 5

/* Before there is anything to supervise, so long for all that is done with the file of
 * the control socket: well within WALKER_ADOPT_MS. */
#define FIRST_FILE_MS 40000

/* ---- which way --------------------------------------------------------------------- */

/* For root: true if no other user may replace a file in this directory. */
static bool
is_safe_place(const char *directory)
{
	struct safety_report safety;
	char text[SAFETY_TEXT_MAX];

	if (geteuid() != 0 ||
	    safety_of(directory, &TRUST_ROOT, &safety) < SAFE_BUT_FOR_GROUP)
		return true;
	log_line(LOG_LEVEL_ERROR, "the runtime directory %s: %s", directory,
	         safety_format(&safety, text, sizeof(text)));
	return false;
}

static int
load(struct supd *supd, struct start *ret)
{
	struct conf_reports reports;
	struct err err;

	if (!is_safe_place(supd->origin.runtime_dir))
		return EX_CONFIG;
	ret->conf = loading_boot(&supd->origin, &supd->bounded, &reports, &err);
	conf_reports_print(&reports);
	conf_reports_done(&reports);
	if (ret->conf == NULL && err.code != 0) {
		log_line(LOG_LEVEL_ERROR, "%s", err.text);
		return EX_OSERR;
	}
	return ret->conf == NULL ? EX_CONFIG : 0;
}

/* What is left cannot be taken over: the last good configuration, else the file. */
static int
choose_anew(struct supd *supd, struct start *ret, const char *what)
{
	struct conf *conf = supd->actors.conf;
	struct err err;

	supd->actors.conf = NULL;
	supd->recording.facts.is_ready = false;
	supd->recording.facts.started_ms = supd->engine.now_ms;
	ret->how = START_ANEW;
	ret->what = what;
	if (conf == NULL)
		conf = keeper_take_newest_conf(supd->keeper,
		                               &supd->recording.facts.conf_id, &err);
	ret->conf = conf;
	return conf != NULL ? 0 : load(supd, ret);
}

int
start_choose(struct supd *supd, struct start *ret)
{
	struct handover *handover = keeper_handover(supd->keeper);
	const struct link_hello *hello = &handover->hello;
	struct err err = {0};

	*ret = (struct start){.how = START_FRESH};
	supd->exits = exits_open(handover->exits_fd, &err);
	handover->exits_fd = -1;
	if (supd->exits == NULL) {
		log_line(LOG_LEVEL_ERROR, "%s", err.text);
		return EX_OSERR;
	}
	if (handover->ledger_fd < 0)
		return load(supd, ret);
	if (adopt_open(supd->keeper, &supd->actors, &supd->recording, &ret->ledger,
	               &err) < 0) {
		/* The binary before us can read the state: no actor need end for that. */
		if (hello->is_upgrade) {
			log_line(LOG_LEVEL_ERROR, "take over: %s", err.text);
			return EX_OSERR;
		}
		log_line(LOG_LEVEL_ERROR, "%s: all actors are ended and begin anew",
		         err.text);
		return choose_anew(supd, ret, "ledger_lost");
	}
	supd->reloader->before_fd =
	    before_take(supd->keeper, supd->recording.facts.conf_id);
	if (hello->attempts >= ATTEMPTS_MAX) {
		log_line(
		    LOG_LEVEL_ERROR,
		    "%u guardians in a row died while they took over: all actors are "
		    "ended and begin anew",
		    hello->attempts);
		return choose_anew(supd, ret, "ledger_lost");
	}
	if (supd->actors.conf->on_crash_kill && !hello->is_upgrade && !hello->fell_back)
		return choose_anew(supd, ret, "actors_killed");
	ret->how = START_ADOPT;
	ret->conf = supd->actors.conf;
	return 0;
}

/* ---- begin ------------------------------------------------------------------------- */

static uint64_t
seed_of(const struct supd_options *options)
{
	uint64_t seed = options->seed;

	if (!options->has_seed && getrandom(&seed, sizeof(seed), 0) < 0)
		seed = clock_mono_ns();
	return seed;
}

/* Begin with this configuration and nothing else; 0 or an exit status. */
static int
boot(struct supd *supd, struct start *start)
{
	CLEANUP(leftovers_done) struct leftovers found = {0};
	struct err err = {0};
	size_t n_leftovers = 0;
	bool is_clean = false;

	follow_limits(&supd->reloader->limits, start->conf);
	if (start->how == START_FRESH &&
	    !alone_prepare(supd, start->conf, &start->room, &is_clean))
		return EX_UNAVAILABLE;
	int r = launch_draw_secret(&supd->recording.facts);
	if (r < 0) {
		log_line(LOG_LEVEL_ERROR, "no random numbers: %s", strerror(-r));
		return EX_OSERR;
	}
	additions_drop_kept(supd->keeper);
	if (start->how == START_ANEW)
		n_leftovers = alone_end_actors(supd);
	if (!is_clean)
		alone_end_leftovers(supd, start->conf, &found);
	n_leftovers += found.n_killed - found.n_left;
	if (reload_boot(supd->reloader, start->conf, seed_of(supd->origin.options),
	                &start->room, &err) < 0) {
		log_line(LOG_LEVEL_ERROR, "%s", err.text);
		return EX_OSERR;
	}
	if (start->ledger != NULL)
		events_copy(&supd->events, ledger_events(start->ledger));
	if (start->what != NULL)
		report_supd(supd->reporter, start->what);
	if (n_leftovers > 0)
		report_leftovers(supd->reporter, n_leftovers);
	report_supd(supd->reporter, "started");
	/* They are in the ledger before anything is started. */
	strays_take(supd->processes->procs, &found);
	reload_hand_over(supd->reloader);
	output_adopt(supd->messages->output);
	post_event(supd->post, &(struct event){.kind = EVENT_BOOT, .ref = REF_NONE});
	/* What the one before us was about: of the tree only the log process is started,
	 * for what is still in the pipes. */
	if (supd->recording.facts.shutting_down)
		post_event(supd->post,
		           &(struct event){.kind = EVENT_SHUTDOWN, .ref = REF_NONE});
	return 0;
}

/* True if the process runs the same binary as we do. */
static bool
is_same_binary(pid_t pid)
{
	struct stat own, other;
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	return stat(path, &other) < 0 || stat("/proc/self/exe", &own) < 0 ||
	       (own.st_dev == other.st_dev && own.st_ino == other.st_ino);
}

/* After an upgrade the log process is still the old one: it is restarted as by a command,
 * when it has written what it has; but without a caller, so that a start that fails is
 * tried again. */
static void
renew_log(struct supd *supd)
{
	const struct ref ref = actors_find(&supd->actors, SYSTEM_LOG_PATH);
	const struct actor *actor = actors_get(&supd->actors, ref);
	pid_t pid = actor == NULL ? 0 : actor->pid;

	/* Or one that the guardian before us has started, on the way to its program. */
	for (uint32_t place = 0; pid == 0 && place < LEDGER_SPAWNS; place++) {
		const struct ledger_spawn *spawn =
		    ledger_spawn(supd->recording.ledger, place);

		if (spawn->life != 0 && spawn->task == 0 && spawn->ref.slot == ref.slot)
			pid = spawn->trace.pid;
	}
	if (pid != 0 && !supd->recording.facts.shutting_down && !is_same_binary(pid))
		post_event(supd->post,
		           &(struct event){.kind = EVENT_RESTART, .ref = ref});
}

/* Bring the core to where the guardian before us was. */
static int
replay(struct supd *supd, const struct start *start)
{
	supd->engine.is_replaying = true;
	int r = loop_replay(start->loop);
	supd->engine.is_replaying = false;
	if (r == 0)
		supd->engine.exiting =
		    core_exited(supd->engine.core, &supd->engine.exit_status);
	return r;
}

/* Go on where the guardian before us was. */
static int
take_over(struct supd *supd, struct start *start)
{
	struct err err = {0};

	if (adopt_tables(supd->reloader, start->ledger, &err) < 0 ||
	    replay(supd, start) < 0) {
		log_line(LOG_LEVEL_ERROR, "take over: %s", err.text);
		return EX_OSERR;
	}
	/* Before processes take descriptors, too. */
	output_adopt(supd->messages->output);
	/* What happened unseen is dated to after all that the journal has. */
	supd->engine.now_ms = clock_mono_ms() + 1;
	adopt_compare(supd->processes, supd->reporter, supd->trial);
	upgrade_tell(&keeper_handover(supd->keeper)->hello, supd->recording.ledger,
	             &start->story);
	supd->origin.outage_ms = start->story.outage_ms;
	report_taken_over(supd->reporter, &start->story,
	                  &keeper_handover(supd->keeper)->hello.last_end);
	renew_log(supd);
	post_tick(supd->post);
	return 0;
}

/* Absolute, if a socket can have so long a name: it marks our actors, so that no supd of
 * another directory takes them for its own, and they find it from any directory. */
char *
start_control_path(const struct conf *conf, const char *runtime_dir)
{
	static const char file[] = "/control.sock";
	const size_t longest = sizeof(((struct sockaddr_un *)0)->sun_path) - sizeof(file);
	char absolute[PATH_MAX];
	const char *dir = realpath(runtime_dir, absolute);
	struct strbuf sb = STRBUF(SUPD_PATH_MAX);

	if (conf->control_socket != NULL)
		return strdup(conf->control_socket);
	strbuf_addf(&sb, "%s%s",
	            dir != NULL && strlen(dir) <= longest ? dir : runtime_dir, file);
	return strbuf_take(&sb);
}

static int
begin(struct supd *supd, struct start *start)
{
	struct err err = {0};
	int status =
	    start->how == START_ADOPT ? take_over(supd, start) : boot(supd, start);

	ledger_free(start->room);
	if (start->how == START_ANEW)
		ledger_free(start->ledger);
	if (status != 0)
		return status;
	rundirs_begin(supd->messages->rundirs, start->how != START_ADOPT);
	if (output_configure(supd->messages->output) < 0) {
		log_line(LOG_LEVEL_ERROR, "pipes between actors: %s", strerror(ENOMEM));
		return EX_OSERR;
	}
	supd->control = rooms_open_control(supd, &err);
	if (supd->control == NULL) {
		log_line(LOG_LEVEL_ERROR, "control socket: %s", err.text);
		return err.code == EADDRINUSE ? EX_UNAVAILABLE : EX_OSERR;
	}
	if (seat_open(supd, &err) < 0) {
		log_line(LOG_LEVEL_ERROR, "%s", err.text);
		return EX_OSERR;
	}
	if (start->how == START_ADOPT)
		control_answer_caller(supd->control, &start->story);
	if (supd->recording.facts.upgrade_ms != 0) {
		supd->recording.facts.upgrade_ms = 0;
		record_facts(&supd->recording);
	}
	/* Reading the configuration took more memory than keeping it does. */
	(void)malloc_trim(0);
	return 0;
}

int
start_begin(struct supd *supd, struct start *start)
{
	/* There is nothing yet that would have to wait: on a busy machine it is better to
	 * be late than not to begin. */
	if (start->how == START_FRESH)
		control_file_begin(supd->control_file, FIRST_FILE_MS);
	int status = begin(supd, start);
	control_file_end(supd->control_file);
	return status;
}
