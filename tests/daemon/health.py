#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Health checks, and readiness by probes: which actors are asked, and what the answers cause."""
import os
import resource
import signal
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import alive, check, equal, has_no_rights, main, now_ns, test
from probe_target import Answering, free_port, script, status, told

RESUME = [{"when": "health", "then": "resume"}, "default"]
NEVER = "1h"


def health(probe, **more):
    """Asked often; a late answer is a bad one only where a test wants that."""
    return {"health": {"interval": "30ms", "timeout": "1m", "failures": 1, **probe, **more}}


def causes(s, name="a"):
    """What was wrong, once for each failure."""
    return [(one["cause"]["kind"], one["cause"]["key"], one["cause"]["errno"],
             one["directive"]) for one in s.seen("failure", name)]


def passed(s, mono, seconds):
    s.until(lambda: now_ns() - mono > seconds * 1e9, f"{seconds} s to pass")


# ---- questions of probes -------------------------------------------------------------------

@test("health and restart: the third bad answer in a row ends it, a successor follows")
def restarted(box):
    site = Answering(box, status(200), status(503), status(503), status(200), status(500),
                     status(404), status(503), None)
    s = box.supd({"a": health({"http": site.url("/well?x=1")}, failures=3), "b": {}})
    b = s.started("b")
    first = s.started("a")
    check(s.started("a", 2) != first, "the same process")
    equal(causes(s), [("health", "status 503", None, "restart")], "the failures")
    equal(s.actor("a")["last_failure"]["cause"]["text"],
          "failed its health check: status 503", "the cause")
    s.until(lambda: len(site.asked) >= 8, "its successor to be asked")
    equal(site.asked, ["/well?x=1"] * 8, "what was asked")
    equal((len(s.lines("t", "a")), s.actor("b")["pid"]), (1, b), "stop signals, and b")
    text = s.ctl_ok("explain", "a").out
    check("failed its health check: status 503" in text and "restart" in text, text)


def wrong(sentence, say, key, errno, **more):
    @test(f"{sentence} is a bad answer")
    def bad(box):
        site = Answering(box, say)
        s = box.supd({"a": health({"http": site.url()}, **more)}, decider=RESUME)
        s.event("failure", "a")
        equal(causes(s)[0], ("health", key, errno, "resume"), "the failure")


wrong("a status of 400", status(400), "status 400", None)
wrong("something that is no HTTP", b"SSH-2.0-x\r\n", None, "EPROTO")
wrong("a head without an end", b"HTTP/1.1 200 x\r\n" + b"x" * 20000, None, "EMSGSIZE")
wrong("an end in the midst of the head", b"HTTP/1.1 200 x\r\n", None, "ECONNRESET")
wrong("no answer within `timeout`", None, "timeout", None, timeout="100ms")


@test("a port without a listener, and a socket that is not there, are bad answers")
def refused(box):
    s = box.supd({"a": health({"tcp": f"127.0.0.1:{free_port()}"}),
                  "b": health({"unix": box.path("none")})}, decider=RESUME)
    s.event("failure", "a", 2)
    s.event("failure", "b", 2)
    equal(causes(s)[0], ("health", None, "ECONNREFUSED", "resume"), "the failure")
    equal(causes(s, "b")[0], ("health", None, "ENOENT", "resume"), "the failure")
    equal((s.actor("a")["generation"], s.actor("b")["restarts"]), (1, 0), "starts")


@test("an actor is healthy, by tcp and unix, as long as it accepts connections")
def accepted(box):
    tcp = Answering(box, speechless=True)
    unix = Answering(box, path=box.path("s"), speechless=True)
    s = box.supd({"a": health({"tcp": tcp.address()}),
                  "b": health({"unix": box.path("s")})}, decider=RESUME)
    s.until(lambda: tcp.accepted > 3 and unix.accepted > 3, "some connections")
    equal(s.seen("failure"), [], "failures")
    tcp.close()
    os.unlink(box.path("s"))
    s.event("failure", "a")
    s.event("failure", "b")


