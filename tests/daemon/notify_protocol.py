#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Of the notify protocol what is more than READY and STATUS: MAINPID, BARRIER, RELOADING,
STOPPING; and systemd's own client."""
import os
import shutil
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from containments import contained
from harness import Skip, alive, check, equal, has, main, test
from suspended import all_stand_still, stands_still

# Forks a worker that obeys a fifo, says that this is the main process, and leaves or stays.
FORKER = r"""
import os, signal, socket, sys
fifo, stays = sys.argv[1], sys.argv[2] == "stays"
def say(text):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.sendto(text.encode(), os.environ["NOTIFY_SOCKET"].replace("@", "\0", 1))
lines = os.fdopen(os.open(fifo, os.O_RDWR), encoding="utf8")
worker = os.fork()
if worker == 0:
    for line in lines:
        verb, _, value = line.strip().partition(" ")
        if verb == "exit":
            os._exit(int(value))
        elif verb == "say":
            say(value.replace("|", "\n"))
        elif verb == "main":
            say("MAINPID=%d" % os.getppid())
say("MAINPID=%d\nREADY=1" % worker)
if stays:
    while True:
        signal.pause()
os._exit(0)
"""


def forker(box, name, mode):
    os.mkfifo(box.path(f"do.{name}"))
    return {"ready": "notify", "command": ["/usr/bin/env", "python3", "-c", FORKER,
                                           box.path(f"do.{name}"), mode]}


def order(box, name, text):
    with open(box.path(f"do.{name}"), "w", encoding="utf8") as out:
        out.write(text + "\n")


def parent_of(pid):
    with open(f"/proc/{pid}/status", encoding="utf8") as text:
        return int(dict(line.split(":\t", 1) for line in text)["PPid"])


def start(box, mode, options=None, **more):
    """Start a forker; gives supd, the first process, and the main process that it named."""
    s = box.supd({"a": {**forker(box, "a", mode), **more}}, **(options or {}))
    first = s.event("started", "a")["pid"]
    pid = s.wait_for("a", state="running", ready=True)["pid"]
    check(pid != first, f"the main process is still {pid}")
    return s, first, pid


@test("MAINPID: the process that is named is the main process; the process that named it may end")
def leaves(box):
    s, first, pid = start(box, "leaves")
    s.until(lambda: not alive(first), "the end of the first one")
    equal(s.actor("a")["pid"], pid, "its pid")
    equal(s.seen("exited", "a"), [], "ends")
    order(box, "a", "exit 3")
    ended = s.event("exited", "a")
    equal((ended["pid"], ended["cause"]["kind"], ended["cause"]["code"]), (pid, "exit", 3), "its end")
    equal(s.event("failure", "a")["directive"], "restart", "the directive")
    s.event("started", "a", 2)
    again = s.wait_for("a", state="running", ready=True)["pid"]
    check(again not in (first, pid), "the same pid again")


@contained("MAINPID: its end is the actor's, though its parent lives on and reaps it")
def stays(box, kind, options, _):
    s, first, pid = start(box, "stays", options, containment=kind, shutdown="300ms")
    equal(parent_of(pid), first, "the parent")
    os.kill(pid, signal.SIGKILL)
    equal(s.event("exited", "a")["pid"], pid, "who has ended")
    s.event("started", "a", 2)
    check(not alive(first), "the parent was left")


@contained("MAINPID: a stop is for the one that was named; nothing of the actor is left")
def stopped(box, kind, options, _):
    s, first, pid = start(box, "stays", options, containment=kind, shutdown="10s")
    s.ctl_ok("stop", "a")
    check(not alive(pid) and not alive(first), "somebody is left")
    ended = s.seen("exited", "a")
    equal([one["pid"] for one in ended], [pid], "ends")


@contained("MAINPID: the parent of the one that was named is suspended and resumed, too")
def suspended(box, kind, options, _):
    s, first, pid = start(box, "stays", options, containment=kind)
    s.ctl_ok("suspend", "a")
    all_stand_still(s, first, kind)
    s.ctl_ok("resume", "a")
    s.until(lambda: not stands_still(first, kind) and not stands_still(pid, kind), "both to go on")


