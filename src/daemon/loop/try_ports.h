/* SPDX-License-Identifier: ISC */
/* try_ports.h - `supd --check`: can the ports and paths of sockets be had? */
#ifndef DAEMON_TRY_PORTS_H
#define DAEMON_TRY_PORTS_H

#include "conf/text/conf.h"

void try_ports(const struct conf *conf, const char *runtime_dir,
               struct conf_reports *reports);

#endif
