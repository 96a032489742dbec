#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Deaths at the worst moment: while something is half told, half born or half thrown away."""
import os
import re
import shutil
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from chaos import CUT, Chaos, Killer, Wish, alive, state_of
from harness import INSTRUMENTED, SUPD, Skip, check, children, equal, main, test
from writers import text_of

# sleep(1) ignores this stop signal from its first moment on.
DEAF = {"a": {"command": ["sleep", "1000"], "stop_signal": "WINCH", "shutdown": "60s"}}


def start(box, tree, **options):
    s = Chaos(box, tree, **options)
    s.until(s.was_ready, "READY=1", 20)
    return s


def pid_of(s, path):
    return s.until(lambda: s.actor(path).get("pid"), f"a process of {path}")


def what(s):
    return [event["what"] for event in s.seen("supd")]


# ---- on_crash: kill ----------------------------------------------------------------------------

@test("on_crash: kill also ends a process that cleared its environment, and what it has forked")
def cleared(box):
    child = box.path("child")
    script = f"setsid sleep 1000 & echo $! >{child}; exec sleep 1000"
    s = start(box, {"a": {"command": ["env", "-i", "/bin/sh", "-c", script]}},
              on_crash="kill")
    before = pid_of(s, "a")
    s.until(lambda: os.path.exists(child) and open(child, encoding="ascii").read().strip(),
            "what it forks")
    with open(child, encoding="ascii") as text:
        forked = int(text.read())
    s.crash()
    after = s.until(lambda: s.actor("a").get("pid") not in (None, before) and
                    s.actor("a")["pid"], "the second life")
    check(not alive(before), "the first life goes on")
    check(not alive(forked), "what it forked lives on")
    check(alive(after), "the second life has ended")

    def again():
        with open(child, encoding="ascii") as text:
            return int(text.read().strip() or forked)

    # Without cgroups supd cannot find the process that `a` forked once `a` has ended.
    s.until(lambda: again() != forked, "what the second life forks")
    os.kill(again(), signal.SIGKILL)


@test("on_crash: kill spares what was there before supd, in the session that supd is in")
def spared(box):
    note = box.path("stranger")
    shell = 'sleep 1000 & echo $! >"$0"; exec "$@"'
    s = start(box, {"a": {"command": ["sleep", "1000"]}}, on_crash="kill",
              command=["setsid", "/bin/sh", "-c", shell, note, SUPD])
    with open(note, encoding="ascii") as text:
        stranger = int(text.read())
    before = pid_of(s, "a")
    s.crash()
    s.until(lambda: s.actor("a").get("pid") not in (None, before), "the second life")
    spared_it = alive(stranger)
    os.kill(stranger, signal.SIGKILL)
    s.until(lambda: not alive(stranger), "its end")
    check(spared_it, "a process that is not supd's was killed")


@test("a shutdown that a guardian died of is done, also with on_crash: kill")
def shutdown(box):
    s = start(box, DEAF, on_crash="kill")
    guardian = s.guardian()
    try:
        s.call("Shutdown")
    except CUT:
        pass
    s.kill_guardian(guardian)
    s.ended(0)


@test("a configuration that was on its way at a death does not take the next one along")
def replaced(box):
    s = start(box, {"a": {}}, on_crash="kill")
    old = s.guardian()
    killer = Killer(box, old, "fallocate")  # a new ledger, after the new configuration
    s.signal(signal.SIGHUP)
    s.until(killer.killed, "the guardian's death in a reload")
    killer.end()
    s.successor(old)
    s.started("a", 2)
    s.crash()
    s.started("a", 3)
    s.until(lambda: what(s).count("actors_killed") == 2, "two clean starts")
    check("ledger_lost" not in what(s), f"a configuration was lost: {what(s)}")


# ---- births ------------------------------------------------------------------------------------

