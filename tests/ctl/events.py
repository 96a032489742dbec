#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""supctl events: in words, in JSON, and following over the death of a supd."""
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from canned import PONG, STORY, check, event, expect, one, pong, using
from fake_supd import (GUARD_S, cause, command, environment, run, supctl, tree, Close, Error, Hang,
                       Reply, Supd)


def events_of(story):
    def answer(parameters, supd):
        since = parameters.get("since", 0)
        left = [e for e in story if e["seq"] > since]
        for i, e in enumerate(left):
            yield Reply({"event": e}, more=i + 1 < len(left))
    return answer


def test_events_are_told_in_words():
    when = "2024-05-01 12:00:01.123  "
    calls = one(Supd(Events=events_of(STORY)), "events", out="".join(
        when + line + "\n" for line in (
            "/                 supd       started",
            "/user/web         started    pid 100",
            "/user/web         ready",
            "/user/web         exited     killed by SIGSEGV; cpu 12ms, memory 3.4M",
            "/user/web         failure    killed by SIGSEGV -> restart with "
            "/user/cache in 200ms (supd.yaml:12, 2 of 5 within 1m)",
            "/user/web         backoff    start in 200ms",
            "/user/web         killed_after_timeout  did not stop in time, killed",
            "/user/web         terminated  ended for good: exited with code 0",
            "/user             gave_up    more than 5 restarts within 60s, "
            "the last of /user/web",
            "/user/web         escalated  to /user: killed by SIGSEGV",
            "/user/web         command    stop by uid 54321, pid 55",
            "/user/web         command    stop by root (uid 0), pid 55 (supctl\\x1b)",
            "/                 applied    1 added",
            "/user/web         somersault  height=3, back\\x1b",
        )))
    check(calls == [("Events", {}, True)], calls)


def test_what_happened_to_supd_itself_is_told_in_words():
    stories = [event(n, "supd", path="/", **fields) for n, fields in enumerate([
        {"what": "ready"}, {"what": "shutting_down"},
        {"what": "started", "after": "SIGKILL", "outage_ms": 4},
        {"what": "upgraded", "from": "0.1.0", "to": "0.2.0", "outage_ms": 18},
        {"what": "upgrade_failed", "after": "exit status 1", "outage_ms": 9},
        {"what": "ledger_lost"}, {"what": "actors_killed"},
        {"what": "leftovers_killed", "processes": 1},
        {"what": "leftovers_killed", "processes": 3}, {"what": "juggled"}], 1)]
    when = "2024-05-01 12:00:01.123  /                 supd       "
    one(Supd(Events=events_of(stories)), "events", out="".join(
        when + line + "\n" for line in (
            "ready", "shutting down",
            "took over after a crash (SIGKILL), no guardian for 4ms",
            "upgraded from 0.1.0 to 0.2.0, no guardian for 18ms",
            "the upgrade failed, the binary before is back (exit status 1), "
            "no guardian for 9ms",
            "its state was lost: all actors begin anew",
            "all actors were killed and begin anew",
            "killed what a supd before had left, 1 process",
            "killed what a supd before had left, 3 processes", "juggled")))


def test_events_in_json_are_one_object_a_line_as_received():
    def body(s):
        result = supctl(s, "-o", "json", "events", "web", "--since", "3")
        check([json.loads(line) for line in result.out.splitlines()] == STORY[3:], result)
    supd = Supd(Events=events_of(STORY))
    using(supd, body)
    check(supd.calls == [("Events", {"pattern": "web", "since": 3}, True)], supd.calls)


def test_a_start_that_failed_before_its_program_says_in_which_step():
    stories = [event(n, "failure", origin="/user/web", directive="stop", scope=[],
                     rule="preset default", delay_ms=0, step=step,
                     cause=cause("could not be executed: ENOENT", kind="exec"))
               for n, step in ((1, "chdir"), (2, "exec"))]

    def body(s):
        first, second = supctl(s, "events").out.splitlines()
        check("ENOENT in chdir -> stop" in first, first)
        check("ENOENT -> stop" in second, second)
    using(Supd(Events=events_of(stories)), body)


