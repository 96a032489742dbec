/* SPDX-License-Identifier: ISC */
/* lint.c - what is legal and probably not meant. */
#include "config.h"

#include "conf/tree/lint.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/units.h"
#include "conf/read/envfile.h"
#include "conf/read/expand.h"
#include "conf/read/keys.h"
#include "conf/read/needs.h"
#include "conf/text/reports.h"
#include "conf/text/safe.h"

#define MESSAGE_MAX     1024
#define TERMS_SHOWN_MAX 6
/* With more restarts than this, a level's times the next level's, giving up takes too
 * long. */
#define PRODUCT_MAX 100

/* Causes after which no process is left that could be resumed. */
#define DEAD_KINDS                                                        \
	((1u << CAUSE_EXIT) | (1u << CAUSE_SIGNAL) | (1u << CAUSE_CORE) | \
	 (1u << CAUSE_OOM) | (1u << CAUSE_KILLED) | (1u << CAUSE_EARLY_EXIT))

struct lint {
	const struct conf *conf;
	const struct conf_options *options;
	struct conf_reports *reports;
};

/* Warn about a key of an actor, where it is written, or else where the actor is. */
static void __attribute__((format(printf, 4, 5)))
warn(struct lint *lint, const struct conf_actor *actor, const char *key, const char *fmt,
     ...)
{
	va_list ap;

	va_start(ap, fmt);
	keys_vreport(lint->reports, CONF_WARNING, lint->conf, actor, key, fmt, ap);
	va_end(ap);
}

/* ---- intensity and backoff ---- */

/* The next delay, in thousandths of a millisecond. */
static uint64_t
grow_delay(const struct backoff_spec *backoff, uint64_t delay)
{
	const uint64_t max = backoff->max_ms * 1000;

	if (delay > UINT64_MAX / backoff->factor_milli)
		return max;
	delay = delay * backoff->factor_milli / 1000;
	return delay < max ? delay : max;
}

/*
 * How long one actor that fails again at once needs for one failure more than `restarts`:
 * the sum of the delays between, without jitter.
 */
static uint64_t
span_of_failures(const struct backoff_spec *backoff, uint32_t restarts)
{
	uint64_t delay = backoff->min_ms * 1000;
	uint64_t sum_ms = 0;

	if (backoff->none)
		return 0;
	for (uint32_t i = 0; i < restarts; i++) {
		uint64_t next = grow_delay(backoff, delay);

		if (next == delay) {
			sum_ms += (restarts - i) * (delay / 1000);
			break;
		}
		sum_ms += delay / 1000;
		delay = next;
	}
	return sum_ms < DURATION_MS_MAX ? sum_ms : DURATION_MS_MAX;
}

/* "1s + 2s + 4s + 8s + 16s" */
static void
write_sum(const struct backoff_spec *backoff, uint32_t restarts, struct strbuf *out)
{
	uint64_t delay = backoff->min_ms * 1000;
	char buf[DURATION_TEXT_MAX];

	for (uint32_t i = 0; i < restarts && i < TERMS_SHOWN_MAX; i++) {
		strbuf_addf(out, "%s%s", i > 0 ? " + " : "",
		            duration_format(delay / 1000, buf));
		delay = grow_delay(backoff, delay);
	}
	if (restarts > TERMS_SHOWN_MAX)
		strbuf_adds(out, " + …");
}

static void
warn_unreachable(struct lint *lint, const struct conf_actor *supervisor,
                 const struct conf_actor *child, uint64_t span_ms)
{
	const struct intensity_spec *intensity = &supervisor->spec.intensity;
	const struct conf_key *written = keys_find(supervisor, "intensity.within");
	const char *key = "intensity.within";
	char within[DURATION_TEXT_MAX];
	char span[DURATION_TEXT_MAX];
	struct strbuf sum;

	if (written == NULL || written->file == CONF_NONE)
		key = "intensity.restarts";
	strbuf_init(&sum, 256);
	write_sum(&child->spec.backoff, intensity->restarts, &sum);
	warn(
	    lint, supervisor, key,
	    "%u restarts within %s can never be exceeded by an actor that keeps failing: "
	    "the backoff of `%s` alone takes %s = %s, more than %s",
	    intensity->restarts, duration_format(intensity->within_ms, within),
	    child->name, strbuf_str(&sum), duration_format(span_ms, span), within);
	strbuf_done(&sum);
}

