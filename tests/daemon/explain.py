#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""explain has the reason of every start and end: failures, commands, normal ends, restarts with
a supervisor, with the numbers that decided, and what waits for an actor."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import check, equal, has, main, test

ESCALATE = [{"when": "any", "then": "escalate"}]
TIME = r"(\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d\.\d{3}"


def story(s, name):
    return s.ctl_ok("explain", name).out


def escalating(box):
    return box.supd({"top": {"strategy": "one_for_all", "children": {
        "app": {"decider": ESCALATE, "children": {"a": {}, "b": {}}}, "other": {}}}})


@test("a restart with a supervisor is told, with the rule that escalated and its line")
def with_supervisor(box):
    s = escalating(box)
    s.started("other")
    s.tell("b", "exit=9")
    s.started("other", 2)
    s.until(lambda: s.actor("top/other")["state"] == "running", "the restart")
    text = story(s, "a")
    has(text, rf"^/user/top/app/b failed at {TIME}: exited with 9\.\n", "the failure")
    has(text, "/user/top/app/a did not fail itself: restarted with /user/top/app, "
              r"a supervisor above\.\n", "the reason")
    has(text, r"/user/top/app passed the failure on to /user/top, decided by \S+:\d+\.\n",
        "the rule")
    has(story(s, "other"), "did not fail itself: restarted with the group of "
                           "/user/top/app", "the group")
    equal(s.actor("top/app/a")["restarts_by"]["supervisor"], 1, "its kind")


@test("of a supervisor the actors below it that are not well are named, with cause and time")
def below(box):
    s = box.supd({"app": {"children": {
        "a": {"restart": "never"}, "b": {"restart": "never"}, "well": {},
        "in": {"children": {"c": {"backoff": {"min": "1h", "max": "1h"}}}}}},
        "other": {"children": {"d": {"restart": "never"}}}})
    s.started("d")
    for name, end in (("a", "exit=3"), ("c", "exit=4"), ("d", "exit=5"), ("b", "exit=0")):
        s.tell(name, end)
    for name, state in (("app/a", "failed"), ("app/in/c", "backoff"), ("other/d", "failed"), ("app/b", "done")):
        s.wait_for(name, state=state)
    has(story(s, "app"), rf"(?m)^Below it: /user/app/a, failed since {TIME}: exited with 3; "
        rf"/user/app/in/c, backoff since {TIME}: exited with 4\.\nNow: .*an actor below it has failed", "the supervisor")
    has(story(s, "/user"), r"exited with 3; /user/app/in/c.*; /user/other/d, failed since .*: exited with 5\.\n", "the top")
    check("Below it" not in story(s, "well") and "Below it" not in story(s, "a"), "workers have nothing below")


@test("the failure of an actor that watches another is not the story of that one")
def watcher(box):
    s = box.supd({"pool": {"restart": "transient"}, "pact": {"watch": {"pool": "fail"}}})
    s.started("pact")
    s.tell("pool", "exit=0")
    s.event("failure", "pact")
    text = story(s, "pool")
    has(text, rf"^/user/pool ended by itself at {TIME}, which is no failure: exited with 0\.\n"
              r"Its `restart` is transient: no start follows\.\n", "the end")
    check("pact failed" not in text, text)


@test("commands are told, with user and process, and the failure before them")
def commands(box):
    s = escalating(box)
    s.started("other")
    s.ctl_ok("restart", "a")
    given = rf"given by user root \((\S+, )?process \d+\)\.\n" if os.getuid() == 0 else "given by"
    has(story(s, "a"), rf"^Command at {TIME}: restart /user/top/app/a, {given}", "the restart")
    s.ctl_ok("stop", "top")
    has(story(s, "a"), rf"^Command at {TIME}: stop /user/top, {given}", "the stop")
    s.ctl_ok("start", "top")
    s.ctl_ok("signal", "other", "KILL")
    s.event("failure", "top/other")
    has(story(s, "other"), rf"killed by SIGKILL(.|\n)*Command at {TIME}: signal /user/top/other "
                           rf"SIGKILL, {given}", "the signal")
    s.wait_for("top/other", state="running")
    s.ctl_ok("stop", "other")
    has(story(s, "other"), "^Command at .*stop(.|\n)*\nBefore that: /user/top/other failed at",
        "the failure before")


@test("a normal end by the signal of a command is told with that command, one without it is not")
def ended_by_command(box):
    s = box.supd({"a": {"success": {"signals": ["KILL"]}}, "b": {}})
    s.started("b")
    s.ctl_ok("kill", "-9", "a")
    s.started("a", 2)
    has(story(s, "a"), rf"^/user/a ended at {TIME}, which is no failure: ended by SIGKILL\.\n"
                       rf"Its `restart` .*\nCommand at {TIME}: signal /user/a (SIGKILL|9), given by ", "by command")
    s.tell("a", "exit=0")
    s.started("a", 3)
    text = story(s, "a")
    has(text, rf"^/user/a ended by itself at {TIME}", "by itself")
    check("Command" not in text, text)


@test("another configuration is told as the reason of a restart")
def applied(box):
    tree = {"a": {"environment": {"X": "1"}}}
    s = box.supd(tree)
    s.started("a")
    tree["a"]["environment"]["X"] = "2"
    s.write(tree)
    s.ctl_ok("apply")
    s.started("a", 2)
    has(story(s, "a"), rf"^/user/a was restarted at {TIME}: another configuration was applied\.\n",
        "the story")


@test("a program that puts itself into the background gets the sentence that helps")
def background(box):
    s = box.supd({"d": {"command": ["sh", "-c", "sleep 600 & exit 0"], "backoff": {"min": "1h", "max": "1h"}}})
    equal(s.event("exited", "d")["left_processes"], True, "the event")
    s.wait_for("d", state="backoff")
    text = story(s, "d")
    has(text, "it put itself into the background", "the sentence")
    has(text, "Its `restart` is permanent: it is started again after any end", "the restart")


@test("limits and timeouts are told with their numbers, and what was awaited")
def numbers(box):
    s = box.supd({"db": {"ready": {"unix": box.path("no")}, "start_timeout": "100ms",
                         "backoff": {"min": "1h", "max": "1h"}},
                  "lim": {"limit": {"restarts": 1, "within": "1m"}, "children": {"x": {}}},
                  "web": {"needs": {"db": "ready"}}}, wait=False)
    s.event("failure", "db")
    s.wait_for("db", state="backoff")
    has(story(s, "db"), r"did not become ready within its start_timeout.*\n"
                        rf"Its start_timeout is 100ms; it waited for unix {box.path('no')}\.\n",
        "the timeout")
    has(story(s, "db"), r"\nWaiting for it: /user/web\.\n", "the impact")
    s.wait_for("lim/x", state="running")
    for count in (1, 2):
        s.started("x", count)
        s.tell("x", "exit=4")
    s.wait_for("lim/x", state="failed")
    has(story(s, "x"), r"The limit of each child of /user/lim is 1 restart within 1m\.\n", "the limit")
    out = s.ctl_ok("explain").out
    equal([line.split()[0] for line in out.split("\n\n")], ["/user/db", "/user/lim/x"],
          "what is not well")


if __name__ == "__main__":
    main()
