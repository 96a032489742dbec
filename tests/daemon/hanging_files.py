#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Files of an actor that do not answer: its start fails, and nothing else waits for it."""
import contextlib
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from chaos import INSTRUMENTED, Killer
from fuse import Fuse
from harness import PROBE, SUPCTL, SUPD, Skip, alive, check, children, equal, has, main, test
from probe_target import Answering


def failed_start(s, name, words):
    """Wait for the failure; the cause has these words."""
    cause = s.event("failure", name)["cause"]
    equal((cause["kind"], cause["errno"]), ("exec", "ETIMEDOUT"), "the cause")
    has(cause["text"], words, "the cause's text")


def others_work(s):
    """Control, restarts and timers of the others, as if nothing was."""
    s.ctl_ok("ping")
    count = s.counts["S", "other"]
    s.ctl_ok("restart", "other")
    s.started("other", count + 1)
    count = s.counts["S", "clock"]
    s.started("clock", count + 2)


def program_of(pid):
    with open(f"/proc/{pid}/comm", encoding="utf8") as name:
        return name.read().strip()


CALM = {"user": "nobody", "backoff": {"min": "100ms", "max": "100ms"}}
OTHERS = {"other": {}, "clock": {"do": ["exit=1"], "backoff": {"min": "50ms", "max": "50ms"}}}


# FILE PROGRAM: opens FILE as user 65534 and executes PROGRAM, which closes the descriptor.
EXEC_WITH = ("import os, sys\nos.setgid(65534)\nos.setuid(65534)\nos.open(sys.argv[1], os.O_RDONLY)\n"
             "os.execvp(sys.argv[2], sys.argv[2:])")


@test("a program that cannot be read fails in time; it is started once, when it can be",
      root=True)
def program(box):
    fuse = Fuse(box, "read", content=PROBE)
    s = box.supd({"a": {"binary": fuse.path(), **CALM}, **OTHERS}, wait=False)
    fuse.held("read")
    failed_start(s, "a", "exec: timeout")
    others_work(s)
    # No second one beside it; that is not counted as a failure of the actor for ever.
    equal(s.event("shortage", "a")["cause"]["errno"], "EBUSY", "the second attempt")
    equal(len([line for line in fuse.lines if line.startswith("held")]), 1, "what hangs")
    equal(s.seen("started", "a"), [], "starts so far")
    fuse.answer()
    s.started("a")
    equal(len(s.seen("started", "a")), 1, "starts")
    check(s.actor("a")["pid"] == s.pids["a"], "it is the one that runs")


@test("a program that was given up and hangs is known to the next guardian: it starts no second one",
      root=True)
def given_up(box):
    fuse = Fuse(box, "read", content=PROBE)
    s = box.supd({"a": {"binary": fuse.path(), "containment": "session", **CALM}, **OTHERS}, wait=False)
    fuse.held("read")
    failed_start(s, "a", "exec: timeout")
    os.kill(s.guardian(), signal.SIGKILL)
    s.caller = None
    s.until(lambda: s.ctl("ping").code == 0, "an answer of the next guardian")
    others_work(s)
    s.until(lambda: (s.actor("a")["backoff"] or {"delay_ms": 0})["delay_ms"] > 1000, "attempts in vain")
    has(s.ctl_ok("-o", "json", "events", "--type", "shortage").out, "EBUSY", "why they are")
    equal(s.ctl_ok("-o", "json", "events", "--type", "failure").out.count("ETIMEDOUT"), 1, "failures")
    fuse.answer()
    s.started("a")
    equal(s.counts["S", "a"], 1, "starts")


@test("programs that cannot be read hold up no restart and no answer while they are waited for",
      root=True)
