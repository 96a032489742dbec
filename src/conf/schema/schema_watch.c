/* SPDX-License-Identifier: ISC */
/* schema_watch.c - what may stand behind `watch` and `needs`: other actors. */
#include "config.h"

#include "base/assert.h"
#include "conf/schema/schema_types.h"

static const struct schema_type only_true = {
    .name = "only_true",
    .allowed = "`true`",
    WORDS("true"),
};
static const struct schema_key reaction_keys[] = {
    {"signal", &schema_signal, NULL, "The process is sent this signal.", CONF_IN_PLACE,
     AT_NESTED, .read = NULL},
    {"restart", &only_true, NULL, "The actor is restarted, without having failed.",
     CONF_IN_PLACE, AT_NESTED, .read = NULL},
    {"stop", &only_true, NULL, "The actor is stopped, without having failed.",
     CONF_IN_PLACE, AT_NESTED, .read = NULL},
    {"run", &schema_command, NULL, "This command is run, as a hook of the actor is.",
     CONF_IN_PLACE, AT_NESTED, .read = NULL},
};
TABLE(reaction_table, reaction_keys, NULL);
const struct schema_type schema_reaction = {
    .name = "reaction",
    .allowed = "`fail`, {signal: HUP}, {run: CMD}, {restart: true} or {stop: true}",
    WORDS("fail"),
    .table = &reaction_table,
    .where = AT_NESTED,
};
const struct schema_type schema_watch = {
    .name = "watch",
    .allowed = "a mapping from actors to reactions, such as {db: fail}",
    .values = &schema_reaction,
};

const struct schema_type schema_need = {
    .name = "need",
    .allowed = "`started`, `ready` or `completed`",
    WORDS(NEED_MAP(AS_NAME)),
};
const struct schema_type schema_needs = {
    .name = "needs",
    .allowed = "a mapping from actors to `started`, `ready` or `completed`",
    .values = &schema_need,
};
