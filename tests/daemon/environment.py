#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""What a process finds to read: files of variables, a cleared environment, its stdin."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from fuse import Fuse
from harness import SUPD, check, equal, has, main, run, test
from probe_report import Report, reporting

INHERITED = {"FROM_SUPD": "supd", "BOTH": "supd"}


@test("a file of variables goes before the environment, which goes before what is inherited")
def precedence(box):
    one = box.file("one", "IN_FILE=1\nBOTH=one\nTWICE=first\n")
    two = box.file("two", "TWICE=second\n")
    s = box.supd({
        "a": reporting(environment={"BOTH": "key", "KEY": "key"}, environment_file=[one, two]),
        "b": reporting(environment={"BOTH": "key"}), "c": reporting(environment_file=one)},
        env=INHERITED)
    a, b, c = (Report(s, name).environ for name in "abc")
    equal([a[key] for key in ("FROM_SUPD", "KEY", "BOTH", "IN_FILE", "TWICE")],
          ["supd", "key", "one", "1", "second"], "a's variables")
    equal((b["BOTH"], c["BOTH"], c["FROM_SUPD"]), ("key", "one", "supd"), "b's and c's")
    check("IN_FILE" not in b, "b has what is a's")


@test("the file is read at each start, and so a change of it needs no reload")
def read_again(box):
    path = box.file("variables", "VERSION=1\n")
    s = box.supd({"a": reporting(environment_file=path)})
    equal(Report(s).environ["VERSION"], "1", "at first")
    box.file("variables", "VERSION=2\n")
    s.ctl_ok("restart", "a")
    equal(Report(s, "a", 2).environ["VERSION"], "2", "after a restart")
    equal(s.ctl_ok("diff").code, 0, "a change of the file is none of the configuration")


@test("a file that is gone, or broken, at a start is a failed step that tells why")
def broken(box):
    path = box.file("variables", "VERSION=1\n")
    s = box.supd({"a": reporting(environment_file=path, restart="temporary"),
                  "b": reporting(environment_file=path)})
    Report(s, "b")
    os.unlink(path)
    s.ctl("restart", "b")
    cause = s.event("failure", "b")["cause"]
    equal((cause["kind"], cause["errno"], cause["key"]), ("exec", "ENOENT", "environment_file"),
          "the cause")
    box.file("variables", "A=1\nnonsense\n")
    s.ctl("start", "b")
    cause = s.event("failure", "b", 2)["cause"]
    equal((cause["errno"], cause["key"]), ("EINVAL", "environment_file"), "the cause")
    with open(s.stderr, encoding="utf8") as text:
        has(text.read(), rf"/user/b: environment_file: {path}:2: that is no KEY=value",
            "the log")
    box.file("variables", "A=1\n")
    s.ctl_ok("start", "b")
    equal(Report(s, "b", 2).environ["A"], "1", "when it is whole again")


@test("a file with a - before it need not be there; one without has to, when it is checked")
def optional(box):
    s = box.supd({"a": reporting(environment_file="-" + box.path("later"))})
    check("LATER" not in Report(s).environ, "a variable from nowhere")
    box.file("later", "LATER=yes\n")
    s.ctl_ok("restart", "a")
    equal(Report(s, "a", 2).environ["LATER"], "yes", "what is there later")
    text = "children:\n  a:\n    command: [/bin/true]\n    environment_file: %s\n"
    for value, words in ((box.path("nowhere"), "there is no file.*write -/"),
                         ("relative", "there is no file /.*/relative"), (box.dir, "not a regular file"),
                         (box.file("bad", "A=1\n2B=2\n"), "bad:2: what is before the = cannot be a name"),
                         (box.file("big", "A=" + "x" * 300000), "too large")):
        result = run(SUPD, "--check", "-c", box.file("check.yaml", text % value))
        equal(result.code, 78, f"status for {value}: {result}")
        has(result.err, rf"check\.yaml:4:23: error: children\.a\.environment_file: .*{words}",
            f"stderr for {value}")


@test("apply refuses an environment file that is not there, is wrong, or does not answer")
def applied(box):
    s = box.supd({"a": {}})
    bad = box.file("bad", "A=1\n2B=2\n")
    for path, words in ((box.path("nowhere"), "there is no file"), (bad, "bad:2: ")):
        s.write({"a": {}, "b": {"environment_file": path}})
        result = s.ctl("apply")
        equal(result.code, 1, f"the exit status of apply with {path}")
        has(result.err, rf"children\.b\.environment_file: .*{words}", "the error")
    equal(s.paths(), ["/user", "/user/a"], "actors")
    s.write({"a": {}, "b": {"environment_file": box.file("good", "A=1\n")}})
    s.ctl_ok("apply")
    s.started("b")


@test("apply does not wait for an environment file that does not answer", root=True)
def hanging(box):
    fuse = Fuse(box, "open", uid=0, gid=0, content=box.file("variables", "KEY=value\n"))
    s = box.supd({"a": {}})
    s.write({"a": {}, "b": {"environment_file": fuse.path("variables")}})
    result = s.ctl("apply")
    equal(result.code, 1, "the exit status of apply")
    has(result.err, f"the environment file {fuse.path('variables')} does not answer", "the error")
    s.ctl_ok("restart", "a")
    fuse.answer()


