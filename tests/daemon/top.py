#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""supctl top: printed once without a terminal, and on a page of its own on a terminal."""
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from fake_supd import Hang, Reply, Supd, actor, stream, supervisor
from harness import SUPCTL, SUPD, check, equal, has, main, test
from screen import Terminal

TREE = {"db": {}, "app": {"children": {"api": {"do": ["fork=2"]}}}, "off": {"enabled": False}}


def top(box, s, *args, **how):
    return Terminal(box, [SUPCTL, "-s", s.socket, "--no-color", "top", *args], **how)


def names(lines):
    """The actors in these rows, with the branches of the tree before each name."""
    return [re.match("[│├└─ ]*[^ ]+", line)[0] for line in lines]


def rows(text):
    return [line.split() for line in text.splitlines()]


@test("without a terminal top prints all actors once, with what they take")
def once(box):
    s = box.supd(TREE)
    s.line("F", "api")
    lines = rows(s.ctl_ok("top").out)
    equal(lines[0], ["ACTOR", "STATE", "PID", "CPU", "MEMORY", "PROCS", "UPTIME", "RESTARTS"],
          "titles")
    found = {line[0]: line for line in lines[1:]}
    equal(sorted(found), ["/user", "/user/app", "/user/app/api", "/user/db", "/user/off"], "who")
    api = found["/user/app/api"]
    equal((api[1], api[2], api[5]), ("running", str(s.actor("/user/app/api")["pid"]), "3"), "api")
    has(api[3], r"^\d+\.\d%$", "its share")
    has(api[4], r"^\d+(\.\d)?[KMG]$", "its memory")
    equal(found["/user/off"][1:6], ["stopped", "-", "-", "-", "-"], "one without a process")


@test("top says degraded of a supervisor below which something has failed, as status does")
def degraded(box):
    s = box.supd({"g": {"children": {"a": {"restart": "never"}, "b": {}}}})
    s.tell("a", "exit=3", s.started("a"))
    s.wait_for("g/a", state="failed")
    states = {line[0]: line[1] for line in rows(s.ctl_ok("top", "-n", "1").out)}
    equal((states["/user"], states["/user/g"], states["/user/g/b"]),
          ("degraded", "degraded", "running"), "states")


@test("top -n prints so often, and --sort gives the order")
def several(box):
    s = box.supd(TREE)
    s.line("F", "api")
    out = s.ctl_ok("top", "-n", "2", "--sort", "path").out
    equal(out.count("ACTOR"), 2, "how often")
    equal([line[0] for line in rows(out.partition("\n\n")[0])[1:]],
          ["/user", "/user/db", "/user/app", "/user/app/api", "/user/off"], "as supd has them")
    first = rows(s.ctl_ok("top", "--sort", "memory").out)[1][0]
    equal(first, "/user/app/api", "who has most memory")
    s.tell("db", "exit=1")
    s.started("db", 2)
    equal(rows(s.ctl_ok("top", "--sort", "restarts").out)[1][0], "/user/db", "who was restarted")
    for wrong in (("--sort", "size"), ("-n", "0"), ("-n", "x"), ("db",)):
        equal(s.ctl("top", *wrong).code, 2, f"top {wrong}")
    equal(sorted(actor["path"] for actor in s.json("top")),
          ["/user", "/user/app", "/user/app/api", "/user/db", "/user/off"], "as JSON")
    check(all("resources" in actor for actor in s.json("top")), "what they take")