def beside(box):
    fuse = Fuse(box, "read", content=PROBE)
    s = box.supd({**{f"h{n}": {"binary": fuse.path(f"f{n}"), **CALM} for n in range(5)}, **OTHERS},
                 start="parallel", wait=False)
    s.started("clock", 3)
    others_work(s)
    for n in range(5):
        failed_start(s, f"h{n}", "exec: timeout")
    failed = s.seen("failure", "h0")[0]["mono"]
    begun = [event for event in s.seen("started", "clock") if event["mono"] < failed]
    check(len(begun) >= 2, f"{len(begun)} starts of another actor before the first failure")
    fuse.answer()
    for n in range(5):
        s.started(f"h{n}")
        equal(len(s.seen("started", f"h{n}")), 1, "starts")


@test("more hanging programs than there are places: others wait their turn, also over a crash; "
      "what waits can be stopped", root=True)
def queue(box):
    fuse = Fuse(box, "read", content=PROBE)
    hanging = [f"h{n}" for n in range(10)]
    s = box.supd({**{name: {"binary": fuse.path(name), **CALM} for name in hanging},
                  "gone": {}, "late": {}}, start="parallel", wait=False)
    fuse.held("read")
    s.until(lambda: s.ctl("ping").code == 0, "an answer")
    s.crash()
    s.until(lambda: s.ctl("ping").code == 0, "an answer")
    s.ctl_ok("stop", "gone")
    s.started("late")
    equal(s.counts["S", "late"], 1, "starts of late")
    fuse.answer()
    for name in hanging:
        s.started(name)
        equal(len(s.seen("started", name)), 1, "starts")


def killed(s):
    """Processes that were killed and do not end, of this guardian and of its predecessors."""
    def is_killed(pid):
        try:
            with open(f"/proc/{pid}/status", encoding="utf8") as file:
                pending = re.search(r"^ShdPnd:\s*(\w+)$", file.read(), re.M)
        except (FileNotFoundError, ProcessLookupError):
            return False
        return pending is not None and int(pending[1], 16) >> (signal.SIGKILL - 1) & 1
    return [pid for pid in children(s.pid) + children(s.guardian()) if is_killed(pid)]


@test("a guardian dies while a program and a hook hang: the next one goes on with their starts, "
      "which end by their own time, and supervises meanwhile", root=True)
def crashed(box):
    if INSTRUMENTED:
        raise Skip("with a sanitizer a child is forked, and its pid written later")
    fuse, late = (Fuse(box, "read", content=content) for content in (PROBE, "/bin/true"))
    s = box.supd({"h": {"binary": fuse.path(), **CALM},
                  "k": {"hooks": {"pre_start": [late.path()]}, **CALM}, **OTHERS},
                 start="parallel", wait=False)
    hanging = [fuse.held("read"), late.held("read")]
    os.kill(s.guardian(), signal.SIGKILL)
    s.caller = None
    s.until(lambda: s.ctl("ping").code == 0, "an answer of the next guardian")
    others_work(s)
    failed_start(s, "h", "exec: timeout")
    taken = s.seen("supd", "/")[-1]["mono"]
    begun = [event for event in s.seen("started", "clock")
             if taken < event["mono"] < s.seen("failure", "h")[0]["mono"]]
    check(len(begun) >= 2, f"{len(begun)} starts of another actor before the first failure")
    equal(s.event("shortage", "h")["cause"]["errno"], "EBUSY", "the second attempt")
    equal(sorted(killed(s)), sorted(hanging), "what was killed and hangs")
    fuse.answer()
    late.answer()
    equal(s.event("hook_failed", "k")["hook"], "pre_start", "the hook")
    for name in "hk":
        s.started(name)
        equal(len(s.seen("started", name)), 1, "starts")


@test("a program that hangs as its guardian dies: the end of another one, begun by the same "
      "guardian, is told meanwhile", root=True)
