#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Output of actors, through pipes that outlive actors, guardian and log process."""
import json
import os
import re
import signal
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import SUPD, Skip, check, equal, has, main, test
from writers import Follower, kill, pid_of, seek, shell, text_of

STAMP = r"(?m)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z "
COUNT = """i=0; while [ $i -lt 300 ]; do echo line $i; i=$((i+1)); done
echo counted >%s; exec sleep 1000"""


def has_line(s, path, pattern):
    s.until(lambda: re.search(pattern, text_of(path)),
            lambda: f"/{pattern}/ in {path}: {text_of(path)[-500:]!r}")


@test("what an actor prints is in its log with the time, both streams in their order")
def ordered(box):
    s = box.supd({"a": shell("echo one; echo two >&2; printf 'three'; exec sleep 1000")})
    path = box.path("logs/user/a.log")
    has_line(s, path, "three")
    equal(re.sub(STAMP, "", text_of(path)), "one\ntwo\nthree", "the text")
    check(re.fullmatch("(?:" + STAMP.replace("(?m)^", "") + r"\w+\n?){3}", text_of(path)),
          text_of(path))


@test("format: json names the stream; a stream alone in its file stays alone")
def streams(box):
    s = box.supd({"a": shell("echo one; echo two >&2; exec sleep 1000",
                             output={"stdout": "log", "stderr": "null"},
                             log={"format": "json"})})
    path = box.path("logs/user/a.log")
    has_line(s, path, "one")
    line = json.loads(text_of(path))
    equal((line["stream"], line["text"]), ("stdout", "one"), "the line")


@test("the log process is an actor that is found by its path and is not in the way")
def actor(box):
    s = box.supd({"a": {}})
    s.started("a")
    log = s.actor("/system/log")
    equal(log["state"], "running", "its state")
    check(not any("/system" in line for line in s.ctl_ok("status").out.splitlines()),
          "a status that nobody asked for")
    has(s.ctl_ok("status", "/system/log").out, f"pid +{log['pid']}", "its status")
    has(s.ctl_ok("explain", "/system/log").out, "has not failed", "its story")
    equal(s.ctl("status", "log").code, 4, "a name without its path")
    s.ctl_ok("restart", "/system/log")
    check(s.actor("/system/log")["pid"] != log["pid"], "it is the same process")
    equal(s.actor("a")["restarts"], 0, "the restarts of a")


@test("log process and guardian are killed in turn: no line is lost or doubled", timeout=60)
def killed(box):
    s = box.supd({"a": shell(COUNT % box.path("counted"))})
    path = box.path("logs/user/a.log")
    for turn in range(1, 6):
        if turn % 2 == 1:
            kill(s, b"@log")
        else:
            kill(s, b"@guardian")
        s.until(lambda: os.path.exists(box.path("counted")), "it counts")
        expected = "".join(f"line {i}\n" for i in range(300)) * turn
        # What a log process that was killed had not finished is taken back for a moment.
        s.until(lambda text=expected: re.sub(STAMP, "", text_of(path)) == text,
                lambda n=turn: f"the text after {n}, but: {text_of(path)[-500:]!r}")
        os.unlink(box.path("counted"))
        s.ctl_ok("restart", "a")
    s.until(lambda: os.path.exists(box.path("counted")), "it counts")


@test("the last words of every actor are in its log when supd has ended")
def last_words(box):
    s = box.supd({name: shell("trap 'i=0; while [ $i -lt 200 ]; do echo bye $i; "
                              "i=$((i+1)); done; exit 0' TERM; "
                              f"echo up >{box.path(name)}; while :; do sleep 0.01; done")
                  for name in ("a", "b")})
    s.until(lambda: os.path.exists(box.path("a")) and os.path.exists(box.path("b")), "they run")
    s.stop()
    for name in "a", "b":
        equal(re.sub(STAMP, "", text_of(box.path(f"logs/user/{name}.log"))),
              "".join(f"bye {i}\n" for i in range(200)), f"the text of {name}")


LAST = 3000  # lines, far more than a pipe holds


