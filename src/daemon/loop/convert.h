/* SPDX-License-Identifier: ISC */
/* convert.h - a first configuration: an example, or what another supervisor's says. */
#ifndef DAEMON_CONVERT_H
#define DAEMON_CONVERT_H

int convert_print(char *const *words, int n);

#endif