def taken_over(box):
    if INSTRUMENTED:
        raise Skip("with a sanitizer a child is forked, and its pid written later")
    fuse = Fuse(box, "read", content=PROBE)
    fuse.answer()
    s = box.supd({"h": {"binary": fuse.path(), **CALM},
                  "b": {"do": ["exit=3"], "restart": "never"}})
    s.event("exited", "b")
    s.ctl_ok("stop", "h")
    fuse.hold()
    s.ctl_ok("start", "--no-wait", "h")
    fuse.held("read")
    old, runs = s.guardian(), s.counts["S", "b"]
    killer = Killer(box, old, "clone3:born")
    start = box.popen(SUPCTL, "-s", s.socket, "start", "--no-wait", "b",
                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    s.until(killer.killed, "the guardian's death at a birth")
    killer.end()
    s.until(lambda: s.ctl("ping").code == 0, "an answer of the next guardian")
    s.caller = None
    s.until(lambda: start.poll() is not None, "the reply")
    fuse.answer()
    s.started("h")
    s.wait_for("b", state="failed")
    events = s.ctl_ok("-o", "json", "events", "--type", "exited").out
    equal(events.count('"/user/b"'), 2, "ends of b")
    equal(s.counts["S", "b"], runs + 1, "runs of b")


@test("a process that hangs in its exec holds up no start: /proc does not answer for it", root=True)
def stranger(box):
    fuse = Fuse(box, "flush", content=PROBE)
    stranger = box.popen(sys.executable, "-c", EXEC_WITH, fuse.path(), "sleep", "1000")
    fuse.held("flush")
    s = box.supd({"a": {"user": "nobody"}, **OTHERS})
    others_work(s)
    with open(s.stderr, encoding="utf8") as log:
        has(log.read(), f"pid {stranger.pid} hangs in an exec")


def hang_orphan(box, others):
    """An actor without a cgroup, the orphan of which has left the session and hangs in its exec."""
    fuse = Fuse(box, "flush", content=PROBE)
    fork = 'setsid "$0" -c "$1" "$2" sleep 1000 & exec sleep 1000'
    command = ["sh", "-c", fork, sys.executable, EXEC_WITH, fuse.path()]
    s = box.supd({"a": {"command": command, "containment": "session"}, **others})
    return s, fuse, fuse.held("flush")


@test("an orphan that hangs in its exec holds up no status, no stop, no restart and no next guardian", root=True)
def orphan(box):
    s, fuse, hanging = hang_orphan(box, OTHERS)
    pid = s.actor("a")["pid"]
    others_work(s)
    os.kill(s.guardian(), signal.SIGKILL)
    s.caller = None
    s.until(lambda: s.ctl("ping").code == 0, "an answer of the next guardian")
    others_work(s)
    equal(s.actor("a")["pid"], pid, "the adopted process")
    s.ctl_ok("restart", "--no-wait", "a")
    others_work(s)
    fuse.answer()
    s.until(lambda: s.actor("a")["pid"] not in (None, pid), "the next process")
    s.stop()
    s.until(lambda: not alive(hanging), "the end of the orphan with supd")


@test("an orphan that hangs in its exec until its actor has begun anew ends with supd", root=True)
def forgotten(box):
    s, fuse, hanging = hang_orphan(box, {})
    s.ctl_ok("restart", "a")
    s.stop()
    fuse.answer()
    s.until(lambda: not alive(hanging), "the end of the orphan")


@test("an orphan that comes to its program after its actor has begun anew ends with supd", root=True)
def forgotten_and_running(box):
    s, fuse, hanging = hang_orphan(box, {})
    s.ctl_ok("restart", "a")
    fuse.answer()
    s.until(lambda: program_of(hanging) == "sleep", "its program")
    s.stop()
    check(not alive(hanging), "the orphan has ended")


@test("a directory, a root, an input, an output and an environment file that do not answer: the same, also "
      "over a crash", root=True)
def files(box):
    fuse = Fuse(box, "open,access", content=box.file("variables", "KEY=value\n"))
    below = Fuse(box, "access", everybody=True)
    s = box.supd({"a": {**CALM, "directory": fuse.path("dir")},
                  "b": {**CALM, "output": "file:" + fuse.path("out")},
                  "c": {**CALM, "environment_file": fuse.path("variables")},
                  "d": {**CALM, "stdin": "file:" + fuse.path("in")},
                  "e": {**CALM, "root": below.path("dir")}, **OTHERS}, wait=False)
    failed_start(s, "a", "exec: chdir: timeout")
    failed_start(s, "b", "exec: open output: timeout")
    failed_start(s, "c", "exec: environment_file: timeout")
    failed_start(s, "d", "exec: open stdin: timeout")
    failed_start(s, "e", "exec: chroot: timeout")
    others_work(s)
    s.ctl_ok("stop", "a", "e")
    s.crash()
    others_work(s)
    fuse.answer()
    s.ctl_ok("start", "a")
    for name in "abcd":
        s.started(name)
        equal(s.counts["S", name], 1, f"starts of {name}")


@test("the file of a socket that cannot be made fails the start of its actor only", root=True)
def sockets(box):
    fuse = Fuse(box, "lookup", everybody=True)
    s = box.supd({"a": {**CALM, "sockets": {"web": "unix:" + fuse.path("sock")}},
                  "b": {**CALM, "sockets": {"fifo": "fifo:" + fuse.path("pipe")}},
                  "c": {"sockets": {"web": "unix:" + box.path("c.sock")}},
                  **OTHERS}, wait=False)
    s.started("c")
    for name in "ab":
        failed_start(s, name, "exec: open socket: timeout")
    others_work(s)
    for name in "ab":
        s.ctl_ok("stop", name)
    s.crash()
    others_work(s)
    s.ctl_ok("stop", "c")


@test("it is made when it can be: what was late, or hangs, is not tried at every start",
      root=True)
def answers(box):
    fuse = Fuse(box, "mknod", everybody=True)
    s = box.supd({"a": {**CALM, "user": "root", "do": ["serve"],
                        "sockets": {"web": "unix:" + fuse.path("sock")}}, **OTHERS}, wait=False)
    failed_start(s, "a", "exec: open socket: timeout")
    fuse.held("mknod")
    s.event("failure", "a", 4)
    equal(len([line for line in fuse.lines if line.startswith("held")]), 1, "what hangs")
    fuse.answer()
    s.event("started", "a", timeout=60)
    others_work(s)


@test("the file of a socket that cannot be removed holds up neither its actor nor the end",
      root=True)
def removed(box):
    fuse = Fuse(box, "unlink", everybody=True)
    s = box.supd({"a": {"do": ["serve"], "sockets": {"web": "unix:" + fuse.path("sock")}},
                  **OTHERS})
    s.started("a")
    s.ctl_ok("restart", "a")
    s.started("a", 2)
    s.write(OTHERS)
    s.ctl_ok("apply")
    fuse.held("unlink")
    others_work(s)
    s.crash()
    others_work(s)


@test("the file of metrics that cannot be made fails apply, and what cannot be removed is left",
      root=True)
def metrics(box):
    fuse = Fuse(box, "lookup,unlink", everybody=True)
    s = box.supd(OTHERS)
    s.write(OTHERS, metrics={"listen": "unix:" + fuse.path("sock")})
    old, result = s.guardian(), s.ctl("apply")
    equal(result.code, 1, "the exit status of apply")
    has(result.err, "metrics.listen: unix socket .*: Connection timed out", "the error")
    others_work(s)
    fuse.answer()
    s.until(lambda: s.ctl("apply").code == 0, "an apply that succeeds")
    fuse.hold()
    s.write(OTHERS)
    s.ctl_ok("apply")
    others_work(s)
    equal(s.guardian(), old, "the guardian")
    s.crash()
    others_work(s)


@test("a control socket the path of which hangs: no client comes in, and actors go on", root=True)
def control_socket(box):
    fuse = Fuse(box, "lookup,unlink", everybody=True)
    fuse.answer()
    s = box.supd(OTHERS, control={"socket": fuse.path("sock")})
    s.socket = fuse.path("sock")
    old = s.guardian()
    # From here on the test itself stays away from it.
    s.socket = box.path("none")
    fuse.hold()
    for _ in range(2):
        count = s.counts["S", "clock"]
        os.kill(s.pid, signal.SIGHUP)
        s.started("clock", count + 2)
    fuse.held("lookup")
    equal(s.guardian(), old, "the guardian, on a connection that was there before")
    os.kill(old, signal.SIGKILL)
    s.until(lambda: "took over after a crash" in open(s.stderr, encoding="utf8").read(),
            "the next guardian")
    s.started("clock", s.counts["S", "clock"] + 2)
    fuse.answer()


@test("a single signal ends a start that waits for the control socket's path: its guardian is taken for hung", root=True)
def ended_at_start(box):
    for signo in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):
        fuse = Fuse(box, "lookup", everybody=True)
        s = box.supd(OTHERS, control={"socket": fuse.path("sock")}, name=signo.name, wait=False)
        child = fuse.held("lookup")  # the guardian waits for it for twenty seconds
        s.signal(signo)
        s.ended(0)
        with open(s.stderr, encoding="utf8") as text:
            has(text.read(), r"^\S+ error   supd's guardian \(pid \d+\) hangs: it is aborted\n$", "what it says")
        equal(s.log, [], "what probes say")
        fuse.answer()
        s.until(lambda child=child: not alive(child), "its end")


