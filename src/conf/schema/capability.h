/* SPDX-License-Identifier: ISC */
/* capability.h - capabilities by name (private to conf/).
 *
 * The numbers are the kernel's.  All of Linux 5.9 and later are here, whatever the
 * headers at hand know.
 */
#ifndef CONF_CAPABILITY_H
#define CONF_CAPABILITY_H

#include "base/names.h"
#include "conf/text/conf.h"

#define CAPABILITY_MAP(X)                                  \
	X(CAPABILITY_CHOWN, "chown")                       \
	X(CAPABILITY_DAC_OVERRIDE, "dac_override")         \
	X(CAPABILITY_DAC_READ_SEARCH, "dac_read_search")   \
	X(CAPABILITY_FOWNER, "fowner")                     \
	X(CAPABILITY_FSETID, "fsetid")                     \
	X(CAPABILITY_KILL, "kill")                         \
	X(CAPABILITY_SETGID, "setgid")                     \
	X(CAPABILITY_SETUID, "setuid")                     \
	X(CAPABILITY_SETPCAP, "setpcap")                   \
	X(CAPABILITY_LINUX_IMMUTABLE, "linux_immutable")   \
	X(CAPABILITY_NET_BIND_SERVICE, "net_bind_service") \
	X(CAPABILITY_NET_BROADCAST, "net_broadcast")       \
	X(CAPABILITY_NET_ADMIN, "net_admin")               \
	X(CAPABILITY_NET_RAW, "net_raw")                   \
	X(CAPABILITY_IPC_LOCK, "ipc_lock")                 \
	X(CAPABILITY_IPC_OWNER, "ipc_owner")               \
	X(CAPABILITY_SYS_MODULE, "sys_module")             \
	X(CAPABILITY_SYS_RAWIO, "sys_rawio")               \
	X(CAPABILITY_SYS_CHROOT, "sys_chroot")             \
	X(CAPABILITY_SYS_PTRACE, "sys_ptrace")             \
	X(CAPABILITY_SYS_PACCT, "sys_pacct")               \
	X(CAPABILITY_SYS_ADMIN, "sys_admin")               \
	X(CAPABILITY_SYS_BOOT, "sys_boot")                 \
	X(CAPABILITY_SYS_NICE, "sys_nice")                 \
	X(CAPABILITY_SYS_RESOURCE, "sys_resource")         \
	X(CAPABILITY_SYS_TIME, "sys_time")                 \
	X(CAPABILITY_SYS_TTY_CONFIG, "sys_tty_config")     \
	X(CAPABILITY_MKNOD, "mknod")                       \
	X(CAPABILITY_LEASE, "lease")                       \
	X(CAPABILITY_AUDIT_WRITE, "audit_write")           \
	X(CAPABILITY_AUDIT_CONTROL, "audit_control")       \
	X(CAPABILITY_SETFCAP, "setfcap")                   \
	X(CAPABILITY_MAC_OVERRIDE, "mac_override")         \
	X(CAPABILITY_MAC_ADMIN, "mac_admin")               \
	X(CAPABILITY_SYSLOG, "syslog")                     \
	X(CAPABILITY_WAKE_ALARM, "wake_alarm")             \
	X(CAPABILITY_BLOCK_SUSPEND, "block_suspend")       \
	X(CAPABILITY_AUDIT_READ, "audit_read")             \
	X(CAPABILITY_PERFMON, "perfmon")                   \
	X(CAPABILITY_BPF, "bpf")                           \
	X(CAPABILITY_CHECKPOINT_RESTORE, "checkpoint_restore")
enum capability { CAPABILITY_MAP(AS_ENUM) CAPABILITY_MAX };

#define CAPABILITY_NAME_MAX 32
#define CAPABILITY_BIT(n)   (UINT64_C(1) << (n))

extern const char *const capability_names[];

int capability_parse(const char *text);

#endif
