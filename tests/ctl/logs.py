#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""supctl logs: of files and of the journal, chosen, merged and followed."""
import base64
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from canned import begins, check, expect, on_a_terminal, one, said, using
from fake_supd import (GUARD_S, actor, command, environment, run, status_of, supctl, Close, Error,
                       Hang, Reply, Supd)


def test_logs_of_one_actor_are_printed_as_they_were_written():
    def answer(parameters, supd):
        yield begins("/user/web", "1.2.0")
        yield said("/user/web", "one\ttwo \x1b[31mred ü", "1.2.9")
        yield said("/user/web", "", "1.2.10", more=False)
    calls = one(Supd(Logs=answer), "logs", "web", out="one\ttwo \x1b[31mred ü\n\n")
    check(calls == [("Logs", {"names": ["web"], "since": "@"}, True)], calls)
    one(Supd(Logs=answer), "tail", "web", out="one\ttwo \x1b[31mred ü\n\n")


def test_logs_that_are_not_text_are_the_bytes_that_were_written():
    def answer(parameters, supd):
        for i, line in enumerate(lines):
            message = said("/user/web", "\ufffd", more=i + 1 < len(lines))
            message.message["parameters"]["bytes"] = base64.b64encode(line).decode()
            yield message
    lines = [b"\xff", b"a\0b", b"\x1b[31m\xc3", bytes(range(1, 256)).replace(b"\n", b"")]

    def body(s):
        done = subprocess.run(command("-s", s.path, "logs", "web"), env=environment(),
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=GUARD_S)
        check((done.returncode, done.stdout) == (0, b"\n".join(lines) + b"\n"), done)
    using(Supd(Logs=answer), body)
    one(Supd(Logs=lambda p, s: [said("/user/web", "x", more=False)]), "logs", "web", out="x\n")


def test_logs_of_several_actors_have_their_names_in_front():
    def answer(parameters, supd):
        yield begins("/user/web", "1.2.0")
        yield begins("/user/app/api", "3.4.0")
        yield begins("/system/log", "5.6.0")
        yield said("/user/web", "w", "1.2.2")
        yield said("/user/app/api", "a", "3.4.2")
        yield said("/system/log", "l", "5.6.2")
        yield said("/user/web", "w", "1.2.4", more=False)
    for names in (["*"], ["web", "api", "/system/log"]):
        one(Supd(Logs=answer), "logs", *names, out=(
            "web         | w\napp/api     | a\n/system/log | l\nweb         | w\n"))


def test_names_and_colours_of_programs_are_coloured_on_a_terminal_and_nothing_else_passes():
    evil = "\x1b[31mred\x1b[0m \x1b]0;x\x07\x1b[2J\x1b[8mhid"

    def answer(parameters, supd):
        yield begins("/user/a\x1b[31m", "1.2")
        yield begins("/user/web", "1.2")
        yield said("/user/web", evil, "1.3")
        yield said("/user/a\x1b[31m", "\x1b[1mbold", "1.3", more=False)

    def body(s):
        first, second = on_a_terminal(s, "logs", "a", "web").decode().split("\r\n")[:2]
        check(first.endswith("web       |\x1b[0m \x1b[31mred\x1b[0m "
                             "\\x1b]0;x\\x07\\x1b[2J\\x1b[8mhid"), first)
        check(first.startswith("\x1b[") and second.startswith("\x1b["), first)
        check(second.endswith("ma\\x1b[31m |\x1b[0m \x1b[1mbold\x1b[0m"), second)
        for arguments, env in (((), {"NO_COLOR": "1"}), (("--no-color",), {})):
            seen = on_a_terminal(s, "logs", "a", "web", *arguments, **env).decode()
            check(seen == ("web       | red \\x1b]0;x\\x07\\x1b[2J\\x1b[8mhid\r\n"
                           "a\\x1b[31m | bold\r\n"), seen)
        check(supctl(s, "logs", "web").out.startswith("web"), "no colours in a pipe")
    using(Supd(Logs=answer), body)


