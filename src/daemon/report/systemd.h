/* SPDX-License-Identifier: ISC */
/* systemd.h - towards the service manager: READY, STATUS, STOPPING, WATCHDOG. */
#ifndef DAEMON_SYSTEMD_H
#define DAEMON_SYSTEMD_H

struct shell;

void systemd_open(struct shell *shell);
void systemd_close(struct shell *shell);
/* After every turn: READY once /user is up, STATUS when the numbers changed. */
void systemd_on_turn(struct shell *shell);
void systemd_reloading(struct shell *shell);
void systemd_reloaded(struct shell *shell);
void systemd_stopping(struct shell *shell);

#endif
