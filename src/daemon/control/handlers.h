/* SPDX-License-Identifier: ISC */
/* handlers.h - the methods of the control interface, and what they share.
 *
 *	control.c         listening, accepting, the list of connections, turns
 *	control_act.c     methods that change something
 *	control_grow.c    Add, Delete
 *	control_scale.c   Scale
 *	control_plan.c    methods about the configuration
 *	control_upgrade.c  Upgrade: its call goes on with the next guardian
 *	control_read.c    methods that only look
 *	control_metrics.c Metrics
 *	control_simulate.c  Simulate
 *	control_stream.c  methods with many replies
 *	control_logs.c    Logs: a reader process for each call
 *	control_logs_request.c  the request to a reader
 *	control_methods.c  the tables of methods
 */
#ifndef DAEMON_HANDLERS_H
#define DAEMON_HANDLERS_H

#include "daemon/control/control.h"
#include "daemon/server/control_private.h"

/* control.c */
struct control *control_alloc(const struct control_uses *uses);
void control_adopt(struct control *control, int take_fd, const struct sock_peer *peer);

/* control_methods.c */
extern const struct interface control_interfaces[];

/* control_act.c: names and commands */
bool call_resolve_name(struct conn *conn, const char *name, struct ref_list *list);
bool call_resolve_past(struct conn *conn, const char *name, struct ref_list *list,
                       struct event_view *gone);
bool call_resolve(struct conn *conn, struct ref_list *list);
bool call_resolve_one(struct conn *conn, struct ref *ret, struct event_view *gone);
void command_fields(struct conn *conn, const char *verb);
void command_event(struct conn *conn, struct ref ref, const char *verb);

/* control_stream.c, control_logs.c */
void list_begin(struct conn *conn);
void logs_free_all(struct control *control);
void logs_on_spare(struct ev_loop *loop, ev_timer *timer, int revents);
void logs_on_turn(struct control *control);
bool logs_request(struct conn *conn, struct strbuf *ret, bool *ret_grows);

/* control_grow.c, control_scale.c */
struct grown;
struct conf_replicas;
bool grow_refuses(struct conn *conn, const char *name);
char *grow_path(const struct control_uses *uses, struct ref parent, const char *name);
void grow_event(struct conn *conn, const char *path, const char *verb);
void grow_reply_state(struct conn *conn, const char *name, const char *state,
                      const char *message);
void grow_reply_not_added(struct conn *conn, const struct target *target);
bool grow_prepare_replicas(struct conn *conn, struct ref parent,
                           const struct conf_replicas *replicas,
                           struct grown **ret_grown);
void grow_post(struct conn *conn, size_t target, struct ref parent,
               const struct grown *grown);

/* Handlers of the methods, a declaration for each file or two. */
method_fn handle_start, handle_stop, handle_restart, handle_suspend, handle_resume,
    handle_reset, handle_signal, handle_fail, handle_wait, handle_shutdown;
method_fn handle_add, handle_delete, handle_scale;
method_fn handle_diff, handle_apply, handle_describe, handle_upgrade;
method_fn handle_status, handle_explain, handle_ping, handle_metrics, handle_simulate;
method_fn handle_watch, handle_events, handle_logs;
method_fn handle_get_info, handle_get_interface_description;

#endif