/* For each supervisor the child that fails fastest: is even that one too slow? */
static void
check_intensities(struct lint *lint, uint64_t *spans, uint32_t *fastest)
{
	const struct conf *conf = lint->conf;

	for (uint32_t i = 0; i < conf->n_actors; i++)
		fastest[i] = CONF_NONE;
	for (uint32_t i = 1; i < conf->n_actors; i++) {
		const struct spec *spec = &conf->actors[i].spec;
		uint32_t parent = conf->actors[i].parent;
		const struct intensity_spec *intensity =
		    &conf->actors[parent].spec.intensity;
		uint64_t span;

		if (intensity->unlimited || intensity->within_ms == DURATION_INFINITE ||
		    spec->restart == RESTART_TEMPORARY)
			continue;
		span = span_of_failures(&spec->backoff, intensity->restarts);
		if (fastest[parent] != CONF_NONE && spans[parent] <= span)
			continue;
		fastest[parent] = i;
		spans[parent] = span;
	}
	for (uint32_t i = 0; i < conf->n_actors; i++)
		if (fastest[i] != CONF_NONE &&
		    spans[i] > conf->actors[i].spec.intensity.within_ms)
			warn_unreachable(lint, &conf->actors[i],
			                 &conf->actors[fastest[i]], spans[i]);
}

/* Nested intensities multiply: 5 restarts of a supervisor that grants 5 are 25. */
static void
check_products(struct lint *lint, uint64_t *products)
{
	const struct conf *conf = lint->conf;

	for (uint32_t i = 0; i < conf->n_actors; i++) {
		const struct conf_actor *actor = &conf->actors[i];
		uint64_t above = actor->parent != CONF_NONE ? products[actor->parent] : 1;
		uint64_t restarts = actor->spec.intensity.restarts;

		products[i] = 1;
		if (actor->spec.kind == NODE_WORKER || actor->spec.intensity.unlimited)
			continue;
		products[i] = above * (restarts > 0 ? restarts : 1);
		if (products[i] > SPEC_INTENSITY_MAX)
			products[i] = SPEC_INTENSITY_MAX;
		if (products[i] <= PRODUCT_MAX || above <= 1 || above > PRODUCT_MAX)
			continue;
		warn(lint, actor, "intensity.restarts",
		     "%llu restarts here for each of %llu further up: together more than "
		     "%d before the upper supervisor gives up",
		     (unsigned long long)restarts, (unsigned long long)above,
		     PRODUCT_MAX);
	}
}

/* ---- shutdown ---- */

static uint64_t
add_times(uint64_t a, uint64_t b)
{
	if (a > DURATION_MS_MAX || b > DURATION_MS_MAX - a)
		return DURATION_INFINITE;
	return a + b;
}

/* How long an actor may take to stop, as its own key says. */
static uint64_t
shutdown_time(const struct spec *spec)
{
	switch (spec->shutdown_mode) {
	case SHUTDOWN_TIMEOUT:
		return spec->shutdown_ms;
	case SHUTDOWN_BRUTAL_KILL:
		return 0;
	case SHUTDOWN_INFINITY:
		return DURATION_INFINITE;
	}
	return 0;
}

