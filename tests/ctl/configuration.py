#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""supctl watch, wait, check, diff, apply and cat, and how a start settles."""
import json
import os
import sys

sys.dont_write_bytecode = True

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from canned import change, check, end, expect, one, said, using
from fake_supd import (TREE, actor, cause, failure, run, status_of, stream, supctl, supervisor,
                       tree, Close, Error, Reply, Supd)


def test_watch_prints_one_line_for_each_name():
    def answer(parameters, supd):
        yield Reply(end("/user/nope", "stopped", existence_confirmed=False), more=True)
        yield Reply(end("/user/web", "done", cause=cause("exited with code 0")))
    calls = one(tree(Watch=answer), "watch", "web", "nope", out=(
        "terminated  /user/nope  stopped, was not seen alive\n"
        "terminated  /user/web  done: exited with code 0\n"))
    check(calls[-1] == ("Watch", {"names": ["/user/web", "nope"], "since": [1, 0]}, True),
          calls)


def test_watch_in_json_is_one_object_a_line():
    def body(s):
        result = supctl(s, "watch", "web", "-o", "json")
        check(json.loads(result.out) == end("/user/web"), result)
    using(tree(Watch=lambda p, s: [Reply(end("/user/web"))]), body)


def test_watch_registers_again_what_is_not_answered_with_the_incarnation_it_knew():
    def answer(parameters, supd):
        if supd.connections == 1:
            yield Reply(end("/user/app/db"), more=True)
            yield Close
        for i, name in enumerate(parameters["names"]):
            yield Reply(end(name), more=i + 1 < len(parameters["names"]))
    supd = tree(Watch=answer)
    using(supd, lambda s: expect(supctl(s, "watch", "app/*", "web"), 0, (
        "terminated  /user/app/db  stopped\n"
        "terminated  /user/app/api  stopped\n"
        "terminated  /user/web  stopped\n")))
    check(supd.called("Watch") == [
        {"names": ["/user/app/db", "/user/app/api", "/user/web"], "since": [1, 1, 1]},
        {"names": ["/user/app/api", "/user/web"], "since": [1, 1]}], supd.calls)


def test_wait_is_silent_and_names_the_incarnation():
    answer = lambda p, s: [Reply({"actor": TREE[4]})]
    calls = one(tree(Wait=answer), "--timeout", "9s", "wait", "web", "--for", "ready",
                out="")
    parameters = calls[-1][1]
    check(0 < parameters.pop("timeout_ms") <= 9000, calls)
    check(parameters == {"name": "/user/web", "for": "ready", "incarnation": 1}, calls)


def test_wait_calls_again_when_the_connection_is_lost():
    def answer(parameters, supd):
        return [Close] if supd.connections == 1 else [Reply({"actor": TREE[4]})]
    supd = tree(Wait=answer)
    using(supd, lambda s: expect(supctl(s, "wait", "web", "--for", "done"), 0, ""))
    check(len(supd.called("Wait")) == 2, supd.calls)


def test_wait_ends_when_supd_ended_in_order_whatever_the_timeout():
    def answer(parameters, supd):
        os.unlink(supd.path)
        return [Close]
    using(tree(Wait=answer),
          lambda s: expect(supctl(s, "--timeout", "1h", "wait", "web", "--for", "done"),
                           1, "", "no supd at "))


def test_wait_for_what_can_no_longer_come_is_1_and_a_timeout_124():
    for error, status in ((Error("InvalidState", name="web", state="failed",
                                 message="it failed"), 1),
                          (Error("StartFailed", name="web", cause=cause()), 1),
                          (Error("Timeout", name="web", state="running"), 124)):
        one(tree(Wait=lambda p, s, e=error: [e]), "wait", "web", "--for", "done",
            status=status, out="", err="wait /user/web: ")


def test_wait_is_for_ready_unless_something_else_is_meant():
    one(tree(), "wait", "web", "--for", "fun", status=2, err="--for ready|stopped|failed|done")
    calls = one(Supd(Status=status_of(TREE), Wait=lambda p, s: [Reply({"actor": TREE[4]})]),
                "wait", "web", out="")
    check([c[1]["for"] for c in calls if c[0] == "Wait"] == ["ready"], calls)


