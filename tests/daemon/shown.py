#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""What supd shows of its actors' output on its own standard output: man supd(8), Output."""
import fcntl
import json
import os
import pty
import re
import select
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import SUPD, check, equal, has, main, run, test
from writers import kill, shell, text_of

F_SETPIPE_SZ = 1031
STOP, START = b"\x13", b"\x11"  # Ctrl-S, Ctrl-Q


class Screen:
    """The other end of supd's standard output."""

    def __init__(self, box, tree, kind="terminal", args=(), env=None, **top):
        self.text = b""
        self.fd, output = pty.openpty() if kind == "terminal" else os.pipe()
        if kind == "pipe":
            fcntl.fcntl(output, F_SETPIPE_SZ, 4096)
        os.set_blocking(self.fd, False)
        self.s = box.supd(tree, before=lambda: os.dup2(output, 1), args=args,
                          env={"TERM": "xterm", "NO_COLOR": "", **(env or {})}, **top)
        os.close(output)

    def read(self):
        while select.select([self.fd], [], [], 0)[0]:
            try:
                more = os.read(self.fd, 65536)
            except OSError:
                break
            if not more:
                break
            self.text += more
        return self.text.decode(errors="replace").replace("\r\n", "\n")

    def until(self, pattern):
        self.s.until(lambda: re.search(pattern, self.read()),
                     lambda: f"/{pattern}/ in {self.read()[-900:]!r}")
        return self.read()


@test("at a terminal each line stands behind its actor's name, aligned, in a colour of its own")
def terminal(box):
    screen = Screen(box, {"a": shell("echo one; echo two >&2; sleep 1000"),
                          "group": {"children": {"b": shell("echo three; sleep 1000")}}})
    screen.until("three")
    screen.until("two")
    text = screen.until(": ready")
    colours = dict(re.findall(r"(?m)^\x1b\[(\d+)m(\S+) +\|\x1b\[0m ", text)[::-1])
    lines = re.sub(r"\x1b\[\d*m", "", text)
    has(lines, r"(?m)^a       \| one\na       \| two\n")
    has(lines, r"(?m)^group/b \| three\n")
    has(lines, r"(?m)^supd    \| supd \S+: ready\n")
    check(len(colours) >= 3, f"colours: {colours}")
    has(text_of(box.path("logs/user/a.log")), "one", "the log, beside the terminal")
    equal(screen.s.ctl_ok("logs", "b").out, "three\n", "supctl logs")
    check("started, pid" not in text, "quiet it is not")


@test("colours of an actor pass to a terminal, every other control sequence does not")
def controls(box):
    evil = r"\033[1;31mred\033[0m \033[2Jclear \033]0;title\007 \033P1q\033\\ \r\tdone \x9b5n \x00"
    screen = Screen(box, {"a": shell("printf '" + evil + r"\nold\rnew\n'; sleep 1000")})
    text = screen.until("new")
    check("old" not in text, "what was overwritten")
    for end in re.findall(r"\x1b(.{0,5})", text):
        check(re.match(r"\[[0-9;:]*m", end), f"ESC {end!r}")
    check(not re.search(r"[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f]", text), repr(text))


@test("without colours where NO_COLOR says so, and those of actors go, too")
def no_color(box):
    screen = Screen(box, {"a": shell(r"printf '\033[32mgreen\033[0m\n'; exit 3", restart="never")},
                    env={"NO_COLOR": "1"})
    text = screen.until("failure")
    has(text, r"(?m)^a    \| green$")
    check("\x1b" not in text, repr(text))


@test("what supd has to say of an end stands behind the last words, also right at the start")
def order_at_start(box):
    words = shell("echo oh; printf last; exit 3", restart="never")
    screen = Screen(box, {f"a{i}": words for i in range(20)}, args=["--show", "text"], kind="pipe")
    for i in range(20):
        before = screen.until(f"/user/a{i}: failure").partition(f"/user/a{i}: failure")[0]
        has(before, rf"(?m)^a{i} +\| last$")


@test("what supd has to say of an end stands behind the last words, also without a newline")
def order(box):
    screen = Screen(box, {"a": shell("echo oh; printf last; exit 3", restart="never")},
                    args=["--show", "text"], kind="pipe")
    # The line of supd's readiness has no fixed place among the others.
    text = re.sub(r"(?m)^supd \| supd \S+: ready\n", "", screen.until("failure"))
    has(text, r"(?m)^a    \| oh\na    \| last\nsupd \| /user/a: failure: exited with 3")


@test("quiet but for failures; -v tells each start and end")
def verbose(box):
    screen = Screen(box, {"a": shell("echo one; sleep 1000")}, args=["-v"])
    # What the process says at once may come before what the guardian says of its start.
    screen.until("one")
    screen.until("/user/a: started, pid")
    screen.s.ctl_ok("stop", "a")
    screen.until("/user/a: .*SIGTERM")


