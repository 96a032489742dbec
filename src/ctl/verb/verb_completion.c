/* SPDX-License-Identifier: ISC */
/* verb_completion.c - what completes supctl in a shell, out of the table of verbs.
 *
 * The scripts know verbs, options and their words; the names of actors they ask supctl
 * for, which asks supd.
 */
#include "config.h"

#include <string.h>

#include "ctl/verb/verb.h"

/* True if the arguments of the verb are names of actors, by the words of its usage. */
static bool
takes_names(const struct verb *verb)
{
	return strstr(verb->arguments, "NAME") != NULL ||
	       strstr(verb->arguments, "PATTERN") != NULL;
}

static bool
takes_file(const struct verb *verb)
{
	return strstr(verb->arguments, "FILE") != NULL;
}

/* True for words between bars and nothing else: "bash|zsh|fish", "text|json". */
static bool
is_words(const char *text)
{
	return text != NULL && strchr(text, '|') != NULL &&
	       strpbrk(text, " []ABCDEFGHIJKLMNOPQRSTUVWXYZ") == NULL;
}

/* Add these words, with blanks instead of the bars. */
static void
add_words(struct strbuf *sb, const char *words)
{
	for (; *words != '\0'; words++)
		strbuf_addc(sb, *words == '|' ? ' ' : *words);
}

/* Text inside single quotes of a shell: one inside them as each of the shells has it. */
static void
add_quoted(struct strbuf *sb, const char *text, const char *quote)
{
	for (; *text != '\0'; text++) {
		if (*text == '\'')
			strbuf_adds(sb, quote);
		else
			strbuf_addc(sb, *text);
	}
}

/* All names of a verb, with `between` between them. */
static void
add_names(struct strbuf *sb, const struct verb *verb, const char *between)
{
	strbuf_adds(sb, verb->name);
	for (const char *alias = verb->alias; *alias != '\0';) {
		size_t n = strcspn(alias, " ");

		strbuf_addf(sb, "%s%.*s", between, (int)n, alias);
		alias += n + strspn(alias + n, " ");
	}
}

/* ---- bash -------------------------------------------------------------------------- */

static const char bash_head[] =
    "# supctl(1) in bash: source <(supctl completion bash)\n"
    "\n"
    "# Every actor by its path, and by its path below /user.  compgen expands what it "
    "is\n"
    "# given: nothing but names of actors may get there.\n"
    "_supctl_names() {\n"
    "\tlocal path rest\n"
    "\t\"${words[0]}\" \"${where[@]}\" --timeout 3s list 2>/dev/null </dev/null |\n"
    "\twhile read -r path rest; do\n"
    "\t\t[[ $path == /* && $path != *[!A-Za-z0-9_./@-]* ]] && printf '%s\\n' \"$path\" "
    "\"${path#/user/}\"\n"
    "\tdone\n"
    "}\n"
    "\n"
    "_supctl() {\n"
    "\tlocal line=${COMP_LINE:0:COMP_POINT} words=() where=() cur= prev= verb= i=1\n"
    "\tlocal verbs= options= values= names= prefix=\n"
    "\n"
    "\tread -ra words <<<\"$line\"\n"
    "\t# What is being completed, whatever bash takes for a border of words.\n"
    "\tif [[ $line != *[[:space:]] ]]; then\n"
    "\t\tcur=${words[-1]}\n"
    "\t\tunset 'words[-1]'\n"
    "\tfi\n"
    "\tprev=${words[-1]}\n"
    "\twhile ((i < ${#words[@]})); do\n"
    "\t\tcase ${words[i]} in\n"
    "\t\t-s|--socket) where=(-s \"${words[i + 1]}\"); ((i++)) ;;\n"
    "\t\t-o|--output|--timeout) ((i++)) ;;\n"
    "\t\t-*) ;;\n"
    "\t\t*) verb=${words[i]}; break ;;\n"
    "\t\tesac\n"
    "\t\t((i++))\n"
    "\tdone\n"
    "\tCOMPREPLY=()\n";

