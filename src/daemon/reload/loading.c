/* SPDX-License-Identifier: ISC */
/* loading.c - read the configuration in a child.
 *
 * Its files, and the environment files of actors, may lie in a file system that does not
 * answer, and the user database may be a server.  So a child (os/self/bounded.h) reads
 * the configuration, and gives back what the walker keeps of one, too: the frozen form.
 */
#include "config.h"

#include "daemon/reload/loading.h"

#include <errno.h>
#include <ev.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "conf/text/reports.h"
#include "daemon/reload/load_child.h"
#include "daemon/reload/reload_private.h"
#include "daemon/state/actors.h"
#include "daemon/state/options.h"
#include "daemon/state/recording.h"
#include "os/self/bounded.h"
#include "os/self/clock.h"
#include "os/self/fd.h"

/* How long the child may wait, all in all, for files and users that may never answer; the
 * time in which it computes is not counted. */
#define WAIT_MS      3000
#define LOOK_MS      20
#define REPORT_BYTES (1024 * 1024)
/* Result and reports are written at once. */
#define SAYS_MS 1000

/* Wait until the child says something: 0; or -ETIMEDOUT. */
static int
wait_for(int fd, const struct conf_wait *wait)
{
	int waited_ms = 0;

	while (poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, LOOK_MS) <= 0) {
		waited_ms += wait->is_on ? LOOK_MS : 0;
		if (waited_ms >= WAIT_MS)
			return -ETIMEDOUT;
	}
	return 0;
}

/* The first thing that the child says; 0, or -errno: also what it could not do. */
static int
take_head(int fd, struct conf **ret_conf, struct err *err)
{
	struct load_result head;
	CLEANUP(fd_close) int frozen = -1;
	int r =
	    bounded_answer(fd, clock_mono_ms() + SAYS_MS, &head, sizeof(head), &frozen);

	if (r < 0)
		return r; /* -EPIPE: it has died */
	*err = head.err;
	if (frozen < 0)
		return head.code;
	*ret_conf = conf_unpack(frozen, err);
	return *ret_conf == NULL ? -ENOMEM : 0;
}

/* The reports, to the end of what the child says. */
static int
take_rest(int fd, struct conf_reports *reports)
{
	CLEANUP_FREE char *text = malloc(REPORT_BYTES);
	ssize_t n = -ENOMEM;

	if (text != NULL)
		n = bounded_take(fd, clock_mono_ms() + SAYS_MS, text, REPORT_BYTES);
	if (n > 0)
		load_take_reports(text, (size_t)n, reports);
	return n < 0 ? (int)n : 0;
}

/* All that the child says. */
static int
take(int fd, struct conf **ret_conf, struct conf_reports *reports, struct err *err)
{
	int r = take_head(fd, ret_conf, err);

	if (r == 0)
		r = take_rest(fd, reports);
	if (r == 0)
		return 0;
	conf_free(*ret_conf);
	*ret_conf = NULL;
	return r;
}

/* Hand over what a child composes, one after the other; 0, also where reports say what is
 * wrong, or -errno. */
static int
take_replicas(int fd, const struct load *load, const struct conf_taker *taker,
              struct conf_reports *reports, struct err *err)
{
	bool goes_on = true;
	int r = 0;

	for (uint32_t i = 0; i < load->n_numbers && goes_on; i++) {
		CLEANUP(conf_drop) struct conf *conf = NULL;

		r = wait_for(fd, load->options.wait);
		if (r == 0)
			r = take_head(fd, &conf, err);
		if (r == 0 && conf == NULL)
			return take_rest(fd, reports);
		goes_on = r == 0 && taker->take(taker->user, i, conf);
	}
	return r;
}

static int
load_bounded(struct bounded *bounded, struct load *load, struct conf **ret_conf,
             struct conf_reports *reports, struct err *err)
{
	const struct conf_taker *taker = load->taker;
	int id, fd;

	id =
	    bounded_open(bounded,
	                 &(struct bounded_task){
	                     BOUNDED_CONF, taker != NULL ? load_replicas : load_it, load},
	                 &fd);
	if (id < 0)
		return id;
	int r = taker != NULL ? take_replicas(fd, load, taker, reports, err)
	                      : wait_for(fd, load->options.wait);
	if (taker == NULL && r == 0)
		r = take(fd, ret_conf, reports, err);
	if (r == -ETIMEDOUT)
		bounded_end_late(bounded, BOUNDED_CONF, id, &fd);
	else
		bounded_end(bounded, id, &fd);
	return r;
}

