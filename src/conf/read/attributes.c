/* SPDX-License-Identifier: ISC */
/* attributes.c - rights and priorities of a process, and what it finds to read. */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/assert.h"
#include "conf/read/envfile.h"
#include "conf/read/own_rights.h"
#include "conf/schema/schema_scan.h"
#include "conf/schema/schema_types.h"
#include "conf/text/load_wait.h"

#define IO_LEVEL  4 /* as without any priority and with nice 0 */
#define LONG_BITS (sizeof(long) * CHAR_BIT)

static struct attributes *
attributes_of(void *target)
{
	return &((struct conf_actor *)target)->process->attributes;
}

/* The hard limit of supd itself: its children cannot have more. */
static uint64_t
own_limit(int resource)
{
	struct rlimit limit = {0};

	(void)getrlimit((__rlimit_resource_t)resource, &limit);
	return limit.rlim_max;
}

/* ---- priorities ---- */

/* `nice`: a value below supd's own takes CAP_SYS_NICE, or a high enough RLIMIT_NICE. */
void
read_nice(struct reader *reader, const struct yaml *node, void *target,
          const struct trail *trail)
{
	struct attributes *attributes = attributes_of(target);
	const struct rights *rights = rights_get(reader);

	attributes->has_nice = true;
	attributes->nice = (int)read_value(&schema_nice, node).number;
	if (rights != NULL && attributes->nice < rights->nice &&
	    (uint64_t)(20 - attributes->nice) > own_limit(RLIMIT_NICE))
		rights_want(reader, node, trail, CAPABILITY_SYS_NICE,
		            "a nice value below %d, which supd has itself,",
		            rights->nice);
}

/* `oom_score_adj`: below supd's own only with the right to. */
void
read_oom_score_adj(struct reader *reader, const struct yaml *node, void *target,
                   const struct trail *trail)
{
	struct attributes *attributes = attributes_of(target);
	const struct rights *rights = rights_get(reader);

	attributes->has_oom_score_adj = true;
	attributes->oom_score_adj = (int)read_value(&schema_oom_score_adj, node).number;
	if (rights != NULL && attributes->oom_score_adj < rights->oom_score_adj)
		rights_want(reader, node, trail, CAPABILITY_SYS_RESOURCE,
		            "a value below %d, which supd has itself,",
		            rights->oom_score_adj);
}

/* `scheduler`: a real-time policy has a priority, another one has none. */
void
read_scheduler(struct reader *reader, const struct yaml *node, void *target,
               const struct trail *trail)
{
	static const int policies[] = {
	    [POLICY_WORD_OTHER] = SCHED_OTHER, [POLICY_WORD_BATCH] = SCHED_BATCH,
	    [POLICY_WORD_IDLE] = SCHED_IDLE,   [POLICY_WORD_FIFO] = SCHED_FIFO,
	    [POLICY_WORD_RR] = SCHED_RR,
	};
	struct attributes *attributes = attributes_of(target);
	const struct yaml *policy = node_get(node, "policy");
	const struct yaml *priority = node_get(node, "priority");
	int word = read_value(&schema_policy, policy).word;
	bool is_real_time = word == POLICY_WORD_FIFO || word == POLICY_WORD_RR;

	ASSERT(word >= 0);
	ASSERT((size_t)word < ARRAY_SIZE(policies));
	attributes->has_scheduler = true;
	attributes->policy = policies[word];
	attributes->priority = is_real_time;
	if (priority != NULL)
		attributes->priority =
		    (int)read_value(&schema_real_time, priority).number;
	if (is_real_time != (attributes->priority > 0)) {
		reader_error(reader, priority, &(struct trail){trail, "priority", 0},
		             is_real_time
		                 ? "with `%s` the priority is a number from 1 to 99"
		                 : "`%s` has no priority: write 0, or leave it out",
		             policy->text);
		return;
	}
	if ((uint64_t)attributes->priority > own_limit(RLIMIT_RTPRIO))
		rights_want(reader, node, trail, CAPABILITY_SYS_NICE, "the policy `%s`",
		            policy->text);
}

