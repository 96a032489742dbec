#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""`needs`: actors wait for other actors, say for which, and start when all are there."""
import json
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import SUPD, check, equal, has, main, run, test

TELLS = {"ready": "notify"}


def waits(s, path, *targets):
    return s.wait_for(path, state="waiting", waits_for=[f"/user/{name}" for name in targets])


def die(s):
    """As crash(), also while /user is not ready."""
    old = s.guardian()
    os.kill(old, signal.SIGKILL)
    s.caller = None
    s.until(lambda: s.ctl("status", "/user").out and s.guardian() != old, "another guardian")


def check_file(box, children, **top):
    text = json.dumps({"children": children, **top}, indent=1)
    return run(SUPD, "--check", "-c", box.file("supd.yaml", text))


SLEEP = {"command": ["/bin/sleep", "1000"]}


@test("an actor waits for others across the tree, and names them")
def across(box):
    s = box.supd({"db": TELLS,
                  "app": {"needs": {"job": "completed"}, "children": {
                      "api": {"needs": {"/user/db": "ready"}}}},
                  "job": {"ready": "exit"},
                  "web": {"needs": {"app/api": "started"}}}, start="parallel", wait=False)
    s.started("job")
    waits(s, "app", "job")
    waits(s, "web", "app/api")
    equal(s.actor("app/api")["state"], "stopped", "who is below one that waits")
    s.tell("job", "exit=0")
    waits(s, "app/api", "db")
    has(s.ctl("status", "app/api").out, r"(?m)^ *waits for:? +/user/db$", "its block")
    has(s.ctl("status").out, r"(?m)^.*app/api +waiting .*waits for /user/db", "its line")
    has(s.ctl_ok("explain", "app/api").out, "waiting for /user/db to be ready", "its story")
    s.until(lambda: any(note.endswith("2 waiting") for note in s.notes), "STATUS=")
    equal(s.counts["S", "api"], 0, "starts")
    s.tell("db", "ready")
    s.started("web")
    kinds = [one["path"] for one in s.seen("started") if one.get("pid")]
    # The first two are started at the same time.
    equal(sorted(kinds[:2]) + kinds[2:],
          [f"/user/{name}" for name in ("db", "job", "app/api", "web")], "the order")
    equal(s.wait_for("app/api", state="running")["waits_for"], None, "waits_for")


@test("an actor that waits for an elder sibling and for a need names both, each once")
def both(box):
    s = box.supd({"x": TELLS, "sup": {"children": {
        "a": TELLS, "b": {"needs": {"/user/x": "ready", "a": "ready"}}}}}, start="parallel",
                 wait=False)
    s.started("a")
    waits(s, "sup/b", "sup/a", "x")
    s.tell("a", "ready")
    waits(s, "sup/b", "x")
    s.tell("x", "ready")
    s.started("b")


@test("supd is ready though an actor waits for an actor that has failed")
def failed(box):
    s = box.supd({"db": {"command": ["/nonexistent/db"]}, "api": {"needs": {"db": "ready"}},
                  "web": {}})
    s.started("web")
    waits(s, "api", "db")
    s.write({"db": TELLS, "api": {"needs": {"db": "ready"}}, "web": {}})
    s.ctl_ok("apply")
    s.started("db")
    s.tell("db", "ready")
    s.started("api")


@test("start, stop and restart of an actor that waits for its need")
def commands(box):
    s = box.supd({"db": {"enabled": False}, "api": {"needs": {"db": "ready"}}})
    waits(s, "api", "db")
    equal(s.ctl("start", "api", "--timeout", "300ms").code, 124, "a start that waits")
    s.ctl_ok("start", "--no-wait", "api")
    waits(s, "api", "db")
    equal(s.ctl("is-active", "api").code, 3, "is-active")
    s.ctl_ok("stop", "api")
    s.wait_for("api", state="stopped", waits_for=None)
    s.ctl_ok("start", "--no-wait", "api")
    s.ctl_ok("start", "db")
    first = s.started("api")
    s.ctl_ok("stop", "db")
    equal(s.actor("api")["pid"], first, "its pid, when what it needed to start goes down")
    s.ctl_ok("restart", "--no-wait", "api")
    waits(s, "api", "db")
    equal(s.ctl("delete", "api").code, 7, "delete of one that waits")
    s.ctl_ok("start", "db")
    s.started("api", 2)


@test("replicas are meant by their common name, also when there are more or fewer")
def replicas(box):
    tree = {"w": {**TELLS, "replicas": 2}, "api": {"needs": {"w": "ready"}}}
    s = box.supd(tree, start="parallel", wait=False)
    s.until(lambda: s.counts["S", "w"] == 2, "two replicas")
    actor = s.actor("api")
    equal(sorted(actor["waits_for"]), ["/user/w@1", "/user/w@2"], "waits_for")
    s.ctl("scale", "w", "3", "--timeout", "300ms")
    s.until(lambda: s.counts["S", "w"] == 3, "three replicas")
    for path in ("w@1", "w@2"):
        s.tell("w", "ready", s.actor(path)["pid"])
    waits(s, "api", "w@3")
    s.ctl_ok("scale", "w", "2")
    s.started("api")


@test("an actor that is added may need others, but none that is not there")
def added(box):
    template = {"command": ["/bin/sleep", "1000"], "backoff": "none"}
    s = box.supd({"db": {**TELLS, "enabled": False}}, templates={
        "w": {**template, "needs": {"db": "ready"}},
        "lost": {**template, "needs": {"nobody": "ready"}}})
    result = s.ctl("add", "x", "--use", "lost")
    equal(result.code, 1, "its status")
    has(result.err, "/user/x needs /user/nobody, and there is no such actor", "its error")
    check(s.gone("x"), "it was added")
    equal(s.ctl("add", "y", "--use", "w", "--timeout", "300ms").code, 124, "one that waits")
    waits(s, "y", "db")
    s.ctl_ok("start", "--no-wait", "db")
    s.started("db")
    s.tell("db", "ready")
    s.wait_for("y", state="running")