@test("a probe's command is well with status 0; its environment, and the words for its end")
def commands(box):
    bad = box.path("bad")
    s = box.supd({"a": health({"exec": script(
        box, f"echo $SUPD_HOOK $SUPD_REASON $SUPD_PID $SUPD_PATH [$SUPD_CAUSE] >>@; "
        f"[ -e {bad} ] && exit 7; exit 0")})}, decider=RESUME)
    a = s.started("a")
    s.until(lambda: len(told(box)) > 3, "some probes")
    equal(set(told(box)), {f"health health {a} /user/a []"}, "what it was told")
    equal(s.seen("failure"), [], "failures")
    box.file("bad")
    s.event("failure", "a")
    equal(causes(s)[0], ("health", "exit 7", None, "resume"), "the failure")
    equal(s.seen("hook_failed"), [], "hooks that failed")
    equal(s.actor("a")["pid"], a, "the process")


@test("a probe's command that hangs is killed with its children; a program may be missing")
def hanging_command(box):
    s = box.supd({"a": health({"exec": script(box, "sleep 1000 & echo $! >>@; sleep 1000")},
                              timeout="200ms"),
                  "b": health({"exec": "/no/such/program"})}, decider=RESUME)
    s.event("failure", "a")
    s.event("failure", "b")
    equal(causes(s)[0], ("health", "timeout", None, "resume"), "the failure")
    equal(causes(s, "b")[0], ("health", None, "ENOENT", "resume"), "the failure")
    check(not alive(int(told(box)[0])), "what it forked is alive")


@test("a command that still runs when its process ends is killed before the next is started")
def ends_first(box):
    s = box.supd({"a": health({"exec": script(box, "sleep 1000 & echo $! >>@; sleep 1000")})})
    s.started("a")
    s.until(lambda: told(box), "the probe")
    s.tell("a", "exit=3")
    s.started("a", 2)
    check(not alive(int(told(box)[0])), "what it forked is alive")
    equal(s.seen("failure", "a")[0]["cause"]["kind"], "exit", "the cause")


# ---- results of health checks --------------------------------------------------------------

@test("health and resume: the process goes on, and is asked on")
def resumed(box):
    site = Answering(box, status(500))
    s = box.supd({"a": health({"http": site.url()}, failures=2)}, decider=RESUME)
    pid = s.started("a")
    s.event("failure", "a", 3)
    check(len(site.asked) >= 6, lambda: f"asked {len(site.asked)} times for 3 failures")
    actor = s.wait_for("a", state="running", pid=pid, restarts=0)
    equal(actor["last_failure"]["cause"]["kind"], "health", "the cause")
    with open(s.stderr, encoding="utf8") as text:
        lines = [line for line in text if "/user/a: failure" in line]
    check(lines and all(" warning " in line for line in lines), lambda: f"how loud: {lines}")


@test("only `successes` good answers in a row make up for bad ones")
def successes(box):
    bad, good = status(500), status(200)
    site = Answering(box, bad, bad, good, bad, None)
    s = box.supd({"a": health({"http": site.url()}, failures=3, successes=2)}, decider=RESUME)
    s.event("failure", "a")
    check(4 <= len(site.asked) <= 5, lambda: f"it took {len(site.asked)} questions")
    other = Answering(box, bad, bad, good, good, bad, bad, None)
    s.write({"a": health({"http": other.url()}, failures=3, successes=2)})
    s.ctl_ok("apply")
    s.until(lambda: len(other.asked) == 7, "the questions")
    equal(len(s.seen("failure", "a")), 1, "failures")


