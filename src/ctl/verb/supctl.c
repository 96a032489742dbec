/* SPDX-License-Identifier: ISC */
/* supctl.c - supctl talks to a running supd: the start that its two programs share. */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/units.h"
#include "ctl/text/elsewhere.h"
#include "ctl/verb/verb.h"

/* The colon: getopt leaves it to us to say what is wrong. */
#define SHORT_OPTIONS ":s:o:n:fhV"
/* Behind a verb some letters are its own. */
#define VERB_OPTIONS SHORT_OPTIONS "etg:r"

static const char usage_head[] =
    "usage: supctl [-s SOCKET | -r DIR] [-o text|json] [--no-color] [--utc] "
    "[--timeout D] VERB [ARGS...]\n"
    "\n"
    "Talk to a running supd.\n"
    "\n";

static const char usage_tail[] =
    "\n"
    "  -s SOCKET      the control socket (else $SUPD_SOCKET, else the usual place)\n"
    "  -r DIR         the runtime directory, in which the control socket is\n"
    "  -o text|json   what to print\n"
    "  --no-color     no colours, as with NO_COLOR in the environment\n"
    "  --utc          times in UTC, not in the local time zone\n"
    "  --timeout D    give up after this time, as 500ms or 1m30s; exit status 124\n"
    "\n"
    "'supctl help VERB' says more about one verb.\n";

static int
bad_value(const struct ctl *ctl, const char *option, const char *value, const char *form)
{
	return complain_of(ctl, CTL_USAGE, NULL, "%s '%s': %s", option, value, form);
}

/* The row of an option of verbs, by what getopt returns; NULL: every verb has it. */
static const struct verb_option *
find_option(const struct options *options, int option)
{
	const struct verb_option *row;

	if (option == 'r' && options->is_before_verb)
		return NULL;
	for (size_t i = 0; (row = verb_option_at(i)) != NULL; i++)
		if (row->bit != 0 && (option == LONG_VERB + (int)i ||
		                      (row->brief != NULL && row->brief[1] == option) ||
		                      (option == 's' && options->s_is_signal &&
		                       row->bit == OPTION_SIGNAL)))
			return row;
	return NULL;
}

static int
take_verb_option(const struct ctl *ctl, const struct verb_option *row,
                 struct options *options)
{
	if (row->bit == OPTION_WITH && options->n_with == OPTION_WITH_MAX)
		return bad_value(ctl, "--with", optarg, "too many parameters");
	options->given |= row->bit;
	if (row->bit == OPTION_WITH)
		options->with[options->n_with++] = optarg;
	else if (row->target != 0)
		*(const char **)((char *)options + row->target) = optarg;
	return 0;
}

/* Take one option; `ctl` is for messages, `argument` is the word on the command line. */
static int
take_option(const struct ctl *ctl, int option, const char *argument,
            struct options *options)
{
	const struct verb_option *row = find_option(options, option);

	if (row != NULL)
		return take_verb_option(ctl, row, options);
	switch (option) {
	case 's':
		options->socket = optarg;
		return 0;
	case 'r':
	case LONG_RUNTIME_DIR:
		options->runtime_dir = optarg;
		return 0;
	case 'o':
		options->json = strcmp(optarg, "json") == 0;
		if (!options->json && strcmp(optarg, "text") != 0)
			return bad_value(ctl, "-o", optarg, "write text or json");
		return 0;
	case LONG_NO_COLOR:
		options->no_color = true;
		return 0;
	case LONG_UTC:
		/* All times are printed in the time zone of the environment. */
		(void)setenv("TZ", "UTC0", 1);
		tzset();
		return 0;
	case LONG_TIMEOUT:
		if (duration_parse(optarg, &options->timeout_ms) < 0)
			return bad_value(ctl, "--timeout", optarg,
			                 "write a duration, as 5s or 1m30s");
		return 0;
	case 'h':
		options->help = true;
		return 0;
	case 'V':
		options->version = true;
		return 0;
	case ':':
		return complain_of(ctl, CTL_USAGE, NULL, "option '%s' wants a value",
		                   argument);
	default:
		return complain_of(
		    ctl, CTL_USAGE, NULL,
		    "unknown option '%s' ('supctl help' lists the options)", argument);
	}
}

static int
take_options(const struct ctl *ctl, int argc, char **argv, const char *short_options,
             struct options *options)
{
	struct option all[OPTIONS_MAX + 2] = {0};
	const struct verb_option *row;
	int option, r = 0;
	size_t n;

	for (n = 0; n < OPTIONS_MAX && (row = verb_option_at(n)) != NULL; n++)
		all[n] = (struct option){
		    row->name + strlen("--"),
		    row->value == NULL ? no_argument : required_argument,
		    NULL,
		    row->bit == 0 ? row->id : LONG_VERB + (int)n,
		};
	all[n] =
	    (struct option){"runtime-dir", required_argument, NULL, LONG_RUNTIME_DIR};
	optind = 0;
	opterr = 0;
	while (r == 0 &&
	       (option = getopt_long(argc, argv, short_options, all, NULL)) != -1) {
		/* optopt is the wrong letter of several behind one dash. */
		const char letter[] = {'-', (char)optopt, '\0'};
		const bool is_letter = optopt > 0 && optopt <= UCHAR_MAX;

		r = take_option(ctl, option, is_letter ? letter : argv[optind - 1],
		                options);
	}
	return r;
}

/* Help and version go to standard output, which is where they were asked to go. */
static int
print_and_exit(struct out *out)
{
	print_flush(out);
	return out->error != 0 ? CTL_FAILED : CTL_OK;
}