/* `io_priority`: the middle level where the file has none. */
void
read_io_priority(struct reader *reader, const struct yaml *node, void *target,
                 const struct trail *trail)
{
	static const int classes[] = {
	    [CLASS_WORD_REALTIME] = IO_CLASS_REALTIME,
	    [CLASS_WORD_BEST_EFFORT] = IO_CLASS_BEST_EFFORT,
	    [CLASS_WORD_IDLE] = IO_CLASS_IDLE,
	};
	struct attributes *attributes = attributes_of(target);
	const struct yaml *level = node_get(node, "level");
	int word = read_value(&schema_io_class, node_get(node, "class")).word;
	int number = IO_LEVEL;

	ASSERT(word >= 0);
	ASSERT((size_t)word < ARRAY_SIZE(classes));
	if (level != NULL)
		number = (int)read_value(&schema_io_level, level).number;
	/* Which is what ionice(1) sets: the kernel looks at the class alone. */
	if (word == CLASS_WORD_IDLE)
		number = 7;
	attributes->has_io_priority = true;
	attributes->io_priority = IO_PRIORITY(classes[word], number);
	if (word == CLASS_WORD_IDLE && level != NULL)
		reader_warn(reader, level, &(struct trail){trail, "level", 0},
		            "`idle` has no levels");
	if (word == CLASS_WORD_REALTIME)
		rights_want(reader, node, trail, CAPABILITY_SYS_NICE,
		            "the class `realtime`");
}

/* ---- processors ---- */

static void
set_cpus(struct reader *reader, const struct yaml *node, const struct trail *trail,
         struct attributes *attributes)
{
	const uint64_t range = read_value(&schema_cpus, node).number;
	const struct rights *rights = rights_get(reader);

	if (rights == NULL)
		return;
	if (RANGE_LAST(range) >= rights->n_cpus) {
		reader_error(reader, node, trail,
		             "there is no processor %u: this machine has 0 to %u",
		             RANGE_LAST(range), (unsigned int)rights->n_cpus - 1);
		return;
	}
	for (unsigned int i = RANGE_FIRST(range); i <= RANGE_LAST(range); i++)
		attributes->cpus[i / LONG_BITS] |= 1UL << i % LONG_BITS;
}

/* `cpu_affinity`: a list of processors, or one. */
void
read_cpu_affinity(struct reader *reader, const struct yaml *node, void *target,
                  const struct trail *trail)
{
	struct attributes *attributes = attributes_of(target);
	unsigned int last = 0;

	if (node->type == NODE_LIST && node->n == 0) {
		reader_error(reader, node, trail,
		             "no processor is left; write a list such as [0, 2-3]");
		return;
	}
	for (size_t i = 0; i < node_n_items(node); i++) {
		unsigned int one =
		    RANGE_LAST(read_value(&schema_cpus, node_item(node, i)).number);

		last = one > last ? one : last;
	}
	attributes->n_cpus = last / LONG_BITS + 1;
	attributes->cpus =
	    arena_alloc(reader->keep, attributes->n_cpus, sizeof(*attributes->cpus));
	if (attributes->cpus == NULL)
		return;
	for (size_t i = 0; i < node_n_items(node); i++)
		set_cpus(reader, node_item(node, i),
		         node->type == NODE_LIST ? &(struct trail){trail, NULL, i}
		                                 : trail,
		         attributes);
}

/* ---- capabilities ---- */

/* The set, a list or one; `refused` is where the first one stands that is not `allowed`.
 */
static uint64_t
read_capability_set(const struct yaml *node, uint64_t allowed,
                    const struct yaml **ret_refused)
{
	uint64_t set = 0;

	*ret_refused = NULL;
	for (size_t i = 0; i < node_n_items(node); i++) {
		const struct yaml *item = node_item(node, i);
		struct value value = read_value(&schema_capability, item);
		uint64_t bit =
		    CAPABILITY_BIT(value.word >= 0 ? (uint64_t)value.word : value.number);

		set |= bit;
		if ((bit & allowed) == 0 && *ret_refused == NULL)
			*ret_refused = item;
	}
	return set;
}

static void
read_bounding(struct reader *reader, const struct yaml *node, const struct trail *trail,
              struct attributes *attributes)
{
	const struct rights *rights = rights_get(reader);
	const struct yaml *refused;

	attributes->has_bounding = true;
	attributes->bounding = read_capability_set(node, UINT64_MAX, &refused);
	if (rights != NULL && (rights->bounding & ~attributes->bounding) != 0)
		rights_want(reader, node, trail, CAPABILITY_SETPCAP,
		            "to take capabilities away");
}