@test("a process that ends during a probe has ended, and did not fail its health check")
def ended(box):
    port = free_port()
    s = box.supd({"a": {"ready": {"tcp": f"127.0.0.1:{port}", "interval": "20ms"},
                        "command": ["python3", "-c", "import socket\n"
                                    "s = socket.socket()\n"
                                    "s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\n"
                                    f"s.bind(('127.0.0.1', {port}))\n"
                                    "s.listen()\nkept = []\nheard = 0\n"
                                    "while True:\n"
                                    "    c = s.accept()[0]\n    kept.append(c)\n"
                                    "    if c.recv(1):\n"
                                    f"        open('{box.path('heard')}', 'w').close()\n"],
                        **health({"http": f"http://127.0.0.1:{port}/"})}})
    s.until(lambda: os.path.exists(box.path("heard")), "a question")
    os.kill(s.actor("a")["pid"], signal.SIGKILL)
    s.event("started", "a", 2)
    equal(s.seen("failure", "a")[0]["cause"]["kind"], "signal", "the cause")


@test("a suspended actor is not probed, and a probe that was under way does not count")
def suspended(box):
    site = Answering(box, None, status(200))
    s = box.supd({"a": health({"http": site.url()}, timeout="300ms")})
    s.until(lambda: site.asked, "a question")
    s.ctl_ok("suspend", "a")
    held = s.event("suspended", "a")["mono"]
    passed(s, held, 0.8)
    equal((len(site.asked), s.seen("failure")), (1, []), "questions and failures")
    s.ctl_ok("resume", "a")
    s.until(lambda: len(site.asked) > 3, "more questions")
    equal(s.seen("failure"), [], "failures")


@test("a process that a signal has stopped is not probed either")
def stopped(box):
    site = Answering(box, None, status(200))
    s = box.supd({"a": health({"http": site.url()}, timeout="300ms")})
    pid = s.started("a")
    s.until(lambda: site.asked, "a question")
    os.kill(pid, signal.SIGSTOP)
    s.wait_for("a", sigstopped=True)
    passed(s, now_ns(), 0.8)
    equal((len(site.asked), s.seen("failure")), (1, []), "questions and failures")
    os.kill(pid, signal.SIGCONT)
    s.until(lambda: len(site.asked) > 3, "more questions")
    equal(s.seen("failure"), [], "failures")


@test("apply begins with another health and ends it, in the same process")
def applied(box):
    first, second = Answering(box), Answering(box)
    s = box.supd({"a": {}})
    pid = s.started("a")
    s.write({"a": health({"http": first.url()})})
    s.ctl_ok("apply")
    s.until(lambda: len(first.asked) > 2, "questions")
    s.write({"a": health({"http": second.url()})})
    s.ctl_ok("apply")
    n = len(first.asked)
    s.until(lambda: len(second.asked) > 2, "questions")
    check(len(first.asked) <= n + 1, "the first one is asked on")
    s.write({"a": {"health": "off"}})
    s.ctl_ok("apply")
    n = len(second.asked)
    passed(s, now_ns(), 0.3)
    check(len(second.asked) <= n + 1, "it is asked on")
    equal((s.actor("a")["pid"], s.seen("failure")), (pid, []), "process and failures")


@test("initial_delay leaves it alone at first")
def delayed(box):
    site = Answering(box)
    s = box.supd({"a": health({"http": site.url()}, initial_delay="500ms")})
    ready = s.event("ready", "a")["mono"]
    s.until(lambda: site.asked, "a question")
    check(now_ns() - ready >= 500e6, "it was asked earlier")


# ---- readiness -----------------------------------------------------------------------------

@test("91 ready by a probe: the next one is started once it is answered well")
def ready(box):
    port = free_port()
    site = Answering(box, status(503), status(503), status(204))
    s = box.supd({"a": {"ready": {"tcp": f"127.0.0.1:{port}", "interval": "20ms"}},
                  "b": {"ready": {"http": site.url(), "interval": "20ms"}},
                  "c": {"ready": {"unix": box.path("s"), "interval": "20ms"}},
                  "d": {"ready": {"interval": "20ms", "exec": script(
                      box, "echo $SUPD_HOOK $SUPD_REASON >>@; [ -e @.ready ]")}},
                  "e": {}}, wait=False)
    s.started("a")
    passed(s, s.event("started", "a")["mono"], 0.2)
    equal((s.actor("a")["state"], s.actor("a")["ready"], s.actor("b")["state"]),
          ("starting", False, "waiting"), "the states")
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", port))
        listener.listen()
        s.started("b")
        s.started("c")
    equal(site.asked, ["/"] * 3, "questions")
    equal(s.actor("d")["state"], "waiting", "the state of d")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(box.path("s"))
        listener.listen()
        s.started("d")
    s.until(lambda: len(told(box)) > 2, "probes of d")
    equal((set(told(box)), s.actor("e")["state"]), ({"ready start"}, "waiting"), "d and e")
    box.file("told.ready")
    s.started("e")
    equal(s.seen("failure"), [], "failures")


