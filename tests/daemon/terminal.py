#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""supd in the foreground of a terminal, which goes away, and in the background."""
import fcntl
import os
import pty
import signal
import sys
import termios

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import SUPD, alive, check, equal, has, main, run, test


def on_terminal(box, ignored=False):
    """A supd with a terminal of its own, and the end of the terminal that can be closed."""
    master, slave = pty.openpty()

    def child():
        if os.getsid(0) != os.getpid():
            os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        # Not as the tests were started, which may have been by nohup.
        signal.signal(signal.SIGHUP, signal.SIG_IGN if ignored else signal.SIG_DFL)

    s = box.supd({"a": {}}, before=child)
    os.close(slave)
    s.started("a")
    return s, master


def said(s, text):
    with open(s.stderr, encoding="utf8") as log:
        return text in log.read()


@test("a terminal that goes away is the end of supd, which says so")
def hang_up(box):
    s, master = on_terminal(box)
    os.close(master)
    s.ended(0)
    check(said(s, "the terminal went away: shutting down"), "nothing says why supd has ended")


@test("started with SIGHUP ignored, as by nohup, supd outlives its terminal, and reloads as ever")
def nohup(box):
    s, master = on_terminal(box, ignored=True)
    os.close(master)
    s.until(lambda: said(s, "the terminal went away: supd goes on"), "word of the terminal")
    s.write({"a": {}, "b": {}})
    s.signal(signal.SIGHUP)
    s.started("b")
    s.crash()
    s.tell("a", "exit=3")
    s.started("a", 2)


def parent(pid):
    with open(f"/proc/{pid}/stat", encoding="utf8") as stat:
        return int(stat.read().rpartition(")")[2].split()[1])


@test("supd -d returns when supd is ready, which goes on in the background, with a log of its own")
def background(box):
    s = box.supd({"a": {"ready": "notify", "do": []}}, wait=False, args=["-d"])
    s.started("a")
    equal(s.actor("a")["state"], "starting", "a's state")
    check(s.process.poll() is None, "returned before supd was ready")
    s.tell("a", "ready")
    s.ended(0)
    probe = s.line("S", "a").pid
    guardian = parent(probe)
    walker = parent(guardian)
    equal(os.getsid(walker), walker, "the session")
    equal([os.readlink(f"/proc/{walker}/fd/{fd}") for fd in range(3)],
          ["/dev/null", "/dev/null", box.path("logs/supd.log")], "what supd has open")
    has(s.ctl_ok("logs", "supd").out, "supd .*: ready", "its own log")
    os.kill(guardian, signal.SIGKILL)
    equal(s.json("status", "a")[0]["pid"], probe, "the pid that the next guardian tells")
    s.ctl_ok("shutdown")
    s.until(lambda: not alive(walker), "the end")
    has(open(box.path("logs/supd.log"), encoding="utf8").read(), "shutting_down", "its own log")


@test("what actors with output: inherit write follows the log of a supd -d when it is set aside", timeout=60)
def inherited(box):
    gate = box.path("gate")
    os.mkfifo(gate)
    s = box.supd({"a": {"command": ["sh", "-c", f"while read word <{gate}; do echo said $word >&2; done"],
                        "output": "inherit"}, "b": {"ready": "notify", "do": []}, "c": {}}, wait=False, args=["-d"],
                 log={"directory": box.path("logs"), "max_size": "4K", "keep": 90})
    s.started("b")
    s.tell("b", "ready")
    s.ended(0)
    walker = parent(parent(s.line("S", "b").pid))

    def say(word):
        with open(gate, "w", encoding="utf8") as out:
            out.write(word + "\n")
        s.until(lambda: f"said {word}\n" in text("supd.log"), f"{word} in the log")

    def text(name):
        with open(box.path("logs/" + name), encoding="utf8") as file:
            return file.read()
    say("first")
    number = 0
    while not os.path.exists(box.path("logs/supd.log.2")):
        number += 1
        s.call("Restart", names=["c"])
    say("second")
    check("said second" not in text("supd.log.1") and "said first" not in text("supd.log"), "the old file")
    names = ["supd.log"] + [f"supd.log.{i}" for i in range(1, 91) if os.path.exists(box.path(f"logs/supd.log.{i}"))]
    whole = "".join(text(name) for name in reversed(names))
    equal((whole.count("said first"), whole.count("/user/c: started"), os.path.exists(box.path("logs/supd.log.copy"))),
          (1, number + 1, False), "what all files have")
    s.ctl_ok("shutdown")
    s.until(lambda: not alive(walker), "the end")


@test("supd -d says why supd has ended before it was ready, and exits as that")
def never_ready(box):
    s = box.supd({"a": {}})
    other = run(SUPD, "-d", s.file, "-r", s.runtime)
    equal(other.code, 69, "exit status beside another supd")
    has(other.err, "another supd runs in .*\n.*ended with status 69", "standard error")
    bad = run(SUPD, "-d", box.file("bad.yaml", "x: 1\n"), "-r", box.path("other"))
    equal(bad.code, 78, "exit status of errors in the file")
    has(bad.err, "unknown key `x`", "standard error")
    gone = {"restart": "permanent", "ready": "notify", "do": ["exit=3"]}
    late = box.supd({"b": gone}, name="late", wait=False, args=["-d"],
                    decider=[{"when": "any", "then": "escalate"}])
    late.ended(70)
    check(said(late, "(exited with 3) in /user/b; stop, by root"), "nothing says why")


EVIL = "x\x1b]0;x\x07\x1b[31m\u009b31m\r"


@test("no name of a file, and no argument, controls the terminal of a supd that refuses it")
def hostile_arguments(box):
    hostile = box.file(EVIL, "children: {a: {command: x, user: \"\\e]0;x\\a\", \"k\\e[31m\": 1}}\n")
    for words in (("--" + EVIL,), ("--show", EVIL), ("--log-level", EVIL), ("--log-target", EVIL),
                  ("--seed", EVIL), ("a", EVIL), (EVIL,), ("-c", EVIL), ("--check", EVIL),
                  ("--check", hostile), (hostile, "-r", box.path("run")), ("--simulate", hostile),
                  ("--init", EVIL, "x"), ("--init", "procfile", EVIL), ("-d", EVIL),
                  ("-r", hostile + "/" + EVIL, box.file("good.yaml", "children: {}\n"))):
        result = run(SUPD, *words)
        check(result.code not in (0, 1) and result.err, (words, result))
        bad = set(result.out + result.err) & set(map(chr, [*range(10), *range(11, 32), *range(127, 160)]))
        check(not bad, (words, bad, result))
    shown = run(SUPD, "--init", "procfile", box.file("Procfile" + EVIL, "web: ./web\n"))
    check(shown.code == 0 and "\x1b" not in shown.out and "\r" not in shown.out, shown)


@test("an option that is not known is named, and the help is")
def unknown_options(box):
    for word, said_of_it in (("-x", "unknown option -x"), ("--foo", "unknown option --foo"),
                             ("-vx", "unknown option -x"), ("-c", "missing after -c"),
                             ("--seed", "missing after --seed")):
        result = run(SUPD, word)
        equal(result.code, 64, word)
        has(result.err, f"^supd: .*{said_of_it}\nTry 'supd --help'.\n$")


if __name__ == "__main__":
    main()