PLAN = [
    {"path": "/user/a", "change": "unchanged", "keys": []},
    {"path": "/user/app/b", "change": "updated", "keys": ["backoff", "limit"]},
    {"path": "/user/c", "change": "restarted", "keys": ["command"]},
    {"path": "/user/d", "change": "removed", "keys": []},
]


def test_diff_and_apply_print_what_changes():
    for verb, method in (("diff", "Diff"), ("reread", "Diff"), ("apply", "Apply"),
                         ("update", "Apply"), ("reload", "Apply")):
        text = ("updated    /user/app/b  backoff, limit\n"
                "restarted  /user/c  command\n"
                "removed    /user/d\n"
                "1 updated, 1 restarted, 1 removed, 1 unchanged\n")
        if method == "Diff":
            text = ("will be updated    /user/app/b  backoff, limit\n"
                    "will be restarted  /user/c  command\n"
                    "will be removed    /user/d\n"
                    "1 to update, 1 to restart, 1 to remove, 1 unchanged\n")
        answers = {method: lambda p, s: [Reply({"plan": PLAN})]}
        calls = one(Supd(**answers), verb, out=text)
        check(calls == [(method, {}, False)], calls)


def test_diff_tells_what_will_become_of_each_actor_and_the_values():
    long = '"' + "x" * 99 + 'é and more"'
    plan = [change("/user/a", "restarted", "restart",
                   ("environment.LANG", '"C.UTF-8"', '"C"'), ("user", None, '"www"')),
            change("/user/b", "restarted", "later", ("command", '["a"]', '["a","b\x1b"]')),
            change("/user/c", "restarted", "start", ("nice", "1", "2"), ("order", None, None)),
            change("/user/d", "updated", "update", ("description", '""', long)),
            change("/user/e", "added", "start"), change("/user/f", "added", "later"),
            change("/user/g", "removed", "remove"), change("/user/h", "unchanged", "none")]
    values = ("    environment.LANG  C.UTF-8 -> C\n    user  - -> www\n",
              "    command  [\"a\"] -> [\"a\",\"b\\x1b\"]\n",
              "    nice  1 -> 2\n    order\n",
              "    description  \"\" -> " + "x" * 99 + "...\n", "", "", "")
    future = ("will be restarted", "will change at its next start", "will be started",
              "will be updated", "will be added", "will be added, not started",
              "will be removed")
    past = ("restarted", "changes at its next start", "started", "updated", "added",
            "added, not started", "removed")

    def text(words, end):
        width = max(map(len, words))
        return "".join("%-*s  /user/%s\n%s" % (width, word, "abcdefg"[i], values[i])
                       for i, word in enumerate(words)) + end
    answer = lambda p, s: [Reply({"plan": plan})]
    calls = one(Supd(Diff=answer), "diff", out=text(future, (
        "1 to update, 1 to start, 1 to change at the next start, 1 to restart, "
        "1 to add without a start, 1 to add, 1 to remove, 1 unchanged\n")))
    check(calls == [("Diff", {}, False)], calls)
    calls = one(Supd(Apply=answer), "apply", "--no-wait", out=text(past, (
        "1 updated, 1 started, 1 to change at the next start, 1 restarted, "
        "1 added without a start, 1 added, 1 removed, 1 unchanged\n")))
    check(calls == [("Apply", {}, False)], calls)


def test_the_exit_status_of_diff_says_whether_anything_changes():
    one(Supd(Diff=lambda p, s: [Reply({"plan": PLAN[:1]})]), "diff", "-e",
        out="1 unchanged\n")
    one(Supd(Diff=lambda p, s: [Reply({"plan": []})]), "diff", "--exit-code",
        out="nothing to do\n")
    one(Supd(Diff=lambda p, s: [Reply({"plan": PLAN})]), "diff", "-e", status=3)
    one(Supd(Diff=lambda p, s: [Reply({"plan": PLAN})]), "diff", "-e", "-o", "json", status=3)
    one(Supd(), "apply", "-e", status=2, err="an option does not belong here")