static void
check_shutdown(struct lint *lint, const struct conf_actor *actor, uint64_t needed_ms)
{
	char own[DURATION_TEXT_MAX];
	char needed[DURATION_TEXT_MAX];

	if (actor->spec.kind != NODE_SUPERVISOR ||
	    actor->spec.shutdown_mode != SHUTDOWN_TIMEOUT ||
	    needed_ms <= actor->spec.shutdown_ms)
		return;
	warn(lint, actor, "shutdown",
	     "%s is less than its children may take, which is %s",
	     duration_format(actor->spec.shutdown_ms, own),
	     duration_format(needed_ms, needed));
}

/* From the leaves up: children stop one after the other, or all at once. */
static void
check_shutdowns(struct lint *lint, uint64_t *needed)
{
	const struct conf *conf = lint->conf;

	memset(needed, 0, conf->n_actors * sizeof(*needed));
	for (uint32_t i = conf->n_actors; i > 0; i--) {
		const struct conf_actor *actor = &conf->actors[i - 1];
		uint64_t own = shutdown_time(&actor->spec);
		uint64_t *above;

		check_shutdown(lint, actor, needed[i - 1]);
		if (actor->parent == CONF_NONE)
			continue;
		if (actor->spec.kind == NODE_SUPERVISOR && own == DURATION_INFINITE)
			own = needed[i - 1];
		/* The process has its own time, and the children the sum of theirs. */
		if (actor->spec.kind == NODE_BOTH)
			own = add_times(own, needed[i - 1]);
		above = &needed[actor->parent];
		if (!conf->actors[actor->parent].spec.stop_parallel)
			*above = add_times(*above, own);
		else if (own > *above)
			*above = own;
	}
}

/* ---- significance ---- */

/* A supervisor that ends with its work, and is started again because it has ended. */
static void
check_auto_shutdown(struct lint *lint, const struct conf_actor *supervisor)
{
	if (supervisor->parent == CONF_NONE ||
	    supervisor->spec.auto_shutdown == AUTO_SHUTDOWN_NEVER ||
	    supervisor->spec.restart != RESTART_PERMANENT)
		return;
	warn(lint, supervisor, "auto_shutdown",
	     "the supervisor is permanent: it is started again as soon as it has shut "
	     "itself down; write `restart: transient` or `restart: temporary`");
}

/* ---- resume ---- */

/* True if the rule resumes an actor after causes that leave no process. */
static bool
resumes_the_dead(const struct rule *rule)
{
	bool dead = (rule->kinds & DEAD_KINDS) != 0 || rule->signals.bits != 0 ||
	            rule->cores.bits != 0;

	for (size_t i = 0; i < ARRAY_SIZE(rule->exits.bits); i++)
		dead = dead || rule->exits.bits[i] != 0;
	return rule->preset == PRESET_LIST && rule->then == DIRECTIVE_RESUME && dead;
}

static void
check_resumes(struct lint *lint, const struct conf_actor *actor,
              const struct decider *decider, const char *name)
{
	for (uint32_t i = 0; i < decider->n_rules; i++) {
		const struct place *place = &decider->rules[i].place;
		char key[64];
		struct strbuf path;
		struct spot spot = {NULL, place->line, 1};

		if (!resumes_the_dead(&decider->rules[i]) ||
		    place->file >= lint->conf->n_files)
			continue;
		spot.file = lint->conf->files[place->file];
		(void)snprintf(key, sizeof(key), "%s[%u]", name, i);
		strbuf_init(&path, 65536);
		keys_path(lint->conf, actor, key, &path);
		reports_add(lint->reports, CONF_WARNING, &spot, strbuf_str(&path),
		            "`resume` after a cause that leaves no process: a new one is "
		            "started, and without `fd_store` or `runtime_directory` "
		            "there is nothing that it could take over");
		strbuf_done(&path);
	}
}