@test("on a terminal of 80 by 24 top draws a page that fits, with the tree, again and again, until q")
def page(box):
    s = box.supd(dict(TREE, **{f"filler{i}": {"enabled": False} for i in range(30)},
                      **{"n" * 70: {"enabled": False}}))
    s.line("F", "api")
    terminal = top(box, s)
    terminal.see(r"api +running", "the first page")
    first = terminal.see("q:quit", "the end of that page")
    has(first[0], r"^36 actors, 4 running, 0 failed; cpu \d+\.\d%, memory \d.*; by path; 1 to 12 of 36$",
        "the first line")
    equal(first[1].split(), "ACTOR STATE CPU MEMORY UPTIME RESTARTS IN 10 MIN".split(), "titles")
    equal(names(first[2:6]), ["/user", "├─ db", "├─ app", "│  └─ api"], "the tree")
    has(first[14], "^── log of /user ─+$", "the title of the pane")
    has(first[-1], r"^\?:help .* q:quit$", "the last line")
    terminal.press("G")
    end = terminal.see("<n+ +stopped", "the end of the list")
    equal(terminal.screen.marks, {[i for i, line in enumerate(end) if "<n" in line][0]}, "the row of the cursor")
    terminal.press("home", "j", "down")
    terminal.see("log of /user/app ", "the log of another actor")
    terminal.press("k")
    terminal.see("log of /user/db ", "the log of the actor before it")
    s.tell("db", "exit=1")
    s.started("db", 2)
    terminal.press("r")
    terminal.see(r"/user/db +running .* 1 +[▁▂]+$", "what has changed meanwhile, with a bar for it")
    terminal.see("log of /user/db ", "the cursor where its actor is now")
    terminal.press("q")
    terminal.end(0)


@test("starts before top began have their bars, by the events that supd still has")
def bars(box):
    s = box.supd({"a": {}})
    for n in range(3):
        s.tell("a", "exit=1", s.started("a", n + 1))
    s.started("a", 4)
    terminal = top(box, s)
    terminal.see(r"a +running .* 3 +[▁-█ ]*[▁▂▃]+$", "bars for three starts")
    terminal.press("q")
    terminal.end(0)


@test("where the terminal has no UTF-8, the tree and the bars are ASCII")
def ascii_only(box):
    s = box.supd(TREE)
    s.tell("db", "exit=1", s.started("db"))
    s.started("db", 2)
    terminal = top(box, s, LC_ALL="C")
    terminal.see(r"^\|- db +running .* 1 +[12]+$", "the tree")
    check(terminal.bytes.isascii(), "something is not ASCII")
    terminal.press("q")
    terminal.end(0)


@test("the pane shows the log, the story, the details or the events of the chosen actor")
def panes(box):
    s = box.supd({"talks": {"command": ["sh", "-c", "trap 'exit 4' USR1; echo one of them; while :; do sleep 0.1; done"]},
                  "off": {"enabled": False}})
    terminal = top(box, s)
    terminal.press("j")
    terminal.see("log of /user/talks(.*\n)+.*one of them", "its log")
    terminal.press("d")
    terminal.see("details of /user/talks(.*\n)+ +kind +worker", "its details")
    terminal.press("e")
    terminal.see("story of /user/talks(.*\n)+.*has not failed", "its story")
    s.ctl_ok("signal", "talks", "USR1")
    terminal.see("failed at .*exited with 4", "its story, that has grown")
    terminal.press("v")
    terminal.see("events of /user/talks(.*\n)+.*exited with 4", "its events")
    terminal.press("l")
    terminal.see("log of /user/talks(.*\n)+.*one of them\n(.*\n)*.*one of them", "its log, of both processes")
    terminal.press("enter")
    terminal.see(r"\A[^\n]*\n── log of /user/talks", "the pane on all of the page")
    terminal.press("enter", "n")
    terminal.see(r"\A((?!── )[^\n]*\n)+[^\n]*\Z", "no pane")
    terminal.press("?")
    terminal.see("let it fail, and its supervisor decide", "the help")
    terminal.press("x")
    terminal.see("^ACTOR", "the list again")
    terminal.press("q")
    terminal.end(0)


