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

/* control_act.c, control_plan.c, control_read.c, control_stream.c: handlers */
bool call_resolve_name(struct conn *conn, const char *name, struct ref_list *list);
bool call_resolve_past(struct conn *conn, const char *name, struct ref_list *list,
                       struct event_view *gone);
bool call_resolve(struct conn *conn, struct ref_list *list);
bool call_resolve_one(struct conn *conn, struct ref *ret, struct event_view *gone);
void command_fields(struct conn *conn, const char *verb);
void command_event(struct conn *conn, struct ref ref, const char *verb);
void handle_start(struct conn *conn);
void handle_stop(struct conn *conn);
void handle_restart(struct conn *conn);
void handle_suspend(struct conn *conn);
void handle_resume(struct conn *conn);
void handle_reset(struct conn *conn);
void handle_signal(struct conn *conn);
void handle_fail(struct conn *conn);
void handle_wait(struct conn *conn);
void handle_shutdown(struct conn *conn);
void handle_diff(struct conn *conn);
void handle_apply(struct conn *conn);
void handle_describe(struct conn *conn);
void handle_status(struct conn *conn);
void handle_explain(struct conn *conn);
void handle_simulate(struct conn *conn);
void handle_ping(struct conn *conn);
void handle_metrics(struct conn *conn);
void handle_get_info(struct conn *conn);
void handle_get_interface_description(struct conn *conn);
void handle_watch(struct conn *conn);
void handle_events(struct conn *conn);
void list_begin(struct conn *conn);
void handle_logs(struct conn *conn);
void logs_free_all(struct control *control);
void logs_on_spare(struct ev_loop *loop, ev_timer *timer, int revents);
void logs_on_turn(struct control *control);
int logs_request(struct conn *conn, bool *ret_grows);

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
void handle_add(struct conn *conn);
void handle_delete(struct conn *conn);
void handle_scale(struct conn *conn);

void handle_upgrade(struct conn *conn);

#endif