@test("90 an actor whose probe never succeeds has its start_timeout, and is tried again")
def never(box):
    s = box.supd({"a": {"start_timeout": "200ms",
                        "ready": {"tcp": f"127.0.0.1:{free_port()}", "interval": "20ms"}},
                  "b": {"start_timeout": "200ms", "ready": {"exec": "false"}}},
                 start="parallel", wait=False)
    for name in "ab":
        s.started(name, 2)
    # How often they are asked in that time, if at all, is the machine's affair.
    s.until(lambda: ("start_timeout", None, "ECONNREFUSED", "restart") in causes(s, "a"),
            "the cause")
    s.until(lambda: ("start_timeout", "exit 1", None, "restart") in causes(s, "b"), "the cause")
    s.until(lambda: "within its start_timeout: exit 1" in s.ctl_ok("explain", "b").out,
            "explain")


# ---- bounds --------------------------------------------------------------------------------

@test("at most 256 are asked at once, and all of them in the end", timeout=60)
def many(box):
    site = Answering(box, speechless=True)
    url = site.url()
    s = box.supd({"w": {"command": ["sleep", "1000"], "replicas": 300, **health(
        {"http": url}, interval="500ms")}}, decider=RESUME)
    s.until(lambda: site.accepted >= 256, "256 questions", 20)
    passed(s, now_ns(), 0.7)
    equal(site.accepted, 256, "connections at once")
    site.let_go()
    s.until(lambda: len({one["path"] for one in s.seen("failure")}) == 300,
            "everybody to have been asked", 20)


@test("a lack of descriptors in supd is no bad answer of an actor")
def lacking(box):
    site = Answering(box)
    s = box.supd({"a": health({"http": site.url()}), "b": health({"exec": "true"})})
    s.until(lambda: len(site.asked) > 1, "questions")
    guardian = s.guardian()
    usual = resource.prlimit(guardian, resource.RLIMIT_NOFILE)
    resource.prlimit(guardian, resource.RLIMIT_NOFILE, (3, usual[1]))
    n = len(site.asked)
    # The connections are not the guardian's.
    s.until(lambda: len(site.asked) > n + 10, "questions meanwhile")
    resource.prlimit(guardian, resource.RLIMIT_NOFILE, usual)
    n = len(site.asked)
    s.until(lambda: len(site.asked) > n + 2, "more questions")
    equal(s.seen("failure"), [], "failures")


# ---- /system/probe -------------------------------------------------------------------------

@test("what asks has no rights, but finds a socket whatever the modes on the way to it")
def unprivileged(box):
    os.mkdir(box.path("private"), 0o700)
    path = box.path("private/socket")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        os.chmod(path, 0o600)
        listener.listen(64)
        s = box.supd({"a": health({"unix": path}, failures=1)}, decider=RESUME)
        for _ in range(3):
            listener.accept()[0].close()
        equal(s.seen("failure"), [], "failures")
        has_no_rights(s.actor("/system/probe")["pid"], 1 << 1, forks=True)


@test("a socket with a full queue is a bad answer, at once")
def full(box):
    path = box.path("socket")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(0)
        with socket.socket(socket.AF_UNIX) as waiting:
            waiting.connect(path)
            s = box.supd({"a": health({"unix": path}, failures=1, timeout="1000s")},
                         decider=RESUME)
            equal(s.event("failure", "a")["cause"]["key"], "queue full", "the cause")