static const char bash_tail[] =
    "\tif [[ $values ]]; then\n"
    "\t\t[[ $values = - ]] || COMPREPLY=($(compgen -W \"$values\" -- \"$cur\"))\n"
    "\t\treturn\n"
    "\tfi\n"
    "\tif [[ $cur = -* ]]; then\n"
    "\t\tCOMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
    "\t\treturn\n"
    "\tfi\n"
    "\tif [[ ! $verb ]]; then\n"
    "\t\tCOMPREPLY=($(compgen -W \"$verbs\" -- \"$cur\"))\n"
    "\t\treturn\n"
    "\tfi\n"
    "\tcase $names in\n"
    "\tactors) COMPREPLY=($(compgen -W \"$(_supctl_names)\" -- \"$cur\")) ;;\n"
    "\tfiles) COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n"
    "\t*) COMPREPLY=($(compgen -W \"$names\" -- \"$cur\")) ;;\n"
    "\tesac\n"
    "\t# bash replaces only what is behind the last of these.\n"
    "\tif [[ $cur = *[@:]* ]]; then\n"
    "\t\tprefix=${cur%\"${cur##*[@:]}\"}\n"
    "\t\t[[ $COMP_WORDBREAKS = *\"${prefix: -1}\"* ]] &&\n"
    "\t\t\tCOMPREPLY=(\"${COMPREPLY[@]#\"$prefix\"}\")\n"
    "\tfi\n"
    "}\n"
    "complete -F _supctl supctl\n";

static void
bash_options(struct strbuf *sb, const struct verb *verb)
{
	const struct verb_option *option = NULL;

	while ((option = verb_option_next(verb, option)) != NULL) {
		strbuf_addf(sb, " %s", option->name);
		if (option->brief != NULL)
			strbuf_addf(sb, " %s", option->brief);
	}
}

/* The values of an option that takes a value. */
static void
bash_values(struct strbuf *sb, const struct verb *verb)
{
	const struct verb_option *option = NULL;

	while ((option = verb_option_next(verb, option)) != NULL) {
		if (option->value == NULL)
			continue;
		strbuf_addf(sb, "\t%s", option->name);
		if (option->brief != NULL)
			strbuf_addf(sb, "|%s", option->brief);
		strbuf_adds(sb, ") values='");
		if (is_words(option->value))
			add_words(sb, option->value);
		else
			strbuf_addc(sb, '-');
		strbuf_adds(sb, "' ;;\n");
	}
}

static void
bash_verb(struct strbuf *sb, const struct verb *verb)
{
	strbuf_addc(sb, '\t');
	add_names(sb, verb, "|");
	strbuf_adds(sb, ")\n\t\toptions+='");
	bash_options(sb, verb);
	strbuf_adds(sb, "'\n\t\tnames='");
	if (is_words(verb->arguments))
		add_words(sb, verb->arguments);
	else if (takes_names(verb))
		strbuf_adds(sb, "actors");
	else if (takes_file(verb))
		strbuf_adds(sb, "files");
	strbuf_adds(sb, "' ;;\n");
}

static void
complete_bash(struct strbuf *sb)
{
	static const struct verb any = {.options = ~0u};
	const struct verb *verb = NULL;

	strbuf_addf(sb, "%s\tverbs='help", bash_head);
	while ((verb = verb_next(verb)) != NULL)
		strbuf_addf(sb, " %s", verb->name);
	strbuf_adds(sb, "'\n\toptions='");
	bash_options(sb, NULL);
	strbuf_adds(sb, "'\n\tcase $prev in\n");
	bash_values(sb, NULL);
	bash_values(sb, &any);
	strbuf_adds(sb, "\tesac\n\tcase $verb in\n\thelp) names=$verbs ;;\n");
	while ((verb = verb_next(verb)) != NULL)
		bash_verb(sb, verb);
	strbuf_addf(sb, "\tesac\n%s", bash_tail);
}

/* ---- zsh --------------------------------------------------------------------------- */

