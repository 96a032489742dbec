/* SPDX-License-Identifier: ISC */
/* same.c - is one configuration like the other? */
#include "config.h"

#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "tests/conf/support.h"

/* As ck_assert(), which is too slow for so many. */
#define SAME(condition)                                 \
	do {                                            \
		if (!(condition))                       \
			ck_abort_msg("%s", #condition); \
	} while (0)

static void
same_text(const char *a, const char *b)
{
	SAME((a == NULL) == (b == NULL));
	if (a == NULL || b == NULL)
		return;
	SAME(strcmp(a, b) == 0);
	/* A copy of its own, not a pointer into what may be gone. */
	SAME(a != b);
}

static void
same_list(char **a, char **b)
{
	SAME((a == NULL) == (b == NULL));
	for (; a != NULL && *a != NULL; a++, b++)
		same_text(*a, *b);
	if (b != NULL)
		SAME(*b == NULL);
}

static void
same_bytes(const void *a, const void *b, size_t len)
{
	if (len > 0)
		SAME(a != b && memcmp(a, b, len) == 0);
}

/* What looks like an address and is the same in both was not copied with the rest. */
static void
no_address_in_common(const void *a, const void *b, size_t len)
{
	const uint64_t low = UINT64_C(0x550000000000);
	const uint64_t high = UINT64_C(0x800000000000);
	uint64_t left;
	uint64_t right;

	for (size_t i = 0; i + sizeof(left) <= len; i += sizeof(left)) {
		memcpy(&left, (const char *)a + i, sizeof(left));
		memcpy(&right, (const char *)b + i, sizeof(right));
		SAME(left != right || left < low || left >= high);
	}
}

static void
same_rules(struct decider *a, struct decider *b)
{
	SAME(a->n_rules == b->n_rules);
	same_bytes(a->rules, b->rules, a->n_rules * sizeof(*a->rules));
	a->rules = b->rules = NULL;
}

static void
same_spec(struct spec a, struct spec b)
{
	same_rules(&a.on_failure, &b.on_failure);
	same_rules(&a.policy.decider, &b.policy.decider);
	SAME(a.n_watches == b.n_watches);
	same_bytes(a.watches, b.watches, a.n_watches * sizeof(*a.watches));
	a.watches = b.watches = NULL;
	SAME(a.n_needs == b.n_needs);
	same_bytes(a.needs, b.needs, a.n_needs * sizeof(*a.needs));
	a.needs = b.needs = NULL;
	SAME(memcmp(&a, &b, sizeof(a)) == 0);
}

static void
same_output(struct conf_output a, struct conf_output b)
{
	SAME(a.kind == b.kind);
	same_text(a.file, b.file);
}

static void
same_sockets(const struct conf_process *a, const struct conf_process *b)
{
	SAME(a->n_sockets == b->n_sockets);
	for (size_t i = 0; i < a->n_sockets; i++) {
		struct conf_socket left = a->sockets[i];
		struct conf_socket right = b->sockets[i];

		no_address_in_common(&left, &right, sizeof(left));
		same_text(left.name, right.name);
		same_text(left.address, right.address);
		same_text(left.reply, right.reply);
		same_text(left.handler_path, right.handler_path);
		left.name = right.name = left.address = right.address = NULL;
		left.reply = right.reply = left.handler_path = right.handler_path = NULL;
		same_bytes(&left, &right, sizeof(left));
	}
}

/* Compare what is not in the bytes of a probe, and take it out of both. */
static void
same_probe(struct conf_probe *a, struct conf_probe *b)
{
	same_text(a->address, b->address);
	same_text(a->host, b->host);
	same_text(a->resource, b->resource);
	same_list(a->command, b->command);
	a->address = a->host = a->resource = NULL;
	b->address = b->host = b->resource = NULL;
	a->command = b->command = NULL;
}

/* All that is not looked at by itself is compared as bytes. */
static void
same_process(struct conf_process a, struct conf_process b)
{
	same_list(a.world.environment, b.world.environment);
	same_text(a.identity.user_name, b.identity.user_name);
	same_text(a.identity.home, b.identity.home);
	same_text(a.identity.shell, b.identity.shell);
	same_text(a.world.root, b.world.root);
	same_text(a.world.directory, b.world.directory);
	same_text(a.world.input, b.world.input);
	same_list(a.world.environment_files, b.world.environment_files);
	SAME(a.attributes.n_cpus == b.attributes.n_cpus);
	same_bytes(a.attributes.cpus, b.attributes.cpus,
	           a.attributes.n_cpus * sizeof(*a.attributes.cpus));
	same_output(a.output.out, b.output.out);
	same_output(a.output.err, b.output.err);
	SAME(a.identity.n_groups == b.identity.n_groups);
	same_bytes(a.identity.groups, b.identity.groups,
	           a.identity.n_groups * sizeof(*a.identity.groups));
	SAME(a.n_limits == b.n_limits);
	same_bytes(a.limits, b.limits, a.n_limits * sizeof(*a.limits));
	same_sockets(&a, &b);
	same_probe(&a.readiness.probe, &b.readiness.probe);
	same_probe(&a.health, &b.health);
	a.world.environment = b.world.environment = NULL;
	a.identity.user_name = a.identity.home = a.identity.shell = a.world.directory =
	    NULL;
	b.identity.user_name = b.identity.home = b.identity.shell = b.world.directory =
	    NULL;
	a.output.out.file = a.output.err.file = b.output.out.file = b.output.err.file =
	    NULL;
	a.world.root = a.world.input = b.world.root = b.world.input = NULL;
	a.world.environment_files = b.world.environment_files = NULL;
	a.attributes.cpus = b.attributes.cpus = NULL;
	a.identity.groups = b.identity.groups = NULL;
	a.limits = b.limits = NULL;
	a.sockets = b.sockets = NULL;
	for (int i = 0; i < HOOK_MAX; i++) {
		same_list(a.hooks[i], b.hooks[i]);
		a.hooks[i] = b.hooks[i] = NULL;
	}
	same_bytes(&a, &b, sizeof(a));
}

static void
same_keys(const struct conf_key *a, size_t n_a, const struct conf_key *b, size_t n_b)
{
	SAME(n_a == n_b);
	for (size_t i = 0; i < n_a; i++) {
		const struct conf_key *left = &a[i];
		const struct conf_key *right = &b[i];

		no_address_in_common(left, right, sizeof(*left));
		same_text(left->key, right->key);
		same_text(left->value, right->value);
		SAME(left->file == right->file);
		SAME(left->line == right->line);
		SAME(left->column == right->column);
		SAME(left->effect == right->effect);
	}
}

static void
same_actor(const struct conf_actor *a, const struct conf_actor *b)
{
	no_address_in_common(a, b, sizeof(*a));
	same_text(a->path, b->path);
	same_text(a->description, b->description);
	same_text(a->base, b->base);
	SAME(a->parent == b->parent);
	SAME(a->place.file == b->place.file);
	SAME(a->place.line == b->place.line);
	SAME(a->column == b->column);
	no_address_in_common(a->spec, b->spec, sizeof(*a->spec));
	same_spec(a->spec->core, b->spec->core);
	for (uint32_t i = 0; i < a->spec->core.n_needs; i++)
		same_text(a->spec->needs[i].path, b->spec->needs[i].path);
	for (uint32_t i = 0; i < a->spec->core.n_watches; i++) {
		same_text(a->spec->watches[i].path, b->spec->watches[i].path);
		SAME((a->spec->watches[i].run == NULL) ==
		     (b->spec->watches[i].run == NULL));
		if (a->spec->watches[i].run != NULL)
			same_list(a->spec->watches[i].run, b->spec->watches[i].run);
	}
	same_process(*a->process, *b->process);
	same_list(a->argv, b->argv);
	same_keys(a->keys, a->n_keys, b->keys, b->n_keys);
	SAME(a->defaults == b->defaults);
}

static void
same_own_keys(const struct conf *a, const struct conf *b)
{
	no_address_in_common(a, b, sizeof(*a));
	same_text(a->control_socket, b->control_socket);
	SAME(a->control_mode == b->control_mode);
	SAME(a->has_control_group == b->has_control_group);
	SAME(a->control_gid == b->control_gid);
	SAME(a->has_observers == b->has_observers);
	SAME(a->observers_gid == b->observers_gid);
	SAME(a->log_level == b->log_level);
	SAME(a->log_show == b->log_show);
	SAME(a->log_target == b->log_target);
	same_text(a->log_directory, b->log_directory);
	SAME(a->on_crash_kill == b->on_crash_kill);
}

static void
nothing_changes(const struct conf *from, const struct conf *to)
{
	struct conf_plan plan = {0};

	SAME(conf_plan_make(from, to, &plan) == 0);
	SAME(plan.n == to->n_actors);
	for (size_t i = 0; i < plan.n; i++)
		SAME(plan.at[i].kind == CHANGE_UNCHANGED);
	conf_plan_done(&plan);
}

/* Equal in everything, and nothing of it shared. */
void
same_conf(const struct conf *a, const struct conf *b)
{
	same_own_keys(a, b);
	SAME(a->n_files == b->n_files);
	for (uint32_t i = 0; i < a->n_files; i++)
		same_text(a->files[i], b->files[i]);
	SAME(a->common.n_defaults == b->common.n_defaults);
	for (uint32_t i = 0; i < a->common.n_defaults; i++)
		same_keys(a->common.defaults[i].keys, a->common.defaults[i].n_keys,
		          b->common.defaults[i].keys, b->common.defaults[i].n_keys);
	SAME(a->n_actors == b->n_actors);
	for (uint32_t i = 0; i < a->n_actors; i++) {
		same_actor(&a->actors[i], &b->actors[i]);
		SAME(conf_find(b, a->actors[i].path) == i);
	}
	SAME(conf_find(b, "/user/nobody.here") == CONF_NONE);
	nothing_changes(a, b);
	nothing_changes(b, a);
}

/* What must succeed. */
int
pack_good(const struct conf *conf)
{
	struct err err = {0};
	int fd = conf_pack(conf, &err);

	ck_assert_msg(fd >= 0, "not frozen: %s", err.text);
	return fd;
}

struct conf *
unpack_good(int fd)
{
	struct err err = {0};
	struct conf *conf = conf_unpack(fd, &err);

	ck_assert_msg(conf != NULL, "not thawed: %s", err.text);
	return conf;
}

/* Through the cold and back, and that once more: it is the same. */
void
expect_same_when_thawed(const struct conf *conf)
{
	int first = pack_good(conf);
	struct conf *once = unpack_good(first);
	int second = pack_good(once);
	struct conf *twice = unpack_good(second);

	same_conf(conf, once);
	same_conf(once, twice);
	(void)close(first);
	(void)close(second);
	conf_free(once);
	same_conf(conf, twice);
	conf_free(twice);
}