def test_logs_of_a_pattern_that_selects_one_actor_have_no_name_in_front():
    def answer(parameters, supd):
        yield begins("/user/web", "1.2.0")
        yield said("/user/web", "w", "1.2.2", more=False)
    one(Supd(Logs=answer), "logs", "w*", out="w\n")


def test_logs_of_an_actor_that_said_nothing_are_empty():
    for answer in ([Reply({"path": "", "time": None, "stream": "", "text": ""})],
                   [Reply(begins("/user/web", "0.0.0").message["parameters"])]):
        one(Supd(Logs=lambda p, s, a=answer: a), "logs", "web", out="")


def test_logs_in_json_are_one_object_a_line_without_places():
    def answer(parameters, supd):
        yield begins("/user/web", "1.2.0")
        yield said("/user/web", 'a"b\n', "1.2.2", time="2024-05-01T12:00:01.123Z")
        yield said("/user/web", "", "1.2.2", stream="stderr", more=False)

    def body(s):
        result = supctl(s, "-o", "json", "logs", "web")
        expect(result, 0)
        check([json.loads(line) for line in result.out.splitlines()] == [
            {"path": "/user/web", "time": "2024-05-01T12:00:01.123Z", "stream": "stdout",
             "text": 'a"b\n'},
            {"path": "/user/web", "time": None, "stream": "stderr", "text": ""}], result)
    using(Supd(Logs=answer), body)


def test_logs_ask_for_the_lines_and_the_time_that_were_meant():
    end = Reply({"path": "", "time": None, "stream": "", "text": ""})
    for arguments, expected in (
            (["-n", "5"], {"lines": 5, "since": "@"}),
            (["-n", "0"], {"lines": 0, "since": "@"}),
            (["--lines", "all"], {"since": "@"}),
            (["-f"], {"lines": 10, "follow": True, "since": "@"}),
            (["-f", "-n", "all"], {"follow": True, "since": "@"}),
            (["--since", "2024-05-01T14:00:00.5+02:00"],
             {"since": "@2024-05-01T12:00:00.500Z"}),
            (["-f", "--since", "2024-05-01 12:00"],
             {"follow": True, "since": "@2024-05-01T12:00:00.000Z"}),
            (["-n3", "--since", "2024-05-01"],
             {"lines": 3, "since": "@2024-05-01T00:00:00.000Z"})):
        calls = one(Supd(Logs=lambda p, s: [end]), "logs", "web", *arguments, out="")
        check(calls == [("Logs", {"names": ["web"], **expected}, True)], calls)


def test_logs_since_ten_minutes_are_those_of_the_last_ten_minutes():
    import datetime
    end = Reply({"path": "", "time": None, "stream": "", "text": ""})
    before = datetime.datetime.now(datetime.timezone.utc)
    calls = one(Supd(Logs=lambda p, s: [end]), "logs", "web", "--since", "10m", out="")
    after = datetime.datetime.now(datetime.timezone.utc)
    since = datetime.datetime.strptime(calls[0][1]["since"] + "+0000", "@%Y-%m-%dT%H:%M:%S.%fZ%z")
    ago = datetime.timedelta(minutes=10, milliseconds=1)
    check(before - ago <= since <= after - ago + datetime.timedelta(milliseconds=2), calls)


def test_what_logs_cannot_mean_is_a_usage_error():
    one(Supd(), "logs", "-f", "-r", status=2, err="-f has no end: leave out -r")
    one(Supd(), "logs", "-f", "--until", "today", status=2, err="leave out --until")
    one(Supd(), "logs", "-g", "a(b", status=2, err="-g 'a(b': ")
    one(Supd(), "logs", "--until", "soon", status=2, err="--until 'soon': write a time")
    one(Supd(), "logs", "web", "-n", "some", status=2, err="-n 'some': write a number")
    one(Supd(), "logs", "web", "-n", "-1", status=2, err="-n '-1': write a number")
    one(Supd(), "logs", "web", "--since", "soon", status=2, err="--since 'soon': write a time")
    one(Supd(), "events", "--since", "soon", status=2,
        err="--since 'soon': write the number of an event, or a time")
    one(Supd(), "events", "--type", "failur", status=2, err="did you mean 'failure'?")
    one(Supd(), "events", "--type", "x,ready", status=2, err="no event is called 'x'")
    one(Supd(), "events", "-n", "x", status=2, err="-n 'x': write a number, or all")
    one(Supd(), "events", "-f", "--until", "3", status=2, err="leave out --until")


