#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The guardian depends on no actor: calls that may wait for others, and why each of them may be.

guardian.txt has a line for each call of a file: file | call | how many | why.
"""
import collections
import os
import re
import sys

TOP = os.environ.get("top_srcdir", ".")
ROOMS = ("src/daemon", "src/ledger", "src/os", "src/walker")
LIST = "tests/lint/guardian.txt"

# What opens, reads, changes a path, writes, executes, accepts, connects, polls, looks up or
# waits.  A close() is among them in a file that receives descriptors: one that is another's
# may hang, and goes to a child (os/socket/closer.h).
CALLS = """
accept accept4 connect recv recvfrom recvmsg recvmmsg notify_receive
open openat openat2 fopen freopen opendir fdopendir open_by_handle_at
fd_reopen envfile_read conf_load readdir scandir glob ftw nftw fts_open
read pread readv preadv getline fgets fread splice sendfile
stat lstat fstatat statx access faccessat readlink readlinkat realpath
statfs statvfs chdir fchdir chroot mount umount umount2 inotify_add_watch
unlink unlinkat rename renameat renameat2 mkdir mkdirat rmdir link linkat symlink symlinkat
mkfifo mkfifoat mknod mknodat chown lchown fchownat chmod fchmodat truncate utimensat
write pwrite writev pwritev send sendto sendmsg sendmmsg fsync fdatasync sync syncfs
epoll_ctl poll ppoll select pselect epoll_wait epoll_pwait sleep usleep nanosleep clock_nanosleep
wait waitpid waitid wait4 flock lockf sem_wait pthread_join
execv execve execvp execvpe execveat fexecve execl execlp posix_spawn posix_spawnp system popen
getaddrinfo gethostbyname getpwnam getpwuid getgrnam getgrgid getgrouplist
getpwnam_r getpwuid_r getgrnam_r getgrgid_r
sock_connect_unix sock_unix_is_live os_reap_wait fd_lock
proc_stat_direct proc_mark_direct proc_wchan_direct
""".split()
RECEIVES = """
accept4 recvmsg recvmmsg notify_receive pass_receive link_receive bounded_answer
handover_receive handover_take keeper_take
""".split()
CLOSES = ["close", "fd_close"]


def pattern(calls):
    return re.compile(r"(?<![A-Za-z0-9_.>])(" + "|".join(calls) + r")\s*\(")


# What is no code: comments and texts.
PASSED_OVER = re.compile(r"""/\*.*?\*/|'(?:\\.|[^'\\\n])'|"(?:\\.|[^"\\\n])*\"""", re.S)


def found_in(path):
    with open(os.path.join(TOP, path), encoding="utf8") as text:
        code = PASSED_OVER.sub("", text.read())
    code = re.sub(r"\bCLEANUP\((\w+)\)", r"\1()", code)  # called where the block ends
    # A name at the beginning of a line is a definition and no call.
    calls = CALLS + (CLOSES if pattern(RECEIVES).search(code) else [])
    return collections.Counter(match[1] for match in pattern(calls).finditer(code)
                               if match.start() > 0 and code[match.start() - 1] != "\n")


def wall_clocks():
    """Files that ask libev, or the C library, for a time that an administrator may change."""
    for folder, _, names in os.walk(os.path.join(TOP, "src")):
        for path in (os.path.join(folder, name) for name in sorted(names) if name.endswith(".c")):
            with open(path, encoding="utf8") as text:
                if pattern(["ev_time", "gettimeofday"]).search(PASSED_OVER.sub("", text.read())):
                    yield os.path.relpath(path, TOP)


def found():
    calls = {}
    for room in ROOMS:
        for folder, _, names in os.walk(os.path.join(TOP, room)):
            for name in sorted(names):
                path = os.path.relpath(os.path.join(folder, name), TOP)
                if name.endswith(".c"):
                    for call, n in found_in(path).items():
                        calls[path, call] = n
    return calls


def reviewed():
    calls = {}
    with open(os.path.join(TOP, LIST), encoding="utf8") as lines:
        for number, line in enumerate(lines, 1):
            if line.startswith("#") or not line.strip():
                continue
            fields = [field.strip() for field in line.split("|")]
            if len(fields) != 4 or not fields[3] or (fields[0], fields[1]) in calls:
                sys.exit(f"{LIST}:{number}: it is not: file | call | how many | why, once")
            calls[fields[0], fields[1]] = int(fields[2])
    return calls


def main():
    is_there, may_be = found(), reviewed()
    faults = [f"{path}: {call}() {n} times, {may_be.get((path, call), 0)} of them looked at: "
              "does it wait for what an actor or a stranger chose?"
              for (path, call), n in is_there.items() if n != may_be.get((path, call), 0)]
    faults += [f"{LIST}: there is no {call}() in {path}" for path, call in may_be
               if (path, call) not in is_there]
    clocks = [f"{path}: the wall clock decides; os/self/clock.h has the other" for path in wall_clocks()]
    print("1..2")
    for number, (title, list_) in enumerate((
            ("the guardian waits for nobody but those who were looked at", faults),
            ("what is due depends on no clock that can be set", clocks)), 1):
        for fault in list_:
            print("# " + fault)
        print(f"{'not ok' if list_ else 'ok'} {number} - {title}")


if "--found" in sys.argv:
    for (place, name), count in found().items():
        print(f"{place} | {name} | {count} | ")
else:
    main()
