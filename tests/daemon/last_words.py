#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The last words of a process: in the failure event, in explain, in the block of status."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import check, equal, has, main, test

ONCE = {"restart": "permanent", "backoff": {"min": "1h", "max": "1h"}}
SAY = "i=0; while [ $i -lt %d ]; do i=$((i+1)); echo line $i; done; %s"


def dies(lines, end="kill -ABRT $$$$", **more):
    return {"command": ["sh", "-c", SAY % (lines, end)], **ONCE, **more}


def log_pid(s):
    return s.until(lambda: s.actor("/system/log")["pid"], "the log process")


def words(s, name):
    return s.event("failure", name)["last_words"]


def last_ten(lines):
    return [f"line {n}" for n in range(max(lines - 9, 1), lines + 1)]


@test("a program that prints 30 lines and aborts shows its last 10 in failure and explain")
def thirty(box):
    s = box.supd({"a": dies(30)})
    equal(words(s, "a"), last_ten(30), "last_words of the event")
    story = s.call("Explain", name="a")
    equal(story["last_words"], last_ten(30), "last_words of Explain")
    text = s.ctl_ok("explain", "a").out
    has(text, r"The last lines of /user/a:\n  \| line 21\n(  \| line \d+\n){8}  \| line 30\n",
        "supctl explain")
    s.until(lambda: "line 30" in s.ctl("logs", "a").out, "the log")
    has(s.ctl("status", "a").out, r"(?s)    output  .*line 21\n.*line 30\n", "supctl status")


@test("the last line counts although no newline ends it")
def no_newline(box):
    s = box.supd({"a": dies(3, "printf 'the end'; exit 3")})
    equal(words(s, "a"), last_ten(3) + ["the end"], "last_words")


@test("last words are there while the log process is stopped, and when it was just killed")
def without_log(box):
    s = box.supd({"a": dies(30, enabled=False), "b": dies(30, enabled=False)})
    pid = log_pid(s)
    os.kill(pid, signal.SIGSTOP)
    s.call("Start", names=["a"], wait=False)
    equal(words(s, "a"), last_ten(30), "last_words while it is stopped")
    os.kill(pid, signal.SIGKILL)
    s.call("Start", names=["b"], wait=False)
    equal(words(s, "b"), last_ten(30), "last_words after it was killed")
    s.until(lambda: "line 30" in s.ctl("logs", "b").out, "the log")
    for name in "ab":
        equal(s.ctl_ok("logs", name).out.count("line"), 30, f"lines in the log of {name}")


@test("last words are the failed process's, not its predecessor's")
def only_its_own(box):
    s = box.supd({"a": {"command": [
        "sh", "-c", f"if [ -e {box.path('x')} ]; then echo second; exit 2; fi; "
        f"touch {box.path('x')}; echo first; exit 1"], "backoff": {"min": "10ms", "max": "10ms"},
        "restart": "permanent"}})
    s.until(lambda: len([e for e in s.events if e["event"] == "failure"
                         and e["path"] == "/user/a"]) >= 2, "two failures")
    got = [e["last_words"] for e in s.events
           if e["event"] == "failure" and e["path"] == "/user/a"][:2]
    equal(got, [["first"], ["second"]], "the last words")


@test("both streams are told, what is on the standard error last")
def two_streams(box):
    s = box.supd({"a": {"command": ["sh", "-c", "echo e1 >&2; echo o1; echo e2 >&2; exit 1"],
                        "output": {"stdout": "log", "stderr": "journal"},
                        **ONCE}})
    equal(words(s, "a"), ["o1", "e1", "e2"], "last_words")


@test("an actor that wrote nothing has no last words; where nothing is captured none are told")
def silent(box):
    s = box.supd({"a": {"command": ["sh", "-c", "exit 1"], **ONCE},
                  "b": {"command": ["sh", "-c", "echo x; exit 1"], "output": "null",
                        **ONCE}})
    equal(words(s, "a"), [], "last_words of one that is silent")
    check("last_words" not in s.event("failure", "b"), "last words that nobody captured")


@test("last words are valid text and bounded for any output")
def noise(box):
    s = box.supd({"a": {"command": ["sh", "-c", r"""printf '\033[31m\377\000"x\n'; exit 1"""],
                        **ONCE},
                  "b": {"command": ["sh", "-c", "head -c 100000 /dev/zero | tr '\\0' y; "
                                    "kill -SEGV $$$$"], **ONCE}})
    equal(words(s, "a"), ["\x1b[31m\ufffd\ufffd\"x"], "last_words")
    has(s.ctl_ok("explain", "a").out, r'  \| \\x1b\[31m.."x\n', "explain")
    # The log process keeps 2 KiB of the bytes that it has read; the rest was still in the pipe.
    long, = words(s, "b")
    check(set(long) == {"y"} and 2048 <= len(long) <= 4096,
          f"last_words of a long line: {len(long)} characters, {set(long)}")


if __name__ == "__main__":
    main()