static int
print_usage(struct ctl *ctl)
{
	strbuf_adds(&ctl->out.buf, usage_head);
	verb_print_list(&ctl->out.buf);
	strbuf_adds(&ctl->out.buf, usage_tail);
	return print_and_exit(&ctl->out);
}

static int
unknown_verb(const struct ctl *ctl, const char *name)
{
	const char *nearest = verb_nearest(name);
	const char *elsewhere = verb_elsewhere(name);

	if (elsewhere != NULL)
		complain(ctl, NULL, "unknown verb '%s', write '%s'", name, elsewhere);
	else if (nearest != NULL)
		complain(ctl, NULL, "unknown verb '%s', did you mean '%s'?", name,
		         nearest);
	else
		complain(ctl, NULL, "unknown verb '%s' ('supctl help' has them all)",
		         name);
	return CTL_USAGE;
}

static int
print_verb_help(struct ctl *ctl, const char *name)
{
	const struct verb *verb = verb_find(name);

	if (verb == NULL)
		return unknown_verb(ctl, name);
	verb_print_help(&ctl->out.buf, verb);
	return print_and_exit(&ctl->out);
}

/* Do the arguments fit the verb? */
static int
check_arguments(const struct ctl *ctl, const struct verb *verb, uint32_t n)
{
	if ((ctl->options.given & ~verb->options) != 0)
		complain(ctl, NULL,
		         "an option does not belong here (usage: supctl %s %s)",
		         verb->name, verb->arguments);
	else if (n < verb->names_min)
		complain(ctl, NULL, "something is missing (usage: supctl %s %s)",
		         verb->name, verb->arguments);
	else if (n > verb->names_max)
		complain(ctl, NULL, "too much (usage: supctl %s %s)", verb->name,
		         verb->arguments);
	else
		return 0;
	return CTL_USAGE;
}

/* Take the signals that are written as options, as kill(1) has them (-9, -HUP), out of
 * the words of `kill`; the number of words that are left.
 */
static int
take_signals(int argc, char **argv, struct options *options)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		const char *name = argv[i] + 1;
		const bool is_signal =
		    argv[i][0] == '-' &&
		    (isdigit((unsigned char)name[0]) != 0 ||
		     (isupper((unsigned char)name[0]) != 0 && name[1] != '\0'));

		if (!is_signal)
			continue;
		options->given |= OPTION_SIGNAL;
		options->signal = name;
		memmove(argv + i, argv + i + 1, (size_t)(argc - i) * sizeof(argv[0]));
		argc--;
		i--;
	}
	return argc;
}

static int
run_verb(struct ctl *ctl, const struct verb *verb, struct options *options, int argc,
         char **argv)
{
	/* As in kill(1); before the verb it is the socket. */
	options->is_before_verb = false;
	options->s_is_signal = (verb->options & OPTION_SIGNAL) != 0;
	if (options->s_is_signal)
		argc = take_signals(argc, argv, options);
	int r = take_options(ctl, argc, argv, VERB_OPTIONS, options);
	uint32_t n = (uint32_t)(argc - optind);

	if (r != 0)
		return r;
	if (options->help)
		return print_verb_help(ctl, verb->name);
	ctl->verb = verb->name;
	r = ctl_configure(ctl, options, verb->family);
	if (r == 0)
		r = check_arguments(ctl, verb, n);
	if (r != 0)
		return r;
	int status = verb->run(ctl, argv + optind, n);
	print_flush(&ctl->out);
	if (ctl->reader_gone || ctl->out.closed)
		return CTL_OK;
	if (ctl->out.error != 0)
		return complain_of(ctl, CTL_FAILED, NULL, "standard output: %s",
		                   strerror(ctl->out.error));
	return status;
}

static int
run(struct ctl *ctl, int argc, char **argv)
{
	struct options options = {.timeout_ms = CLIENT_FOREVER, .is_before_verb = true};
	int r = take_options(ctl, argc, argv, "+" SHORT_OPTIONS "r:", &options);

	if (r != 0)
		return r;
	if (options.version) {
		strbuf_adds(&ctl->out.buf, "supctl " PACKAGE_VERSION "\n");
		return print_and_exit(&ctl->out);
	}
	if (options.help)
		return print_usage(ctl);
	if (optind == argc)
		return run_verb(ctl, verb_find("list"), &options, argc - optind + 1,
		                argv + optind - 1);
	const char *name = argv[optind];
	if (strcmp(name, "help") == 0)
		return optind + 1 < argc ? print_verb_help(ctl, argv[optind + 1])
		                         : print_usage(ctl);
	const struct verb *verb = verb_find(name);
	return verb == NULL ? unknown_verb(ctl, name)
	                    : run_verb(ctl, verb, &options, argc - optind, argv + optind);
}

/* Without this the socket would take the number of a closed standard output, and what is
 * printed would go to supd.  Not writable: that nothing was printed is to be noticed.
 */
static void
occupy_standard(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		(void)close(fd);
}

/* supctl's main(); `terminal` is NULL in the program that has none. */
int
supctl_run(int argc, char **argv, const struct terminal *terminal)
{
	struct ctl ctl;

	/* A reader that goes away is found out by write(), so that all is cleaned up. */
	(void)signal(SIGPIPE, SIG_IGN);
	occupy_standard();
	ctl_init(&ctl);
	ctl.argv = argv;
	ctl.terminal = terminal;
	int status = run(&ctl, argc, argv);
	ctl_done(&ctl);
	return status;
}
