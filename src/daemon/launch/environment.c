/* SPDX-License-Identifier: ISC */
/* environment.c - what a process finds in its environment. */
#include "config.h"

#include "daemon/launch/environment.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "conf/read/envfile.h"

/* A number as text, with its NUL. */
enum { NUMBER_SIZE = 32 };

/* The variables of supd's own protocols, which are never inherited (DECISIONS 26).  A
 * trailing '*' stands for any text. */
static const char *const protocol_variables[] = {
    "NOTIFY_SOCKET",
    "WATCHDOG_*",
    "LISTEN_*",
    "MAINPID",
    "INVOCATION_ID",
    "JOURNAL_STREAM",
    "SYSTEMD_EXEC_PID",
    "MANAGERPID",
    "MEMORY_PRESSURE_*",
    "CREDENTIALS_DIRECTORY",
    "RUNTIME_DIRECTORY",
    "STATE_DIRECTORY",
    "CACHE_DIRECTORY",
    "LOGS_DIRECTORY",
    "CONFIGURATION_DIRECTORY",
    "SUPD_*",
};

static size_t
key_length(const char *var)
{
	return strcspn(var, "=");
}

static bool
is_protocol(const char *var)
{
	for (size_t i = 0; i < ARRAY_SIZE(protocol_variables); i++) {
		const char *name = protocol_variables[i];
		size_t len = strlen(name);

		if (name[len - 1] == '*'
		        ? strncmp(var, name, len - 1) == 0
		        : key_length(var) == len && strncmp(var, name, len) == 0)
			return true;
	}
	return false;
}

/* A variable, from this number of variables on. */
static char **
find(const struct environment *environment, size_t from, const char *key, size_t len)
{
	for (size_t i = from; i < environment->n; i++)
		if (environment->vars[i][0] == key[0] &&
		    strncmp(environment->vars[i], key, len) == 0 &&
		    environment->vars[i][len] == '=')
			return &environment->vars[i];
	return NULL;
}

/* Take supd's own environment as the base; -ENOMEM.  Of a variable that is there twice
 * the first counts, as in getenv(3). */
int
environment_init(struct environment *environment, char **own)
{
	*environment = (struct environment){
	    .base = malloc(ENVIRONMENT_VARS_MAX * sizeof(char *)),
	    .vars = malloc((ENVIRONMENT_VARS_MAX + 1) * sizeof(char *)),
	    .bytes = malloc(ENVIRONMENT_BYTES_MAX),
	    .room = malloc(ENVFILE_BYTES_MAX + 1),
	};
	if (environment->base == NULL || environment->vars == NULL ||
	    environment->bytes == NULL || environment->room == NULL) {
		environment_done(environment);
		return -ENOMEM;
	}
	for (size_t i = 0; own[i] != NULL && environment->n < ENVIRONMENT_VARS_MAX; i++)
		if (!is_protocol(own[i]) &&
		    find(environment, 0, own[i], key_length(own[i])) == NULL)
			environment->vars[environment->n++] = own[i];
	environment->n_base = environment->n;
	memcpy(environment->base, environment->vars, environment->n * sizeof(char *));
	return 0;
}

/* Give back the memory. */
void
environment_done(struct environment *environment)
{
	free(environment->base);
	free(environment->vars);
	free(environment->bytes);
	free(environment->room);
	*environment = (struct environment){0};
}

static void
put(struct environment *environment, size_t from, char *var, size_t key_len)
{
	char **old = find(environment, from, var, key_len);

	if (old != NULL)
		*old = var;
	else if (environment->n < ENVIRONMENT_VARS_MAX)
		environment->vars[environment->n++] = var;
	else
		environment->failed = -E2BIG;
}

static void
drop(struct environment *environment, const char *key)
{
	char **var = find(environment, 0, key, strlen(key));

	if (var != NULL)
		*var = environment->vars[--environment->n];
}