@test("a probing helper that is killed, or hangs, is no bad answer of an actor", timeout=60)
def replaced(box):
    site = Answering(box)
    s = box.supd({"a": health({"http": site.url()}, failures=1, timeout="1s")})
    for signo in (signal.SIGKILL, signal.SIGSTOP):
        s.until(lambda n=len(site.asked): len(site.asked) > n + 1, "questions")
        old = s.actor("/system/probe")["pid"]
        os.kill(old, signo)
        s.until(lambda old=old: s.actor("/system/probe")["pid"] not in (None, old),
                "the next one", 20)
        s.until(lambda n=len(site.asked): len(site.asked) > n + 1, "more questions")
    equal(s.seen("failure"), [], "failures")


def hear_end(site, n):
    """The n-th question that it was asked, until the connection is closed."""
    site.kept[n].settimeout(20)
    while site.kept[n].recv(4096):
        pass


@test("a probe that is no longer needed is ended at once")
def unwanted(box):
    endless = script(box, "echo $$$$ >>@; exec sleep 1000")
    site = Answering(box, speechless=True)
    s = box.supd({"a": health({"exec": endless}, timeout="1000s"),
                  "b": health({"http": site.url()}, timeout="1000s")})
    pid, guardian = s.started("a"), s.guardian()
    s.until(lambda: told(box) and site.accepted, "questions")
    first = int(told(box)[0])
    s.write({"a": health({"exec": endless}, timeout="999s", initial_delay="1ms"),
             "b": {"health": "off"}})
    s.ctl_ok("apply")
    s.until(lambda: not alive(first), "the end of the first command")
    hear_end(site, 0)
    s.until(lambda: len(told(box)) > 1, "the next question")
    second = int(told(box)[1])
    s.write({"a": {"health": "off"}, "b": {"health": "off"}})
    s.ctl_ok("apply")
    s.until(lambda: not alive(second), "the end of the second command")
    equal(s.guardian(), guardian, "the guardian")
    equal((s.actor("a")["pid"], s.seen("failure")), (pid, []), "process and failures")


@test("a question to an actor that ends by itself, fails or is stopped is broken off at once")
def broken_off(box):
    site = Answering(box, speechless=True)
    s = box.supd({name: health({"http": site.url()}, timeout="1000s") for name in "abc"}, decider="stopping")
    s.until(lambda: len(site.kept) == 3, "a question to each")
    s.tell("a", "exit=0")
    s.tell("b", "exit=3")
    s.ctl_ok("stop", "c")
    for n in range(3):
        hear_end(site, n)
    s.event("failure", "b")
    equal([(one["path"], one["cause"]["kind"]) for one in s.seen("failure")], [("/user/b", "exit")],
          "failures")


# ---- the guardian dies ---------------------------------------------------------------------

@test("a guardian that dies, or makes room, in the midst of a question: it is asked again, "
      "and counts once")
def crashed(box):
    site = Answering(box, None, None, status(500), status(500), status(200))
    s = box.supd({"a": health({"http": site.url()}, failures=3),
                  "b": health({"exec": script(box, "echo + >>@; while ! [ -e @.go ]; "
                                              "do sleep .01; done; exit 1")}, failures=2)},
                 decider=RESUME)
    a = s.started("a")
    for n, end in enumerate((s.crash, lambda: s.ctl_ok("upgrade")), 1):
        s.until(lambda: len(site.asked) == n and told(box) == ["+"], f"question {n}")
        end()
        s.caller = None
    s.until(lambda: len(site.asked) > 7, "more questions")
    equal((s.actor("a")["last_failure"], s.actor("a")["pid"]), (None, a),
          "a after two bad answers")
    equal(told(box), ["+"], "probes of b")
    box.file("told.go")
    s.until(lambda: s.actor("b")["last_failure"], "a failure of b")
    check(len(told(box)) >= 2, "one bad answer was counted twice")


if __name__ == "__main__":
    main()
