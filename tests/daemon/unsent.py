#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Too many descriptors of a user are on their way: what the walker cannot be given is given
to it later, and is there when a guardian has died."""
import os
import resource
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import SUPCTL, Skip, check, equal, for_everybody, has, main, run, test
from harness import SUPD

# The kernel counts for each user: one that no other test has.
UID = 54331
NOFILE = 1024

# Send descriptors in messages that stay unread, until so many are on their way that no process
# of this user may send another.
FLOOD = """
import array, os, resource, signal, socket, sys
os.setgroups([])
os.setresgid(*[int(sys.argv[2])] * 3)
os.setresuid(*[int(sys.argv[2])] * 3)
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]),) * 2)
kept = []
many = array.array("i", [0] * 250)
try:
    while True:
        kept.append(socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))
        for _ in range(5):
            kept[-1][0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, many)])
except OSError as error:
    print(error.strerror, flush=True)
signal.pause()
"""


def flood(box):
    process = box.popen(sys.executable, "-c", FLOOD, str(NOFILE), str(UID),
                        stdout=subprocess.PIPE)
    word = process.stdout.readline().decode()
    if "Too many references" not in word:
        raise Skip(f"a flood of descriptors ends with {word!r} here")
    return process


def ebb(box, process):
    process.kill()
    process.wait()
    process.stdout.close()
    box.background.remove(process)


def start(box, tree):
    if os.geteuid() != 0:
        raise Skip("needs root, to be a user with a limit of its own")
    return box.supd(tree, uid=UID, command=[for_everybody(SUPD)], before=lambda: (
        resource.setrlimit(resource.RLIMIT_NOFILE, (NOFILE, NOFILE))))


def said(s):
    with open(s.stderr, encoding="utf8") as text:
        return text.read()


def logs(s, name):
    return run(SUPCTL, "-s", s.socket, "logs", name).out


@test("a descriptor that could not be kept is kept later: a guardian that dies then loses nothing")
def kept_later(box):
    s = start(box, {"a": {}, "b": {"enabled": False}, "c": {"enabled": False}})
    s.started("a")
    full = flood(box)
    for name in "bc":
        s.ctl_ok("start", name)
    pid = s.started("b")
    s.until(lambda: "cannot be given descriptors to keep" in said(s), "word of it")
    # What is not there any more need not be kept.
    s.ctl_ok("stop", "c")
    check("keeps all descriptors again" not in said(s), "it was told before it was true")
    ebb(box, full)
    s.until(lambda: "keeps all descriptors again" in said(s), "word that all is kept")
    equal(said(s).count("cannot be given descriptors to keep"), 1, "how often it was told")
    s.crash()
    equal(s.actor("b")["pid"], pid, "the pid of b")
    s.tell("b", "say=after the death")
    s.until(lambda: "after the death" in logs(s, "b"), "its line in the log")
    s.tell("b", "exit=3")
    s.started("b", 2)


@test("nothing begins that relies on what cannot be kept: apply is refused, and later it is not")
def refused(box):
    s = start(box, {"a": {}, "b": {"enabled": False}})
    full = flood(box)
    s.ctl_ok("start", "b")
    s.until(lambda: "cannot be given descriptors to keep" in said(s), "word of it")
    s.write({"a": {}, "b": {}, "c": {}})
    result = s.ctl("apply")
    check(result.code != 0, "apply went through")
    # The new configuration is passed on as a descriptor, too.
    has(result.err, "keep no more descriptors over a crash|Too many references",
        "stderr of apply")
    ebb(box, full)
    s.ctl_ok("apply")
    s.started("c")
    s.crash()
    s.tell("c", "say=here")
    s.until(lambda: "here" in logs(s, "c"), "its line in the log")


if __name__ == "__main__":
    main()
