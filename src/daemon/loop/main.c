/* SPDX-License-Identifier: ISC */
/* main.c - supd: what the command line wants. */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/names.h"
#include "base/strbuf.h"
#include "conf/text/conf.h"
#include "daemon/forecast/simulate.h"
#include "daemon/loop/background.h"
#include "daemon/loop/convert.h"
#include "daemon/loop/supd.h"
#include "daemon/loop/try_ports.h"
#include "daemon/recovery/candidate.h"
#include "daemon/state/log.h"
#include "daemon/state/options.h"
#include "daemon/state/system.h"
#include "helper/helper.h"
#include "ledger/handover.h"
#include "logd/read/reader.h"
#include "logd/write/logd.h"
#include "os/cgroup/cgroup.h"
#include "os/self/confine.h"
#include "os/self/fd.h"
#include "os/self/say.h"
#include "os/self/signals.h"
#include "paths.h"
#include "walker/walker.h"

static const char usage_text[] =
    "Usage: supd [[-c] FILE] [-r DIR] [OPTION…]\n"
    "Supervise the processes of a tree declared in FILE, in the foreground unless -d.\n"
    "\n"
    "  -c, --config FILE       the tree (default " SUPD_CONF ", or\n"
    "                          $XDG_CONFIG_HOME/supd/supd.yaml for others than root)\n"
    "  -r, --runtime-dir DIR   control socket and lock (default $RUNTIME_DIRECTORY,\n"
    "                          " SUPD_RUNDIR ", or a directory of the user)\n"
    "  -d, --background        return once supd is ready, which goes on in the\n"
    "                          background\n"
    "      --check             only say what is wrong with FILE\n"
    "      --init [KIND FILE…] print a first FILE, or a FILE made from a procfile,\n"
    "                          supervisord or systemd file\n"
    "      --schema            print the JSON Schema of FILE\n"
    "      --simulate          print what the policy of FILE will do if actors keep\n"
    "                          failing\n"
    "      --show HOW          print what actors print: text (name | line), json, off;\n"
    "                          auto: text at a terminal\n"
    "  -v, --verbose           also tell each start and end (--log-level info)\n"
    "      --log-level LEVEL   debug, info, notice, warning or error\n"
    "      --log-target TARGET auto, journal, syslog, stderr or file\n"
    "      --seed N            make the jitter of backoffs reproducible\n"
    "  -V, --version           print the version\n"
    "  -h, --help              print this\n"
    "\n"
    "Exit status: 0 ordered shutdown, 64 usage, 69 another supd has DIR, 70 a failure\n"
    "that no supervisor handled, 71 the system refused something, 78 FILE has errors.\n"
    "See supd(8), supd.yaml(5), supctl(1).\n";

enum option_code {
	OPTION_CHECK = 256,
	OPTION_SCHEMA,
	OPTION_SIMULATE,
	OPTION_LOG_LEVEL,
	OPTION_LOG_TARGET,
	OPTION_SEED,
	OPTION_SHOW,
	OPTION_CAN_ADOPT,
	OPTION_INIT,
};

