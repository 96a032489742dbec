#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Files that never answer: supd and other actors go on."""
import contextlib
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from fuse import Fuse
from hanging import CALM, OTHERS, failed_start, others_work
from harness import SUPCTL, SUPD, alive, check, children, equal, has, main, test, Skip
from probe_target import Answering


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
