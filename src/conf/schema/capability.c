/* SPDX-License-Identifier: ISC */
/* capability.c - capabilities by name, as in capabilities(7). */
#include "config.h"

#include "conf/schema/capability.h"

#include <ctype.h>
#include <string.h>

const char *const capability_names[] = {CAPABILITY_MAP(AS_NAME)};

/* "net_raw", "NET_RAW", "CAP_NET_RAW" or "cap_net_raw"; -1: there is none. */
int
capability_parse(const char *text)
{
	static const char prefix[] = "cap_";
	char name[CAPABILITY_NAME_MAX];
	size_t len = strlen(text);

	if (len >= sizeof(name))
		return -1;
	for (size_t i = 0; i <= len; i++)
		name[i] = (char)tolower((unsigned char)text[i]);
	if (strncmp(name, prefix, strlen(prefix)) == 0)
		return names_find(capability_names, CAPABILITY_MAX,
		                  name + strlen(prefix));
	return names_find(capability_names, CAPABILITY_MAX, name);
}

/* The name of a capability as in a configuration; NULL: it has none. */
const char *
conf_capability_name(int number)
{
	return number >= 0 && number < CAPABILITY_MAX ? capability_names[number] : NULL;
}