static void
read_ambient(struct reader *reader, const struct yaml *node, const struct trail *trail,
             struct attributes *attributes)
{
	const struct rights *rights = rights_get(reader);
	const struct yaml *refused;

	attributes->has_ambient = true;
	attributes->ambient = read_capability_set(
	    node, attributes->has_bounding ? attributes->bounding : UINT64_MAX, &refused);
	if (refused != NULL) {
		reader_error(
		    reader, refused, trail,
		    "`%.40s` is missing in `bounding`, and would have no effect; add "
		    "it there",
		    refused->text);
		return;
	}
	if (rights == NULL)
		return;
	(void)read_capability_set(node, rights->permitted, &refused);
	if (refused != NULL)
		reader_warn(
		    reader, refused, trail,
		    "`%.40s` cannot be handed on, because user %u does not have it "
		    "here: the start will fail",
		    refused->text, (unsigned int)geteuid());
}

/* `capabilities`: the ambient ones are among the bounding ones. */
void
read_capabilities(struct reader *reader, const struct yaml *node, void *target,
                  const struct trail *trail)
{
	struct attributes *attributes = attributes_of(target);
	const struct yaml *bounding = node_get(node, "bounding");
	const struct yaml *ambient = node_get(node, "ambient");

	if (bounding != NULL)
		read_bounding(reader, bounding, &(struct trail){trail, "bounding", 0},
		              attributes);
	if (ambient != NULL)
		read_ambient(reader, ambient, &(struct trail){trail, "ambient", 0},
		             attributes);
}

/* ---- files ---- */

/* `root`: only where supd may call chroot(2). */
void
read_root(struct reader *reader, const struct yaml *node, void *target,
          const struct trail *trail)
{
	struct conf_process *process = ((struct conf_actor *)target)->process;

	process->world.root = read_path(reader, node, node->text);
	rights_want(reader, node, trail, CAPABILITY_SYS_CHROOT, "another root");
}

/* `stdin`: /dev/null, or a file. */
void
read_stdin(struct reader *reader, const struct yaml *node, void *target,
           const struct trail *trail UNUSED)
{
	struct conf_process *process = ((struct conf_actor *)target)->process;

	if (read_value(&schema_stdin, node).word < 0)
		process->world.input =
		    read_path(reader, node, node->text + strlen("file:"));
}

static void
ignore_variable(void *data UNUSED, const char *key UNUSED, const char *value UNUSED)
{
}

/* Report an `environment_file` that is missing or wrong now, where files are looked at;
 * each start reads it again. */
static void
check_environment_file(struct reader *reader, const struct yaml *node, const char *file,
                       const struct trail *trail)
{
	struct err err;

	if (!(reader->options->look || reader->options->look_environment) ||
	    (reader->read_file != NULL && strcmp(reader->read_file, file) == 0))
		return;
	wait_begin(reader->options, false, "the environment file %s", file);
	int r = envfile_read(file, ignore_variable, NULL, &err);
	wait_end(reader->options);
	if (r == 0)
		reader->read_file = arena_dup(reader->scratch, file);
	else if (r == -EACCES)
		reader_warn(reader, node, trail, "user %u %s: the start will fail",
		            (unsigned int)geteuid(), err.text);
	else if (r == -ENOENT)
		reader_error(
		    reader, node, trail,
		    "there is no file %.200s; write -%.200s if there need not be", file,
		    file);
	else
		reader_error(reader, node, trail, "%s", err.text);
}

/* `environment_file`: a list of files, or one. */
void
read_environment_file(struct reader *reader, const struct yaml *node, void *target,
                      const struct trail *trail)
{
	struct conf_process *process = ((struct conf_actor *)target)->process;
	const size_t n = node_n_items(node);
	char **files = arena_alloc(reader->keep, n + 1, sizeof(*files));

	if (files == NULL)
		return;
	for (size_t i = 0; i < n; i++) {
		const struct yaml *item = node_item(node, i);
		const bool may_lack = item->text[0] == '-';

		files[i] = read_path(reader, item, item->text + may_lack);
		if (may_lack && files[i] != NULL)
			files[i] = arena_printf(reader->keep, "-%s", files[i]);
		if (files[i] == NULL)
			return;
		check_environment_file(
		    reader, item, files[i],
		    node->type == NODE_LIST ? &(struct trail){trail, NULL, i} : trail);
	}
	process->world.environment_files = files;
}