def test_an_event_of_today_has_only_its_time():
    import datetime
    now = datetime.datetime.now(datetime.timezone.utc)
    e = event(1, "ready")
    e["time"] = now.strftime("%Y-%m-%dT%H:%M:%S.250000Z")

    def body(s):
        result = supctl(s, "events")
        # Midnight may pass between the two; then the date is there as well.
        check(result.out.endswith(now.strftime("%H:%M:%S.250") + "  /user/web         ready\n"),
              result)
    using(Supd(Events=events_of([e])), body)


def after_the_ring(answer, ring=()):
    """What is there is asked for by itself, before following; then it is for answer()."""
    def both(parameters, supd):
        if "follow" in parameters:
            yield from answer(parameters, supd)
            return
        for e in ring:
            yield Reply({"event": e}, more=True)
        yield Reply({"event": {}})
    return both


def test_following_goes_on_after_the_last_event_when_supd_comes_back():
    def answer(parameters, supd):
        since = parameters.get("since", 0)
        yield Reply({"event": event(since + 1, "ready")}, more=True)
        if supd.connections < 3:
            yield Close
        yield Reply({"event": event(since + 2, "stopped")})

    def body(s):
        result = supctl(s, "events", "-f", "-o", "json")
        expect(result, 0)
        check([json.loads(x)["seq"] for x in result.out.splitlines()] == [1, 2, 3, 4], result)
    supd = Supd(Ping=pong, Events=after_the_ring(answer))
    using(supd, body)
    check([c.get("since") for c in supd.called("Events")] == [None, None, 1, 2], supd.calls)


def test_following_begins_with_the_last_ten_events():
    def answer(parameters, supd):
        check(parameters["since"] == 20, parameters)
        yield Reply({"event": event(21, "ready")}, more=True)
        yield Reply({"event": event(22, "ready")})

    def seen(*arguments):
        supd = Supd(Ping=pong, Events=after_the_ring(
            answer, [event(n, "failure" if n % 4 == 0 else "ready") for n in range(1, 21)]))
        result = []

        def body(s):
            out = supctl(s, "events", "-f", "-o", "json", *arguments).out
            result.extend(json.loads(x)["seq"] for x in out.splitlines())
        using(supd, body)
        return result
    check(seen() == list(range(11, 23)), seen())
    check(seen("-n", "2") == [19, 20, 21, 22], seen("-n", "2"))
    check(seen("-n", "all") == list(range(1, 23)), "all")
    check(seen("--type", "failure", "-n", "2") == [16, 20], "failures")
    check(seen("--since", "2024-05-01") == list(range(1, 23)), "since")


def test_events_are_chosen_by_type_number_and_time():
    def at(seq, name, second, **fields):
        e = event(seq, name, **fields)
        e["time"] = "2024-05-01T12:00:%02d.500000Z" % second
        return e
    story = [at(1, "ready", 1), at(2, "exited", 2), at(3, "backoff", 3), at(4, "ready", 4)]

    def seen(*arguments):
        result = []

        def body(s):
            out = supctl(s, "events", "-o", "json", *arguments).out
            result.extend(json.loads(x)["seq"] for x in out.splitlines())
        using(Supd(Events=events_of(story)), body)
        return result
    for arguments, expected in ((("--type", "ready"), [1, 4]), (("-n", "1"), [4]),
                                (("--type", "ready,backoff", "-n", "2"), [3, 4]),
                                (("--since", "2"), [3, 4]), (("--until", "2"), [1, 2]),
                                (("--since", "1", "--until", "3"), [2, 3]),
                                (("--since", "2024-05-01 12:00:02.5"), [2, 3, 4]),
                                (("--until", "2024-05-01T12:00:03Z"), [1, 2]),
                                (("--since", "today"), []), (("--until", "today"), [1, 2, 3, 4])):
        check(seen(*arguments) == expected, (arguments, seen(*arguments)))


