#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Messages of processes to supd by sd_notify, and which senders supd believes."""
import functools
import os
import re
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from chaos import Killer
from harness import INSTRUMENTED, SUPCTL, SUPD, Skip, alive, check, equal, main, run, test


STOPS = 16  # entries and exits of system calls until the end of a process is known


def notify_socket(box, s, name):
    pid = s.line("R", name).pid
    with open(box.path(f"report.{name}.{pid}/environ"), encoding="utf8") as text:
        environ = dict(pair.partition("=")[::2] for pair in text.read().split("\0"))
    return environ.get("NOTIFY_SOCKET")


@test("READY=1 and an exit right after it are seen in this order")
def ready_and_dead(box):
    names = [f"a{i}" for i in range(30)]
    s = box.supd({name: {"ready": "notify", "restart": "transient", "do": ["ready", "exit=0"]}
                  for name in names}, start="parallel")
    for name in names:
        s.event("exited", name)
        s.wait_for(name, state="done")
    equal([one["path"] for one in s.seen("failure")], [], "failures")
    for name in names:
        kinds = [event["event"] for event in s.events if event.get("path") == "/user/" + name
                 and event["event"] in ("started", "ready", "exited")]
        equal(kinds, ["started", "ready", "exited"], f"the events of {name}")


def ready_and_dead_meanwhile(box, adopted):
    numbers = range(1, STOPS + 1)
    s = box.supd({**{f"a{n}": {"ready": "notify", "restart": "transient"} for n in numbers},
                  **{f"b{n}": {} for n in numbers}}, start="parallel", wait=False)
    for n in numbers:
        s.started(f"a{n}"), s.started(f"b{n}")
    if adopted:
        os.kill(s.guardian(), signal.SIGKILL)
        s.caller = None
    guardian = s.guardian()
    for n in numbers:
        # An end that supd looks at, and another one in the midst of that.
        killer = Killer(box, guardian, n, signo="STOP")
        os.kill(s.pids[f"b{n}"], signal.SIGKILL)
        s.until(lambda k=killer: k.killed() or k.closed, f"stop {n}")
        s.tell(f"a{n}", "ready")
        s.tell(f"a{n}", "exit=0")
        s.line("x", f"a{n}")
        s.until(lambda p=s.pids[f"a{n}"]: not alive(p), "its end")
        os.kill(guardian, signal.SIGCONT)
        killer.end()
        s.wait_for(f"a{n}", state="done")
        s.started(f"b{n}", 2)
    equal([one["path"] for one in s.seen("failure") if "/a" in one["path"]], [], "failures")


for is_adopted in (False, True):
    test("READY=1 and an exit right after it are seen in this order, wherever in its turn supd is then"
         + (", of adopted processes, too" if is_adopted else ""), timeout=60)(
             functools.partial(ready_and_dead_meanwhile, adopted=is_adopted))


@test("the text of STATUS= is in the status, the newest one")
def status(box):
    s = box.supd({"a": {"notify": True, "do": ["notify=STATUS=warming up"]}})
    s.wait_for("a", status="warming up")
    s.tell("a", "notify=STATUS=at work, 3 ünits\nX=y")
    s.wait_for("a", status="at work, 3 ünits")
    check("at work" in s.ctl_ok("status", "a").out, "supctl status lacks the text")
    s.tell("a", "exit=1")
    s.started("a", 2)
    s.wait_for("a", status="warming up")


@test("READY=1 without `ready: notify` is ignored")
def unwanted(box):
    s = box.supd({"a": {"notify": True, "do": ["ready", "ready", "notify=STATUS=here"]}})
    s.wait_for("a", status="here", state="running", ready=True)
    s.event("ready", "a")
    equal(len(s.seen("ready", "a")), 1, "ready events")


@test("STATUS and READY in one message, with other lines around them")
def together(box):
    s = box.supd({"a": {"ready": "notify",
                        "do": ["notify=X_OTHER=1\nSTATUS=up\nREADY=1\nMAINPID=1\n"]}})
    actor = s.wait_for("a", state="running", ready=True, status="up")
    equal(actor["pid"], s.pids["a"], "the pid")


@test("garbage on the notify socket does no harm")
def garbage(box):
    s = box.supd({"a": {"notify": True, "do": ["notify=\n\n=\nSTATUS", "notify==READY=1",
                                               "notify=" + "x" * 900, "notify=STATUS=fine"]}})
    s.wait_for("a", status="fine", state="running")