def four_lines(parameters, supd):
    yield begins("/user/a", "1.0")
    yield begins("/user/b", "2.0")
    for i, (path, text) in enumerate((("/user/a", "error 1"), ("/user/b", "error 2"),
                                      ("/user/a", "fine"), ("/user/a", "error 3"))):
        time = "2024-05-01T12:00:0%d.500Z" % i
        yield said(path, text, "1.%d" % i, time=time, more=i < 3 or "follow" in parameters)
    if "follow" in parameters:
        yield said("/user/b", "fine", "2.9", time="2024-05-01T12:00:05.500Z")
        yield said("/user/b", "error 4", "2.10", time="2024-05-01T12:00:06.500Z", more=False)


def test_logs_without_a_name_are_those_of_all_actors():
    calls = one(Supd(Logs=lambda p, s: [said("/user/a", "x", "1.2", more=False)]), "logs",
                out="a | x\n")
    check(calls == [("Logs", {"names": ["/user"], "since": "@"}, True)], calls)
    one(Supd(Logs=lambda p, s: [Error("InvalidState", name="/user", state="running",
                                      message="nothing below it has a log")]),
        "logs", "-f", status=7, err="nothing below it has a log")


def test_logs_have_times_and_may_be_printed_backwards():
    when = "2024-05-01 12:00:0%d.500 "
    one(Supd(Logs=four_lines), "logs", "-t", "--timestamps", out="".join(
        when % i + line + "\n" for i, line in
        enumerate(("a | error 1", "b | error 2", "a | fine", "a | error 3"))))
    one(Supd(Logs=four_lines), "logs", "-r", out=(
        "a | error 3\na | fine\nb | error 2\na | error 1\n"))
    one(Supd(Logs=four_lines), "logs", "-rt", "-n", "1", "-g", "r", out="".join(
        when % i + line + "\n" for i, line in ((3, "a | error 3"), (1, "b | error 2"))))
    one(Supd(Logs=lambda p, s: [said("/user/a", "x", more=False)]), "logs", "-t", "a",
        out="- x\n")
    calls = one(Supd(Logs=four_lines), "logs", "-r", "-n", "2", "-o", "json")
    check(calls == [("Logs", {"names": ["/user"], "lines": 2, "since": "@"}, True)], calls)


def test_logs_that_match_or_came_before_a_time_and_the_last_of_them():
    one(Supd(Logs=four_lines), "logs", "-g", "^err.r [13]$", out="a | error 1\na | error 3\n")
    calls = one(Supd(Logs=four_lines), "logs", "--grep", "error", "-n", "1",
                out="b | error 2\na | error 3\n")
    check(calls == [("Logs", {"names": ["/user"], "since": "@"}, True)], calls)
    one(Supd(Logs=four_lines), "logs", "--until", "2024-05-01T12:00:01.500Z",
        out="a | error 1\nb | error 2\n")
    one(Supd(Logs=four_lines), "logs", "-n", "1", "--until", "2024-05-01 12:00:02.6",
        out="b | error 2\na | fine\n")
    one(Supd(Logs=four_lines), "logs", "-g", "nothing", out="")