#define ZSH_QUOTE "'\\''"

static void
zsh_options(struct strbuf *sb, const struct verb *verb)
{
	const struct verb_option *option = NULL;

	while ((option = verb_option_next(verb, option)) != NULL) {
		if (option->brief != NULL)
			strbuf_addf(sb, "\t\t\t'(%s %s)'{%s,%s}'[", option->brief,
			            option->name, option->brief, option->name);
		else
			strbuf_addf(sb, "\t\t\t'%s[", option->name);
		add_quoted(sb, option->help, ZSH_QUOTE);
		strbuf_addc(sb, ']');
		if (is_words(option->value)) {
			strbuf_adds(sb, ":word:(");
			add_words(sb, option->value);
			strbuf_addc(sb, ')');
		} else if (option->value != NULL) {
			strbuf_addf(sb, ":%s:%s", option->value,
			            strcmp(option->value, "FILE") == 0 ? "_files" : "");
		}
		strbuf_adds(sb, "' \\\n");
	}
}

static void
zsh_verb(struct strbuf *sb, const struct verb *verb)
{
	strbuf_adds(sb, "\t\t");
	add_names(sb, verb, "|");
	strbuf_adds(sb, ") _arguments \\\n");
	zsh_options(sb, verb);
	if (is_words(verb->arguments)) {
		strbuf_adds(sb, "\t\t\t'1:word:(");
		add_words(sb, verb->arguments);
		strbuf_adds(sb, ")' ;;\n");
	} else if (takes_names(verb)) {
		strbuf_adds(sb, "\t\t\t'*:name:_supctl_names' ;;\n");
	} else {
		strbuf_adds(sb, takes_file(verb) ? "\t\t\t'1:file:_files' ;;\n"
		                                 : "\t\t\t'*:: :' ;;\n");
	}
}

static void
complete_zsh(struct strbuf *sb)
{
	const struct verb *verb = NULL;

	strbuf_adds(sb,
	            "#compdef supctl\n"
	            "# supctl(1) in zsh: source <(supctl completion zsh)\n"
	            "\n"
	            "_supctl_names() {\n"
	            "\tlocal -a names where\n"
	            "\tlocal path_of rest socket=${opt_args[-s]:-$opt_args[--socket]}\n"
	            "\t[[ -n $socket ]] && where=(-s $socket)\n"
	            "\twhile read -r path_of rest; do\n"
	            "\t\t[[ $path_of == /* ]] && names+=($path_of "
	            "${path_of#/user/})\n"
	            "\tdone < <(supctl $where --timeout 3s list 2>/dev/null </dev/null)\n"
	            "\tcompadd -a names\n"
	            "}\n"
	            "\n"
	            "_supctl() {\n"
	            "\tlocal curcontext=$curcontext state line\n"
	            "\tlocal -A opt_args\n"
	            "\tlocal -a verbs\n"
	            "\n"
	            "\t_arguments -C \\\n");
	zsh_options(sb, NULL);
	strbuf_adds(sb, "\t\t\t'1:verb:->verb' '*::argument:->argument'\n"
	                "\tcase $state in\n"
	                "\tverb)\n"
	                "\t\tverbs=(\n"
	                "\t\t\t'help:how to use a verb'\n");
	while ((verb = verb_next(verb)) != NULL) {
		strbuf_addf(sb, "\t\t\t'%s:", verb->name);
		add_quoted(sb, verb->help, ZSH_QUOTE);
		strbuf_adds(sb, "'\n");
	}
	strbuf_adds(sb, "\t\t)\n\t\t_describe verb verbs ;;\n"
	                "\targument)\n\t\tcase $words[1] in\n");
	while ((verb = verb_next(verb)) != NULL)
		zsh_verb(sb, verb);
	strbuf_adds(sb, "\t\tesac ;;\n\tesac\n}\n"
	                "\n"
	                "if [[ $funcstack[1] = _supctl ]]; then\n"
	                "\t_supctl \"$@\"\n"
	                "elif (( $+functions[compdef] )); then\n"
	                "\tcompdef _supctl supctl\n"
	                "fi\n");
}