def test_many_adoptions_are_one_line():
    many = [event(n, "adopted", "/user/w%d" % n, pid=n) for n in range(1, 6)]
    when = "2024-05-01 12:00:01.123  "
    one(Supd(Events=events_of(many + [event(6, "supd", path="/", what="ready")])), "events",
        out=(when + "/                 adopted    the processes of 5 actors, which run on\n"
             + when + "/                 supd       ready\n"))
    one(Supd(Events=events_of(many)), "events", out=(
        when + "/                 adopted    the processes of 5 actors, which run on\n"))
    one(Supd(Events=events_of(many[:2])), "events", out=(
        when + "/user/w1          adopted    pid 1\n" + when
        + "/user/w2          adopted    pid 2\n"))

    def body(s):
        check(supctl(s, "events", "--type", "adopted").out.count("pid") == 5, "each")
        check(len(supctl(s, "events", "-o", "json").out.splitlines()) == 5, "each")
    using(Supd(Events=events_of(many)), body)


def test_paths_of_events_are_above_each_other_from_the_first_line_on():
    def body(s):
        first, second = supctl(s, "events").out.splitlines()
        check(first.index("ready") == second.index("ready"), (first, second))
    using(Supd(Events=events_of([event(1, "ready"),
                                 event(2, "ready", path="/user/a/rather/long/path")])), body)


def test_following_begins_anew_with_another_supd():
    def ping(parameters, supd):
        return [Reply(dict(PONG, pid=supd.connections))]

    def answer(parameters, supd):
        yield Reply({"event": event(7 if supd.connections == 1 else 1, "ready")}, more=True)
        if supd.connections == 1:
            yield Close
        yield Reply({"event": event(8, "stopped")})
    supd = Supd(Ping=ping, Events=after_the_ring(answer))
    using(supd, lambda s: expect(supctl(s, "events", "-f"), 0))
    check([c.get("since") for c in supd.called("Events")] == [None, None, None], supd.calls)


def test_a_slow_consumer_subscribes_again_and_says_what_is_lost():
    def answer(parameters, supd):
        if "since" not in parameters:
            yield Reply({"event": event(1, "ready")}, more=True)
            yield Error("SlowConsumer", dropped=8)
        else:
            yield Reply({"event": event(10, "ready")})
    supd = Supd(Ping=pong, Events=after_the_ring(answer))
    using(supd, lambda s: expect(supctl(s, "events", "-f"), 0, err="8 events are lost"))
    check([c.get("since") for c in supd.called("Events")] == [None, None, 1], supd.calls)


def test_following_ends_quietly_when_its_reader_goes_away():
    def answer(parameters, supd):
        yield Reply({"event": event(1, "ready")}, more=True)
        yield Hang

    def body(s):
        ctl = subprocess.Popen(command("-s", s.path, "events", "-f"), env=environment(),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        check(b"ready" in ctl.stdout.readline(), "the first event")
        ctl.stdout.close()
        status = ctl.wait(GUARD_S)
        err = ctl.stderr.read()
        ctl.stderr.close()
        check(status == 0 and err == b"", (status, err))
    using(Supd(Ping=pong, Events=after_the_ring(answer)), body)


def test_a_full_disk_under_standard_output_is_said():
    def body(s):
        with open("/dev/full", "wb") as full:
            ctl = subprocess.run(command("-s", s.path, "status"), env=environment(),
                                 stdout=full, stderr=subprocess.PIPE, timeout=GUARD_S)
        check(ctl.returncode == 1 and b"No space left" in ctl.stderr, ctl)
    using(tree(), body)


def test_following_ends_when_the_disk_under_standard_output_is_full():
    def answer(parameters, supd):
        yield Reply({"event": event(1, "ready")}, more=True)
        yield Hang

    def body(s):
        with open("/dev/full", "wb") as full:
            ctl = subprocess.run(command("-s", s.path, "events", "-f"),
                                 env=environment(), stdout=full, stderr=subprocess.PIPE,
                                 timeout=GUARD_S)
        check(ctl.returncode == 1 and b"No space left" in ctl.stderr, ctl)
    using(Supd(Ping=pong, Events=after_the_ring(answer)), body)


def test_a_closed_standard_output_is_said_and_supd_is_not_written_to():
    def body(s):
        ctl = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh",
                              *command("-s", s.path, "status")], env=environment(),
                             stderr=subprocess.PIPE, timeout=GUARD_S)
        check(ctl.returncode == 1 and b"standard output" in ctl.stderr, ctl)
    using(tree(), body)


if __name__ == "__main__":
    sys.exit(run(dict(globals())))
