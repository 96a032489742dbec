/* SPDX-License-Identifier: ISC */
/* background.h - `supd -d`: supd in the background, once it is ready. */
#ifndef DAEMON_BACKGROUND_H
#define DAEMON_BACKGROUND_H

int background_start(const char *conf_file);

#endif