def talker(box):
    """Says its last words at TERM, the second half of them when there is a gate."""
    gate = box.path("gate")
    return shell(f"""trap 'i=0; while [ $i -lt {LAST} ]; do
    echo bye $i, and so much more that all of it is far too much for one pipe
    while [ $i -ge {LAST // 2} ] && [ ! -e {gate} ]; do sleep 0.01; done
    i=$((i+1)); done; exit 0' TERM; echo up; while :; do sleep 0.01; done""", shutdown="20s")


def said_last(box, s):
    """supd ends in order; the last words are there, to the last."""
    s.ended(0, 30)
    text = re.sub(STAMP, "", text_of(box.path("logs/user/a.log"))).splitlines()
    equal((text[0], [line.split(",")[0] for line in text[1:]]),
          ("up", [f"bye {i}" for i in range(LAST)]), "what it said")


@test("the log process that dies during a shutdown is started again: no last word is lost")
def last_words_and_a_death(box):
    s = box.supd({"a": talker(box)})
    path = box.path("logs/user/a.log")
    has_line(s, path, "up")
    s.signal(signal.SIGTERM)
    has_line(s, path, "bye 9")
    kill(s, b"@log")
    box.file("gate")
    said_last(box, s)


def own(s):
    """Every process of supd by its command line, readers and helper processes too."""
    found = {}
    for pid in s.family():
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as text:
                name, word, *_ = text.read().decode().split("\0")
            if os.path.basename(name) == "supd":
                found[pid] = word if word[0] == "@" else "walker"
        except (FileNotFoundError, ProcessLookupError, ValueError):
            pass
    return found


@test("TERM to every process of supd at once is an ordered shutdown: no last word is lost")
def last_words_and_pkill(box):
    s = box.supd({"a": talker(box), "b": {**shell("exec sleep 1000"), "enabled": False,
                  "sockets": {"box": {"listen": f"unix:{box.path('b.sock')}",
                                      "while_down": "refuse"}}}})
    has_line(s, box.path("logs/user/a.log"), "up")
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(20)
        client.connect(box.path("b.sock"))
        equal(client.recv(1), b"", "what a client got of an actor that is down")
    # A reader that follows, and a reader that waits for the next call.
    equal(Follower(box, s, "a").take(1)[0].split()[-1], "up", "the line that is followed")
    has(s.ctl_ok("logs", "a").out, "up", "the log")
    kinds = ["@guardian", "@letters", "@log", "@logs", "@logs", "walker"]
    s.until(lambda: sorted(own(s).values()) == kinds, lambda: f"{kinds}; there are {own(s)}")
    log = pid_of(s, b"@log")
    for pid in own(s):
        os.kill(pid, signal.SIGTERM)
    has_line(s, box.path("logs/user/a.log"), "bye 9")
    equal(pid_of(s, b"@log"), log, "the log process")
    box.file("gate")
    said_last(box, s)


@test("supd's own log is set aside as those of actors are, and no line is lost")
def own_log(box):
    s = box.supd({"a": {}}, log={"directory": box.path("logs"), "target": "file",
                                 "max_size": "4K", "keep": 90})
    for _ in range(40):
        s.call("Restart", names=["a"])
    s.event("started", "a", 41)
    names = ["supd.log"] + [f"supd.log.{i}" for i in range(1, 91)
                            if os.path.exists(box.path(f"logs/supd.log.{i}"))]
    check(len(names) > 2, names)
    texts = [text_of(box.path("logs/" + name)) for name in names]
    check(all(len(text) < 4096 + 200 for text in texts),
          lambda: f"sizes {[len(text) for text in texts]}")
    equal(re.findall(r"/user/a: started, pid (\d+)", "".join(reversed(texts))),
          [str(one["pid"]) for one in s.seen("started", "a")], "the lives in the log")


@test("supd's own log is shown by logs supd, as lines or as JSON")
def own_log_shown(box):
    s = box.supd({"a": {}}, log={"directory": box.path("logs"), "target": "file"})
    s.started("a")
    lines = s.ctl_ok("logs", "supd").out
    has(lines, r"(?m)^\S+ +/user/a: started, pid \d+$", "the log")
    equal(s.ctl_ok("logs", "/system/supd", "-g", "a: started").out.count("\n"), 1, "a match")
    seen = json.loads(s.ctl_ok("logs", "supd", "-n", "1", "-o", "json").out)
    check(seen["path"] == "/system/supd" and seen["time"], seen)
    s.write({"a": {}, "supd": {"command": ["sh", "-c", "echo mine; exec sleep 1000"]}}, log={
        "directory": box.path("logs"), "target": "file", "format": "json"})
    s.ctl_ok("apply")
    s.wait_for("supd", state="running")
    s.until(lambda: "mine" in s.ctl_ok("logs", "supd").out, "the log of an actor of that name")
    last = [json.loads(x) for x in s.ctl_ok("logs", "/system/supd").out.splitlines()
            if x.startswith("{")]
    check([x for x in last if set(x) == {"time", "level", "message"}
           and x["level"] == "info" and x["message"].startswith("/user/supd: started, pid ")],
          last)