/* For the child to say what it waits for; NULL: out of memory. */
static struct conf_wait *
map_wait(void)
{
	void *wait = mmap(NULL, sizeof(struct conf_wait), PROT_READ | PROT_WRITE,
	                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return wait == MAP_FAILED ? NULL : wait;
}

/* Name the file or database that does not answer, or the error, or the child's end. */
static void
conclude(const struct load *load, int r, struct conf_reports *reports, struct err *err)
{
	char message[400];

	if (r == -ETIMEDOUT) {
		(void)snprintf(message, sizeof(message), "%s does not answer",
		               load->options.wait->what);
		reports_add(reports, CONF_ERROR, &(struct spot){.file = load->file}, "",
		            message);
	} else if (r == -EPIPE) {
		err_say(
		    err, 0,
		    "%s was not read: the process that reads it was killed, or had too "
		    "little memory; see the kernel's log, then try again",
		    load->file);
		err->code = EPIPE;
	} else if (r < 0) {
		err_set(err, -r, "read %s", load->file);
	}
}

/* The configuration; NULL: what is wrong with it is in the reports, or, where it could
 * not be looked at at all, err->code is set. */
static struct conf *
load_with(struct bounded *bounded, struct load *load, struct conf_reports *ret_reports,
          struct err *err)
{
	struct conf_wait *wait = map_wait();
	struct conf *conf = NULL;

	*err = (struct err){0};
	*ret_reports = (struct conf_reports){0};
	if (wait == NULL) {
		err_set(err, errno, "read %s", load->file);
		return NULL;
	}
	load->options.wait = wait;
	int r = load_bounded(bounded, load, &conf, ret_reports, err);
	if (r == -ETIMEDOUT && load->options.boot && wait->is_for_users &&
	    !load->options.no_users) {
		load->options.no_users = true;
		r = load_bounded(bounded, load, &conf, ret_reports, err);
	}
	conclude(load, r, ret_reports, err);
	(void)munmap(wait, sizeof(*wait));
	return conf;
}

/*
 * Read the configuration that supd begins with.  A user database that does not answer is
 * done without: an actor with a user or group is started once it does.  The caller frees
 * what it gets, and the reports with conf_reports_done() in any case.  NULL: errors are
 * among the reports, or err->code says what prevented it.
 */
struct conf *
loading_boot(const struct origin *origin, struct bounded *bounded,
             struct conf_reports *ret_reports, struct err *err)
{
	return load_with(bounded,
	                 &(struct load){.file = origin->conf_file,
	                                .options = {.warn = true,
	                                            .boot = true,
	                                            .environ = origin->environ,
	                                            .controllers = origin->controllers}},
	                 ret_reports, err);
}

/* ---- the next configuration -------------------------------------------------------- */

/* Each of these has a turn of its own: with thousands of actors it takes a while. */
enum loading_part {
	PART_READ,
	PART_COMPARE,
	PART_MEMORY,
	PART_MORE,
	PART_FILL,
	PART_READY
};

struct conf_loading {
	struct reloader *reloader;
	struct load load;
	enum loading_use use;
	enum loading_part part; /* the next */
	struct reload reload;   /* the result, with r and err */
	int r;
	struct err err;
	uint64_t conf_id; /* in force when it began */
	int id;
	pid_t pid;
	int fd;
	int waited_ms;
	ev_io io;
	ev_timer timer;
	loading_fn *on_ready;
	void *user;
};

static struct load
load_of(const struct origin *origin, const char *file)
{
	return (struct load){.file = file,
	                     .options = {.warn = true,
	                                 .look_environment = true,
	                                 .environ = origin->environ,
	                                 .controllers = origin->controllers}};
}

static void
stop_waiting(struct conf_loading *loading)
{
	ev_io_stop(loading->reloader->loop, &loading->io);
	ev_timer_stop(loading->reloader->loop, &loading->timer);
}

static void on_turn(struct ev_loop *loop, ev_timer *timer, int revents);

/* The child has said something, or took too long. */
static void
take_read(struct conf_loading *loading)
{
	struct reload *reload = &loading->reload;
	int r = -ETIMEDOUT;

	if (loading->waited_ms < WAIT_MS)
		r = take(loading->fd, &reload->conf, &reload->reports, &loading->err);
	conclude(&loading->load, r, &reload->reports, &loading->err);
}

/* Do the present part; returns the next part. */
static enum loading_part
do_part(struct conf_loading *loading)
{
	struct reload *reload = &loading->reload;

	switch (loading->part) {
	case PART_READ:
		take_read(loading);
		return PART_COMPARE;
	case PART_COMPARE:
		loading->r = reload_compare(loading->reloader, reload, &loading->err);
		return loading->r == 0 && loading->use == LOADING_APPLY ? PART_MEMORY
		                                                        : PART_READY;
	case PART_MEMORY:
		reload_take_memory(loading->reloader, reload);
		return PART_MORE;
	case PART_MORE:
		return reload_take_more(reload) ? PART_MORE : PART_FILL;
	case PART_FILL:
		reload_fill_memory(loading->reloader, reload);
		break;
	case PART_READY:
		break;
	}
	return PART_READY;
}

static void
run_next_part(struct conf_loading *loading)
{
	stop_waiting(loading);
	/* Another configuration may be in force by now: then it is not compared. */
	if (loading->part == PART_READY || !loading_is_current(loading)) {
		loading->on_ready(loading->user);
		return;
	}
	loading->part = do_part(loading);
	ev_timer_init(&loading->timer, on_turn, 0., 0.);
	/* Clients and actors that wait come first: a turn later they would have waited
	 * for the next part, too. */
	ev_set_priority(&loading->timer, EV_MINPRI);
	ev_timer_start(loading->reloader->loop, &loading->timer);
}

static void
on_turn(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
	run_next_part(timer->data);
}

static void
on_readable(struct ev_loop *loop UNUSED, ev_io *io, int revents UNUSED)
{
	run_next_part(io->data);
}

static void
on_look(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
	struct conf_loading *loading = timer->data;

	loading->waited_ms += loading->load.options.wait->is_on ? LOOK_MS : 0;
	if (loading->waited_ms >= WAIT_MS)
		run_next_part(loading);
}

/*
 * Have a child read the configuration in this file, which is borrowed, and all be done
 * that comes before its use; on_ready is called when it is ready for loading_take(), or
 * not current any more.  NULL: there is no child, and loading_apply() says why.
 */
struct conf_loading *
loading_begin(struct reloader *reloader, const char *file, enum loading_use use,
              loading_fn *on_ready, void *user)
{
	struct conf_loading *loading = calloc(1, sizeof(*loading));

	if (loading == NULL)
		return NULL;
	*loading = (struct conf_loading){.reloader = reloader,
	                                 .load = load_of(reloader->origin, file),
	                                 .use = use,
	                                 .reload = {.file = file},
	                                 .conf_id = reloader->recording->facts.conf_id,
	                                 .id = -1,
	                                 .fd = -1,
	                                 .on_ready = on_ready,
	                                 .user = user,
	                                 .io.data = loading,
	                                 .timer.data = loading};
	loading->load.options.wait = map_wait();
	if (loading->load.options.wait != NULL)
		loading->id = bounded_open(
		    reloader->bounded,
		    &(struct bounded_task){BOUNDED_CONF, load_it, &loading->load},
		    &loading->fd);
	ev_io_init(&loading->io, on_readable, loading->fd, EV_READ);
	ev_timer_init(&loading->timer, on_look, LOOK_MS / 1e3, LOOK_MS / 1e3);
	if (loading->id < 0) {
		loading_end(loading);
		return NULL;
	}
	loading->pid = reloader->bounded->pids[loading->id];
	ev_io_start(reloader->loop, &loading->io);
	ev_timer_start(reloader->loop, &loading->timer);
	return loading;
}

/* True if no other configuration came into force since it began. */
bool
loading_is_current(const struct conf_loading *loading)
{
	return loading->conf_id == loading->reloader->recording->facts.conf_id;
}

/* The result, handed out once; as reload_prepare(). */
int
loading_take(struct conf_loading *loading, struct reload *ret, struct err *err)
{
	*ret = loading->reload;
	loading->reload = (struct reload){0};
	*err = loading->err;
	return loading->r;
}

/* End the loading, whether or not it was read; NULL is fine.  Its child may have been
 * reaped, and its place have gone to another child. */
void
loading_end(struct conf_loading *loading)
{
	if (loading == NULL)
		return;
	struct bounded *bounded = loading->reloader->bounded;
	stop_waiting(loading);
	if (loading->id < 0 || bounded->pids[loading->id] != loading->pid)
		fd_close(&loading->fd);
	else if (loading->waited_ms >= WAIT_MS)
		bounded_end_late(bounded, BOUNDED_CONF, loading->id, &loading->fd);
	else
		bounded_end(bounded, loading->id, &loading->fd);
	if (loading->load.options.wait != NULL)
		(void)munmap(loading->load.options.wait, sizeof(struct conf_wait));
	if (loading->reload.file != NULL)
		reload_done(&loading->reload);
	free(loading);
}

/* The same for a configuration that is to take the place of that in force: what does not
 * answer is an error, and the environment files of its actors are looked at. */
struct conf *
loading_apply(const struct reloader *reloader, const char *file,
              struct conf_reports *ret_reports, struct err *err)
{
	struct load load = load_of(reloader->origin, file);

	return load_with(reloader->bounded, &load, ret_reports, err);
}

/* An actor to be added, by itself or as replicas. */
static struct load
load_of_addition(const struct reloader *reloader, const struct conf_addition *addition)
{
	return (struct load){.file = reloader->origin->conf_file,
	                     .addition = addition,
	                     .conf = reloader->actors->conf,
	                     .options = {.environ = reloader->origin->environ,
	                                 .controllers = reloader->origin->controllers}};
}

/* The same for an actor that is added at run time: see conf_compose(). */
struct conf *
loading_add(const struct reloader *reloader, const struct conf_addition *addition,
            struct conf_reports *ret_reports, struct err *err)
{
	struct load load = load_of_addition(reloader, addition);

	return load_with(reloader->bounded, &load, ret_reports, err);
}

/*
 * The same for these replicas of an actor, by one child: each of them is
 * handed over in turn, which ends with the first that is wrong, or is not taken.
 */
void
loading_add_replicas(const struct reloader *reloader,
                     const struct conf_replicas *replicas, const struct conf_taker *taker,
                     struct conf_reports *ret_reports, struct err *err)
{
	struct load load = load_of_addition(reloader, replicas->addition);

	load.numbers = replicas->numbers;
	load.n_numbers = replicas->n;
	load.taker = taker;
	(void)load_with(reloader->bounded, &load, ret_reports, err);
}
