/* SPDX-License-Identifier: ISC */
/* supd.h - one run of supd, from a configuration file to an exit status. */
#ifndef DAEMON_SUPD_H
#define DAEMON_SUPD_H

#define SUPD_PATH_MAX 4096

struct handover;

struct supd_options;

const char *supd_default_conf(char buf[SUPD_PATH_MAX]);
const char *supd_default_runtime_dir(char buf[SUPD_PATH_MAX]);
int supd_run(const struct supd_options *options, struct handover *handover);

#endif