@test("MAINPID: a guardian that dies changes nothing about it")
def crashes(box):
    for mode in ("leaves", "stays"):
        os.mkfifo(box.path(f"do.{mode}"))
    tree = {mode: {"ready": "notify", "shutdown": "300ms", "command": [
        "/usr/bin/env", "python3", "-c", FORKER, box.path(f"do.{mode}"), mode]}
            for mode in ("leaves", "stays")}
    s = box.supd(tree)
    pids = {mode: s.wait_for(mode, state="running", ready=True)["pid"] for mode in tree}
    parent = parent_of(pids["stays"])
    for _ in range(2):
        s.crash()
        equal({mode: s.actor(mode)["pid"] for mode in tree}, pids, "the pids")
    order(box, "leaves", "exit 5")
    ended = s.wait_for("leaves", generation=2)["last_failure"]["cause"]
    equal((ended["kind"], ended["code"]), ("exit", 5), "its end")
    guardian = s.guardian()
    os.kill(guardian, signal.SIGSTOP)
    os.kill(pids["stays"], signal.SIGKILL)
    s.until(lambda: not alive(pids["stays"]), "its end")
    os.kill(guardian, signal.SIGKILL)
    s.caller = None
    s.until(lambda: s.ctl("status", "/user").out, "another guardian")
    s.wait_for("stays", generation=2)
    check(not alive(parent), "the parent was left")


@test("MAINPID: a process that is not of the actor is not believed")
def strangers(box):
    s = box.supd({"other": {}, "a": {"notify": True, "do": []}})
    pid = s.started("a")
    for value in (1, s.started("other"), os.getpid(), "x", 99999999, pid, 0):
        s.tell("a", f"notify=MAINPID={value}\nSTATUS={value}")
        s.wait_for("a", status=str(value), pid=pid)
    with open(s.stderr, encoding="utf8") as text:
        equal(text.read().count("MAINPID"), 6, "warnings")


@test("BARRIER: the descriptor is closed when all that was said before is heard")
def barrier(box):
    s = box.supd({"a": {"notify": True, "command": ["/usr/bin/env", "python3", "-c", r"""
import os, socket, sys
address = os.environ["NOTIFY_SOCKET"].replace("@", "\0", 1)
sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
for i in range(100):
    sender.sendto(b"STATUS=%d" % i, address)
ours, theirs = os.pipe()
sender.connect(address)
socket.send_fds(sender, [b"BARRIER=1"], [theirs])
os.close(theirs)
assert os.read(ours, 1) == b""
open(sys.argv[1], "w").close()
input()
""", box.path("passed")], "restart": "temporary"}}, wait=False)
    s.until(lambda: os.path.exists(box.path("passed")), "it to pass the barrier")
    events = [one for one in s.seen("exited", "a") if one["cause"]["kind"] != "normal"]
    check(all(one["cause"]["code"] == 1 for one in events), f"{events}")


@test("systemd-notify is understood: readiness, status, another main process, and its barrier")
def systemd_notify(box):
    if not shutil.which("systemd-notify"):
        raise Skip("there is no systemd-notify")
    script = """
sleep 1000 &
systemd-notify --status='warming up' && systemd-notify --pid=$! --ready --status='at work'
echo $! $? > "$1"
wait
"""
    s = box.supd({"a": {"ready": "notify", "command": ["/bin/sh", "-c", script, "sh",
                                                       box.path("said")]}}, wait=False)
    s.until(lambda: os.path.exists(box.path("said")) and os.path.getsize(box.path("said")),
            "systemd-notify to return", 20)
    with open(box.path("said"), encoding="utf8") as text:
        pid, code = map(int, text.read().split())
    equal(code, 0, "its exit status")
    s.wait_for("a", state="running", ready=True, status="at work", pid=pid)


@test("RELOADING: the actor stays ready, and the log tells when its reload is done")
def reloading(box):
    s = box.supd({"a": {"ready": "notify", "do": ["ready"]}})
    s.wait_for("a", state="running", ready=True)
    s.ctl_ok("signal", "a", "reload")
    s.line("s", "a")
    s.tell("a", "notify=RELOADING=1\nMONOTONIC_USEC=1\nSTATUS=reading")
    equal(s.wait_for("a", status="reading")["ready"], True, "ready")
    s.tell("a", "notify=READY=1\nSTATUS=done")
    s.wait_for("a", status="done", state="running", ready=True)

    def logged():
        with open(s.stderr, encoding="utf8") as text:
            return text.read()
    has(logged(), "/user/a: reads its configuration again\n", "the log")
    has(logged(), r"/user/a: has read its configuration again, within \d+ ms\n", "the log")
    equal(len(s.seen("ready", "a")), 1, "ready events")


@test("STOPPING: the watchdog ends")
def stopping(box):
    s = box.supd({"a": {"watchdog": "300ms", "do": ["notify=STOPPING=1"]},
                  "b": {"watchdog": "300ms"}})
    s.event("failure", "b", 2)
    equal(s.seen("failure", "a"), [], "failures")


if __name__ == "__main__":
    main()