@test("a control socket the path of which is slow, as on a busy machine, is waited for at a start",
      root=True)
def slow_control_socket(box):
    fuse = Fuse(box, "lookup", everybody=True, delay_us=900000)
    s = box.supd(OTHERS, control={"socket": fuse.path("sock")})
    fuse.until("late lookup", 2)
    fuse.answer()
    s.socket = fuse.path("sock")
    others_work(s)


@test("a probed path that hangs is a bad answer in time; others are asked meanwhile, by the "
      "same helper process", root=True)
def probes(box):
    fuse = Fuse(box, "lookup")
    server = Answering(box, path=box.path("served"))
    often = {"interval": "50ms", "failures": 1}
    resume = [{"when": "health", "then": "resume"}, "default"]
    s = box.supd({"a": {"health": {"unix": fuse.path("one"), "timeout": "300ms", **often}},
                  "b": {"health": {"unix": box.path("served"), "timeout": "2s", **often}},
                  "c": {"health": {"unix": fuse.path("two"), "timeout": "1m", **often}},
                  **OTHERS}, decider=resume)
    fuse.held("lookup")
    helper = s.actor("/system/probe")["pid"]
    equal(s.event("failure", "a")["cause"]["key"], "timeout", "the first bad answer")
    # The child at this path still hangs: the helper sends no second child to the same path.
    equal(s.event("failure", "a", 4)["cause"]["errno"], "ETIMEDOUT", "the next ones")
    n = server.accepted
    s.until(lambda: server.accepted > n + 5, "more questions to b")
    equal(len(children(helper)), 3, "children: two that hang, and the one at work")
    fuse.answer()
    s.until(lambda: len(children(helper)) == 1, "the end of those that hung")
    equal(s.event("failure", "c")["cause"]["errno"], "ECONNREFUSED", "what c's path leads to")
    s.until(lambda: s.seen("failure", "a")[-1]["cause"]["errno"] == "ECONNREFUSED",
            "a's path to be asked again")
    equal((s.actor("/system/probe")["pid"], s.seen("failure", "b")), (helper, []),
          "the helper process, and failures of b")