@test("--show json: one object a line, of actors and of supd itself")
def json_lines(box):
    screen = Screen(box, {"a": shell(r"printf 'one \033[31m\377\n' >&2; exit 3", restart="never")},
                    kind="pipe", args=["--show", "json"])
    lines = [json.loads(line) for line in screen.until("failure").splitlines()]
    mine = next(line for line in lines if line["path"] == "/user/a")
    equal((mine["stream"], mine["text"]), ("output", "one \x1b[31m�"), "the line")
    check(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", mine["time"]), mine["time"])
    own = next(line for line in lines if "failure" in line["text"])
    equal((own["path"], own["stream"], own["level"]), ("/", "supd", "error"), "supd's own")


@test("elsewhere nothing is shown, but for actors with `output: stdout`, alone or in a list")
def explicit(box):
    screen = Screen(box, {"a": shell("echo not; sleep 1000"),
                          "b": shell("echo shown; sleep 1000", output="stdout"),
                          "c": shell("echo both; echo err >&2; sleep 1000",
                                     output={"stdout": ["log", "stdout"], "stderr": "log"})},
                    kind="pipe")
    screen.until("both")
    text = screen.until("shown")
    check("not" not in text and "err" not in text and "supd" not in text, repr(text))
    has(screen.s.ctl_ok("logs", "c").out, "both")
    has(screen.s.ctl("logs", "b").err, r"\[log, stdout\] does both")
    screen.s.ctl_ok("signal", "b", "KILL")
    screen.s.until(lambda: "shown" in screen.s.ctl_ok("explain", "b").out, "its last words")


@test("log.show: off keeps a terminal free of what actors print")
def off(box):
    screen = Screen(box, {"a": shell("echo one; sleep 1000")},
                    log={"directory": box.path("logs"), "target": "stderr", "show": "off"})
    screen.s.until(lambda: "one" in text_of(box.path("logs/user/a.log")), "its log")
    check("one" not in screen.read(), screen.read())


WAIT = "while [ ! -e %s ]; do sleep 0.05; done; "
FLOOD = "i=0; while [ $i -lt 12000 ]; do echo line $i of a flood that is not read; i=$((i+1)); done"


def is_whole(box, name, n=12000):
    text = text_of(box.path(f"logs/user/{name}.log"))
    return text.count("\n") == n


@test("a terminal that is stopped delays neither supervision nor the log; it lacks lines, and says so",
      timeout=60)
def stopped(box):
    screen = Screen(box, {"a": shell(WAIT % box.path("go") + FLOOD + "; sleep 1000")})
    screen.until("ready")
    os.write(screen.fd, STOP)
    box.file("go")
    screen.s.until(lambda: is_whole(box, "a"), "the log")
    screen.s.ctl_ok("stop", "a")
    os.write(screen.fd, START)
    screen.until(r"\d+ lines are not shown here")


@test("a terminal that stays stopped does not keep supd from its end")
def stopped_end(box):
    screen = Screen(box, {"a": shell(WAIT % box.path("go") + FLOOD + "; sleep 1000")})
    screen.until("ready")
    os.write(screen.fd, STOP)
    box.file("go")
    screen.s.until(lambda: is_whole(box, "a"), "the log")
    screen.s.stop()


@test("a pipe that is not read lets an actor with [log, stdout] wait, and loses no line", timeout=90)
def waits(box):
    screen = Screen(box, {"a": shell(FLOOD + "; echo end; sleep 1000", output=["log", "stdout"]),
                          "b": shell(FLOOD + "; sleep 1000", output=["log", "stdout"],
                                     log={"when_full": "drop"})},
                    kind="pipe")
    screen.s.until(lambda: is_whole(box, "b"), "the log of what does not wait")
    check(not is_whole(box, "a", 12001), "a did not wait")
    text = screen.until(r"(?m)^a +\| end")
    lines = re.findall(r"(?m)^a +\| line (\d+) of", text)
    equal(lines, [str(i) for i in range(12000)], "the lines of a")
    has(text, r"supd +\| \d+ lines are not shown here")


@test("a terminal that is gone is the end of showing, not of the log")
def gone(box):
    screen = Screen(box, {"a": shell("while :; do echo tick; sleep 0.1; done")}, kind="pipe",
                    args=["--show", "text"])
    screen.until("tick")
    os.close(screen.fd)
    size = len(text_of(box.path("logs/user/a.log")))
    screen.s.until(lambda: len(text_of(box.path("logs/user/a.log"))) > size + 100, "more lines")
    check(screen.s.actor("/system/log")["restarts"] == 0, "the log process has died")
    screen.fd = os.open("/dev/null", os.O_RDONLY)


@test("guardian and log process are killed: lines are shown as before")
def killed(box):
    screen = Screen(box, {"a": shell("i=0; while :; do echo tick $i; i=$((i+1)); sleep 0.05; done")})
    screen.until("tick 3")
    kill(screen.s, b"@guardian")
    kill(screen.s, b"@log")
    n = int(re.findall(r"tick (\d+)", screen.read())[-1])
    screen.until(f"a    \\|\x1b\\[0m tick {n + 20}\n")
    screen.s.ctl_ok("signal", "a", "KILL")
    screen.until("supd \\|.* /user/a: failure: killed by SIGKILL")


@test("a list that is none of [log, stdout] is refused with what may stand there")
def refused(box):
    file = box.path("wrong.yaml")
    for output in ("[log, journal]", "[log, file:/x]", "[]"):
        with open(file, "w", encoding="utf8") as out:
            out.write(f"children:\n  a: {{command: sleep 1, output: {output}}}\n")
        result = run(SUPD, "--check", "-c", file)
        equal(result.code, 78, output)
        has(result.err, r"wrong\.yaml:2:\d+: .*`?stdout")


if __name__ == "__main__":
    main()