/* A decider is for the children: one of them that keeps something is reason enough. */
static void
check_all_resumes(struct lint *lint, uint64_t *keepers)
{
	const struct conf *conf = lint->conf;

	memset(keepers, 0, conf->n_actors * sizeof(*keepers));
	for (uint32_t i = 1; i < conf->n_actors; i++)
		keepers[conf->actors[i].parent] += conf->actors[i].spec.keeps;
	for (uint32_t i = 0; i < conf->n_actors; i++) {
		const struct conf_actor *actor = &conf->actors[i];

		if (!actor->spec.keeps && actor->parent != CONF_NONE)
			check_resumes(lint, actor, &actor->spec.on_failure, "on_failure");
		if (keepers[i] == 0)
			check_resumes(lint, actor, &actor->spec.decider, "decider");
	}
}

/* ---- commands ---- */

enum found { FOUND_NOTHING, FOUND_NOT_EXECUTABLE, FOUND_PROGRAM };

/* Linux 5.6, and the same everywhere. */
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#define IN_ROOT 0x10
struct how {
	uint64_t flags;
	uint64_t mode;
	uint64_t resolve;
};

/* What is below a directory where openat2(2) is refused: what a link means is not told.
 */
static int
stat_without_links(int top, const char *path, struct stat *ret)
{
	int r = fstatat(top, path + strspn(path, "/"), ret, AT_SYMLINK_NOFOLLOW);

	if (r == 0 && S_ISLNK(ret->st_mode)) {
		errno = ENOSYS;
		return -1;
	}
	return r;
}

/* As stat(2), but the root is this directory, also of links; NULL: the root of all. */
static int
stat_below(const char *root, const char *path, struct stat *ret)
{
	const struct how how = {.flags = O_PATH | O_CLOEXEC, .resolve = IN_ROOT};
	int top = -1;
	int fd = -1;
	int r;

	if (root == NULL)
		return stat(path, ret);
	top = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (top >= 0)
		fd = (int)syscall(SYS_openat2, top, path, &how, sizeof(how));
	r = fd >= 0 ? fstat(fd, ret) : -1;
	if (top >= 0 && fd < 0 && (errno == ENOSYS || errno == EPERM))
		r = stat_without_links(top, path, ret);
	if (fd >= 0)
		(void)close(fd);
	if (top >= 0)
		(void)close(top);
	return r;
}

static enum found
look_at(const char *root, const char *path)
{
	struct stat stat_buf;

	if (stat_below(root, path, &stat_buf) < 0)
		return errno == ENOSYS || errno == EACCES ? FOUND_PROGRAM : FOUND_NOTHING;
	if (!S_ISREG(stat_buf.st_mode) || (stat_buf.st_mode & 0111) == 0)
		return FOUND_NOT_EXECUTABLE;
	return FOUND_PROGRAM;
}

/* What the last of the environment files says. */
static void
take_path(void *data, const char *key, const char *value)
{
	struct strbuf *path = data;

	if (strcmp(key, "PATH") != 0)
		return;
	strbuf_clear(path);
	strbuf_adds(path, value);
}

/* Where this process will look for programs; freed by the caller. */
static void
find_path(const struct lint *lint, const struct conf_process *process, struct strbuf *ret)
{
	const char *path = environ_find(process->environment, "PATH", 4);

	if (path == NULL && !process->clear_environment)
		path = environ_find(lint->options->environ, "PATH", 4);
	if (path == NULL)
		path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
	strbuf_init(ret, ENVFILE_BYTES_MAX);
	strbuf_adds(ret, path);
	for (char **file = process->environment_files; file != NULL && *file != NULL;
	     file++)
		(void)envfile_read(*file, take_path, ret, NULL);
}

/* The first program of that name; ret_where: the path of it. */
static enum found
look_in_path(const char *root, const char *path, const char *name,
             char ret_where[PATH_MAX])
{
	enum found best = FOUND_NOTHING;

	while (*path != '\0' && best != FOUND_PROGRAM) {
		size_t len = strcspn(path, ":");
		struct strbuf candidate;
		enum found found = FOUND_NOTHING;

		strbuf_init(&candidate, 65536);
		strbuf_add(&candidate, path, len);
		strbuf_addf(&candidate, "%s%s", len > 0 ? "/" : "", name);
		if (!candidate.failed)
			found = look_at(root, strbuf_str(&candidate));
		if (found == FOUND_PROGRAM)
			(void)snprintf(ret_where, PATH_MAX, "%s", strbuf_str(&candidate));
		strbuf_done(&candidate);
		if (found > best)
			best = found;
		path += len + (path[len] == ':');
	}
	return best;
}

