/* SPDX-License-Identifier: ISC */
/* convert_settings.c - what settings of other supervisors are called here. */
#include "config.h"

#include "daemon/loop/convert_settings.h"

#include "base/assert.h"

const struct setting convert_supervisord[] = {
    {"command", NULL, PART_NONE, "command", AS_COMMAND},
    {"autostart", "true", PART_NONE, "", AS_NOTHING},
    {"autostart", "false", PART_NONE, "enabled: false", AS_NOTHING},
    {"autorestart", "true", PART_NONE, "restart: permanent", AS_NOTHING},
    {"autorestart", "unexpected", PART_NONE, "restart: transient", AS_NOTHING},
    {"autorestart", "false", PART_NONE, "restart: never", AS_NOTHING},
    {"exitcodes", NULL, PART_SUCCESS, "exit", AS_CODES},
    {"stopsignal", NULL, PART_NONE, "stop_signal", AS_SIGNAL},
    {"stopwaitsecs", NULL, PART_NONE, "shutdown", AS_DURATION},
    {"numprocs", "1", PART_NONE, "", AS_NOTHING},
    {"numprocs", NULL, PART_NONE, "replicas", AS_TEXT},
    {"user", NULL, PART_NONE, "user", AS_TEXT},
    {"directory", NULL, PART_NONE, "directory", AS_TEXT},
    {"umask", NULL, PART_NONE, "umask", AS_TEXT},
    {"environment", NULL, PART_ENVIRONMENT, "", AS_VARIABLES},
    {"redirect_stderr", "true", PART_NONE, "", AS_NOTHING},
    {"stopasgroup", NULL, PART_NONE, "", AS_NOTHING},
    {"killasgroup", NULL, PART_NONE, "", AS_NOTHING},
    {"stdout_logfile", "/dev/stdout", PART_NONE, "output: stdout", AS_NOTHING},
    {"stdout_logfile", "/dev/fd/1", PART_NONE, "output: stdout", AS_NOTHING},
    {"stdout_logfile", "NONE", PART_NONE, "output: \"null\"", AS_NOTHING},
    {"stdout_logfile", "AUTO", PART_NONE, "", AS_NOTHING},
};

const struct setting convert_systemd[] = {
    {"ExecStart", NULL, PART_NONE, "command", AS_COMMAND},
    {"ExecStop", NULL, PART_NONE, "stop_command", AS_COMMAND},
    {"ExecReload", NULL, PART_NONE, "reload_command", AS_COMMAND},
    {"ExecStartPre", NULL, PART_HOOKS, "pre_start", AS_COMMAND},
    {"ExecStartPost", NULL, PART_HOOKS, "post_start", AS_COMMAND},
    {"ExecStopPost", NULL, PART_HOOKS, "post_stop", AS_COMMAND},
    {"Type", "simple", PART_NONE, "", AS_NOTHING},
    {"Type", "exec", PART_NONE, "", AS_NOTHING},
    {"Type", "notify", PART_NONE, "ready: notify", AS_NOTHING},
    {"Type", "oneshot", PART_NONE, "ready: exit", AS_NOTHING},
    {"Restart", "always", PART_NONE, "restart: permanent", AS_NOTHING},
    {"Restart", "on-failure", PART_NONE, "restart: transient", AS_NOTHING},
    {"Restart", "no", PART_NONE, "restart: never", AS_NOTHING},
    {"RestartSec", NULL, PART_BACKOFF, "min", AS_DURATION},
    {"SuccessExitStatus", NULL, PART_SUCCESS, "exit", AS_CODES},
    {"User", NULL, PART_NONE, "user", AS_TEXT},
    {"Group", NULL, PART_NONE, "group", AS_TEXT},
    {"WorkingDirectory", NULL, PART_NONE, "directory", AS_TEXT},
    {"RootDirectory", NULL, PART_NONE, "root", AS_TEXT},
    {"UMask", NULL, PART_NONE, "umask", AS_TEXT},
    {"Environment", NULL, PART_ENVIRONMENT, "", AS_VARIABLES},
    {"EnvironmentFile", NULL, PART_FILES, "", AS_TEXT},
    {"KillSignal", NULL, PART_NONE, "stop_signal", AS_SIGNAL},
    {"KillMode", "control-group", PART_NONE, "", AS_NOTHING},
    {"TimeoutStartSec", NULL, PART_NONE, "start_timeout", AS_DURATION},
    {"TimeoutStopSec", NULL, PART_NONE, "shutdown", AS_DURATION},
    {"WatchdogSec", NULL, PART_NONE, "watchdog", AS_DURATION},
    {"Nice", NULL, PART_NONE, "nice", AS_TEXT},
    {"OOMScoreAdjust", NULL, PART_NONE, "oom_score_adj", AS_TEXT},
    {"NoNewPrivileges", "true", PART_NONE, "no_new_privileges: true", AS_NOTHING},
    {"NoNewPrivileges", "yes", PART_NONE, "no_new_privileges: true", AS_NOTHING},
    {"LimitNOFILE", NULL, PART_LIMITS, "nofile", AS_TEXT},
    {"LimitNPROC", NULL, PART_LIMITS, "nproc", AS_TEXT},
    {"LimitCORE", NULL, PART_LIMITS, "core", AS_TEXT},
    {"MemoryMax", NULL, PART_CGROUP, "memory_max", AS_TEXT},
    {"TasksMax", NULL, PART_CGROUP, "pids_max", AS_TEXT},
    {"StandardOutput", "journal", PART_NONE, "output: journal", AS_NOTHING},
    {"StandardOutput", "null", PART_NONE, "output: \"null\"", AS_NOTHING},
    {"Description", NULL, PART_NONE, "description", AS_TEXT},
    {"WantedBy", NULL, PART_NONE, "", AS_NOTHING},
};

const size_t convert_n_supervisord = ARRAY_SIZE(convert_supervisord);
const size_t convert_n_systemd = ARRAY_SIZE(convert_systemd);