@test("comments, quotes and long lines are read as systemd reads them")
def quoting(box):
    path = box.file("variables", (
        "# a comment\n; another one\n\n  PLAIN = a b  \nEMPTY=\n"
        "SINGLE='a \"b\" \\n $HOME'\nDOUBLE=\"a 'b' \\\"c\\\" \\$d \\\\ \\n\"\n"
        "LINES=\"one\ntwo\"\nLONG=one \\\n  two\nHASH=a#b # c\nINNER=it's\nESCAPED=a\\ b\\ \n"
        "JOINED='a' \"b\"\nWINDOWS=yes\r\nLAST=no newline"))
    s = box.supd({"a": reporting(environment_file=path)})
    environ = Report(s).environ
    expected = {"PLAIN": "a b", "EMPTY": "", "SINGLE": 'a "b" \\n $HOME',
                "DOUBLE": "a 'b' \"c\" $d \\ \\n", "LINES": "one\ntwo", "LONG": "one   two",
                "HASH": "a#b # c", "INNER": "it's", "ESCAPED": "a b ", "JOINED": "ab",
                "WINDOWS": "yes", "LAST": "no newline"}
    equal({key: environ.get(key) for key in expected}, expected, "the variables")


@test("more variables than a process can have are a failed step, and nothing is left out")
def too_many(box):
    # Names that begin alike take long to compare, with a sanitizer on a busy machine too long.
    files = [box.file(f"many{n}", "".join(f"{chr(65 + i % 26)}{n}_{i}=x\n" for i in range(3000)))
             for n in range(2)]
    s = box.supd({"a": {"environment_file": files, "restart": "temporary"}})
    cause = s.event("failure", "a")["cause"]
    equal((cause["errno"], cause["key"]), ("E2BIG", "environment"), "the cause")


@test("nothing of supd's environment is left where that is asked for")
def cleared(box):
    path = box.file("variables", "IN_FILE=1\n")
    s = box.supd({"a": reporting(clear_environment=True),
                  "b": reporting(clear_environment=True, environment={"KEY": "key"},
                                 environment_file=path)}, env=INHERITED)
    own = {"SUPD_ID", "SUPD_PATH", "SUPD_SOCKET", "SUPD_WALKER"}
    equal(set(Report(s, "a").environ), own, "a's variables")
    equal(set(Report(s, "b").environ), own | {"KEY", "IN_FILE"}, "b's variables")


@test("a command is looked up in the PATH that the process will have")
def path(box):
    programs = box.path("programs")
    os.mkdir(programs)
    os.symlink("/bin/sleep", programs + "/only-here")
    variables = box.file("variables", f"PATH={programs}\n")
    s = box.supd({"a": {"command": ["only-here", "1000"], "environment_file": variables},
                  "b": {"command": ["sleep", "1000"], "clear_environment": True}})
    for name in "ab":
        equal(s.wait_for(name, state="running")["state"], "running", f"{name}'s state")
    with open(s.stderr, encoding="utf8") as text:
        check("warning" not in text.read(), "a warning about a program that is there")


@test("hooks have the variables of the file, and the cleared environment, too")
def hooks(box):
    out = box.path("out")
    variables = box.file("variables", "IN_FILE=1\n")
    s = box.supd({"a": {"environment_file": variables, "clear_environment": True,
                        "hooks": {"pre_start": ["/bin/sh", "-c", "/usr/bin/env >" + out]}}},
                 env=INHERITED)
    s.started("a")
    with open(out, encoding="utf8") as text:
        names = [line.partition("=")[0] for line in text]
    check("IN_FILE" in names and "SUPD_HOOK" in names, f"the variables: {names}")
    check("FROM_SUPD" not in names, f"the variables: {names}")


@test("stdin is a file from its beginning at each start, or /dev/null")
def stdin(box):
    source = box.file("input", "first\nsecond\n")
    out = box.path("out")
    s = box.supd({"a": {"command": ["/bin/sh", "-c", f"read x; echo $x >>{out}; exec sleep 1000"],
                        "stdin": "file:" + source},
                  "b": reporting(stdin="null")})
    s.until(lambda: os.path.exists(out) and os.path.getsize(out) > 5, "the first line")
    s.ctl_ok("restart", "a")
    s.until(lambda: os.path.getsize(out) > 11, "the line of the second")
    with open(out, encoding="utf8") as text:
        equal(text.read(), "first\nfirst\n", "what they read")
    equal(Report(s, "b").fds["0"], "/dev/null", "b's stdin")


@test("a named pipe as stdin makes no start wait, and has no end when its writers go")
def fifo(box):
    os.mkfifo(box.path("pipe"))
    out = box.file("out")
    s = box.supd({"a": {"command": ["/bin/cat"], "output": "file:" + out,
                        "stdin": "file:" + box.path("pipe"), "restart": "temporary"}, "b": {}})
    s.started("b")
    for word in ("one\n", "two\n"):
        size = os.path.getsize(out)
        with open(box.path("pipe"), "w", encoding="ascii") as pipe:
            pipe.write(word)
        s.until(lambda n=size + len(word): os.path.getsize(out) == n, f"{word!r} to come through")
    equal(s.actor("a")["state"], "running", "the state of who reads")


@test("an actor that reads from a file cannot be the target of a pipe")
def no_pipe(box):
    text = ("children:\n  a: {command: [/bin/cat], stdin: file:/dev/null}\n"
            "  b: {command: [/bin/true], output: 'pipe:a'}\n")
    result = run(SUPD, "--check", "-c", box.file("check.yaml", text))
    equal(result.code, 78, f"{result}")
    has(result.err, r"check\.yaml:3:\d+: .*`/user/a` reads from a file \(`stdin`\)", "stderr")


if __name__ == "__main__":
    main()