/*
 * Report a file that this actor's process executes or obeys, if others than root and the
 * actor's own user can change the file: an error if every user can.  A group may own
 * /usr/local on many machines, and a container's user may own the files.
 */
static void
check_safety(struct lint *lint, const struct conf_actor *actor, const char *key,
             const char *path)
{
	const struct conf_process *process = &actor->process;
	struct safety_report report;
	char message[MESSAGE_MAX];

	if (geteuid() != 0 || process->root != NULL ||
	    safety_of(path, process->has_user ? process->uid : 0, &report) == SAFE)
		return;
	keys_report(lint->reports, report.safety == UNSAFE ? CONF_ERROR : CONF_WARNING,
	            lint->conf, actor, key, "%s",
	            safety_format(&report, message, sizeof(message)));
}

/* Report if nothing can be executed by this command, or what others may change. */
static void
check_program(struct lint *lint, const struct conf_actor *actor, const char *key,
              char *const *argv)
{
	const struct conf_process *process = &actor->process;
	const char *directory = process->directory != NULL ? process->directory : "/";
	const char *name;
	char where[PATH_MAX];
	struct strbuf path;
	enum found found;

	if (argv == NULL)
		return;
	name = argv[0];
	(void)snprintf(where, sizeof(where), "%s", name);
	if (name[0] == '/') {
		found = look_at(process->root, name);
	} else if (strchr(name, '/') != NULL) {
		found = look_in_path(process->root, directory, name, where);
	} else {
		find_path(lint, process, &path);
		found = look_in_path(process->root, strbuf_str(&path), name, where);
		strbuf_done(&path);
	}
	if (found == FOUND_PROGRAM)
		check_safety(lint, actor, key, where);
	if (found == FOUND_NOTHING)
		warn(lint, actor, key, "there is no program `%.200s`%s%s%.200s", name,
		     strchr(name, '/') != NULL ? "" : " in PATH",
		     process->root != NULL ? " below " : "",
		     process->root != NULL ? process->root : "");
	else if (found == FOUND_NOT_EXECUTABLE)
		warn(lint, actor, key, "`%.200s` is not an executable file", name);
}

static void
check_commands(struct lint *lint, const struct conf_actor *actor)
{
	check_program(lint, actor, "command", actor->process.argv);
	check_program(lint, actor, "stop_command", actor->process.stop_command);
	check_program(lint, actor, "reload_command", actor->process.reload_command);
	check_program(lint, actor, "ready.exec", actor->process.ready.command);
	check_program(lint, actor, "health.exec", actor->process.health.command);
	for (size_t hook = 0; hook < HOOK_MAX; hook++) {
		char key[64];

		(void)snprintf(key, sizeof(key), "hooks.%s", hook_names[hook]);
		check_program(lint, actor, key, actor->process.hooks[hook]);
	}
	for (uint32_t i = 0; i < actor->spec.n_watches; i++) {
		char key[CONF_PATH_MAX + 16];

		(void)snprintf(key, sizeof(key), "watch.%s", actor->watches[i].path);
		check_program(lint, actor, key, actor->watches[i].run);
	}
}

/* ---- files and programs needed at a start ---- */

/* Warn of a file that root, the user of this check, can read, but the actor's user, the
 * user of the process, cannot. */