@test("a long log can be scrolled in the pane")
def scrolls(box):
    s = box.supd({"talks": {"command": ["sh", "-c", "for i in $(seq 100); do echo line $i.; done; exec sleep 1000"]}})
    terminal = top(box, s)
    terminal.press("j")
    terminal.see(r"line 100\.", "the last line")
    terminal.press("[", "[")
    terminal.see(r"line 90\.$(\n.*)*\Z(?<!line 100\.)", "earlier lines")
    terminal.press("]", "]", "]")
    terminal.see(r"line 100\.", "the last line again")
    terminal.press("q")
    terminal.end(0)


@test("a filter leaves what matches, with its supervisors in the tree")
def filters(box):
    s = box.supd(TREE)
    s.line("F", "api")
    terminal = top(box, s)
    terminal.see("db +running", "all")
    terminal.press("/", "A", "P", "I", "x", "backspace")
    terminal.see(r"^ACTOR.*\n/user .*\n└─ app .*\n   └─ api .*\n── log (.*\n)+/API_", "the filter, and what it leaves")
    terminal.press("enter")
    terminal.see("; only 'API'$", "what the list is")
    terminal.press("escape")
    terminal.see("db +running", "all again")
    terminal.press("/", *"stopped", "enter")
    terminal.see("^└─ off +stopped", "what is in that state")
    terminal.press("q")
    terminal.end(0)


@test("keys start and stop, restart, signal and fail; what is dangerous asks first")
def acts(box):
    s = box.supd(TREE)
    s.line("F", "api")
    terminal = top(box, s)
    terminal.press("/", "o", "f", "f", "enter", "j", "S")
    terminal.see("^start /user/off: done", "the start")
    s.wait_for("off", state="running")
    terminal.press("X")
    terminal.see(r"^stop /user/off\? y or n", "a question")
    terminal.press("n")
    terminal.see("^stop /user/off: not done", "that nothing was done")
    equal(s.actor("off")["state"], "running", "the state of what was not stopped")
    terminal.press("X", "y")
    terminal.see("^stop /user/off: done", "the stop")
    s.wait_for("off", state="stopped")
    terminal.press("escape")
    terminal.see("└─ api", "all actors")
    terminal.press("/", "d", "b", "enter", "j")
    terminal.see("of /user/db ", "another actor")
    terminal.press("R")
    terminal.see(r"^restart /user/db\? y or n", "a question")
    terminal.press("y")
    terminal.see("^restart /user/db: done", "the restart")
    s.started("db", 2)
    terminal.press("K")
    terminal.see(r"^signal to /user/db \(TERM\): _", "a question")
    terminal.press(*"HUP", "escape")
    terminal.see(r"^\?:help", "that nothing is asked")
    terminal.press("K", *"KILL", "enter")
    terminal.see("^kill /user/db: done", "the signal")
    s.event("exited", "db", since=s.event("started", "db", 2)["seq"])
    equal(s.seen("exited", "db")[-1]["cause"]["signal"], "KILL", "the signal")
    s.started("db", 3)
    terminal.press("K", *"nosuch", "enter")
    terminal.see("^supctl: kill.*nosuch", "what was wrong")
    terminal.press("F", "y")
    terminal.see("^fail /user/db: done", "the failure")
    terminal.see("^└─ db +failed", "what the policy makes of it")
    equal(s.event("failure", "db", 2)["cause"]["kind"], "killed", "the cause")
    terminal.press("q")
    terminal.end(0)


@test("a terminal that changes its size gets a page of that size")
def sizes(box):
    s = box.supd(TREE)
    s.line("F", "api")
    terminal = top(box, s, columns=200, lines=50)
    wide = terminal.see(r"(.*\n)+\?:help", "a page")
    equal(wide[1].split(), "ACTOR STATE PID CPU MEMORY PROCS UPTIME RESTARTS IN 10 MIN".split(), "titles")
    has("\n".join(wide), rf"api +running +{s.actor('app/api')['pid']} ", "a process")
    equal([line.startswith("?:help") for line in wide].index(True), 49, "the last line")
    for columns, lines in ((80, 24), (40, 12), (12, 3), (3, 1), (80, 24)):
        terminal.resize(columns, lines)
        terminal.see(r"(\A|\n)\?:[^\n]*\Z", f"a page of {columns} by {lines}")
    terminal.see("^│?  └─ api +running", "the page as it was")
    terminal.press("q")
    terminal.end(0)


