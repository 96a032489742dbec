#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The world that a process finds: clean where it must be, and as the file says."""
import os
import pwd
import resource
import signal
import stat
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import check, equal, has, main, test
from probe_report import Report, reporting


@test("no signal is ignored, blocked or pending")
def signals(box):
    def before():
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2, signal.SIGTERM})

    s = box.supd({"a": reporting()}, before=before)
    report = Report(s)
    for key in ("SigBlk", "SigIgn", "SigCgt", "SigPnd", "ShdPnd"):
        equal(int(report.status[key], 16), 0, key)


@test("a process has descriptors 0, 1 and 2 and no others, and stdin is /dev/null")
def descriptors(box):
    s = box.supd({"a": reporting(), "b": reporting(output="null"),
                  "c": reporting(output={"stdout": f"file:{box.path('out')}",
                                         "stderr": "null"})})
    for name in "abc":
        report = Report(s, name)
        equal(sorted(report.fds), ["0", "1", "2"], f"{name}'s descriptors")
        equal(report.fds["0"], "/dev/null", f"{name}'s stdin")
    equal(Report(s, "b").fds, {"0": "/dev/null", "1": "/dev/null", "2": "/dev/null"}, "b's")
    equal(Report(s, "c").fds["1"], box.path("out"), "c's stdout")


@test("a process leads a session and a process group of its own, without a terminal")
def session(box):
    s = box.supd({"a": reporting()})
    report = Report(s)
    equal(report.stat[2:4], [str(report.pid)] * 2, "process group and session")
    equal(report.stat[4], "0", "the terminal")
    equal(report.stat[1], str(s.guardian()), "the parent")


@test("by default the umask is 0022 and the directory is /")
def defaults(box):
    s = box.supd({"a": reporting()}, before=lambda: (os.umask(0o077), os.chdir("/tmp")))
    report = Report(s)
    equal((report.status["Umask"], report.cwd), ("0022", "/"), "umask and directory")


@test("umask and directory are as the file says")
def umask(box):
    s = box.supd({"a": reporting(umask="0027", directory=box.dir)})
    report = Report(s)
    equal((report.status["Umask"], report.cwd), ("0027", box.dir), "umask and directory")


@test("supd's own protocol variables are not inherited, everything else is")
def environment(box):
    own = ["WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES",
           "MAINPID", "INVOCATION_ID", "JOURNAL_STREAM", "SYSTEMD_EXEC_PID", "MANAGERPID",
           "MEMORY_PRESSURE_WATCH", "MEMORY_PRESSURE_WRITE", "CREDENTIALS_DIRECTORY",
           "RUNTIME_DIRECTORY", "STATE_DIRECTORY", "LOGS_DIRECTORY", "CACHE_DIRECTORY",
           "CONFIGURATION_DIRECTORY", "SUPD_STRANGE"]
    env = {name: "1" for name in own}
    env.update({"WATCHDOG_USEC": "90000000", "WATCHDOG_PID": "1", "PLAIN": "yes",
                "LISTENER": "x"})
    s = box.supd({"a": reporting()}, env=env)
    report = Report(s)
    equal([name for name in own if name in report.environ], [], "inherited by mistake")
    check("NOTIFY_SOCKET" not in report.environ, "supd's NOTIFY_SOCKET was inherited")
    equal((report.environ["PLAIN"], report.environ["LISTENER"]), ("yes", "x"), "the others")
    equal(report.environ["SUPD_PATH"], "/user/a", "SUPD_PATH")
    equal(report.environ["SUPD_SOCKET"], s.socket, "SUPD_SOCKET")
    check(report.environ.get("SUPD_ID"), "no SUPD_ID")


@test("environment adds and overrides, with names expanded")
def own_environment(box):
    s = box.supd({"a": reporting(environment={
        "PLAIN": "changed", "EMPTY": "",
        "ONE": "${actor.path} ${env:GIVEN} ${env:NO_SUCH:-none} $$"})},
        env={"PLAIN": "given", "GIVEN": "yes"})
    environ = Report(s).environ
    equal((environ["PLAIN"], environ["EMPTY"], environ["ONE"], environ["GIVEN"]),
          ("changed", "", "/user/a yes none $", "yes"), "the environment")


@test("limits are as the file says, and inherited otherwise")
def limits(box):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(hard, 512)
    s = box.supd({"a": reporting(limits={"nofile": f"100:{wanted}", "core": 0,
                                         "stack": "16M"}), "b": reporting()},
                 before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard)))
    a, b = Report(s, "a"), Report(s, "b")
    equal(a.limit("Max open files"), ["100", str(wanted)], "nofile")
    equal(a.limit("Max core file size"), ["0", "0"], "core")
    equal(a.limit("Max stack size"), [str(16 << 20)] * 2, "stack")
    equal(b.limit("Max open files"), [str(soft), str(hard)], "nofile of b")