@test("the socket is an abstract one of the actor's own, and only where it is of use")
def places(box):
    s = box.supd({"a": {"ready": "notify", "do": ["report", "ready"]},
                  "b": {"notify": True, "do": ["report"]}, "c": {"do": ["report"]},
                  "d": {"backoff": {"reset": "manual"}, "do": ["report"]}})
    a, b, c, d = [notify_socket(box, s, name) for name in "abcd"]
    check(d.startswith("@"), "none for BACKOFF_RESET=1, which it has to send")
    check(a.startswith("@") and b.startswith("@"), f"not abstract: {a}, {b}")
    check(a != b, "the same for both")
    equal(c, None, "the socket of one that has no use for it")


@test("READY=1 from a stranger is not believed")
def stranger(box):
    s = box.supd({"a": {"ready": "notify", "do": ["report"]}, "b": {}}, wait=False)
    address = notify_socket(box, s, "a").replace("@", "\0", 1)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"READY=1\nSTATUS=stranger", address)
    s.tell("a", "notify=STATUS=mine")
    s.wait_for("a", status="mine", ready=False, state="starting")
    s.tell("a", "ready")
    s.started("b")
    s.event("ready", "a")
    equal(len(s.seen("ready", "a")), 1, "ready events")


FORGER = """
import array, os, socket, sys
address, text = os.environ["TO"].replace("@", "\\0", 1), os.environ["TEXT"]
with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [1]))]
    sender.sendmsg([text.replace("|", "\\n").encode()], rights, 0, address)
print(flush=True)
sys.stdin.read()
"""


def forge(environ, text, uid=65534):
    """Speak for an actor, as another user, with all that is in its environment."""
    environ = dict(environ, TO=environ["NOTIFY_SOCKET"], TEXT=text)
    return subprocess.Popen(["/usr/bin/env", "python3", "-c", FORGER], env=environ, stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, user=uid, group=uid, extra_groups=[], cwd="/")


@test("a process of another user is not believed, whatever its environment says", root=True)
def forged(box):
    s = box.supd({"a": {"containment": "session", "ready": "notify", "fd_store": 4,
                        "do": ["report", "ready"]}})
    pid = s.pids["a"]
    with open(box.path(f"report.a.{pid}/environ"), encoding="utf8") as file:
        environ = dict(pair.partition("=")[::2] for pair in file.read().split("\0") if pair)
    environ["PATH"] = os.environ["PATH"]
    stranger = forge(environ, "STATUS=evil|X_SUPD_FAIL=evil|FDSTORE=1|STOPPING=1|EXTEND_TIMEOUT_USEC=9000000")
    stranger.stdout.readline()
    named = forge(environ, f"MAINPID={stranger.pid}")
    named.stdout.readline()
    s.tell("a", f"notify=MAINPID={stranger.pid}\nSTATUS=mine")
    s.wait_for("a", status="mine", pid=pid, generation=1)
    with open(s.stderr, encoding="utf8") as log:
        text = log.read()
    for sender in (stranger, named):
        sender.communicate()
    check(f"MAINPID={stranger.pid} is no process of its own" in text, "the pid is believed")
    check("its store" not in text, f"the descriptor is looked at: {text}")
    equal([one["path"] for one in s.seen("failure")], [], "failures")


@test("the main process is believed also when it has become another user", root=True)
def dropped(box):
    s = box.supd({"a": {"containment": "session", "ready": "notify", "command": ["python3", "-c", (
        "import os, socket, time\n"
        "os.setresgid(65534, 65534, 65534)\n"
        "os.setresuid(65534, 65534, 65534)\n"
        "s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
        "s.connect(os.environ['NOTIFY_SOCKET'].replace('@', chr(0)))\n"
        "s.send(b'READY=1')\n"
        "time.sleep(1000)\n")]}}, wait=False)
    s.event("ready", "a")


@test("no address and no mark can be computed from what others see, and a takeover keeps both")
def secrets(box):
    tree = {name: {"ready": "notify", "do": ["report", "ready"]} for name in "ab"}
    s, other = box.supd(tree), box.supd(tree, name="other")
    environs = []
    for supd in (s, other):
        for name in "ab":
            with open(f"{supd.dir}/report.{name}.{supd.pids[name]}/environ", encoding="utf8") as file:
                environs.append(dict(pair.partition("=")[::2] for pair in file.read().split("\0")))
    a = environs[0]
    for environ in environs:
        check(re.fullmatch("@supd/[0-9a-f]{32}", environ["NOTIFY_SOCKET"]), environ["NOTIFY_SOCKET"])
        check(re.match("[0-9a-f]{32}-", environ["SUPD_ID"]), environ["SUPD_ID"])
        check(environ["SUPD_ID"][:32] not in environ["NOTIFY_SOCKET"], "the address tells the mark")
    addresses = [environ["NOTIFY_SOCKET"][-32:] for environ in environs]
    equal(len(set(addresses)), 4, f"addresses in {addresses}")
    marks = [environ["SUPD_ID"][:32] for environ in environs]
    equal([marks[0] == mark for mark in marks], [True, True, False, False], f"the mark of a supd in {marks}")
    # Of 16 digits a random text of 32 has 14; it has so few in one of 10^17 cases.
    check(all(len(set(digits)) > 3 for digits in addresses + marks), f"not random: {addresses}, {marks}")
    s.crash()
    s.tell("a", "exit=1")
    pid = s.started("a", 2)
    again = notify_socket(box, s, "a")
    equal(again, a["NOTIFY_SOCKET"], "the address after a takeover")
    with open(box.path(f"report.a.{pid}/environ"), encoding="utf8") as file:
        check(f"SUPD_ID={a['SUPD_ID'][:32]}" in file.read(), "another mark after a takeover")
    s.wait_for("a", ready=True, generation=2)