@test("supd's own log that is no file says where it is")
def own_log_elsewhere(box):
    s = box.supd({"a": {}})
    result = s.ctl("logs", "supd")
    equal(result.code, 7, "status")
    has(result.err, "goes to the standard error of supd; write log: {target: file}", "where")


@test("output to the journal carries the life")
def generations(box):
    if os.geteuid() != 0:
        raise Skip("no mounts without root")
    ask, note = box.path("ask"), box.path("note")
    os.mkfifo(ask)
    os.mkfifo(note)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as journal:
        journal.bind(box.path("journal"))
        journal.settimeout(20)
        s = box.supd({"a": shell(f"read x <{ask}; echo $$; exec sleep 1000",
                                 output="journal"),
                      "b": shell(f"exec cat <>{note}")},
                     command=["unshare", "-m", "sh", "-c", "mount -t tmpfs none /run && "
                              "mkdir -p /run/systemd/journal && cd /run/systemd/journal && "
                              ': >socket && mount --bind "$0" socket && exec "$@"',
                              box.path("journal"), SUPD])
        for life in (1, 2, 3):
            s.event("started", "a", life)
            # When this line is in the log, the log process has also read all earlier messages.
            with open(note, "w", encoding="ascii") as fifo:
                fifo.write(f"life {life}\n")
            has_line(s, box.path("logs/user/b.log"), f"life {life}")
            with open(ask, "w", encoding="ascii") as fifo:
                fifo.write("\n")
            entry = dict(line.split("=", 1)
                         for line in journal.recv(65536).decode().splitlines())
            equal(entry["SUPD_GENERATION"], str(life), "the generation of a line")
            equal(entry["SUPD_SOCKET"], s.socket, "which supd it is")
            os.kill(int(entry["MESSAGE"]), signal.SIGKILL)