def in_silence(box):
    """What supd is started with so that a look-up in the user database waits for ever, and
    how to have it answered again."""
    fifo = box.path("passwd")
    os.mkfifo(fifo)
    silence = f"mount --bind {fifo} /etc/passwd"
    if subprocess.run(["unshare", "-m", "sh", "-c", silence], check=False,
                      stderr=subprocess.DEVNULL).returncode != 0:
        raise Skip("nothing can be mounted here")

    def answer(s):
        subprocess.run(["nsenter", "-m", "-t", str(s.pid), "umount", "/etc/passwd"], check=True)

    def be_silent(s):
        subprocess.run(["nsenter", "-m", "-t", str(s.pid), "sh", "-c", silence], check=True)
    return ["unshare", "-m", "sh", "-c", silence + ' && exec "$0" "$@"', SUPD], answer, be_silent


@test("a user database that does not answer holds up only actors that need it, at boot; a "
      "new configuration that does is refused", root=True)
def users(box):
    command, answer, be_silent = in_silence(box)
    s = box.supd({"a": CALM, **OTHERS}, wait=False, command=command)
    s.event("failure", "a", timeout=30)
    has(open(s.stderr, encoding="utf8").read(),
        r"supd.yaml:\d+:\d+: warning: .*the user database does not answer \(user nobody\)",
        "what is told")
    others_work(s)
    answer(s)
    s.event("started", "a", timeout=60)
    be_silent(s)
    s.write({"a": CALM, "b": {"user": "daemon"}, **OTHERS})
    result = s.ctl("apply")
    equal(result.code, 1, "the exit status of apply")
    has(result.err, r"the user database \(user (nobody|daemon)\) does not answer", "the error")
    others_work(s)
    answer(s)
    s.ctl_ok("apply")
    s.started("b")