static const struct option long_options[] = {
    {"config", required_argument, NULL, 'c'},
    {"runtime-dir", required_argument, NULL, 'r'},
    {"background", no_argument, NULL, 'd'},
    {"check", no_argument, NULL, OPTION_CHECK},
    {"schema", no_argument, NULL, OPTION_SCHEMA},
    {"init", no_argument, NULL, OPTION_INIT},
    {"simulate", no_argument, NULL, OPTION_SIMULATE},
    {"log-level", required_argument, NULL, OPTION_LOG_LEVEL},
    {"log-target", required_argument, NULL, OPTION_LOG_TARGET},
    {"seed", required_argument, NULL, OPTION_SEED},
    {"show", required_argument, NULL, OPTION_SHOW},
    {"verbose", no_argument, NULL, 'v'},
    {"can-adopt", required_argument, NULL, OPTION_CAN_ADOPT},
    {"version", no_argument, NULL, 'V'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

enum mode {
	MODE_RUN,
	MODE_CHECK,
	MODE_SCHEMA,
	MODE_INIT,
	MODE_SIMULATE,
	MODE_CAN_ADOPT,
	MODE_DONE,
	MODE_USAGE
};

static enum mode
usage_error(const char *what, const char *value)
{
	say_refusal("%s%s", what, value);
	(void)fputs("Try 'supd --help'.\n", stderr);
	return MODE_USAGE;
}

static enum mode
take_option(int code, const char *argument, struct supd_options *options, enum mode mode)
{
	char *end;

	switch (code) {
	case 'c':
		options->conf_file = optarg;
		return mode;
	case 'r':
		options->runtime_dir = optarg;
		return mode;
	case 'd':
		options->background = true;
		return mode;
	case OPTION_CHECK:
		return MODE_CHECK;
	case OPTION_SCHEMA:
		return MODE_SCHEMA;
	case OPTION_INIT:
		return MODE_INIT;
	case OPTION_SIMULATE:
		return MODE_SIMULATE;
	case OPTION_LOG_LEVEL:
		options->log_level = names_find(log_level_names, LOG_LEVEL_MAX, optarg);
		return options->log_level < 0 ? usage_error("unknown log level ", optarg)
		                              : mode;
	case OPTION_LOG_TARGET:
		options->log_target =
		    names_find(log_target_names, LOG_TARGET_MAX, optarg);
		return options->log_target < 0
		           ? usage_error("unknown log target ", optarg)
		           : mode;
	case OPTION_SHOW:
		options->log_show = names_find(log_show_names, LOG_SHOW_MAX, optarg);
		return options->log_show < 0
		           ? usage_error("--show is auto, text, json or off, not ",
		                         optarg)
		           : mode;
	case 'v':
		options->log_level = LOG_LEVEL_INFO;
		return mode;
	case OPTION_SEED:
		options->seed = strtoull(optarg, &end, 0);
		options->has_seed = true;
		return *optarg == '\0' || *end != '\0' ? usage_error("bad seed ", optarg)
		                                       : mode;
	case OPTION_CAN_ADOPT:
		options->can_adopt = optarg;
		return MODE_CAN_ADOPT;
	case 'V':
		(void)printf("supd %s\n", PACKAGE_VERSION);
		return MODE_DONE;
	case 'h':
		(void)fputs(usage_text, stdout);
		return MODE_DONE;
	default:
		return usage_error(code == ':' ? "a value is missing after "
		                               : "unknown option ",
		                   argument);
	}
}

static enum mode
parse(int argc, char **argv, struct supd_options *options)
{
	enum mode mode = MODE_RUN;
	int code;

	/* The colon: what is wrong is said here. */
	opterr = 0;
	while ((code = getopt_long(argc, argv, ":c:r:dvVh", long_options, NULL)) != -1) {
		/* optopt is the wrong letter of several behind one dash. */
		const char letter[] = {'-', (char)optopt, '\0'};
		const bool is_letter = optopt > 0 && optopt <= UCHAR_MAX;

		mode = take_option(code, is_letter ? letter : argv[optind - 1], options,
		                   mode);
		if (mode == MODE_DONE || mode == MODE_USAGE)
			return mode;
	}
	if (mode == MODE_INIT)
		return mode;
	if (optind < argc && options->conf_file == NULL)
		options->conf_file = argv[optind++];
	if (optind < argc)
		return usage_error("unexpected argument ", argv[optind]);
	return mode;
}

/* Without a home there is no default. */
static int
no_conf_file(void)
{
	say_refusal(
	    "no configuration: user %u has no home directory, in which supd.yaml "
	    "would be looked for; set XDG_CONFIG_HOME or HOME, or name the file with -c",
	    (unsigned int)geteuid());
	return EX_CONFIG;
}

/* The first thing that a new user sees. */
static int
no_such_file(const char *file, bool is_default)
{
	if (is_default)
		say_refusal(
		    "no configuration yet: there is no %s; 'supd --init' prints one to "
		    "begin with, and 'supd FILE' takes another file",
		    file);
	else
		say_refusal("cannot read %s: %s", file, strerror(ENOENT));
	return EX_CONFIG;
}

/*
 * The directory that a user has without any environment is below one that all users
 * write to: it must be of that user alone.  False: it is not, which was said.
 */
static bool
check_private(const char *directory)
{
	struct stat st;

	if (geteuid() == 0 || strncmp(directory, SUPD_RUNDIR, strlen(SUPD_RUNDIR)) == 0)
		return true;
	if (mkdir(directory, 0700) == 0 || lstat(directory, &st) < 0)
		return true;
	if (S_ISDIR(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & 0022) == 0)
		return true;
	say_refusal("the runtime directory %s is not of user %u alone: remove it, "
	            "or choose another with -r",
	            directory, (unsigned int)geteuid());
	return false;
}

static int
check(const struct supd_options *options)
{
	char controllers[CGROUP_CONTROLLERS_MAX] = "";
	char runtime_dir[SUPD_PATH_MAX];
	CLEANUP(conf_reports_done) struct conf_reports reports;

	(void)cgroup_machine_controllers(controllers);
	CLEANUP(conf_drop)
	struct conf *conf =
	    conf_load(options->conf_file,
	              &(const struct conf_options){.warn = true,
	                                           .look = true,
	                                           .environ = environ,
	                                           .controllers = controllers},
	              &reports);
	if (conf != NULL)
		try_ports(conf,
		          options->runtime_dir != NULL
		              ? options->runtime_dir
		              : supd_default_runtime_dir(runtime_dir),
		          &reports);
	conf_reports_print(&reports);
	if (conf != NULL && reports.n == 0)
		(void)printf("%s: good, %u actor%s\n", options->conf_file,
		             conf->n_actors - 1, conf->n_actors == 2 ? "" : "s");
	return conf == NULL ? EX_CONFIG : EX_OK;
}

static int
schema(void)
{
	CLEANUP_FREE char *json = conf_schema_json();

	if (json == NULL) {
		(void)fputs("supd: out of memory\n", stderr);
		return EX_OSERR;
	}
	(void)fputs(json, stdout);
	return fflush(stdout) == 0 && ferror(stdout) == 0 ? EX_OK : EX_OSERR;
}

/* What the walker started: the same command line again, and what it hands over. */
static int
guard(const struct supd_options *options, int link_fd)
{
	struct handover handover;
	struct err err;

	if (handover_receive(link_fd, &handover, &err) < 0) {
		say_refusal("%s", err.text);
		return EX_OSERR;
	}
	int status = supd_run(options, &handover);
	handover_done(&handover);
	return status;
}

/* /system/log, which the guardian started with these descriptors. */
static int
log_role(void)
{
	/* Started by way of /proc it would be called "exe". */
	(void)prctl(PR_SET_NAME, "supd");
	return logd_run(&(const struct logd_fds){
	    LOGD_FEED, LOGD_STATE, {LOGD_STAGING, LOGD_STAGING + 1}});
}

/* The reader of one call of Logs: its caller sees nothing of what it cannot give up. */
static int
reader_role(void)
{
	(void)os_confine(CONFINE_READER, NULL);
	return reader_run(STDIN_FILENO, STDOUT_FILENO);
}

/* Run a mode that needs no configuration; returns the exit status, -1 for the other
 * modes. */
static int
without_conf(enum mode mode, char *const *words, int n)
{
	if (mode == MODE_DONE)
		return fflush(stdout) == 0 ? EX_OK : EX_OSERR;
	if (mode == MODE_USAGE)
		return EX_USAGE;
	if (mode == MODE_SCHEMA)
		return schema();
	return mode == MODE_INIT ? convert_print(words, n) : -1;
}

/* Be the first walker; the user named the file, or we chose the directory. */
static int
walk(const struct supd_options *options, bool is_named, bool chosen)
{
	const struct walker_times times = {WALKER_ADOPT_MS, WALKER_TRIAL_MS};
	int status = -1;

	/* Before a directory is made for it. */
	if (access(options->conf_file, F_OK) < 0 && errno == ENOENT)
		return no_such_file(options->conf_file, !is_named);
	if (chosen && !check_private(options->runtime_dir))
		return EX_CONFIG;
	/* Every guardian uses the directory that was chosen. */
	if (chosen)
		(void)setenv("RUNTIME_DIRECTORY", options->runtime_dir, 1);
	if (options->background)
		status = background_start(options->conf_file);
	return status >= 0 ? status
	                   : walker_run(options->runtime_dir, options->argv, &times);
}

int
main(int argc, char **argv)
{
	struct supd_options options = {.log_level = -1, .log_target = -1, .log_show = -1};
	char conf_file[SUPD_PATH_MAX], runtime_dir[SUPD_PATH_MAX];
	int link_fd = -1;

	if (argc > 1 && strcmp(argv[1], ROLE_WALKER) == 0) {
		argv[1] = argv[0];
		return walker_resume(argv + 1);
	}
	if (argc > 1 && strcmp(argv[1], ROLE_GUARDIAN) == 0 &&
	    (link_fd = link_adopt(ROLE_FD)) >= 0) {
		argv[1] = argv[0];
		argv++;
		argc--;
	}
	if (argc == 2 && strcmp(argv[1], SYSTEM_LOG_ROLE) == 0)
		return log_role();
	if (argc == 2 && helper_find(argv[1]) >= 0)
		return helper_run((enum helper_name)helper_find(argv[1]));
	if (argc == 2 && strcmp(argv[1], READER_ROLE) == 0)
		return reader_role();
	options.argv = argv;
	enum mode mode = parse(argc, argv, &options);
	int status = without_conf(mode, argv + optind, argc - optind);
	if (status >= 0)
		return status;
	bool is_named = options.conf_file != NULL;
	if (!is_named)
		if (mode == MODE_INIT)
			return convert_print(argv + optind, argc - optind);
	if (options.conf_file == NULL)
		options.conf_file = supd_default_conf(conf_file);
	if (options.conf_file == NULL)
		return no_conf_file();
	if (mode == MODE_CHECK)
		return check(&options);
	if (mode == MODE_SIMULATE)
		return simulate_file(options.conf_file, options.seed);
	if (mode == MODE_CAN_ADOPT)
		return candidate_run(&options);
	bool chosen = options.runtime_dir == NULL;
	if (chosen)
		options.runtime_dir = supd_default_runtime_dir(runtime_dir);
	return link_fd >= 0 ? guard(&options, link_fd) : walk(&options, is_named, chosen);
}