@test("a birth around a death is known also where the environment of others is hidden")
def hidden(box):
    if not shutil.which("setpriv"):
        raise Skip("there is no setpriv")
    if INSTRUMENTED:
        raise Skip("with a sanitizer a child is forked, and its pid written later")
    lives = box.path("lives")
    box.file("lives")
    os.chmod(lives, 0o666)
    script = f"echo $$$$ >>{lives}; exec sleep 1000"
    s = start(box, {"a": {"command": ["/bin/sh", "-c", script], "user": "nobody"}},
              command=["setpriv", "--bounding-set", "-sys_ptrace,-sys_admin,-perfmon", SUPD])

    def written():
        with open(lives, encoding="ascii") as text:
            return [int(line) for line in text]

    first, old = pid_of(s, "a"), s.guardian()
    s.until(lambda: first in written(), "the first words of its first life")
    killer = Killer(box, old, "clone3:born")
    os.kill(first, signal.SIGKILL)
    s.until(killer.killed, "the guardian's death at a birth")
    killer.end()
    s.successor(old)
    second = s.until(lambda: s.actor("a").get("pid") not in (None, first) and
                     s.actor("a")["pid"], "the second life")
    s.until(lambda: second in written(), "its first words")
    equal(written(), [first, second], "the lives")


# ---- lines of the log -------------------------------------------------------------------------

def die_at_birth(box, signo):
    """An actor dies, and its guardian gets this signal when the successor is born; what of it is
    in the log then.  No client is connected, for it may look at the log."""
    if INSTRUMENTED:
        raise Skip("with a sanitizer a child is forked, and its pid written later")
    s = start(box, {"a": {}}, log={"level": "info", "target": "stderr"})
    first = pid_of(s, "a")
    s.hang_up()
    killer = Killer(box, s.guardian(), "clone3:born", signo=signo)
    os.kill(first, signal.SIGKILL)
    s.until(killer.killed, "the guardian's signal at a birth")
    killer.end()
    return s, lines_of(s)


def lines_of(s):
    with open(s.stderr, encoding="utf8") as log:
        return re.findall(r"(?m)/user/a: (?:exited|failure)", log.read())


@test("a successor is born before the log tells why it is")
def born_first(box):
    s, told = die_at_birth(box, "STOP")
    equal(told, [], "what the log says while the guardian is stopped")
    os.kill(s.guardian(), signal.SIGCONT)
    s.until(lambda: len(lines_of(s)) > 1, "the lines of the log")
    equal(lines_of(s), ["/user/a: exited", "/user/a: failure"], "the lines of the log")


@test("what a guardian had not written into the log yet its successor writes")
def lines_of_the_dead(box):
    s, told = die_at_birth(box, "KILL")
    equal(told, [], "what the log says when the guardian dies")
    s.until(lambda: len(lines_of(s)) > 1, "the lines of the log")
    s.until(lambda: s.actor("a")["state"] == "running", "a to run")
    equal(lines_of(s), ["/user/a: exited", "/user/a: failure"], "the lines of the log")


# ---- … of a storm ------------------------------------------------------------------------------

STORM = 300
TOLD = ("exited", "failure", "backoff")


def storm(box):
    """Actors that run, and no client is connected.  Their log is set aside every few lines."""
    tree = {f"a{n}": {"command": ["sleep", "1000"], "output": "null",
                      "backoff": {"min": "1h", "max": "1h"}} for n in range(STORM)}
    s = start(box, tree, I="1000/1s", log={"level": "info", "target": "file", "keep": 90,
                                           "directory": box.path("logs"), "max_size": "4K"})
    s.until(lambda: len(s.seen("ready")) > STORM, "all to run", 60)
    pids = [actor["pid"] for actor in s.call("Status")["actors"] if actor["pid"]]
    equal(len(pids), STORM, "processes")
    guardian = s.guardian()
    s.hang_up()
    return s, guardian, pids


def told(s):
    """What the log tells of ends, the files that were set aside first."""
    path = os.path.join(s.dir, "logs/supd.log")
    text = "".join(text_of(f"{path}.{n}") for n in range(90, 0, -1)) + text_of(path)
    return re.findall(rf"(/user/a\d+): ({'|'.join(TOLD)})\b", text)


def all_told(s):
    s.until(lambda: len(set(told(s))) == STORM * len(TOLD),
            lambda: f"the lines; there are {len(set(told(s)))}", 20)
    return told(s)


def happened(s):
    """What events tell of ends, in their order."""
    s.follow = True
    s.until(lambda: len(s.seen("backoff")) == STORM, "the events", 30)
    return [(one["path"], one["event"]) for one in s.events if one["event"] in TOLD]