@test("a configuration file that does not answer is an error, and nothing else", root=True)
def configuration(box):
    s = box.supd({"a": {}, **OTHERS})
    os.rename(s.file, s.file + ".good")
    os.mkfifo(s.file)
    result = s.ctl("apply")
    equal(result.code, 1, "the exit status of apply")
    others_work(s)
    os.rename(s.file + ".good", s.file)
    s.ctl_ok("apply")


@test("the process that reads a configuration is killed: the reply says so, and nothing changes",
      root=True)
def reader_killed(box):
    command, answer, _ = in_silence(box)
    s = box.supd({"a": {}, **OTHERS}, wait=False, command=command)
    s.started("a")
    s.write({"a": {}, "b": {"user": "daemon"}, **OTHERS})
    guardian = s.guardian()
    before = set(children(guardian))
    apply = box.popen(SUPCTL, "-s", s.socket, "apply", stdout=subprocess.DEVNULL,
                      stderr=subprocess.PIPE, text=True)

    def kill_reader():
        for child in set(children(guardian)) - before:
            with contextlib.suppress(OSError):
                os.kill(child, signal.SIGKILL)
        return apply.poll() is not None
    s.until(kill_reader, "the end of apply")
    err = apply.communicate()[1]
    equal(apply.returncode, 1, "the exit status of apply")
    has(err, r"supd.yaml was not read: the process that reads it was killed", "the error")
    others_work(s)
    answer(s)
    s.ctl_ok("apply")
    s.started("b")


@test("SIGHUP with a file that does not answer yet: clients are answered meanwhile; and once more "
      "with another signal, for what was not seen", root=True)
def hangup(box):
    s = box.supd({"a": {}})
    s.started("a")
    s.write({"a": {}, "b": {}})
    fuse = Fuse(box, "read", content=s.file, everybody=True)
    os.remove(s.file)
    os.symlink(fuse.path(), s.file)
    s.notes.clear()
    for count in (1, 2):
        s.signal(signal.SIGHUP)
        s.until(lambda: len([note for note in s.notes if "RELOADING=1" in note]) == count,
                "RELOADING=1")
        s.ctl_ok("ping")
    fuse.held("read")
    check(not any("READY=1" in note for note in s.notes), "the file was waited for")
    os.remove(s.file)
    s.write({"a": {}, "b": {}, "c": {}})
    fuse.answer()
    s.started("b")
    s.started("c")
    s.until(lambda: any("READY=1" in note for note in s.notes), "READY=1")
    equal(len(s.seen("applied")), 2, "configurations")


if __name__ == "__main__":
    main()
