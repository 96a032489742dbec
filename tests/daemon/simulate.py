#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""What would happen if an actor kept failing: `supctl simulate` and `supd --simulate`."""
import glob
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import SUPCTL, SUPD, TOP_SRC, check, equal, has, main, test

PLAIN = {"backoff": {"min": "100ms", "max": "400ms", "jitter": 0.5}}


def of(steps, event, path=None):
    return [step for step in steps if step["event"] == event
            and path in (None, step["path"].removeprefix("/user/"))]


def ranges(steps):
    return [(step["delay_min_ms"], step["delay_max_ms"]) for step in steps]


def summaries(s, name=None):
    """path of a worker → what Simulate says about the worker."""
    answer = s.call("Simulate", **({"name": name} if name else {}))
    return {x["path"]: x["text"] for x in answer["summaries"]}


def refused(s, *arguments):
    """The exit status and the complaint."""
    done = subprocess.run([SUPCTL, "-s", s.socket, "simulate", *arguments],
                          capture_output=True, text=True, timeout=20)
    return done.returncode, done.stderr


@test("the delays, between their bounds, and nothing happens to any actor")
def delays(box):
    s = box.supd({"a": PLAIN, "b": {}})
    s.started("b")
    mark, pid = s.last_seq(), s.actor("a")["pid"]
    steps = s.json("simulate", "a", "--times", "4")
    failures = of(steps, "failure", "a")
    equal(ranges(failures), [(100, 150), (200, 300), (400, 600), (400, 600)], "delays")
    check(all(f["delay_min_ms"] <= f["delay_ms"] < f["delay_max_ms"] for f in failures),
          f"delays out of bounds: {failures}")
    starts = [step["at_ms"] for step in of(steps, "started", "a")]
    equal(starts, [sum(f["delay_ms"] for f in failures[:n + 1]) for n in range(4)], "starts")
    equal(of(steps, "started", "b"), [], "starts of others")
    equal((s.last_seq(), s.actor("a")["pid"], s.actor("a")["restarts"]), (mark, pid, 0),
          "what really happened")


@test("the actors that are affected, the giving up with its supervisor's path, the end of supd")
def gives_up(box):
    s = box.supd({"sup": {"strategy": "rest_for_one", "I": "1/60s",
                          "children": {"a": {}, "b": {}, "c": {}}}},
                 decider=[{"when": "intensity", "then": "escalate"}, "default"])
    s.started("c")
    steps = s.json("simulate", "sup/b")
    equal([x["path"] for x in of(steps, "stopping")][0], "/user/sup/c", "first to be stopped")
    gave_up = of(steps, "gave_up")
    equal([(x["path"], x["window"], x["limit"]) for x in gave_up], [("/user/sup", 2, 1)],
          "the giving up")
    equal([(x["window"], x["limit"]) for x in of(steps, "failure", "sup/b")], [(1, 1), (1, 1)],
          "the counters")
    equal(steps[-1]["event"], "exit", "the last step")
    has(steps[-1]["text"], "70", "supd's exit status")
    equal(summaries(s, "sup/b"), {"/user/sup/b": "after 2 failures in 0ms supd ends with status 70"}, "the sum")
    equal(s.actor("sup/b")["state"], "running", "the real one")


