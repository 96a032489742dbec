#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""What no level handles climbs: deciders, directives for supervisors, the root."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import check, equal, has, main, test
from probe_target import Answering, status

ANY = [{"when": "any", "then": "restart"}]


def kids(names, **common):
    return {name: dict(common) for name in names}


@test("53 a decider of four rules sends each exit code its own way")
def four_ways(box):
    s = box.supd({"sup": {"decider": [
        {"when": {"exit": [10]}, "then": "resume"},
        {"when": {"exit": [20]}, "then": "restart"},
        {"when": {"exit": [30]}, "then": "stop"},
        {"when": "any", "then": "escalate"}], "children": kids("abcd")}})
    s.started("d")
    for name, code in (("a", 10), ("b", 20), ("c", 30)):
        s.tell(name, f"exit={code}")
        s.event("failure", f"sup/{name}")
    s.started("a", 2)
    s.started("b", 2)
    equal([s.event("failure", f"sup/{name}")["directive"] for name in "abc"],
          ["resume", "restart", "stop"], "the directives")
    equal(s.actor("sup/c")["state"], "failed", "c's state")
    equal(s.actor("sup")["restarts"], 0, "restarts of the supervisor")
    mark = s.mark()
    s.tell("d", "exit=99")
    s.started("d", 2)
    equal(s.order(mark), ["x d", "t b", "x b", "t a", "x a", "S a", "S b", "S c", "S d"],
          "the order of the supervisor's restart")
    failure = s.event("failure", "sup")
    equal((failure["origin"], failure["cause"]["kind"], failure["cause"]["code"]),
          ("/user/sup/d", "exit", 99), "the unwrapped cause")
    equal(s.actor("sup")["restarts"], 1, "restarts of the supervisor")


def climbs(what, actor, text):
    @test(f"{what} of a child that escalates is told, and explained, by the level that decides")
    def one(box):
        s = box.supd({"sup": {"decider": "escalating", "children": {"b": {}, "a": actor(box)}}})
        b = s.started("b")
        s.started("b", 2)
        failure = s.event("failure", "sup")
        equal((failure["origin"], failure["cause"]["text"], failure["directive"]),
              ("/user/sup/a", text, "restart"), "the failure")
        equal(s.actor("sup")["last_failure"]["cause"]["text"], text, "the cause in the status")
        equal(s.seen("failure", "sup/a"), [], "failures at the level below")
        check(s.actor("sup/b")["pid"] != b, "its sibling was left alone")
        has(s.ctl_ok("explain", "sup").out, rf"^/user/sup/a failed at \S+: {text}\.\n.* escalated to /user/sup\.",
            "explain")
        with open(s.stderr, encoding="utf8") as log:
            has(log.read(), f"/user/sup: failure: {text} in /user/sup/a; restart", "the log")


climbs("a failed health check", lambda box: {"health": {"http": Answering(box, status(503), status(200)).url(),
                                                        "interval": "30ms", "timeout": "1m", "failures": 1}},
       "failed its health check: status 503")
climbs("a missed watchdog", lambda _: {"watchdog": "200ms", "limits": {"core": 0}},
       "did not report to its watchdog in time")


@test("a user's list that matches nothing escalates")
def no_match(box):
    s = box.supd({"sup": {"decider": [{"when": {"exit": [1]}, "then": "restart"}],
                          "children": kids("ab")}})
    s.started("b")
    s.tell("a", "exit=1")
    s.started("a", 2)
    s.tell("a", "exit=2")
    s.started("b", 2)
    escalated = s.event("escalated")
    equal((escalated["origin"], escalated["cause"]["code"]), ("/user/sup/a", 2), "the event")
    check(escalated["to"] in ("/user", "/user/sup"), f"escalated to {escalated['to']}")
    equal(len(s.seen("failure", "sup")), 1, "failures handled above")


@test("a resume further up leaves the siblings untouched and renews only the failed one")
def resume_above(box):
    s = box.supd({"outer": {"decider": [{"when": "any", "then": "resume"}], "children": {
        "inner": {"decider": "escalating", "children": kids("abc")}}}})
    s.started("c")
    mark = s.mark()
    s.tell("a", "exit=1")
    s.started("a", 2)
    equal(s.order(mark), ["x a", "S a"], "the order")
    equal([s.actor(f"outer/inner/{name}")["pid"] for name in "bc"],
          [s.pids["b"], s.pids["c"]], "pids")


@test("a stop further up stops the whole inner subtree in reverse and no other actor")
def stop_above(box):
    s = box.supd({"outer": {"decider": "stopping", "children": {
        "x": {}, "inner": {"decider": "escalating", "children": kids("abc")}, "y": {}}}})
    s.started("y")
    mark = s.mark()
    s.tell("b", "exit=1")
    s.wait_for("outer/inner", state="failed")
    equal(s.order(mark), ["x b", "t c", "x c", "t a", "x a"], "the order")
    equal([s.actor(f"outer/{name}")["pid"] for name in "xy"], [s.pids["x"], s.pids["y"]],
          "pids of the others")
    for name in "ac":
        equal(s.actor(f"outer/inner/{name}")["state"], "stopped", f"{name}'s state")