def test_another_file_is_named_as_seen_from_supd():
    answers = {m: lambda p, s: [Reply({"plan": []})] for m in ("Diff", "Apply")}
    for verb in ("diff", "apply"):
        for name in ("/etc/x.yaml", "x.yaml"):
            calls = one(Supd(**answers), verb, "--rerun", name, out="nothing to do\n")
            expected = os.path.join(os.getcwd(), name)
            check(calls[0][1] == {"file": expected, "rerun": True}, calls)


def test_an_undo_needs_no_file_and_is_not_repeated():
    answers = {m: lambda p, s: [Reply({"plan": []})] for m in ("Diff", "Apply")}
    for verb in ("diff", "apply"):
        calls = one(Supd(**answers), verb, "--undo", out="nothing to do\n")
        check(calls[0][1] == {"undo": True}, calls)
        one(Supd(**answers), verb, "--undo", "x.yaml", status=2, err="a file does not belong to it")


def test_apply_waits_until_what_it_starts_lives_and_what_it_removes_is_gone():
    plan = [change("/user/a", "restarted", "restart"), change("/user/b", "removed", "remove"),
            change("/user/c", "restarted", "later")]
    looks = [
        [actor("/user/a", state="stopping"), actor("/user/b", state="stopping")],
        [actor("/user/a", state="starting", uptime_ms=0, ready=False)],
        [actor("/user/a", generation=2, uptime_ms=0)],
        [actor("/user/a", generation=2, uptime_ms=70000), actor("/user/z", state="starting")]]

    def status(parameters, supd):
        n = len(supd.called("Status"))
        return stream(looks[min(n, len(looks)) - 1])
    calls = one(Supd(Apply=lambda p, s: [Reply({"plan": plan})], Status=status), "apply")
    check([c[0] for c in calls] == ["Apply"] + 4 * ["Status"], calls)


def test_a_restart_by_apply_that_is_seen_between_two_processes_is_no_failure():
    plan = [change("/user/web", "restarted", "restart")]
    between = actor("/user/web", state="backoff", uptime_ms=None, pid=None)
    due = dict(between, backoff={"failures": 1, "delay_ms": 200, "due_in_ms": 0})

    looks = [between, due, actor("/user/web", generation=2, uptime_ms=0),
             actor("/user/web", generation=2, uptime_ms=70000)]

    def status(parameters, supd):
        n = len(supd.called("Status"))
        return stream([looks[min(n, len(looks)) - 1]])
    calls = one(Supd(Apply=lambda p, s: [Reply({"plan": plan})], Status=status), "apply")
    check([c[0] for c in calls] == ["Apply"] + 4 * ["Status"], calls)


def fails_after(first, *later, **answers):
    """A supd that starts /user/web as `first`; how it is at each look after that."""
    def status(parameters, supd):
        n = len(supd.called("Status"))
        return stream([later[min(n, len(later)) - 1]])
    return Supd(Start=lambda p, s: [Reply({"actors": [first]})],
                Restart=lambda p, s: [Reply({"actors": [first]})], Status=status, **answers)


def young(**fields):
    return actor("/user/web", **{"uptime_ms": 3, **fields})


def failed_now(**fields):
    return young(last_failure=dict(failure("exited with 3\x1b"),
                                   at="2099-01-01T00:00:00.000Z"), **fields)


def test_start_and_restart_stay_until_the_process_has_lived_for_a_second():
    for verb in ("start", "restart"):
        calls = one(fails_after(young(), young(), young(uptime_ms=1000)), verb, "web",
                    out="/user/web  running  pid 4711\n")
        check([c[0] for c in calls[1:]] == ["Status", "Status"], calls)
        for arguments in (("--no-wait",), ("--settle", "0"), ("--settle", "3ms")):
            calls = one(fails_after(young(), young()), verb, "web", *arguments)
            check(len(calls) == 1, calls)
        calls = one(fails_after(actor("/user/web")), verb, "web")
        check(len(calls) == 1, "it is older than that")
        one(Supd(), verb, "web", "--settle", "5", status=2,
            err="--settle '5': write a duration, as 500ms or 5s")


