#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""supd as an ordinary user: everything that needs no root, and the places of its files.

A test run as root starts supd under an id that no user has, without groups and capabilities.
"""
import os
import re
import shutil
import signal
import socket
import stat
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from chaos import Chaos, outage, wait_told
from harness import SUPCTL, SUPD, Skip, check, children, equal, has, main, run, test
from probe_target import free_port
from storer import Storer
from suspended import all_stand_still
from web_clients import family_of

UID = 54321 if os.geteuid() == 0 else os.geteuid()
RUN_AS = UID if os.geteuid() == 0 else None
IDS = {"user": UID, "group": UID, "extra_groups": []} if os.geteuid() == 0 else {}


WAITING = {"/user/once": "done", "/user/lazy": "waiting", "/user/refuses": "stopped"}


def say(box, text):
    return ["/bin/sh", "-c", f"echo {text} >>{box.path('told')}"]


def tree(box, port):
    """Actors beside the storer `a`, one for each thing that a file may ask for."""
    unix = box.path("web.sock")
    return {
        "web": {"do": ["serve"], "ready": {"exec": ["/bin/true"]},
                "sockets": {"tcp": f"tcp:127.0.0.1:{port}",
                            "unix": {"listen": f"unix:{unix}", "mode": "0600"}},
                "health": {"exec": ["/bin/true"], "interval": "100ms"}},
        "notifies": {"ready": "notify", "do": ["ready"], "watchdog": "1h"},
        "once": {"command": ["/bin/true"], "ready": "exit"},
        "asked": {"ready": {"exec": ["/bin/true"]}, "user": str(UID),
                  "group": str(os.getgid() if os.geteuid() else UID)},
        "logged": {"command": ["/bin/sh", "-c", "echo ready now; exec sleep 1000"],
                   "ready": {"log": "^ready"}},
        "late": {"ready": {"after": "10ms"}},
        "hooked": {"hooks": {name: say(box, name) for name in (
            "pre_start", "post_start", "pre_stop", "post_stop")}},
        "limited": {"do": ["report"], "umask": "0077", "directory": box.dir,
                    "runtime_directory": True,
                    "limits": {"nofile": "50:60", "core": 0, "nproc": 500}},
        "lazy": {"do": ["serve"], "start_on": "connect",
                 "sockets": {kind: f"{kind}:{box.path('lazy.' + kind)}" for kind in (
                     "unix", "unix-dgram", "unix-seqpacket", "fifo")}},
        "refuses": {"enabled": False, "sockets": {"udp": {
            "listen": f"udp:127.0.0.1:{free_port()}", "while_down": "refuse"}}},
        "needs": {"needs": {"/user/once": "completed", "/user/late": "ready"}},
        "lists": {"capabilities": {"ambient": []}, "no_new_privileges": True, "nice": 19,
                  "oom_score_adj": 500, "scheduler": {"policy": "batch"},
                  "io_priority": {"class": "idle"}, "cpu_affinity": [min(os.sched_getaffinity(0))],
                  "environment_file": [f"-{box.path('none')}"], "stdin": f"file:{box.file('input')}",
                  "cgroup": {"memory_max": "1G", "optional": True}},
        "both": {"do": ["alone"], "children": {"below": {}}},
        "watches": {"watch": {"/user/both/below": {"run": say(box, "below")}}},
    }


def everything(box):
    """A supd with all of that, as the user; the storer, and the port of `web`."""
    port = free_port()
    os.chmod(box.file("told"), 0o666)
    binary = shutil.copy(SUPD, box.path("supd"))

    def start(actors, **top):
        return Chaos(box, {**actors, **tree(box, port)}, uid=RUN_AS, command=[binary],
                     metrics={"listen": f"unix:{box.path('metrics.sock')}"}, **top)

    return Storer(box, {"runtime_directory": True}, start), port


def ctl(s, *words):
    """supctl, as the same user."""
    result = run(SUPCTL, "-s", s.socket, *words, **IDS)
    equal(result.code, 0, f"supctl {' '.join(words)}: {result}; status")
    return result.out


def states(s):
    return {one["path"]: one["state"] for one in s.call("Status")["actors"]
            if one["state"] != "running" and not one["path"].startswith("/system")}


@test("everything that needs no root runs, and runs on after deaths and an upgrade", timeout=60)
def runs(box):
    a, port = everything(box)
    s = a.s
    s.until(lambda: states(s) == WAITING, lambda: f"all to run: {states(s)}")
    a.start()
    a.do("put one 11", "file state 1")
    for act in (s.crash, lambda: ctl(s, "upgrade"), lambda: s.crash(signal.SIGSEGV)):
        act()
        again = a.end(10)
        equal((again["fds"], again["files"], again["owner"]),
              ([["one", "11"]], ["state"], [UID, 0o755]), "what the storer finds again")
    for address in ("127.0.0.1", port), box.path("web.sock"):
        with socket.socket(family_of(address)) as client:
            client.connect(address)
            has(client.recv(100).decode(), "web", f"the answer at {address}")
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(box.path("lazy.unix"))
        has(client.recv(100).decode(), "lazy", "the answer of who is started for it")
    has(ctl(s, "metrics"), "supd_", "the metrics")
    check(os.path.exists(box.path("metrics.sock")), "no socket for metrics")
    status = os.stat(box.path("web.sock"))
    equal((status.st_uid, stat.S_IMODE(status.st_mode)), (UID, 0o600), "its owner and mode")
    has(ctl(s, "logs", "logged"), "ready now", "the log")
    s.tell("below", "exit=1")
    s.started("below", 2)
    ctl(s, "suspend", "both")
    all_stand_still(s, s.actor("both")["pid"], "session")
    ctl(s, "resume", "both")
    ctl(s, "stop", "hooked")
    wait_told(s, ["pre_start", "post_start", "pre_stop", "post_stop"])
    s.consistent()
    s.stop()
    for left in ("control.sock", "actors"):
        check(not os.path.exists(os.path.join(s.runtime, left)), f"{left} is left")
    left = [name for name in os.listdir(box.dir) if re.search("web|lazy|metrics", name)]
    equal([name for name in left if not name.startswith("report.")], [], "files that are left")


@test("what a process of an ordinary user's supd finds")
def world(box):
    a, _ = everything(box)
    s = a.s
    pid = s.line("R", "limited").pid

    def text(name):
        with open(box.path(f"report.limited.{pid}/{name}"), encoding="utf8") as file:
            return file.read()

    has(text("limits"), r"Max open files +50 +60 ", "limits")
    has(text("limits"), r"Max processes +500 +500 ", "limits")
    has(text("status"), r"Umask:\t0077\n", "status")
    has(text("status"), rf"Uid:\t{UID}\t{UID}\t{UID}\t{UID}\n", "status")
    has(text("environ"), r"RUNTIME_DIRECTORY=" + s.runtime + "/", "the environment")


@test("the control socket is the user's and root's own")
def control(box):
    if os.geteuid() != 0:
        raise Skip("needs root, to be another user")
    s = Chaos(box, {"a": {}}, uid=RUN_AS)
    ctl(s, "ping")
    equal(s.ctl("ping").code, 0, "root's ping")
    other = run(SUPCTL, "-s", s.socket, "ping", user=UID + 1, group=UID + 1, extra_groups=[])
    equal(other.code, 5, f"another user's ping: {other}")


@test("the walker of an unprivileged supd gives way, and its processes go, as root's do")
def deaths(box):
    s = Chaos(box, {"a": {}, "daemon": {"command": [
        "/bin/sh", "-c", "(setsid sleep 1000 &); exec sleep 1000"]}}, uid=RUN_AS)
    sleeper = s.until(lambda: [pid for pid in children(s.process.pid) if pid not in
                               [one["pid"] for one in s.call("Status")["actors"]] and
                               not s.is_own(pid)], "the daemon's daemon")
    outage(s, lambda: os.kill(sleeper[0], 0))
    ctl(s, "stop", "daemon")
    s.until(lambda: not os.path.exists(f"/proc/{sleeper[0]}"), "its end")
    s.consistent()


# ---- where files are -------------------------------------------------------------------------


class Plain:
    """A supd that is told by its environment alone where everything is."""

    def __init__(self, box, **environ):
        for name in ("home", "config", "run", "state"):
            os.makedirs(box.path(name), exist_ok=True)
            os.chown(box.path(name), UID, UID)
        self.box = box
        self.environ = {"PATH": os.environ["PATH"], **environ}

    def configure(self, directory, more=""):
        os.makedirs(self.box.path(directory), exist_ok=True)
        return self.box.file(f"{directory}/supd.yaml", "children: {a: {command: [/bin/sh, -c, "
                             '"echo here I am; exec sleep 1000"]}}\n' + more)

    def supd(self, *words):
        return run(SUPD, *words, env=self.environ, **IDS)

    def ctl(self, *words):
        return run(SUPCTL, *words, env=self.environ, **IDS)

    def start(self, *words):
        self.said = self.box.path("said")
        with open(self.said, "wb") as said:
            process = self.box.popen(SUPD, *words, env=self.environ, stderr=said, **IDS)
        wait(lambda: self.ctl("is-active", "a").code == 0 or process.poll() is not None)
        with open(self.said, encoding="utf8") as said:
            equal(process.poll(), None, f"it ended: {said.read()}; exit status")
        return process


def wait(condition):
    """Wait until the condition is true, or until the alarm ends the test."""
    while not condition():
        time.sleep(0.01)


def end(process):
    process.terminate()
    equal(process.wait(), 0, "supd's exit status")


def logged(path):
    def is_there():
        try:
            with open(path, encoding="utf8") as text:
                return "here I am" in text.read()
        except FileNotFoundError:
            return False

    wait(is_there)


@test("XDG_CONFIG_HOME, XDG_RUNTIME_DIR and XDG_STATE_HOME say where everything is")
def xdg(box):
    plain = Plain(box, HOME=box.path("home"), XDG_CONFIG_HOME=box.path("config"),
                  XDG_RUNTIME_DIR=box.path("run"), XDG_STATE_HOME=box.path("state"))
    plain.configure("config/supd")
    has(plain.supd("--check").out, "good, 1 actor", "--check")
    process = plain.start()
    check(stat.S_ISSOCK(os.stat(box.path("run/supd/control.sock")).st_mode), "no socket")
    logged(box.path("state/supd/user/a.log"))
    equal(plain.ctl("upgrade").code, 0, "supctl upgrade")
    has(plain.ctl("logs", "a").out, "here I am", "supctl logs")
    end(process)
    equal(os.listdir(box.path("home")), [], "files in the home directory")


@test("with HOME alone the places are those of the XDG specification")
def home(box):
    plain = Plain(box, HOME=box.path("home"), XDG_RUNTIME_DIR=box.path("run"),
                  XDG_CONFIG_HOME="", XDG_STATE_HOME="relative")
    os.makedirs(box.path("home/.config"))
    plain.configure("home/.config/supd")
    process = plain.start()
    logged(box.path("home/.local/state/supd/user/a.log"))
    end(process)


@test("RUNTIME_DIRECTORY, as of a service manager, goes before XDG_RUNTIME_DIR, -r before both")
def runtime(box):
    plain = Plain(box, HOME=box.path("home"), XDG_CONFIG_HOME=box.path("config"),
                  XDG_RUNTIME_DIR=box.path("run"), RUNTIME_DIRECTORY=box.path("home/x:/y"),
                  SUPD_SOCKET=box.path("home/x/control.sock"))
    plain.configure("config/supd")
    process = plain.start()
    check(os.path.exists(box.path("home/x/control.sock")), "no socket there")
    end(process)
    plain.environ["SUPD_SOCKET"] = box.path("home/y/control.sock")
    process = plain.start("-r", box.path("home/y"))
    equal(os.listdir(box.path("run")), [], "what is in XDG_RUNTIME_DIR")
    end(process)


@test("with neither HOME nor XDG variables: -c and -r and log.directory are enough")
def bare(box):
    plain = Plain(box)
    file = plain.configure("config", f"log: {{directory: {box.path('state')}}}\n")
    plain.environ["SUPD_SOCKET"] = box.path("run/control.sock")
    process = plain.start("-c", file, "-r", box.path("run"))
    logged(box.path("state/user/a.log"))
    end(process)


@test("what cannot be found without HOME is asked for in words (78)", root=True)
def lost(box):
    plain = Plain(box)
    result = plain.supd("--check")
    equal(result.code, 78, "exit status without a configuration")
    has(result.err, f"user {UID} has no home.*-c", "stderr")
    # A user in the user database has the home directory from there.
    result = run(SUPD, "--check", env=plain.environ, user="nobody", group=65534,
                 extra_groups=[])
    equal(result.code, 78, "nobody's exit status")
    has(result.err, r"/nonexistent/\.config/supd/supd\.yaml", "stderr")
    result = plain.ctl("-s", box.dir, "ping")
    equal(result.code, 2, "supctl's exit status with a directory for a socket")
    has(result.err, f"is a directory, not a socket.*-r {box.dir}", "supctl's stderr")


@test("without any environment the runtime directory is one of the user, and supctl finds it")
def no_environment(box):
    plain = Plain(box, TMPDIR=box.path("run"))
    file = plain.configure("config", f"log: {{directory: {box.path('state')}}}\n")
    process = plain.start(file)
    where = box.path(f"run/supd-{os.geteuid() or UID}")
    equal(stat.S_IMODE(os.stat(where).st_mode) & 0o077, 0, "what others may do in it")
    equal(plain.ctl("-r", where, "is-active", "a").code, 0, "supctl -r")
    del plain.environ["TMPDIR"]
    equal(plain.ctl("is-active", "a").code, 0, "the only supd of this user")
    end(process)
    plain.environ["TMPDIR"] = box.path("run")
    os.chmod(where, 0o777)
    result = plain.supd(file)
    equal(result.code, 78, "exit status where others may write to it")
    has(result.err, f"{where} is not of user .* alone.*-r", "stderr")


@test("supctl looks at ./run")
def in_place(box):
    plain = Plain(box)
    file = plain.configure("config", f"log: {{directory: {box.path('state')}}}\n")
    plain.environ["SUPD_SOCKET"] = box.path("run/control.sock")
    process = plain.start(file, "-r", box.path("run"))
    del plain.environ["SUPD_SOCKET"]
    result = run(SUPCTL, "is-active", "a", env=plain.environ, cwd=box.dir, **IDS)
    equal(result.code, 0, "the exit status")
    end(process)


@test("without a configuration one sentence says what to do, and nothing was made")
def first_run(box):
    plain = Plain(box, HOME=box.path("home"), XDG_RUNTIME_DIR=box.path("run"))
    result = plain.supd()
    equal(result.code, 78, "exit status")
    has(result.err, r"^supd: no configuration yet: there is no \S+/supd\.yaml; .*\n$", "stderr")
    result = plain.supd("missing.yaml")
    equal(result.code, 78, "exit status of a missing file")
    has(result.err, "cannot read missing.yaml: No such file", "stderr")
    equal(os.listdir(box.path("run")) + os.listdir(box.path("home")), [], "what was made")


@test("where its log cannot be written is said at the check, and lost are no lines")
def no_log(box):
    plain = Plain(box)
    os.mkdir(box.path("state/closed"), 0o500)
    os.chown(box.path("state/closed"), *((0, 0) if os.geteuid() == 0 else (UID, -1)))
    file = plain.configure("config", f"log:\n  directory: {box.path('state/closed/log')}\n")
    result = plain.supd("--check", "-c", file)
    equal(result.code, 0, "exit status")
    has(result.err, rf":3:\d+: warning: log.directory: user {UID} cannot write there",
        "stderr")
    plain.environ["SUPD_SOCKET"] = box.path("run/control.sock")
    process = plain.start("-c", file, "-r", box.path("run"))

    def told():
        with open(plain.said, encoding="utf8") as said:
            return "cannot write" in said.read()

    wait(told)
    os.chown(box.path("state/closed"), UID, UID)
    os.chmod(box.path("state/closed"), 0o700)
    logged(box.path("state/closed/log/user/a.log"))
    end(process)


# ---- tests that need root -------------------------------------------------------------------


@test("a port that is root's fails the start of its actor, by name; the others start")
def port_of_root(box):
    with open("/proc/sys/net/ipv4/ip_unprivileged_port_start", encoding="ascii") as text:
        if int(text.read()) <= 81:
            raise Skip("every port is everybody's here")
    s = Chaos(box, {"a": {"sockets": {"web": "tcp:127.0.0.1:81"}}, "b": {}}, uid=RUN_AS,
              wait=False)
    s.started("b")
    failure = s.event("failure", "a")
    equal((failure["step"], failure["cause"]["errno"]), ("open socket", "EACCES"), "the failure")
    with open(s.stderr, encoding="utf8") as text:
        has(text.read(), r"/user/a: socket web: .*127\.0\.0\.1.*81.*Permission denied", "the log")


if __name__ == "__main__":
    main()
