/* SPDX-License-Identifier: ISC */
/* packed.c - a damaged configuration in memory: what a guardian finds when it takes over.
 *
 * The input is four bytes for each change, three where and one what; the sum is made
 * right again, so that everything behind it is met.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/err.h"
#include "base/sum.h"
#include "conf/keep/packed.h"
#include "tests/fuzz/file.h"
#include "tests/fuzz/fuzz.h"

const unsigned int fuzz_runs = 800;

static const char text[] =
    "decider: [{when: {exit: [75], exec: [ENOENT]}, then: stop, log: off}, otp]\n"
    "children:\n"
    "  a:\n"
    "    command: [x, y, '']\n"
    "    supplementary_groups: [7, 8]\n"
    "    environment_file: [-/no/file]\n"
    "    environment: {A: b, C: 'd e'}\n"
    "    limits: {nofile: '10:1K', core: unlimited}\n"
    "    output: {stdout: file:/var/log/a, stderr: pipe:w@2}\n"
    "    sockets: {http: 'tcp:127.0.0.1:80', u: {listen: 'unix:/x', mode: \"0600\"}}\n"
    "    ready: {http: 'http://localhost:80/x?y', interval: 3s}\n"
    "    health: {exec: [test, -e, /x], failures: 4}\n"
    "  s: {needs: {a: ready}, children: {w: {command: [z]}}}\n"
    "  w: {command: [w], replicas: 3}\n";

/* The memory that is damaged; it stays for all inputs. */
struct whole {
	struct conf *conf;
	unsigned char *block;
	size_t bytes;
};

static char *no_environment[] = {NULL};
static struct whole the_whole; /* made once */

static const struct whole *
whole_get(void)
{
	const struct conf_options options = {.environ = no_environment};
	struct conf_reports reports;
	struct err err;
	void *block;

	if (the_whole.conf != NULL)
		return &the_whole;
	the_whole.conf =
	    conf_load(fuzz_file("packed.yaml", (const uint8_t *)text, sizeof(text) - 1),
	              &options, &reports);
	conf_reports_done(&reports);
	ASSERT(the_whole.conf != NULL);
	ASSERT(conf_pack_block(the_whole.conf, &block, &the_whole.bytes, &err) == 0);
	the_whole.block = block;
	return &the_whole;
}

static void
damage(unsigned char *block, size_t bytes, const uint8_t *data, size_t size)
{
	struct packed_head *head = (struct packed_head *)(void *)block;

	for (size_t i = 0; i + 3 < size; i += 4) {
		const size_t at =
		    (size_t)data[i] << 16 | (size_t)data[i + 1] << 8 | data[i + 2];

		block[at % bytes] ^= data[i + 3];
	}
	head->sum = sum_bytes(head + 1, bytes - sizeof(*head), 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct whole *whole = whole_get();
	unsigned char *block = malloc(whole->bytes);
	struct conf_plan plan;
	struct conf *conf;
	struct err err;

	ASSERT(block != NULL);
	memcpy(block, whole->block, whole->bytes);
	damage(block, whole->bytes, data, size);
	conf = conf_unpack_block(block, whole->bytes, &err);
	free(block);
	if (conf == NULL)
		return 0;
	if (conf_plan_make(whole->conf, conf, &plan) == 0)
		conf_plan_done(&plan);
	if (conf_plan_make(conf, whole->conf, &plan) == 0)
		conf_plan_done(&plan);
	conf_free(conf);
	return 0;
}