def test_following_begins_with_the_last_lines_that_match():
    def answer(parameters, supd):
        if "follow" in parameters:
            check(parameters["since"] == "@ /user/a 1.3 /user/b 1.1", parameters)
            yield said("/user/b", "fine", "2.9")
            yield said("/user/b", "error 4", "2.10", more=False)
        else:
            yield from four_lines(parameters, supd)
    one(Supd(Logs=answer), "logs", "-f", "-n", "1", "-g", "error",
        out="b | error 2\na | error 3\nb | error 4\n")


FAKE_JOURNALCTL = """#!/bin/sh
printf '%%s\\n' "$*" >>%(dir)s/asked
case "$*" in *--lines=0*) ;; *) cat %(dir)s/entries ;; esac
case "$*" in *--follow*) cat %(dir)s/later; echo >%(dir)s/told; exec sleep 1000 ;; esac
"""


def with_journal(supd, entries, later=()):
    """A journalctl in PATH that has these entries: (path, second, text)."""
    def written(name, some):
        with open(os.path.join(supd.directory, name), "w", encoding="utf-8") as file:
            for path, second, text in some:
                # 2024-05-01T12:00:00Z
                entry = {"SUPD_PATH": path, "SUPD_STREAM": "stdout", "MESSAGE": text,
                         "__REALTIME_TIMESTAMP": str(int((1714564800 + second) * 1000000))}
                file.write(json.dumps(entry) + "\n")
    written("entries", entries)
    written("later", later)
    program = os.path.join(supd.directory, "journalctl")
    with open(program, "w", encoding="utf-8") as file:
        file.write(FAKE_JOURNALCTL % {"dir": supd.directory})
    os.chmod(program, 0o755)
    return {"PATH": supd.directory + ":" + os.environ.get("PATH", "/usr/bin:/bin")}


def in_journal(path):
    return said(path, "/run/supd/control.sock", "0.0", stream="journal")


def journal_and_file(parameters, supd):
    yield begins("/user/a", "1.0")
    yield begins("/user/j", "0.0")
    yield in_journal("/user/j")
    for second in (1, 3):
        yield said("/user/a", "a%d" % second, "1.%d" % second,
                   time="2024-05-01T12:00:0%d.000Z" % second, more=second < 3)


JOURNAL = [("/user/j", 0.5, "j0"), ("/user/j", 2, "j2 \x1b[2J"), ("/other", 2.5, [104, 255]),
           ("/user/j", 4, [0xff, 65])]


def test_logs_read_the_journal_and_merge_it_by_time():
    def body(s):
        env = with_journal(s, JOURNAL[:2] + JOURNAL[3:])
        expect(supctl(s, "logs", "a", "j", env=env), 0,
               "j | j0\na | a1\nj | j2 \x1b[2J\na | a3\nj | \ufffdA\n")
        with open(os.path.join(s.directory, "asked"), encoding="utf-8") as asked:
            check(asked.read().split() == ["--quiet", "--all", "--no-pager", "--output=json",
                                           "--lines=all", "SUPD_SOCKET=/run/supd/control.sock",
                                           "SUPD_PATH=/user/j"], "asked")
        expect(supctl(s, "logs", "-n", "1", env=env), 0, "a | a3\nj | \ufffdA\n")
        expect(supctl(s, "logs", "-r", "-g", "[aj][023]", env=env), 0,
               "a | a3\nj | j2 \x1b[2J\nj | j0\n")
        expect(supctl(s, "logs", "--until", "2024-05-01T12:00:02Z", "-t", env=env), 0,
               "2024-05-01 12:00:00.500 j | j0\n2024-05-01 12:00:01.000 a | a1\n"
               "2024-05-01 12:00:02.000 j | j2 \x1b[2J\n")
        result = supctl(s, "logs", "-o", "json", "j", "--since", "2024-05-01", env=env)
        check(json.loads(result.out.splitlines()[0]) == {
            "path": "/user/j", "time": "2024-05-01T12:00:00.500Z", "stream": "stdout",
            "text": "j0"}, result)
        with open(os.path.join(s.directory, "asked"), encoding="utf-8") as asked:
            check("--since=2024-05-01 00:00:00.000 UTC" in asked.read().splitlines()[-1], "since")
    using(Supd(Logs=journal_and_file), body)