@test("where there is no journal that is said, and no old file is taken for it")
def no_journal(box):
    if os.geteuid() != 0:
        raise Skip("no mounts without root")
    os.makedirs(box.path("logs/user"))
    with open(box.path("logs/user/j.log"), "w", encoding="ascii") as old:
        old.write("2024-05-01T12:00:00.000Z old\n")
    s = box.supd({"j": shell("echo line; exec sleep 1000", output="journal"), "a": shell("echo other; exec sleep 1000")},
                 command=["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /run && exec "$@"', "sh", SUPD])
    s.until(lambda: s.actor("j")["output_blocked"] == "there is no journal", "the reason in status")
    has(s.ctl_ok("explain", "j").out, "its log cannot be written: there is no journal", "the story")
    has(s.ctl_ok("status", "j").out, "output  goes to the journal, and there is none on this machine", "the block")
    result = s.ctl("logs", "j")
    equal((result.code, result.out), (1, ""), "logs of it alone")
    has(result.err, "logs /user/j: its output goes to the journal, and there is none on this machine", "why")
    has_line(s, box.path("logs/user/a.log"), "other")
    result = s.ctl("logs")
    equal((result.code, result.out), (0, "a | other\n"), "logs of all")


@test("each life finds its output as the first life did, whatever flags the life before set")
def clean(box):
    text = ("import fcntl, os, sys\n"
            "for fd in 1, 2: print(oct(fcntl.fcntl(fd, fcntl.F_GETFL) & 0o47777), flush=True)\n"
            "for fd in 1, 2: fcntl.fcntl(fd, fcntl.F_SETFL, "
            "os.O_NONBLOCK | os.O_DIRECT | os.O_APPEND)\n"
            "os.kill(os.getpid(), 9)\n")
    s = box.supd({"a": {"command": ["python3", "-c", text]}},
                 intensity="unlimited")
    path = box.path("logs/user/a.log")
    s.until(lambda: text_of(path).count("\n") >= 6, "three lives")
    equal(set(re.sub(STAMP, "", text_of(path)).split()), {"0o1"}, "the flags")


@test("pipe: leads to another actor, and outlives restarts of both")
def piped(box):
    out = box.path("out")
    s = box.supd({"w": shell("echo from $$; exec sleep 1000", output="pipe:r"),
                  "r": shell(f"while read -r line; do echo got $line >>{out}; done")})
    lines = 1
    for name in "w", "r", "w", "supd", "w", "r", "w":
        s.until(lambda n=lines: text_of(out).count("got from") == n,
                lambda n=lines: f"{n} lines: {text_of(out)}")
        if name == "supd":
            kill(s, b"@guardian")
            continue
        s.ctl_ok("restart", name)
        lines += name == "w"
    s.until(lambda: text_of(out).count("got from") == lines, "the last line")


@test("log: keys take effect without a restart")
def reloaded(box):
    tree = {"a": shell(f"echo one; read line <{box.path('go')}; echo two; exec sleep 1000")}
    os.mkfifo(box.path("go"))
    s = box.supd(tree)
    path = box.path("logs/user/a.log")
    has_line(s, path, "one")
    pid = s.actor("a")["pid"]
    tree["a"]["log"] = {"format": "json"}
    s.write(tree)
    s.ctl_ok("apply")
    with open(box.path("go"), "w", encoding="ascii") as go:
        go.write("go\n")
    has_line(s, path, '"text":"two"')
    equal(s.actor("a")["pid"], pid, "the process")


@test("an actor that is removed says its last, and its pipe is not kept")
def removed(box):
    tree = {"a": shell("trap 'echo bye; exit 0' TERM; echo hi; while :; do sleep 0.01; done"),
            "b": shell("echo hi; exec sleep 1000")}
    s = box.supd(tree)
    path = box.path("logs/user/a.log")
    has_line(s, path, "hi")
    # The log process has both pipes.
    has_line(s, box.path("logs/user/b.log"), "hi")

    def pipes():
        log = s.actor("/system/log")["pid"]
        return sum(os.readlink(f"/proc/{log}/fd/{fd}").startswith("pipe:")
                   for fd in os.listdir(f"/proc/{log}/fd"))
    before = pipes()
    s.write({"b": tree["b"]})
    s.ctl_ok("apply")
    has_line(s, path, "bye")
    s.until(lambda: pipes() < before, "the pipe is closed")


@test("an apply moves one actor's output away and back, and leaves the others' alone")
def moved(box):
    def loop(name):
        return f"read line <{box.path(name)}; echo \"{name} says $line\""
    tree = {name: shell(f"while :; do {loop(name)}; done") for name in ("a", "b")}
    for name in tree:
        os.mkfifo(box.path(name))
    s = box.supd(tree)

    def say(name, word):
        with open(box.path(name), "w", encoding="ascii") as go:
            go.write(word + "\n")

    def apply(**keys):
        before = s.actor("a")["pid"]
        s.write({**tree, "a": {**tree["a"], **keys}})
        s.ctl_ok("apply")
        s.until(lambda: s.actor("a")["state"] == "running"
                and s.actor("a")["pid"] != before, "another process of a")
    kept = s.actor("b")["pid"]
    say("a", "one")
    has_line(s, box.path("logs/user/a.log"), "a says one\n")
    apply(output="null")
    say("a", "two")
    say("b", "two")
    has_line(s, box.path("logs/user/b.log"), "b says two\n")
    # Its stream is unknown by now, or is named before it is: both have to end well.
    apply(log={"format": "json"})
    say("a", "three")
    say("b", "three")
    has_line(s, box.path("logs/user/a.log"), '"text":"a says three"')
    has_line(s, box.path("logs/user/b.log"), "b says three\n")
    kill(s, b"@log")
    say("a", "four")
    say("b", "four")
    has_line(s, box.path("logs/user/a.log"), '"text":"a says four"')
    has_line(s, box.path("logs/user/b.log"), "b says four\n")
    check("two" not in text_of(box.path("logs/user/a.log")), "what went nowhere is there")
    equal(s.actor("b")["pid"], kept, "the process of b")


if __name__ == "__main__":
    main()
