/* SPDX-License-Identifier: ISC */
/* elsewhere.c - verbs of other tools, and what to write instead. */
#include "config.h"

#include "ctl/text/elsewhere.h"

#include <string.h>

#include "base/assert.h"

/* What verbs of other tools are called here. */
static const struct {
	const char *other, *hint;
} others[] = {
    {"ps", "supctl list"},
    {"stat", "supctl status"},
    {"show", "supctl status NAME', and for its configuration 'supctl cat NAME"},
    {"describe", "supctl status NAME"},
    {"inspect", "supctl -o json status NAME"},
    {"monit", "supctl top"},
    {"why", "supctl explain NAME"},
    {"log", "supctl logs"},
    {"journal", "supctl logs"},
    {"journalctl", "supctl logs"},
    {"attach", "supctl logs -f NAME"},
    {"sockets", "supctl status NAME"},
    {"list-sockets", "supctl status NAME"},
    {"pause", "supctl suspend NAME"},
    {"unpause", "supctl resume NAME"},
    {"freeze", "supctl suspend NAME"},
    {"thaw", "supctl resume NAME"},
    {"run", "supctl add NAME -- COMMAND"},
    {"halt", "supctl shutdown"},
    {"enable", "enabled: true', or nothing, in the file, and 'supctl apply"},
    {"disable", "enabled: false' in the file, and 'supctl apply"},
    {"is-enabled", "supctl cat NAME"},
    {"mask", "supctl stop --hold NAME"},
    {"unmask", "supctl start NAME"},
    {"edit", "supctl diff', and 'supctl apply"},
    {"daemon-reload", "supctl apply"},
    {"validate", "supctl check FILE"},
    {"rollback", "supctl apply --undo', or beforehand 'supctl apply --rollback 30s"},
    {"undo", "supctl apply --undo"},
    {"up", "supctl start NAME"},
    {"down", "supctl stop NAME"},
    {"quit", "supctl shutdown"},
    {"rm", "supctl delete NAME"},
    {"remove", "supctl delete NAME"},
};

/* What to write instead of a verb of another tool; NULL: it is none that is known. */
const char *
verb_elsewhere(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (strcmp(others[i].other, name) == 0)
			return others[i].hint;
	return NULL;
}