@test("a reload gives and takes needs without a restart")
def reload(box):
    s = box.supd({"db": TELLS, "api": {"needs": {"db": "ready"}}, "web": {}}, start="parallel",
                 wait=False)
    web = s.started("web")
    waits(s, "api", "db")
    s.write({"db": TELLS, "api": {}, "web": {"needs": {"db": "ready"}}})
    plan = json.loads(s.ctl_ok("-o", "json", "apply").out)
    changes = {change["path"]: (change["change"], change["keys"]) for change in plan}
    equal(changes["/user/api"], ("updated", ["needs./user/db"]), "the plan for api")
    equal(changes["/user/web"], ("updated", ["needs./user/db"]), "the plan for web")
    s.started("api")
    equal(s.actor("web")["pid"], web, "the pid of web")
    s.ctl_ok("restart", "--no-wait", "web")
    waits(s, "web", "db")
    s.tell("db", "ready")
    s.started("web", 2)


@test("a guardian dies while an actor waits: its successor lets the actor start in time, once")
def crash(box):
    s = box.supd({"db": TELLS, "job": {"ready": "exit"},
                  "api": {"needs": {"db": "ready", "job": "completed"}}}, start="parallel",
                 wait=False)
    s.started("job")
    s.tell("job", "exit=0")
    s.wait_for("job", state="done")
    waits(s, "api", "db")
    die(s)
    waits(s, "api", "db")
    s.tell("db", "ready")
    s.started("api")
    die(s)
    equal(s.actor("api")["state"], "running", "its state")
    equal(s.counts["S", "api"], 1, "starts")


@test("a simulation knows the needs of an actor")
def simulated(box):
    s = box.supd({"db": {**TELLS, "enabled": False},
                  "api": {"needs": {"db": "ready"}, "backoff": {"min": "1s", "max": "1s"}}})
    waits(s, "api", "db")
    steps = json.loads(s.ctl_ok("-o", "json", "simulate", "api", "--times", "2").out)
    equal([step["event"] for step in steps].count("failure"), 2, f"failures in {steps}")
    waits(s, "api", "db")


@test("a cycle is an error that names all of it: with the implicit edges of sequential starts")
def cycles(box):
    result = check_file(box, {"a": {**SLEEP, "needs": {"app": "ready"}}, "b": SLEEP, "app": {
        "children": {"x": SLEEP, "y": {**SLEEP, "needs": {"/user/b": "started"}}}}})
    equal(result.code, 78, "its status")
    has(result.err, r"supd\.yaml:\d+:\d+: error: children\.a\.needs\.", "the place")
    has(result.err, r"cycle.*: /user/a needs /user/app ready \(.*supd\.yaml:\d+\), "
        r"(/user/app starts after /user/b \(.*supd\.yaml:\d+\), /user/b starts after /user/a|"
        r"/user/app is ready when /user/app/x is)", "the way")
    result = check_file(box, {"a": {**SLEEP, "needs": {"b": "ready"}}, "b": SLEEP},
                        start="parallel")
    equal((result.code, result.err), (0, ""), "the same without a sequence")
    result = check_file(box, {"a": {**SLEEP, "needs": {"b": "ready"}},
                              "b": {**SLEEP, "needs": {"a": "started"}}}, start="parallel")
    has(result.err, "/user/a needs /user/b ready .*, /user/b needs /user/a started ", "the way")
    result = check_file(box, {"a": {**SLEEP, "needs": {"b": "ready"}, "start_on": "connect",
                                    "sockets": {"s": "tcp:127.0.0.1:0"}}, "b": SLEEP})
    check("cycle" not in result.err, f"who starts on demand is ready before it starts: {result}")
    result = check_file(box, {"a": {**SLEEP, "needs": {"a": "ready"}}})
    has(result.err, "/user/a needs /user/a ready", "itself")
    result = check_file(box, {"w": {**SLEEP, "replicas": 2, "needs": {"w": "ready"}}})
    has(result.err, "/user/w@1 needs /user/w ready", "replicas of itself")


@test("a need of an unknown actor is an error, and a need that is hardly ever met a warning")
def strangers(box):
    result = check_file(box, {"db": SLEEP, "api": {**SLEEP, "needs": {"dbb": "ready"}}})
    equal(result.code, 78, "its status")
    has(result.err, r"supd\.yaml:\d+:\d+: error: .*no actor `/user/dbb`, did you mean `/user/db`",
        "the error")
    result = check_file(box, {"db": SLEEP, "api": {**SLEEP, "needs": {"db": "up"}}})
    has(result.err, "`up` is not allowed here; write `started`, `ready` or `completed`",
        "the error")
    result = check_file(box, {"db": {**SLEEP, "enabled": False}, "x": SLEEP, "api": {
        **SLEEP, "needs": {"db": "ready", "x": "completed", "/user/x": "completed"}}})
    equal(result.code, 0, "its status")
    has(result.err, r"warning: .*`/user/db` is not started by itself", "the warning")
    has(result.err, r"warning: .*`/user/x` never completes", "the warning")
    result = check_file(box, {"x": SLEEP, "api": {
        **SLEEP, "needs": {"x": "ready", "/user/x": "started"}}})
    has(result.err, "`/user/x` is needed twice, ready and started", "twice")


if __name__ == "__main__":
    main()