@test("READY=1 of a child of the process counts")
def offspring(box):
    s = box.supd({"a": {"ready": "notify", "command": [
        "/bin/sh", "-c", 'printf READY=1 | (exec python3 -c "'
        "import os, socket, sys; s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); "
        "s.sendto(sys.stdin.buffer.read(), os.environ['NOTIFY_SOCKET'].replace('@', chr(0)))"
        '"); exec sleep 1000']}}, wait=False)
    s.event("ready", "a")


@test("a flood of notifications does not keep supd from its work")
def flood(box):
    s = box.supd({"noisy": {"notify": True, "command": ["python3", "-c", (
        "import os, socket\n"
        "s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
        "s.connect(os.environ['NOTIFY_SOCKET'].replace('@', chr(0)))\n"
        "while True: s.send(b'STATUS=x')\n")]}, "b": {}})
    s.wait_for("noisy", status="x")
    before = s.memory_kib()
    for count in (1, 2, 3):
        s.started("b", count)
        s.tell("b", "exit=1")
    s.started("b", 4)
    s.ctl_ok("stop", "noisy")
    check(INSTRUMENTED or s.memory_kib() - before < 4096, f"memory grew from {before} to {s.memory_kib()} KiB")


# Several events each; of READY=1 only the first is one.
TELL = "flood=READY=1\nBACKOFF_RESET=1\nEXTEND_TIMEOUT_USEC=1000000\nWATCHDOG_USEC=1000000000"


def with_long_queues():
    """Words before supd's command: its sockets then queue 512 datagrams, as under systemd."""
    words = ["unshare", "-n", "sh", "-c", 'echo 512 >/proc/sys/net/unix/max_dgram_qlen && exec "$@"', "sh"]
    if run(*words, "true").code != 0:
        raise Skip("no network namespaces by unshare(1) here")
    return words


@test("200 actors that flood supd with notifications: it takes so many at a time, others become ready, "
      "begin anew and are answered, and its memory stays bounded", root=True, timeout=60)
def floods(box):
    names = [f"f{n}" for n in range(200)]
    s = box.supd({"b": {"ready": "notify", "do": ["ready"]},
                  "once": {"ready": "notify", "restart": "transient", "enabled": False, "do": ["ready", "exit=0"]},
                  "floods": {"start": "parallel", "shutdown": "infinity", "children": {
                      name: {"ready": "notify", "user": "nobody", "nice": 10, "shutdown": "brutal_kill", "do": [TELL]}
                      for name in names}}}, command=[*with_long_queues(), SUPD])
    guardian = s.guardian()

    def taken():
        """How many messages were taken of the actor of which the fewest were."""
        return min(int(actor["status"] or 0) for actor in s.call("Status", names=["/user/floods/*"])["actors"])

    for count in range(2, 5):
        goal = taken() + 200
        s.until(lambda n=goal: taken() >= n, "messages of all to be taken")
        os.kill(s.pids["b"], signal.SIGKILL)
        s.started("b", count)
        s.event("ready", "b", count)
        s.ctl_ok("start", "once")
        s.wait_for("once", state="done")
        s.ctl_ok("ping")
    equal([one["path"] for one in s.seen("failure") if one["path"] != "/user/b"], [], "failures of others")
    memory = s.memory_kib()
    check(INSTRUMENTED or memory < 4096, f"{memory} KiB of memory")
    equal(s.guardian(), guardian, "the guardian")
    for name in names:
        equal(len(s.seen("ready", "/user/floods/" + name)), 1, f"times that {name} became ready")


@test("a message is looked at once")
def once(box):
    s = box.supd({"a": {"ready": "notify", "do": ["report", "ready"]}})
    address = notify_socket(box, s, "a").replace("@", "\0", 1)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"STATUS=stranger", address)
    s.tell("a", "notify=STATUS=mine")
    s.wait_for("a", status="mine")
    with open(s.stderr, encoding="utf8") as log:
        equal(log.read().count("which is not its own"), 1, "lines about the stranger")


if __name__ == "__main__":
    main()
