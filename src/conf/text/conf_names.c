/* SPDX-License-Identifier: ISC */
/* conf_names.c - the words for what a configuration can say. */
#include "config.h"

#include "conf/text/conf.h"

const char *const output_names[] = {OUTPUT_MAP(AS_NAME)};
const char *const containment_names[] = {CONTAINMENT_MAP(AS_NAME)};
const char *const socket_kind_names[] = {SOCKET_KIND_MAP(AS_NAME)};
const char *const while_down_names[] = {WHILE_DOWN_MAP(AS_NAME)};
const char *const probe_kind_names[] = {PROBE_KIND_MAP(AS_NAME)};
const char *const log_level_names[] = {LOG_LEVEL_MAP(AS_NAME)};
const char *const log_target_names[] = {LOG_TARGET_MAP(AS_NAME)};
const char *const log_show_names[] = {LOG_SHOW_MAP(AS_NAME)};
const char *const change_names[] = {CHANGE_MAP(AS_NAME)};
