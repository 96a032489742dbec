#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The same tree in different worlds has the same history."""
import os
import pwd
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from containments import delegated
from harness import Skip, check, equal, main, test

RULES = [{"when": {"exit": [10]}, "then": "resume"}, {"when": {"exit": [30]}, "then": "stop"},
         {"when": {"exit": [40]}, "then": "escalate"}, "default"]
FIELDS = ("generation", "incarnation", "directive", "rule", "scope", "strategy", "window",
          "limit", "delay_ms", "to", "origin", "existence_confirmed")


def history(box, name, keys, **options):
    """path → the history of the actor, in a tree of actors with the additional `keys`."""
    s = box.supd({"all": {"strategy": "one_for_all", "decider": RULES, "I": "5/60s",
                          "children": {"a": dict(keys), "b": {**keys, "do": ["fork=2"]}}},
                  "rest": {"strategy": "rest_for_one", "I": "1/60s",
                           "children": {"c": dict(keys), "d": dict(keys)}},
                  "t": {**keys, "restart": "transient"},
                  "e": {**keys, "do": ["ignore"], "shutdown": "200ms"}}, name=name, **options)
    s.started("e")
    s.line("F", "b")

    def after(actor, action, who, count):
        s.tell(actor, action)
        s.started(who, count)

    after("b", "exit=10", "b", 2)
    after("a", "exit=1", "b", 3)
    after("b", "raise=KILL", "b", 4)
    after("a", "exit=40", "b", 5)
    s.tell("b", "exit=30")
    s.wait_for("all/a", state="stopped")
    after("c", "exit=1", "d", 2)
    after("d", "exit=1", "d", 3)
    s.tell("t", "exit=0")
    s.wait_for("t", state="done")
    s.ctl_ok("stop", "e")
    s.ctl_ok("start", "e")
    s.started("e", 2)
    s.ctl_ok("fail", "e")
    s.wait_for("e", state="failed")
    s.ctl_ok("stop", "rest")
    s.pump(0)
    states = [(one["path"], one["state"], one["restarts"], one["window"], one["generation"])
              for one in s.call("Status")["actors"]]
    s.stop()
    told = {}
    for event in s.events:
        if event["event"] in ("supd", "dead_letter") or not event["path"].startswith("/user"):
            continue
        cause = event.get("cause") or {}
        told.setdefault(event["path"], []).append(
            (event["event"], cause.get("text"),
             [os.path.basename(str(event.get(field))) for field in FIELDS]))
    return states, told


@test("187 with and without cgroups, as another user, elsewhere and with other limits: all the "
      "same", timeout=120)
def worlds(box):
    wanted = history(box, "plain", {"containment": "session"})
    check(len(wanted[1]["/user/all/b"]) > 20, "there is a history")
    different = {"elsewhere": {"containment": "session", "directory": "/usr",
                               "limits": {"nofile": 64, "core": 0, "stack": "1M"},
                               "umask": "0077"}}
    if os.geteuid() == 0:
        pwd.getpwnam("nobody")
        different["nobody"] = {"containment": "session", "user": "nobody"}
    try:
        enter, _ = delegated(box)
        different["cgroup"] = {"containment": "cgroup"}
    except Skip:
        enter = None
    for name, keys in different.items():
        options = {"before": enter} if name == "cgroup" else {}
        states, told = history(box, name, keys, **options)
        equal(states, wanted[0], f"states ({name})")
        for path, story in wanted[1].items():
            equal(told.get(path), story, f"the history of {path} ({name})")
        equal(set(told), set(wanted[1]), f"who has one ({name})")


if __name__ == "__main__":
    main()
