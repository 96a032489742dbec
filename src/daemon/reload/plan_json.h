/* SPDX-License-Identifier: ISC */
/* plan_json.h - the plan of a reload, as the reply that Diff and Apply give. */
#ifndef DAEMON_PLAN_JSON_H
#define DAEMON_PLAN_JSON_H

#include "base/strbuf.h"
#include "daemon/reload/reload.h"

void plan_json(struct strbuf *out, const struct reloader *reloader,
               const struct reload *reload);

#endif