@test("whatever ends top, the terminal is as it was")
def put_back(box):
    s = box.supd(TREE)
    s.line("F", "api")
    for signo in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        terminal = top(box, s)
        terminal.see("api", "a page")
        terminal.kill(signo)
        terminal.end(0)


@test("a terminal that is not known gets no page, and is told what to do; a supd that was never there is an error")
def no_page(box):
    s = box.supd(TREE)
    terminal = top(box, s, columns=200, TERM="no-such-terminal")
    terminal.see("'no-such-terminal'.*supctl top -n 1", "a message")
    equal(terminal.process.wait(), 1, "exit status")
    s.stop()
    terminal = top(box, s)
    terminal.see("no supd at", "a message")
    equal(terminal.process.wait(), 4, "exit status")


@test("top goes on when a guardian dies and the next one takes over")
def survives(box):
    s = box.supd(TREE)
    s.line("F", "api")
    terminal = top(box, s)
    terminal.see("api", "a page")
    s.crash()
    s.tell("db", "exit=1")
    s.started("db", 2)
    terminal.press("r")
    terminal.see(r"/user/db +running .* 1 +\S*$", "what happened afterwards")
    terminal.press("q")
    terminal.end(0)


@test("a supd that goes away and comes back finds top where it was")
def comes_back(box):
    s = box.supd(TREE)
    s.line("F", "api")
    terminal = top(box, s)
    terminal.see("api", "a page")
    s.stop()
    terminal.see("^supd does not answer since .* This is what was last seen:(.*\n)+.*api", "what is going on")
    s.write({"other": {"command": ["sleep", "1000"]}})
    again = box.popen(SUPD, "-c", s.file, "-r", s.runtime, stderr=subprocess.DEVNULL)
    terminal.see("^2 actors, 2 running(.*\n)+.*other +running", "the other supd")
    terminal.press("q")
    terminal.end(0)
    again.terminate()
    equal(again.wait(), 0, "the other supd's end")


HOSTILE = "evil\x1b]0;title\x07\x1b[2J\u009b31m\u202ename\n\ttab"


@test("no sequence of a name, a state, a remark or a line of output reaches the terminal")
def hostile(box):
    actors = [supervisor("/user"), actor("/user/" + HOSTILE, state=HOSTILE, status=HOSTILE)]
    fake = Supd(Status=lambda call, supd: stream(actors),
                Events=lambda call, supd: [Reply({"event": {"event": "started", "path": HOSTILE, "mono": 1,
                                                            "generation": 2}})],
                Explain=lambda call, supd: [Reply({"path": HOSTILE, "chain": [], "last_words": [HOSTILE],
                                                   "text": HOSTILE})],
                Logs=lambda call, supd: [Reply({"path": HOSTILE, "time": None, "stream": "stdout",
                                                "text": "\x1b[31mred\x1b[0m " + HOSTILE}, more=True), Hang])
    fake.parallel = True
    box.undo.append(fake.close)
    terminal = Terminal(box, [SUPCTL, "-s", fake.path, "top"], columns=150)
    terminal.see("evil", "a page")
    terminal.press("j")
    terminal.see(r"red evil\\x1b\]0;title", "a line of output")
    terminal.press("e")
    terminal.see(r"story of(.*\n)+evil\\x1b\]0;title", "a story")
    terminal.press("q")
    terminal.end(0)
    check("\u202e" not in terminal.bytes.decode(errors="replace"), "text is turned around")


if __name__ == "__main__":
    main()