@test("user, group and supplementary groups are those of the user database", root=True)
def user(box):
    nobody = pwd.getpwnam("nobody")
    s = box.supd({"a": reporting(user="nobody"), "b": reporting(group="daemon"),
                  "c": reporting(user="nobody", group="daemon")})
    a, b, c = Report(s, "a"), Report(s, "b"), Report(s, "c")
    equal(a.status["Uid"].split(), [str(nobody.pw_uid)] * 4, "a's uid")
    equal(a.status["Gid"].split(), [str(nobody.pw_gid)] * 4, "a's gid")
    groups = sorted(os.getgrouplist("nobody", nobody.pw_gid))
    equal(sorted(int(group) for group in a.status["Groups"].split()), groups, "a's groups")
    equal(a.status["CapEff"], "0" * 16, "a's capabilities")
    equal((a.environ["USER"], a.environ["LOGNAME"], a.environ["HOME"]),
          ("nobody", "nobody", nobody.pw_dir), "a's variables")
    equal(b.status["Uid"].split(), ["0"] * 4, "b's uid")
    equal(b.status["Gid"].split(), ["1"] * 4, "b's gid")
    equal((c.status["Uid"].split()[0], c.status["Gid"].split()[0]), (str(nobody.pw_uid), "1"),
          "c's ids")


@test("a process finds the same world as the process that it replaces")
def successor(box):
    s = box.supd({"a": reporting(sockets={"x": f"unix:{box.path('x.sock')}"})})
    first = Report(s)
    s.tell("a", "exit=1")
    second = Report(s, "a", 2)
    equal(second.fds.keys(), first.fds.keys(), "descriptors")
    for environ in (first.environ, second.environ):
        environ.pop("LISTEN_PID")
        environ.pop("SUPD_ID")
    equal(second.environ, first.environ, "environment")
    for key in ("SigBlk", "SigIgn", "Umask"):
        equal(second.status[key], first.status[key], key)


def logged(s, path, count):
    """Wait until the log has `count` lines: the log process writes later than the actor."""
    def lines():
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf8") as text:
            return text.read().splitlines()

    s.until(lambda: len(lines()) >= count, f"{count} lines in {path}")
    return lines()


@test("output: log is a file under the log directory, in the order in which it was written")
def log(box):
    s = box.supd({"app": {"children": {"a": {"do": ["say=one", "moan=two", "say=three"]}}}})
    s.started("a")
    s.ctl_ok("stop", "app/a")
    path = box.path("logs/user/app/a.log")
    lines = logged(s, path, 3)
    equal([line.split()[-1] for line in lines], ["one", "two", "three"], "the lines")
    equal(stat.S_IMODE(os.stat(path).st_mode), 0o640, "the file's mode")


@test("output: file appends over restarts, and stderr may go elsewhere")
def files(box):
    out, err = box.path("out"), box.path("err")
    s = box.supd({"a": {"do": ["say=hello", "moan=oh"],
                        "output": {"stdout": f"file:{out}", "stderr": f"file:{err}"}}})
    s.started("a")
    s.ctl_ok("restart", "a")
    s.started("a", 2)
    s.ctl_ok("stop", "a")
    for path, size in ((out, len("hello\n") * 2), (err, len("oh\n") * 2)):
        s.until(lambda p=path, n=size: os.path.getsize(p) >= n, f"{path} to be written")
    for path, word in ((out, "hello\n"), (err, "oh\n")):
        with open(path, encoding="utf8") as text:
            equal(text.read(), word * 2, path)


@test("output: inherit is supd's own stdout and stderr")
def inherit(box):
    s = box.supd({"a": {"do": ["say=from a"], "output": "inherit"}})
    s.started("a")
    s.ctl_ok("stop", "a")
    with open(s.stderr, encoding="utf8") as text:
        has(text.read(), "(?m)^from a$", "supd's output")


@test("the command line is passed as it is written, list or string")
def command(box):
    s = box.supd({"a": {"command": ["/bin/sh", "-c", "exec sleep 1000", "x y", "", "*", "$$"]},
                  "b": {"command": "/bin/sh -c 'exec sleep 1000' \"x y\" \\*z"}})
    for name, expected in (("a", ["sleep", "1000"]), ("b", ["sleep", "1000"])):
        pid = s.actor(name)["pid"]
        s.until(lambda p=pid, e=expected: cmdline(p) == e, f"{name} to be {expected}")
    s = box.supd({"a": {"do": ["say=x y", "say=*", "say=$$HOME"]}}, name="second")
    s.started("a")
    s.ctl_ok("stop", "a")
    words = [line.rpartition("Z ")[2] or line
             for line in logged(s, box.path("second/logs/user/a.log"), 3)]
    check(all(words[i].endswith(word) for i, word in enumerate(("x y", "*", "$HOME"))),
          f"the words are {words}")


def cmdline(pid):
    with open(f"/proc/{pid}/cmdline", "rb") as text:
        return text.read().decode().split("\0")[:-1]


if __name__ == "__main__":
    main()