static void
check_readable(struct lint *lint, const struct conf_actor *actor, const char *key,
               const char *path)
{
	const struct conf_process *process = &actor->process;
	struct stat st;
	mode_t wanted = S_IROTH;

	if (geteuid() != 0 || !process->has_user || process->uid == 0 || path == NULL ||
	    stat(path, &st) < 0)
		return;
	for (size_t i = 0; i < process->n_groups; i++)
		if (st.st_gid == process->groups[i])
			wanted = S_IRGRP;
	if (st.st_gid == process->gid)
		wanted = S_IRGRP;
	if (st.st_uid == process->uid)
		wanted = S_IRUSR;
	if ((st.st_mode & wanted) == 0)
		warn(lint, actor, key,
		     "user %u cannot read %.200s, and the process opens it as that user: "
		     "the start will fail",
		     (unsigned int)process->uid, path);
}

static bool
is_missing(const char *path)
{
	struct stat stat_buf;

	return path != NULL && stat(path, &stat_buf) < 0 && errno != EACCES;
}

static void
check_files(struct lint *lint, const struct conf_actor *actor)
{
	const struct conf_process *process = &actor->process;
	struct stat stat_buf;

	for (char **file = process->environment_files; file != NULL && *file != NULL;
	     file++) {
		check_safety(lint, actor, "environment_file", *file + (**file == '-'));
		check_readable(lint, actor, "environment_file", *file + (**file == '-'));
	}
	check_readable(lint, actor, "stdin", process->input);
	if (is_missing(process->input))
		warn(lint, actor, "stdin", "there is no file `%.200s`", process->input);
	if (is_missing(process->root))
		warn(lint, actor, "root", "there is no directory `%.200s`",
		     process->root);
	else
		check_commands(lint, actor);
	if (process->directory != NULL && !is_missing(process->root) &&
	    stat_below(process->root, process->directory, &stat_buf) < 0 &&
	    (errno == ENOENT || errno == ENOTDIR))
		warn(lint, actor, "directory", "there is no directory `%.200s`%s%.200s",
		     process->directory, process->root != NULL ? " below " : "",
		     process->root != NULL ? process->root : "");
}

/* ---- all ---- */

/*
 * Warn of what is doubtful in a whole configuration.  Out of memory there are fewer
 * warnings.
 */
void
lint_tree(const struct conf *conf, const struct conf_options *options,
          struct conf_reports *reports)
{
	struct lint lint = {conf, options, reports};
	uint64_t *numbers = calloc(conf->n_actors, sizeof(*numbers));
	uint32_t *fastest = calloc(conf->n_actors, sizeof(*fastest));

	if (numbers != NULL && fastest != NULL) {
		check_intensities(&lint, numbers, fastest);
		check_products(&lint, numbers);
		check_shutdowns(&lint, numbers);
		check_all_resumes(&lint, numbers);
	}
	free(numbers);
	free(fastest);
	watches_lint(&(struct lint_watch){conf, reports});
	needs_lint(conf, reports);
	lint_ends(conf, reports);
	for (uint32_t i = 0; i < conf->n_actors; i++)
		check_auto_shutdown(&lint, &conf->actors[i]);
	for (uint32_t i = 0; i < conf->n_actors && options->look; i++)
		check_files(&lint, &conf->actors[i]);
}

/*
 * Report a file with commands for supd that other users can write.  For root that is an
 * error, as for sshd; another owner is none, as files in a container may have one.
 */
void
lint_file(const char *name, const struct stat *stat_buf, bool warn,
          struct conf_reports *reports)
{
	struct spot spot = {name, 0, 0};
	struct safety_report report = {.safety = SAFE};
	char message[MESSAGE_MAX];

	if (geteuid() == 0)
		(void)safety_of(name, 0, &report);
	else
		safety_of_file(name, stat_buf, geteuid(), &report);
	if (report.safety == SAFE)
		return;
	if (geteuid() == 0 && report.safety != SAFE_BUT_FOR_OWNER)
		reports_add(reports, CONF_ERROR, &spot, "",
		            safety_format(&report, message, sizeof(message)));
	else if (warn)
		reports_add(reports, CONF_WARNING, &spot, "",
		            safety_format(&report, message, sizeof(message)));
}