/* ---- fish -------------------------------------------------------------------------- */

#define FISH_QUOTE "\\'"

static void
fish_options(struct strbuf *sb, const struct verb *verb)
{
	const struct verb_option *option = NULL;

	while ((option = verb_option_next(verb, option)) != NULL) {
		strbuf_adds(sb, "complete -c supctl");
		if (verb != NULL) {
			strbuf_adds(sb, " -n '__fish_seen_subcommand_from ");
			add_names(sb, verb, " ");
			strbuf_addc(sb, '\'');
		}
		strbuf_addf(sb, " -l %s", option->name + strlen("--"));
		if (option->brief != NULL)
			strbuf_addf(sb, " -s %s", option->brief + strlen("-"));
		if (is_words(option->value)) {
			strbuf_adds(sb, " -x -a '");
			add_words(sb, option->value);
			strbuf_addc(sb, '\'');
		} else if (option->value != NULL) {
			strbuf_adds(sb, strcmp(option->value, "FILE") == 0 ? " -r -F"
			                                                   : " -x");
		}
		strbuf_adds(sb, " -d '");
		add_quoted(sb, option->help, FISH_QUOTE);
		strbuf_adds(sb, "'\n");
	}
}

static void
fish_verb(struct strbuf *sb, const struct verb *verb)
{
	strbuf_addf(sb, "complete -c supctl -n __fish_use_subcommand -a %s -d '",
	            verb->name);
	add_quoted(sb, verb->help, FISH_QUOTE);
	strbuf_adds(sb, "'\n");
	fish_options(sb, verb);
	if (!takes_names(verb) && !takes_file(verb) && !is_words(verb->arguments))
		return;
	strbuf_adds(sb, "complete -c supctl -n '__fish_seen_subcommand_from ");
	add_names(sb, verb, " ");
	if (is_words(verb->arguments)) {
		strbuf_adds(sb, "' -a '");
		add_words(sb, verb->arguments);
		strbuf_adds(sb, "'\n");
	} else {
		strbuf_adds(sb,
		            takes_names(verb) ? "' -a '(__supctl_names)'\n" : "' -F\n");
	}
}

static void
complete_fish(struct strbuf *sb)
{
	const struct verb *verb = NULL;

	strbuf_adds(sb, "# supctl(1) in fish: supctl completion fish | source\n"
	                "\n"
	                "function __supctl_names\n"
	                "\tset -l words (commandline -opc)\n"
	                "\tset -l where\n"
	                "\tfor i in (seq 2 (count $words))\n"
	                "\t\tcontains -- $words[$i] -s --socket\n"
	                "\t\tand set where -s $words[(math $i + 1)]\n"
	                "\tend\n"
	                "\t$words[1] $where --timeout 3s list 2>/dev/null </dev/null |\n"
	                "\twhile read -l path rest\n"
	                "\t\tstring match '/*' -- $path\n"
	                "\t\tand string replace -r '^/user/' '' -- $path\n"
	                "\tend\n"
	                "end\n"
	                "\n"
	                "complete -c supctl -f\n"
	                "complete -c supctl -n __fish_use_subcommand -a help -d 'how to "
	                "use a verb'\n");
	fish_options(sb, NULL);
	while ((verb = verb_next(verb)) != NULL)
		fish_verb(sb, verb);
}

/* Print the script for a shell, to be sourced by it. */
int
verb_completion(struct ctl *ctl, char **names, uint32_t n UNUSED)
{
	if (strcmp(names[0], "bash") == 0)
		complete_bash(&ctl->out.buf);
	else if (strcmp(names[0], "zsh") == 0)
		complete_zsh(&ctl->out.buf);
	else if (strcmp(names[0], "fish") == 0)
		complete_fish(&ctl->out.buf);
	else {
		return complain_of(ctl, CTL_USAGE, NULL, "'%s': write bash, zsh or fish",
		                   names[0]);
	}
	return CTL_OK;
}