def test_a_process_that_dies_at_once_is_no_success():
    def logs(parameters, supd):
        check(parameters == {"names": ["/user/web"], "lines": 10}, parameters)
        yield said("/user/web", "oh \x1b[2J no")
        yield said("/user/web", "!", more=False)
    for later in (failed_now(state="backoff", uptime_ms=None), failed_now(generation=2),
                  failed_now(state="failed", uptime_ms=None)):
        supd = fails_after(young(), young(), later, Logs=logs)
        using(supd, lambda s: expect(supctl(s, "start", "web"), 1,
                                     "/user/web  running  pid 4711\n", (
            "supctl: start /user/web: it did not live for 1s: exited with 3\\x1b\n"
            "  | oh \\x1b[2J no\n  | !\n")))
    supd = fails_after(young(), failed_now(generation=2), Logs=logs, Explain=lambda p, s: [
        Reply({"path": p["name"], "chain": [], "text": "", "last_words": ["one\x1b", "two"]})])
    using(supd, lambda s: check(supctl(s, "start", "web").err == (
        "supctl: start /user/web: it did not live for 1s: exited with 3\\x1b\n"
        "  | one\\x1b\n  | two\n"), s.calls))
    failed = failed_now(state="backoff", uptime_ms=None, pid=None)  # before the answer
    one(fails_after(failed, failed), "restart", "web", status=1,
        err="it did not live for 1s: exited with 3")
    one(fails_after(young(), young(generation=2)), "restart", "web", "--settle", "2s",
        status=1, err="it did not live for 2s: it ended and was started again")
    one(fails_after(young(), young(state="done", uptime_ms=None, pid=None)), "start", "web")


def test_all_below_a_supervisor_has_to_live():
    def status(parameters, supd):
        return stream([supervisor("/user/app", uptime_ms=5000),
                       dict(failed_now(), path="/user/app/x/y"),
                       dict(failed_now(), path="/user/application")])
    supd = Supd(Start=lambda p, s: [Reply({"actors": [supervisor("/user/app", uptime_ms=1)]})],
                Status=status, Logs=lambda p, s: [Error("InvalidState", name="", state="",
                                                        message="no log")])
    using(supd, lambda s: check(supctl(s, "start", "app").err == (
        "supctl: start /user/app/x/y: it did not live for 1s: exited with 3\\x1b\n"), s.calls))


def test_diff_in_json_is_the_plan():
    def body(s):
        result = supctl(s, "diff", "-o", "json")
        check(json.loads(result.out) == PLAN, result)
    using(Supd(Diff=lambda p, s: [Reply({"plan": PLAN})]), body)


def test_an_invalid_configuration_has_every_error_on_a_line():
    errors = [{"file": "a.yaml", "line": 3, "column": 5, "path": "children.x",
               "message": "unknown key `comand`"},
              {"file": "b.yaml", "line": 1, "column": 1, "path": "", "message": "empty"},
              {"file": "c.yaml", "line": 0, "column": 0, "path": "",
               "message": "cannot read c.yaml"}]
    supd = Supd(Apply=lambda p, s: [Error("ConfigInvalid", errors=errors)])
    using(supd, lambda s: check(
        supctl(s, "apply").err ==
        "a.yaml:3:5: children.x: unknown key `comand`\n"
        "b.yaml:1:1: empty\n"
        "cannot read c.yaml\n"
        "supctl: apply: the configuration has 3 errors, nothing was changed\n", supd.calls))


def test_cat_prints_yaml_with_origins():
    spec = {"command": ["sleep", "1"], "restart": "permanent", "umask": "022",
            "shutdown": "5s", "greeting": "yes", "port": 80, "held": False,
            "backoff": {"min": "200ms", "max": "30s", "jitter": 0.2}, "environment": {},
            "decider": [{"on": "exit", "do": "restart"}]}
    origin = [{"key": "command", "file": "supd.yaml", "line": 4},
              {"key": "restart", "file": "default", "line": 0},
              {"key": "backoff.min", "file": "supd.yaml", "line": 9},
              {"key": "decider", "file": "supd.yaml", "line": 11}]
    answer = lambda p, s: [Reply({"spec": spec, "origin": origin})]
    one(Supd(Describe=answer), "cat", "web", out=(
        '# web\n'
        'command: ["sleep", "1"]  # supd.yaml:4\n'
        'backoff:\n'
        '  min: "200ms"  # supd.yaml:9\n'
        '  max: "30s"\n'
        '  jitter: 0.2\n'
        'decider:  # supd.yaml:11\n'
        '  - {"on": "exit", "do": "restart"}\n'
        '\n# defaults\n'
        'restart: permanent  # default\n'
        'umask: "022"\n'
        'shutdown: "5s"\n'
        'greeting: "yes"\n'
        'port: 80\n'
        'held: false\n'
        'environment: {}\n'))


