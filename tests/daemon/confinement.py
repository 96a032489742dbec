#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""What supd's helper processes have given up: capabilities, privileges, system calls."""
import glob
import gzip
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import SUPCTL, SUPD, check, children, equal, main, test
from writers import seek

SECCOMP = b"libseccomp.so" in open(SUPD, "rb").read()
# As in capabilities(7): the log may write where its directory has another owner, and has
# no bound on pipes; the reader opens the files of an actor as their owner.
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_SETGID, CAP_SETUID = 1 << 1, 1 << 2, 1 << 6, 1 << 7
CAP_SYS_RESOURCE = 1 << 24
LOG = CAP_DAC_OVERRIDE | CAP_SYS_RESOURCE
READER = CAP_DAC_READ_SEARCH | CAP_SETGID | CAP_SETUID


def status(pid):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as text:
        return dict(line.rstrip("\n").split(":\t", 1) for line in text if ":\t" in line)


def is_confined(pid, kept, bound=0):
    is_now = status(pid)
    for which in "CapInh", "CapPrm", "CapEff", "CapAmb", "CapBnd":
        # Without CAP_SETPCAP nothing can be taken from the bounding set: of what is forked it
        # is that of its parent.
        if which != "CapBnd" or os.geteuid() == 0:
            keep = kept | bound if which == "CapBnd" else kept
            equal(int(is_now[which], 16) & ~keep, 0, f"{which} beside what is needed")
    equal(is_now["NoNewPrivs"], "1", "no_new_privs")
    if SECCOMP:
        equal(is_now["Seccomp"], "2", "seccomp")


@test("the log process has no rights but those it writes with, and rotates and packs")
def log_process(box):
    count = "i=0; while [ $$i -lt 3000 ]; do echo line number $$i; i=$$((i+1)); done"
    s = box.supd({"a": {"command": ["/bin/sh", "-c", count + "; exec sleep 1000"],
                        "log": {"max_size": "16K", "keep": 9, "compress": True}}})
    log = s.actor("/system/log")["pid"]
    s.until(lambda: status(log)["NoNewPrivs"] == "1" and
            (not SECCOMP or status(log)["Seccomp"] == "2"), "it is confined")
    is_confined(log, LOG)
    packed = box.path("logs/user/a.log.1.gz")
    s.until(lambda: os.path.exists(packed), "a packed file")
    with gzip.open(packed, "rt") as text:
        check("line number" in text.read(), "it is packed whole")
    s.until(lambda: "line number 2999" in s.ctl("logs", "a").out, "the last line")
    equal(s.ctl_ok("logs", "a").out.count("line number"), 3000, "lines, packed and not")
    equal(s.actor("/system/log")["pid"], log, "the log process")


@test("the reader of logs has no rights but those it reads with, and no environment")
def reader(box):
    s = box.supd({"a": {"command": ["/bin/sh", "-c", "echo hello; exec sleep 1000"]}},
                 env={"SECRET": "of supd"})
    s.until(lambda: "hello" in s.ctl("logs", "a").out, "a line")
    follower = box.popen(SUPCTL, "-s", s.socket, "logs", "-f", "a",
                         stdout=subprocess.PIPE, text=True)
    equal(follower.stdout.readline(), "hello\n", "the line")
    pid = seek(s, b"@logs")
    is_confined(pid, READER)
    with open(f"/proc/{pid}/environ", "rb") as text:
        check(b"SECRET" not in text.read(), "the environment of supd is the reader's")


@test("the child that packs or unpacks may only read and write its two descriptors")
def unpacker(box):
    s = box.supd({"a": {"command": ["/bin/sh", "-c", "yes | head -c 9000000; exec sleep 1000"],
                        "log": {"max_size": "4M", "keep": 9, "compress": True}}})
    # The newest is packed first, but the oldest is read first: it must not be plain.
    s.until(lambda: (old := glob.glob(box.path("logs/user/a.log.*"))) and
            all(name.endswith(".gz") for name in old), "nothing but packed files")
    # After a first line nothing reads what is unpacked: the process waits in the midst of that.
    logs = box.popen(SUPCTL, "-s", s.socket, "logs", "-n", "9000000", "a",
                     stdout=subprocess.PIPE)
    equal(logs.stdout.readline(), b"y\n", "the first line")
    pid, = children(seek(s, b"@logs"))
    equal(sorted(os.listdir(f"/proc/{pid}/fd")), ["0", "1"], "its descriptors")
    if SECCOMP:
        check(int(status(pid)["Seccomp_filters"]) > 1, "it has no filter of its own")
    is_confined(pid, 0, READER)


main()
