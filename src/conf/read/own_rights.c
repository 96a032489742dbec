/* SPDX-License-Identifier: ISC */
/* own_rights.c - the rights of this process, inherited by children. */
#include "config.h"

#include "conf/read/own_rights.h"

#include <ctype.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

#define SENTENCE_MAX 256

/* A short file of the kernel; "" if there is none. */
static void
read_line(const char *path, char *ret, size_t size)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, ret, size - 1);

	ret[n > 0 ? n : 0] = '\0';
}

static void
get_capabilities(struct rights *rights)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	memset(data, 0, sizeof(data));
	(void)syscall(SYS_capget, &header, data);
	rights->effective = (uint64_t)data[1].effective << 32 | data[0].effective;
	rights->permitted = (uint64_t)data[1].permitted << 32 | data[0].permitted;
	for (int i = 0; i < CAPABILITY_MAX; i++)
		if (prctl(PR_CAPBSET_READ, i, 0, 0, 0) > 0)
			rights->bounding |= CAPABILITY_BIT(i);
}

/* The last number in a list such as "0-3,8-11" is the highest. */
static uint32_t
count_cpus(void)
{
	char list[4096];
	char *last = list;

	read_line("/sys/devices/system/cpu/possible", list, sizeof(list));
	for (char *at = list; *at != '\0'; at++)
		if ((*at == '-' || *at == ',') && isdigit((unsigned char)at[1]))
			last = at + 1;
	if (isdigit((unsigned char)*last))
		return (uint32_t)strtoul(last, NULL, 10) + 1;
	long n = sysconf(_SC_NPROCESSORS_CONF);
	return n > 0 ? (uint32_t)n : UINT32_MAX;
}

/* Found out once for all actors; NULL: out of memory. */
const struct rights *
rights_get(struct reader *reader)
{
	char line[64];

	if (reader->rights != NULL)
		return reader->rights;
	struct rights *rights = arena_alloc(reader->scratch, 1, sizeof(*rights));
	if (rights == NULL)
		return NULL;
	get_capabilities(rights);
	rights->nice = getpriority(PRIO_PROCESS, 0);
	read_line("/proc/self/oom_score_adj", line, sizeof(line));
	rights->oom_score_adj = (int)strtol(line, NULL, 10);
	rights->n_cpus = count_cpus();
	read_line("/proc/sys/fs/nr_open", line, sizeof(line));
	rights->nr_open = line[0] != '\0' ? strtoull(line, NULL, 10) : UINT64_MAX;
	reader->rights = rights;
	return rights;
}

/*
 * Warn if what the sentence begins to tell of takes a capability that this process has
 * not got: "a nice value below 0".
 */
void
rights_want(struct reader *reader, const struct yaml *at, const struct trail *trail,
            enum capability capability, const char *fmt, ...)
{
	const struct rights *rights = rights_get(reader);
	char sentence[SENTENCE_MAX], name[CAPABILITY_NAME_MAX] = "";
	va_list ap;

	if (rights == NULL || (rights->effective & CAPABILITY_BIT(capability)) != 0)
		return;
	for (size_t i = 0; capability_names[capability][i] != '\0'; i++)
		name[i] = (char)toupper((unsigned char)capability_names[capability][i]);
	va_start(ap, fmt);
	(void)vsnprintf(sentence, sizeof(sentence), fmt, ap);
	va_end(ap);
	reader_warn(
	    reader, at, trail,
	    "%s takes CAP_%s, which user %u does not have here: the start will fail",
	    sentence, name, (unsigned int)geteuid());
}