/* Set KEY: among the variables from this number on, or behind all. */
static char *
set(struct environment *environment, size_t from, const char *key, const char *value)
{
	const size_t key_len = strlen(key), value_len = strlen(value);
	char *var = environment->bytes + environment->used;

	if (key_len + value_len + 2 > ENVIRONMENT_BYTES_MAX - environment->used) {
		environment->failed = -E2BIG;
		return NULL;
	}
	memcpy(var, key, key_len);
	var[key_len] = '=';
	memcpy(var + key_len + 1, value, value_len + 1);
	environment->used += key_len + value_len + 2;
	put(environment, from, var, key_len);
	return var + key_len + 1;
}

/* What the user database says, or, of a number that it does not know, nothing: supd's own
 * home is not that of another user. */
static void
add_user(struct environment *environment, const struct conf_process *process)
{
	static const char *const keys[] = {"USER", "LOGNAME", "HOME", "SHELL"};
	const char *const values[] = {process->identity.user_name,
	                              process->identity.user_name, process->identity.home,
	                              process->identity.shell};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (process->identity.user_name != NULL)
			(void)set(environment, 0, keys[i], values[i]);
		else if (process->identity.has_user && process->identity.uid != geteuid())
			drop(environment, keys[i]);
	}
}

/*
 * Start a new one: what is inherited, what the user database says, what the configuration
 * says.  What is added then is supd's own.
 */
void
environment_begin(struct environment *environment, const struct conf_process *process)
{
	environment->n = process->world.clear_environment ? 0 : environment->n_base;
	environment->used = 0;
	environment->failed = 0;
	memcpy(environment->vars, environment->base, environment->n * sizeof(char *));
	add_user(environment, process);
	environment->n_inherited = environment->n;
	for (char **var = process->world.environment; var != NULL && *var != NULL; var++)
		put(environment, 0, *var, key_length(*var));
	environment->own_from = environment->used;
}

/* Set KEY, of supd's own protocols, to this value; returns where the value is, NULL if it
 * did not fit.  None is inherited: it is looked for among what was added only. */
char *
environment_set(struct environment *environment, const char *key, const char *value)
{
	return set(environment, environment->n_inherited, key, value);
}

/* As environment_set(), with a number as the value, formatted by `fmt`. */
char *
environment_add(struct environment *environment, const char *key, const char *fmt, ...)
{
	char number[NUMBER_SIZE];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(number, sizeof(number), fmt, ap);
	va_end(ap);
	return environment_set(environment, key, number);
}

/*
 * Finish: vars is what execve(2) wants, but for what the files say, which the process
 * reads itself.  -E2BIG if something did not fit: *ret_step is written then.
 */
int
environment_end(struct environment *environment, enum spawn_step *ret_step)
{
	environment->vars[environment->n] = NULL;
	environment->own_until = environment->used;
	if (environment->failed != 0)
		*ret_step = SPAWN_STEP_ENVIRONMENT;
	return environment->failed;
}

static void
put_file_variable(void *data, const char *key, const char *value)
{
	struct environment *environment = data;
	char **old = find(environment, 0, key, strlen(key));

	if (old == NULL || *old < environment->bytes + environment->own_from ||
	    *old >= environment->bytes + environment->own_until)
		(void)set(environment, 0, key, value);
}

/*
 * What one more file says, before all that the configuration says, as in systemd: in the
 * child, see struct spawn; `data` is the environment, which is ended already.
 */
int
environment_take_file(void *data, const char *path, char *text, size_t len,
                      struct err *err)
{
	struct environment *environment = data;
	int r = envfile_parse(&(struct envfile_text){path, text, len}, put_file_variable,
	                      environment, err);

	environment->vars[environment->n] = NULL;
	return r < 0 ? r : environment->failed;
}

/* The value of a variable, or NULL. */
const char *
environment_get(const struct environment *environment, const char *key)
{
	size_t len = strlen(key);
	char **var = find(environment, 0, key, len);

	return var == NULL ? NULL : *var + len + 1;
}