@test("a failure that escalates past /user stops everything in order; supd exits 70")
def past_user(box):
    s = box.supd(kids("abc"), decider="escalating")
    s.started("c")
    mark = s.mark()
    s.tell("b", "exit=1")
    s.ended(70)
    equal(s.order(mark), ["x b", "t c", "x c", "t a", "x a"], "the order")


@test("185 fifty nested supervisors that all escalate: each decides once, supd exits 70")
def deep(box):
    tree = {"a": {}}
    for level in range(50):
        tree = {f"s{level}": {"decider": "escalating", "children": tree}}
    s = box.supd(tree, decider="escalating")
    s.started("a")
    s.tell("a", "exit=1")
    s.ended(70)
    equal(len(s.lines("S", "a")), 1, "starts of a")


@test("/user that gives up by its intensity ends supd with 70")
def user_gives_up(box):
    s = box.supd(kids("ab"), I="1/60s")
    s.started("b")
    s.tell("a", "exit=1")
    s.started("a", 2)
    mark = s.mark()
    s.tell("a", "exit=1")
    s.ended(70)
    equal(s.order(mark), ["x a", "t b", "x b"], "the order")


def ended_with(end, status):
    @test(f"exit_code_from: supd stops in order and exits with {status}")
    def one(box):
        s = box.supd({"a": {}, "n": {"restart": "never"}, "b": {}}, exit_code_from="n")
        s.started("b")
        mark = s.mark()
        end(s)
        s.ended(status)
        equal(s.order(mark)[-4:], ["t b", "x b", "t a", "x a"], "the order")


# 99 is what a guardian says that makes room for another binary; the others are its own, too.
for code in (0, 3, 64, 70, 71, 99, 255):
    ended_with(lambda s, code=code: s.tell("n", f"exit={code}"), code)
ended_with(lambda s: os.kill(s.pids["n"], signal.SIGKILL), 137)


@test("exit_code_from: the code of the actor outlives the guardian that has seen the end")
def outlives(box):
    s = box.supd({"a": {"do": ["ignore=TERM"], "shutdown": "60s"}, "n": {"restart": "never"}},
                 exit_code_from="n")
    s.started("n")
    s.tell("n", "exit=7")
    s.line("t", "a")
    os.kill(s.guardian(), signal.SIGKILL)
    s.tell("a", "exit=0")
    s.ended(7)


@test("exit_code_from: 70 for a program that is not there")
def never_ran(box):
    s = box.supd({"a": {}, "n": {"restart": "never", "command": ["/nowhere/x"]}},
                 exit_code_from="n", wait=False)
    s.ended(70)


@test("exit_code_from: 70 for an actor whose need has failed, as log and explain tell")
def waits_in_vain(box):
    s = box.supd({"a": {"do": ["ignore=TERM"], "shutdown": "60s"},
                  "db": {"restart": "never", "ready": "notify"},
                  "n": {"restart": "never", "needs": {"db": "ready"}}},
                 exit_code_from="n", wait=False)
    s.started("db")
    s.tell("db", "exit=4")
    s.line("t", "a")
    has(s.ctl_ok("explain", "n").out,
        r"/user/db failed .*\n/user/n waits for what will not come by itself\.\n"
        r"No rule \(an actor that it needs has ended for good\) decided stop", "explain")
    s.tell("a", "exit=0")
    s.ended(70)
    with open(s.stderr, encoding="utf8") as log:
        has(log.read(), "/user/n: failure: .* in /user/db; stop, by an actor that it needs", "the log")


@test("auto_shutdown: 70 where a significant actor failed, 0 where its work is done")
def significant_failed(box):
    for code, status in ((5, 70), (0, 0)):
        s = box.supd({"a": {}, "t": {"restart": "never", "significant": True}},
                     auto_shutdown="any_significant", name=str(code))
        s.started("t")
        s.tell("t", f"exit={code}")
        s.ended(status)


@test("on_failure: restart at the top level restarts the whole tree instead")
def user_restarts(box):
    s = box.supd(kids("ab"), decider="escalating", on_failure=ANY, backoff="none")
    s.started("b")
    mark = s.mark()
    s.tell("a", "exit=1")
    s.started("b", 2)
    equal(s.order(mark), ["x a", "t b", "x b", "S a", "S b"], "the order")


@test("explain tells the story of the last failure: cause, rule, scope, what came of it")
def explain(box):
    s = box.supd({"sup": {"strategy": "one_for_all", "decider": [
        {"when": {"exit": [3]}, "then": "restart"}, "default"], "children": kids("ab")}})
    s.started("b")
    s.tell("a", "exit=3")
    s.started("b", 2)
    result = s.ctl_ok("explain", "sup/a")
    for word in ("/user/sup/a", "3", r"supd\.yaml:\d+", "restart", "one_for_all"):
        has(result.out, word, "the story")
    story = s.call("Explain", name="/user/sup/a")
    equal(story["path"], "/user/sup/a", "the path")
    check(len(story["chain"]) >= 2, f"a chain of {len(story['chain'])}")
    for step in story["chain"]:
        equal(sorted(step), ["at", "event", "path", "text"], "a step's fields")
    check(story["text"], "no text")


if __name__ == "__main__":
    main()