def test_check_runs_supd_and_passes_its_status_on():
    def body(s):
        supd = os.path.join(s.directory, "supd")
        with open(supd, "w") as f:
            f.write('#!/bin/sh\necho "$@"\nexit $STATUS\n')
        os.chmod(supd, 0o755)
        for status, err in ((0, None), (78, "x.yaml: the configuration has errors")):
            result = supctl(s, "check", "x.yaml", env={"SUPD": supd, "STATUS": str(status)})
            expect(result, status, "--check -c x.yaml\n", err)
    using(Supd(), body)


def test_check_without_a_file_is_about_that_of_the_running_supd():
    def body(s):
        supd = os.path.join(s.directory, "supd")
        with open(supd, "w") as f:
            f.write('#!/bin/sh\necho "$@"\n')
        os.chmod(supd, 0o755)
        expect(supctl(s, "check", env={"SUPD": supd}), 0, "--check -c /etc/own.yaml\n")
        expect(supctl(None, "check", env={"SUPD": supd, "SUPD_SOCKET": "/nonexistent"}), 0,
               "--check\n")
    using(Supd(Ping=lambda p, s: [Reply({"version": "9", "pid": 1, "walker_pid": 1,
                                         "uptime_ms": 1, "config": "/etc/own.yaml"})]), body)


def test_check_shows_the_line_of_the_file_and_a_mark():
    def body(s):
        supd, bad = (os.path.join(s.directory, name) for name in ("supd", "bad.yaml"))
        with open(bad, "w") as f:
            f.write("children:\n  a: {comand: x\x1b}\n")
        with open(supd, "w") as f:
            f.write('#!/bin/sh\necho "%s:2:7: error: children.a: unknown" >&2\n'
                    'echo "%s:9:1: warning: odd" >&2\nexit 78\n' % (bad, bad))
        os.chmod(supd, 0o755)
        result = supctl(s, "check", bad, env={"SUPD": supd})
        check(result.status == 78 and result.out == "", result)
        check(result.err == "%s:2:7: error: children.a: unknown\n"
              "      a: {comand: x\\x1b}\n          ^\n%s:9:1: warning: odd\n"
              "supctl: check %s: the configuration has errors (exit status 78)\n"
              % (bad, bad, bad), result)
        result = supctl(s, "-o", "json", "check", bad, env={"SUPD": supd})
        check(json.loads(result.out) == [
            {"file": bad, "line": 2, "column": 7, "kind": "error",
             "message": "children.a: unknown"},
            {"file": bad, "line": 9, "column": 1, "kind": "warning", "message": "odd"}], result)
    using(Supd(), body)


def test_a_refusal_names_the_groups_that_may():
    name = __import__("grp").getgrgid(0).gr_name
    denied = "org.varlink.service.PermissionDenied"
    one(Supd(Stop=lambda p, s: [Error(denied, observing=False, control=0,
                                      observers=54321)]), "stop", "a", status=5,
        err="allowed are root, the user of supd, and members of the group %s)" % name)
    one(Supd(Status=lambda p, s: [Error(denied, observing=True, control=0,
                                        observers=54321)]), "status", status=5,
        err="and members of the group %s and of the group 54321)" % name)
    one(Supd(Stop=lambda p, s: [Error(denied, observing=False)]), "stop", "a", status=5,
        err="the user of supd; its control.group is not set)")


def test_check_without_a_supd_says_what_is_missing():
    result = supctl(None, "check", "x.yaml", env={"SUPD": "/nonexistent/supd"})
    expect(result, 1, "", "/nonexistent/supd: No such file or directory")


if __name__ == "__main__":
    sys.exit(run(dict(globals())))