@test("of 300 actors that die at once each has its lines once, in the order of the events",
      timeout=90)
def lines_of_a_storm(box):
    s, _, pids = storm(box)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    lines = all_told(s)
    equal(lines, happened(s), "the lines")


def lines_over_a_death(box, stops):
    s, guardian, pids = storm(box)
    killer = Killer(box, guardian, stops, signo="STOP")
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    s.until(killer.killed, "the guardian to be stopped", 60)
    killer.end()
    half = len(told(s))
    check(0 < half < STORM * len(TOLD), f"{half} lines when the guardian is stopped")
    os.kill(guardian, signal.SIGKILL)
    lines = all_told(s)
    events = happened(s)
    # A death between a line and the note that it is written has it written once more.
    doubled = [n for n, line in enumerate(lines) if line in lines[:n]]
    check(len(doubled) < 2, lambda: f"doubled: {[lines[n] for n in doubled]}")
    equal([line for n, line in enumerate(lines) if n not in doubled], events, "the lines")


for moment in 1500, 4000, 8001:
    test(f"… also when their guardian dies in the midst of it, {moment} stops after it began",
         timeout=90)(lambda box, n=moment: lines_over_a_death(box, n))


# ---- messages of the walker --------------------------------------------------------------------

def heard_all(pid):
    """Does this guardian know the end of each of its children?"""
    with open(f"/proc/{pid}/status", encoding="utf8") as text:
        pending = int(re.search(r"(?m)^ShdPnd:\s*(\w+)", text.read())[1], 16)
    return not children(pid) and not pending & 1 << signal.SIGCHLD - 1


@test("the end of an adopted process that is told in the midst of a long turn is known after it")
def told_in_a_turn(box):
    spec = {"command": ["sleep", "1000"], "stop_signal": "WINCH", "shutdown": "infinity"}
    s = start(box, {"a": {}, **{f"b{i}": spec for i in range(100)}})
    _, guardian = s.crash()
    adopted = pid_of(s, "a")
    # Any other end would make the guardian look.
    s.until(lambda: heard_all(guardian), "the guardian to rest")
    killer = Killer(box, guardian, "pidfd_send_signal", signo="STOP")
    wish = Wish(s, "Stop", names=["/user/b*"])
    try:
        s.until(lambda: wish.done() or killer.killed(), "the first of many signals")
        s.until(lambda: state_of(guardian) == "T", "the guardian to stop")
        os.kill(adopted, signal.SIGKILL)
        s.until(lambda: not alive(adopted), "the end that the walker tells of")
    finally:
        os.kill(guardian, signal.SIGCONT)
    killer.end()
    s.started("a", 2)
    equal(s.guardian(), guardian, "the guardian")
    for actor in s.call("Status")["actors"]:
        if actor["state"] == "stopping":
            os.kill(actor["pid"], signal.SIGKILL)
    s.until(wish.done, "the reply")


# ---- the service manager -----------------------------------------------------------------------

@test("systemd is told of the end of a reload during which the guardian died")
def reloading(box):
    s = start(box, {"a": {}})
    old = s.guardian()
    killer = Killer(box, old, "fallocate")
    s.signal(signal.SIGHUP)
    s.until(killer.killed, "the guardian's death in a reload")
    killer.end()
    s.successor(old)
    begun = s.until(lambda: [i for i, note in enumerate(s.notes) if "RELOADING=1" in note],
                    "RELOADING=1")[0]
    s.until(lambda: any("READY=1" in note for note in s.notes[begun:]), "READY=1 after it")
    s.consistent()


@test("after a death in a shutdown the service manager is asked for more time as before")
def stopping(box):
    s = start(box, DEAF)
    s.signal(signal.SIGTERM)
    s.until(lambda: any("STOPPING=1" in note for note in s.notes), "STOPPING=1")
    seen = len(s.notes)
    old = s.guardian()
    s.kill_guardian(old)
    s.until(lambda: any("EXTEND_TIMEOUT_USEC" in note for note in s.notes[seen:]),
            "more time")
    os.kill(pid_of(s, "a"), signal.SIGKILL)
    s.ended(0)


if __name__ == "__main__":
    main()