def test_a_journal_alone_is_read_and_without_journalctl_that_is_said():
    def answer(parameters, supd):
        yield begins("/user/j", "0.0")
        yield said("/user/j", "/run/supd/control.sock", "0.0", stream="journal", more=False)

    def body(s):
        expect(supctl(s, "logs", "j", env=with_journal(s, JOURNAL[:1])), 0, "j0\n")
        expect(supctl(s, "logs", "j", env={"PATH": "/nonexistent"}), 1, "",
               "journalctl: No such file or directory (the journal has the output of /user/j)")
    using(Supd(Logs=answer), body)


def test_a_block_has_the_last_lines_of_the_journal_or_says_where_the_output_is():
    def ends(result, text, err=""):
        check(result.status == 0 and err in result.err and bool(err) == bool(result.err), result)
        check(result.out.replace("2024-05-01 ", "").endswith(text), result)

    def body(s):
        ends(supctl(s, "status", "j", env=with_journal(s, JOURNAL[:2])),
             "    output  12:00:00.500  j0\n            12:00:02.000  j2 \\x1b[2J\n")
        with open(os.path.join(s.directory, "asked"), encoding="utf-8") as asked:
            check("--lines=10 SUPD_SOCKET=/s SUPD_PATH=/user/j\n" in asked.read(), "asked")
        where = "    output  in the journal: journalctl SUPD_PATH=/user/j\n"
        ends(supctl(s, "status", "j", env=with_journal(s, [])), where)
        ends(supctl(s, "status", "j", env={"PATH": "/nonexistent"}), where, "No such file or directory")
        s.answers["Logs"] = lambda p, s: [
            begins("/user/j", "0.0"), said("/user/j", "", "0.0", stream="journal", more=False)]
        ends(supctl(s, "status", "j", env=with_journal(s, JOURNAL[:2])),
             "    output  goes to the journal, and there is none on this machine\n")
        s.answers["Logs"] = lambda p, s: [Error("InvalidState", name="/user/j", state="running",
                                                message="its output goes to syslog")]
        ends(supctl(s, "status", "j"), "    output  its output goes to syslog\n")
    using(Supd(Status=status_of([actor("/user/j")]), Logs=lambda p, s: [
        begins("/user/j", "0.0"), said("/user/j", "/s", "0.0", stream="journal", more=False)]), body)


def test_that_there_is_no_journal_is_said_and_others_are_read():
    def answer(parameters, supd):
        yield begins("/user/j", "0.0")
        yield said("/user/j", "", "0.0", stream="journal", more=parameters["names"] != ["j"])
        if parameters["names"] != ["j"]:
            yield begins("/user/a", "1.0")
            yield said("/user/a", "a1", "1.1", more=False)

    def body(s):
        missing = "logs /user/j: its output goes to the journal, and there is none on this machine\n"
        expect(supctl(s, "logs", "j"), 1, "", missing)
        expect(supctl(s, "logs"), 0, "a | a1\n", missing)
    using(Supd(Logs=answer), body)