@test("a probed actor is healthy all the time in a simulation, unless its starts are to fail")
def asked(box):
    s = box.supd({"a": {"health": {"exec": "true", "interval": "20ms"}, "backoff": {
                      "min": "1h", "max": "12h", "jitter": 0, "reset_after": "1h"}},
                  "b": {"ready": {"exec": "true", "interval": "20ms"}, "backoff": PLAIN["backoff"],
                        "start_timeout": "1m"}})
    s.started("b")
    steps = s.json("simulate", "a", "--cause", "health", "--times", "6")
    equal([one["delay_ms"] for one in of(steps, "failure", "a")],
          [3600000 * n for n in (1, 2, 4, 8, 12, 12)], "delays over two days")
    steps = s.json("simulate", "b", "--times", "2")
    equal((len(of(steps, "failure", "b")), len(of(steps, "started", "b"))), (2, 2),
          "failures and successors")
    steps = s.json("simulate", "b", "--cause", "start_timeout", "--times", "2")
    equal([x["at_ms"] // 60000 for x in of(steps, "failure", "b")], [0, 1, 2], "minutes")
    equal(steps[-1]["event"], "started", "the last step: this one is in time")


@test("causes: a rule for one exit code, starts that fail, a kill, a normal end")
def causes(box):
    s = box.supd({"sup": {"decider": [{"when": {"exit": [3]}, "then": "stop"},
                                      {"when": {"self_report": ["disk"]}, "then": "stop"}, "default"],
                          "children": {"a": {"restart": "transient"}}}})
    s.started("a")
    equal([of(s.json("simulate", "a", "--cause", x), "failure")[0]["delay_ms"] is None
           for x in ("self_report", "self_report:net", "self_report:disk")],
          [False, False, True], "which reports stop the actor")
    equal(of(s.json("simulate", "a", "--cause", "exit:3"), "failure")[0]["delay_ms"], None,
          "the delay of a stop")
    steps = s.json("simulate", "a", "--cause", "exec:EACCES", "--times", "2")
    equal(["EACCES" in x["text"] for x in of(steps, "failure")], [False, True, True],
          "failures: killed, then not executed")
    has(of(s.json("simulate", "a", "--cause", "killed"), "failure")[0]["text"], "stop",
        "the directive of a kill")
    equal([x["event"] for x in s.json("simulate", "a", "--cause", "normal")], ["terminated"],
          "a transient that ends normally")
    proposed = next(x for x in s.ctl_ok("help", "simulate").out.split() if "|" in x)
    equal([x for x in proposed.split("|") if refused(s, "a", "--cause", x)[0] == 2], [],
          "words of the help that are none")
    status, text = refused(s, "a", "--cause", "bad")
    equal(status, 2, "the exit status of a cause that is none")
    has(text, "signal:SEGV", "the complaint")
    equal(refused(s, "nobody")[0], 4, "the exit status for nobody")
    equal(refused(s, "a", "--times", "0")[0], 2, "the exit status for no times")


@test("a simulation of an actor in backoff, of a stopped actor, of an actor not ready yet")
def states(box):
    s = box.supd({"a": {"backoff": {"min": "1h", "max": "1h", "jitter": 0}, "do": ["exit=1"]},
                  "b": {}, "n": {"ready": "notify"}}, start="parallel", wait=False)
    s.started("b")
    s.wait_for("a", state="backoff")
    s.ctl_ok("stop", "b")
    for name in ("a", "b", "n"):
        steps = s.json("simulate", name, "--times", "1")
        equal([x["event"] for x in steps if x["event"] != "backoff"], ["failure", "started"],
              f"steps of {name}")
    equal(s.actor("b")["state"], "stopped", "the real one")
    s.tell("n", "notify=READY=1")


@test("what hooks are at in that moment goes well")
def at_work(box):
    s = box.supd({"sup": {"strategy": "one_for_all", "children": {
        "b": {}, "a": {"hooks": {"pre_start": ["sleep", "1000"]},
                       "hook_timeout": "1h"}}}}, wait=False)
    s.started("b")
    s.until(lambda: s.actor("sup/a")["state"] == "starting", "the hook")
    steps = s.json("simulate", "sup/a", "--times", "1")
    equal(([x["at_ms"] for x in of(steps, "failure")], len(of(steps, "started", "sup/a"))),
          ([0], 1), "what comes of a")


@test("without a name each worker, below a supervisor its workers; text for people")
def all_of_them(box):
    s = box.supd({"sup": {"children": {"a": {}, "b": {}}}, "c": {}})
    s.started("c")
    steps = s.json("simulate", "--times", "1")
    equal([x["path"] for x in of(steps, "failure")],
          ["/user/sup/a", "/user/sup/b", "/user/c"], "all")
    equal([x["path"] for x in of(s.json("simulate", "sup", "--times", "1"), "failure")],
          ["/user/sup/a", "/user/sup/b"], "of one supervisor")
    has(s.ctl_ok("simulate", "c", "--times", "1").out, 
        "killed by SIGKILL: restart in", "the text")


@test("an actor below a supervisor that is stopping is a line among the others; alone, an error")
def stopping(box):
    s = box.supd({"sup": {"children": {"a": {"do": ["ignore"], "shutdown": "infinity"}}},
                  "b": {}})
    s.started("b")
    s.ctl_ok("stop", "--no-wait", "sup")
    s.wait_for("sup/a", state="stopping")
    has(summaries(s)["/user/sup/a"], "^it cannot be started now$", "what becomes of a")
    equal([x["path"] for x in of(s.json("simulate", "--times", "1"), "failure")], ["/user/b"],
          "failures")
    has(refused(s, "sup/a")[1], "it cannot be started now", "the answer about a alone")
    s.ctl_ok("kill", "-s", "KILL", "sup/a")


@test("a last line for each worker says what becomes of it: for how long, at which pace, or why not")
def sums(box):
    s = box.supd({"limited": {"I": "2/1h", "children": {"a": {"backoff": "none"}}},
                  "within": {"I": "3/1s", "children": {"a": {"backoff": {
                      "min": "1s", "max": "1s", "jitter": 0}}}},
                  "near": {"I": "20/1h", "children": {"a": {"backoff": {
                      "min": "1s", "max": "1s", "jitter": 0}}}},
                  "ever": {"backoff": {"min": "2s", "max": "2s", "jitter": 0.5}},
                  "bare": {"backoff": "none", "on_failure": [{"when": "any", "then": "resume"}]},
                  "never": {"restart": "never"}, "gone": {"restart": "temporary"}})
    s.started("gone")
    sums = summaries(s)
    expected = {
        "limited/a": r"after 10 failures in [\d.ms]+ it runs again, for /user/limited was restarted 3 times, "
                     r"without a delay: this goes on for ever$",
        "within/a": r"after 10 failures in 9s it runs again, the last after 1s: this goes on for ever$",
        "near/a": r"after 10 failures in 9s it runs again, the last after 1s: with more failures it may end",
        "ever": r"after 10 failures in [\d.ms]+ it runs again, the last after 2s to 3s: this goes on for ever$",
        "bare": "after 10 failures in .* it runs again, the last after 640ms: this goes on for ever$",
        "never": r"after 1 failure it stays failed \(its `restart` is `never`\)$",
        "gone": r"after 1 failure it leaves the tree$"}
    for name, text in expected.items():
        has(sums["/user/" + name], "^" + text, name)
    lines = s.ctl_ok("simulate").out.splitlines()
    check(all(" summary " in line for line in lines[-7:]), "the sums are not the last lines")
    check(" summary " not in lines[-8], "a sum among the steps")


@test("supd --simulate says the same of a file, and of a file with errors what is wrong")
def of_a_file(box):
    good = box.path("good.yaml")
    with open(good, "w", encoding="utf8") as file:
        file.write("children:\n  a: {command: [sleep, '9']}\n"
                   "  bare: {command: [sleep, '9'], backoff: none,\n"
                   "         on_failure: [{when: any, then: resume}]}\n"
                   "  s: {intensity: {restarts: 0, within: 1s}, children: "
                   "{b: {command: [sleep, '9']}}}\n")
    done = subprocess.run([SUPD, "--simulate", "-c", good], capture_output=True, text=True,
                          timeout=20)
    equal(done.returncode, 0, "the exit status")
    has(done.stdout, "/user/a", "the first")
    has(done.stdout, r"summary +/user/bare  after 10 failures in .* it runs again", "without a delay")
    has(done.stdout, "gives up: more than 0 restarts within 1s", "the giving up")
    has(done.stdout.splitlines()[-1], "summary     /user/s/b  after 10 failures", "the sum")
    with open(good, "w", encoding="utf8") as file:
        file.write("children:\n  a: {comand: x}\n")
    done = subprocess.run([SUPD, "--simulate", "-c", good], capture_output=True, text=True,
                          timeout=20)
    equal((done.returncode, done.stdout), (78, ""), "of a broken file")
    has(done.stderr, "comand", "what is wrong")


# Every part of the tree that the core has memory of its own for.
EVERYTHING = """
templates:
  worker: {command: [sleep, "${time}"], restart: transient, limits: {nofile: 64}}
on_failure: [{when: any, then: stop}]
decider: [{when: {exit: [3]}, then: stop, log: off}, {when: oom, then: restart,
          backoff: {min: 1s}}, default]
children:
  db: {command: [sleep, "9"], hooks: {pre_start: ["true"]}, watchdog: 10s, ready: notify}
  one-shot: {command: ["true"], ready: exit}
  app:
    command: [sleep, "9"]
    strategy: rest_for_one
    keep_children: restart
    freeze_while_deciding: true
    limit: {restarts: 2, within: 10s, on_exceed: escalate}
    watch: {side: {signal: HUP}, /user/db: fail}
    needs: {/user/db: ready, one-shot: completed}
    children:
      side: {command: [sleep, "9"], fd_store: 2, stopped_is_failure: true}
      web: {command: [sleep, "9"], sockets: {http: "unix:${env:BOX}/sock"},
            start_on: connect, health: {unix: "${env:BOX}/sock"}}
      pool: {use: worker, with: {time: "9"}, replicas: 3, watch: {web: {run: ["true"]}}}
      ends:
        auto_shutdown: any_significant
        children:
          job: {command: [sleep, "9"], restart: transient, significant: true}
"""


@test("supd --check and --simulate, supctl check and diff take every example and a file with everything in it")
def of_every_file(box):
    everything = box.path("everything.yaml")
    with open(everything, "w", encoding="utf8") as file:
        file.write(EVERYTHING)
    variables = {"BOX": box.path("."), "SHOP_DIR": box.path("."), "DIR": box.path("."), "PWD": os.path.abspath(TOP_SRC),
                 "CRAWLER_PORT": "1", "CRAWLER_BIN": box.path("."), "CRAWLER_RUN": box.path(".")}
    environment = {**os.environ, **variables}
    examples = glob.glob(os.path.join(TOP_SRC, "examples", "*", "*.yaml"))
    check(len(examples) > 20, f"examples: {examples}")
    # Parts of a configuration, and files of tests with errors: refused, and no more.
    others = [*glob.glob(os.path.join(TOP_SRC, "examples", "*", "*", "*.yaml")),
              *glob.glob(os.path.join(TOP_SRC, "tests", "fuzz", "corpus", "*", "*.yaml"))]
    check(len(others) > 5, f"other files: {others}")
    s = box.supd({"a": {}}, env=variables)
    before = s.guardian(), s.started("a")
    for path in (everything, os.path.join(TOP_SRC, "etc", "supd.yaml"), *examples, *others):
        # Root, in the directory of another user: --check refuses all files there.
        is_own = os.stat(path).st_uid in (0, os.geteuid())
        modes = [(78, SUPD, "--simulate", "-c", path), (1, SUPCTL, "-s", s.socket, "diff", path)]
        if is_own:
            modes += (78, SUPD, "--check", "-c", path), (78, SUPCTL, "check", path)
        for refused, *command in modes:
            done = subprocess.run(command, capture_output=True, text=True, timeout=20, env=environment)
            # supd prints this message also when the child process that reads the file has died.
            is_read = "Cannot allocate memory" not in done.stderr
            check(done.returncode == 0 or path in others and done.returncode == refused and is_read,
                  f"the exit status of {command}: {done.returncode} ({done.stderr})")
    equal((s.guardian(), s.actor("a")["pid"]), before, "supd and its actor")


if __name__ == "__main__":
    main()
