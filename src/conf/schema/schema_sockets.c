/* SPDX-License-Identifier: ISC */
/* schema_sockets.c - what may stand behind `sockets`. */
#include "config.h"

#include "base/assert.h"
#include "conf/schema/schema_scan.h"
#include "conf/schema/schema_types.h"

#define ADDRESS_PATTERN "^(tcp|udp):.*:[0-9]+$|^(unix|unix-dgram|unix-seqpacket|fifo):."
#define ADDRESSES                                                          \
	"tcp:ADDRESS:PORT, udp:ADDRESS:PORT, unix:PATH, unix-dgram:PATH, " \
	"unix-seqpacket:PATH or fifo:PATH"

static const struct schema_type address = {
    .name = "address",
    .allowed = ADDRESSES,
    .scan = scan_address,
    .pattern = ADDRESS_PATTERN,
};
static const struct schema_type backlog = {
    .name = "backlog",
    .allowed = "a number from 1 to 65535",
    .scan = scan_integer,
    .show = SHOW_INTEGER,
    .min = 1,
    .max = UINT16_MAX,
};
static const struct schema_type rate = {
    .name = "rate",
    .allowed = "a number a second, such as 100/s",
    .scan = scan_rate,
    .pattern = "^[0-9]+/s$",
};
static const struct schema_type reply = {
    .name = "reply",
    .allowed = "a text that is sent to clients",
    .scan = scan_reply,
};
static const struct schema_key while_down_keys[] = {
    {"reply", &reply, NULL, "Each client gets this text, and its connection is closed.",
     CONF_IN_PLACE, AT_NESTED, .read = NULL},
    {"handler", &schema_text, NULL,
     "This actor gets the socket, and runs while clients come to it.", CONF_IN_PLACE,
     AT_NESTED, .read = NULL},
};
TABLE(while_down_table, while_down_keys, NULL);
const struct schema_type schema_while_down = {
    .name = "while_down",
    .allowed = "`queue`, `refuse`, {reply: TEXT} or {handler: ACTOR}",
    .words = while_down_names,
    .n_words = WHILE_DOWN_REPLY,
    .table = &while_down_table,
    .where = AT_NESTED,
};
static const struct schema_key socket_keys[] = {
    {"listen", &address, NULL, "The address to listen at.", CONF_RESTARTS, AT_NESTED,
     .read = NULL},
    {"backlog", &backlog, "4096", "How many connections may queue.", CONF_IN_PLACE,
     AT_NESTED, INTO(struct conf_socket, backlog), NULL},
    {"mode", &schema_mode, "\"0666\"", "Permissions of the file of the socket.",
     CONF_IN_PLACE, AT_NESTED, INTO(struct conf_socket, mode), NULL},
    {"user", &schema_text, NULL,
     "Owner of the file of the socket; supd's own by default.", CONF_IN_PLACE, AT_NESTED,
     .read = NULL},
    {"group", &schema_text, NULL,
     "Group of the file of the socket; supd's own by default.", CONF_IN_PLACE, AT_NESTED,
     .read = NULL},
    {"while_down", &schema_while_down, "\"queue\"",
     "What clients get while the actor has no process.", CONF_IN_PLACE, AT_NESTED,
     .read = NULL},
    {"rate", &rate, "\"1000/s\"",
     "How many clients a second are refused, or get a reply; the others wait.",
     CONF_IN_PLACE, AT_NESTED, INTO(struct conf_socket, rate), NULL},
};
TABLE(socket_table, socket_keys, "listen");
const struct schema_type schema_socket = {
    .name = "socket",
    .allowed = ADDRESSES ", or a mapping with `listen`",
    .scan = scan_address,
    .pattern = ADDRESS_PATTERN,
    .table = &socket_table,
    .where = AT_NESTED,
};
const struct schema_type schema_sockets = {
    .name = "sockets",
    .allowed = "a mapping from names to addresses, such as {http: tcp:127.0.0.1:8080}",
    .values = &schema_socket,
    .names_pattern = "^[A-Za-z0-9][A-Za-z0-9_.@-]*$",
};

const struct schema_type schema_start_on = {
    .name = "start_on",
    .allowed = "`boot` or `connect`",
    WORDS("boot", "connect"),
};