def test_following_goes_on_with_the_journal_as_well():
    def answer(parameters, supd):
        yield begins("/user/a", "1.0")
        yield begins("/user/j", "0.0")
        yield in_journal("/user/j")
        if "follow" in parameters:
            yield said("/user/a", "a1", "1.1")
            yield Hang

    def body(s):
        env = with_journal(s, JOURNAL[:1], [("/user/j", 9, "j9")])
        ctl = subprocess.Popen(command("-s", s.path, "logs", "-f"), env=environment(**env),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        seen = sorted(ctl.stdout.readline() for _ in range(3))
        check(seen == [b"a | a1\n", b"j | j0\n", b"j | j9\n"], seen)
        ctl.terminate()
        ctl.wait(GUARD_S)
        check(ctl.stdout.read() == b"" and ctl.stderr.read() == b"", "nothing is left")
        ctl.stdout.close()
        ctl.stderr.close()
    using(Supd(Logs=answer), body)


def test_logs_that_are_not_there_are_explained():
    def answer(parameters, supd):
        yield Error("InvalidState", name="/user/web", state="running",
                    message="its output goes to the journal")
    one(Supd(Logs=answer), "logs", "web", status=7,
        err="logs web: its output goes to the journal")
    one(Supd(Logs=answer), "logs", "web", "db", status=7,
        err="logs /user/web: its output goes to the journal")
    one(Supd(Logs=lambda p, s: [Error("NoSuchActor", name="wbe", candidates=["/user/web"])]),
        "logs", "-f", "wbe", status=4, err="no such actor (did you mean /user/web?)")


def test_following_logs_goes_on_at_its_places_when_supd_comes_back():
    def answer(parameters, supd):
        n = len(supd.called("Logs"))
        if n == 1:
            yield begins("/user/a", "1.0")
            yield begins("/user/b", "2.0")
            yield said("/user/a", "a1", "1.5")
            yield said("/user/a", "a2", "1.9")
            yield Close
        if n == 2:
            yield Close
        yield begins("/user/a", "1.9")
        yield begins("/user/b", "2.0")
        yield said("/user/b", "b1", "2.7")
        if n == 3:
            yield Error("SlowConsumer", dropped=0)
        else:
            yield said("/user/a", "a3", "1.12", more=False)
    supd = Supd(Logs=answer)
    using(supd, lambda s: expect(supctl(s, "logs", "-f", "a", "b"), 0,
                                 "a | a1\na | a2\nb | b1\nb | b1\na | a3\n"))
    more = {"names": ["a", "b"], "follow": True}
    check(supd.called("Logs") == [
        {**more, "lines": 10, "since": "@"},
        {**more, "since": "@ /user/a 1.9 /user/b 2.0"},
        {**more, "since": "@ /user/a 1.9 /user/b 2.0"},
        {**more, "since": "@ /user/a 1.9 /user/b 2.7"}], supd.calls)


def test_reading_logs_goes_on_as_well_when_supd_comes_back():
    def answer(parameters, supd):
        if supd.connections == 1:
            yield begins("/user/a", "1.0")
            yield said("/user/a", "a1", "1.5")
            yield Close
        yield begins("/user/a", "1.5")
        yield said("/user/a", "a2", "1.9", more=False)
    supd = Supd(Logs=answer)
    using(supd, lambda s: expect(supctl(s, "logs", "a"), 0, "a1\na2\n"))
    check([c["since"] for c in supd.called("Logs")] == ["@", "@ /user/a 1.5"], supd.calls)


def test_following_logs_goes_on_without_an_actor_that_is_gone():
    def answer(parameters, supd):
        if supd.connections == 1:
            yield begins("/user/a", "1.0")
            yield begins("/user/b", "2.0")
            yield Close
        elif "b" in parameters["names"]:
            yield Error("NoSuchActor", name="b", candidates=[])
        else:
            yield said("/user/a", "a1", "1.3", more=False)
    supd = Supd(Logs=answer)
    using(supd, lambda s: expect(supctl(s, "logs", "-f", "a", "b"), 0, "a | a1\n"))


def test_following_logs_ends_quietly_when_its_reader_goes_away():
    def answer(parameters, supd):
        yield begins("/user/a", "1.0")
        yield said("/user/a", "a1", "1.3")
        yield Hang

    def body(s):
        ctl = subprocess.Popen(command("-s", s.path, "logs", "-f", "a"), env=environment(),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        check(b"a1" in ctl.stdout.readline(), "the first line")
        ctl.stdout.close()
        status = ctl.wait(GUARD_S)
        err = ctl.stderr.read()
        ctl.stderr.close()
        check(status == 0 and err == b"", (status, err))
    using(Supd(Logs=answer), body)


if __name__ == "__main__":
    sys.exit(run(dict(globals())))
