/* SPDX-License-Identifier: ISC */
/* systemd.h - towards the service manager: READY, STATUS, STOPPING, WATCHDOG. */
#ifndef DAEMON_SYSTEMD_H
#define DAEMON_SYSTEMD_H

struct reporter;

void systemd_open(const struct reporter *reporter);
void systemd_close(const struct reporter *reporter);
/* After every turn: READY once /user is up, STATUS when the numbers changed. */
void systemd_on_turn(const struct reporter *reporter);
void systemd_reloading(const struct reporter *reporter);
void systemd_reloaded(const struct reporter *reporter);
void systemd_stopping(const struct reporter *reporter);

#endif
