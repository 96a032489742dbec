#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""supd.service under a real systemd, booted in a container.

Needs root, systemd-nspawn and a Debian root directory, which is only read: its name is in
SUPD_TEST_SYSTEMD, or it is systemd-root in the build directory.  Where neither is there
everything is skipped.  `unit.py --make-root` makes the second one with mmdebstrap, which
takes the network and a minute.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

BUILD = os.path.abspath(os.environ.get("top_builddir", "."))
ROOT = os.environ.get("SUPD_TEST_SYSTEMD") or os.path.join(BUILD, "systemd-root")
CGROUP = "/sys/fs/cgroup/system.slice/supd.service"
DEADLINE_S, TESTS = 60, []


class Failure(Exception):
    """What the unit promises did not happen."""


def test(sentence):
    def register(function):
        TESTS.append((sentence, function))
        return function
    return register


def check(truth, text):
    if not truth:
        raise Failure(text() if callable(text) else text)


def until(condition, what):
    """Look again until it is true; the deadline is for a broken supd only."""
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise Failure(f"waited for {what}")


def sh(script):
    """An actor's command: this text for /bin/sh; in the file $$ stands for a dollar."""
    return '["/bin/sh", "-c", "%s"]' % script.replace("\\", "\\\\").replace('"', '\\"')


def marked(number):
    """A process that is recognised by its arguments, and its marker."""
    return f"sleep 77{number}", f"sleep\x0077{number}\0"


class Machine:
    """A container with systemd as its first process, and supd's unit in it."""

    def __init__(self, directory):
        self.directory = directory
        self.shared = os.path.join(directory, "srv")
        self.etc = os.path.join(directory, "etc")
        os.mkdir(self.shared)
        os.mkdir(self.etc)
        unit = os.path.join(BUILD, "systemd/supd.service")
        with open(unit, encoding="utf8") as file:
            text = file.read()
        supd, self.conf = re.search(r"^ExecStart=(\S+) -c (\S+)", text, re.M).groups()
        self.ctl = re.search(r"^ExecReload=(\S+)", text, re.M).group(1)
        self.write("supd.yaml", "children: {}\n")
        with open(os.path.join(directory, "boot.log"), "wb") as log:
            self.nspawn = subprocess.Popen(
                ["systemd-nspawn", "-q", "-D", ROOT, "--machine=" + os.path.basename(
                    directory).replace("_", "-"), "--volatile=overlay", "--register=no",
                 "--keep-unit", "--link-journal=no", "--private-network", "--boot",
                 f"--bind-ro={BUILD}/supd:{supd}", f"--bind-ro={BUILD}/supctl:{self.ctl}",
                 f"--bind-ro={unit}:/etc/systemd/system/supd.service",
                 f"--bind={self.etc}:{os.path.dirname(self.conf)}",
                 f"--bind={self.shared}:/srv"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=dict(os.environ, SYSTEMD_NSPAWN_UNIFIED_HIERARCHY="1"))
        self.init = until(self._find_init, "the container's first process")
        until(lambda: self.run("systemctl", "is-system-running").stdout.strip() in
              ("running", "degraded"), "systemd in the container")

    def _find_init(self):
        if self.nspawn.poll() is not None:
            with open(os.path.join(self.directory, "boot.log"), errors="replace",
                      encoding="utf8") as file:
                raise Failure("systemd-nspawn ended: " + file.read()[-2000:])
        with open(f"/proc/{self.nspawn.pid}/task/{self.nspawn.pid}/children",
                  encoding="ascii") as file:
            for pid in file.read().split():
                with open(f"/proc/{pid}/comm", encoding="utf8") as comm:
                    if comm.read() == "systemd\n":
                        return int(pid)
        return None

    def close(self):
        # The container's machine has nothing to lose: all of it dies with its first.
        self.nspawn.send_signal(signal.SIGTERM)
        try:
            self.nspawn.wait(10)
        except subprocess.TimeoutExpired:
            self.nspawn.kill()
            self.nspawn.wait()

    def run(self, *command, good=False):
        done = subprocess.run(
            ["nsenter", "-t", str(self.init), "-m", "-u", "-i", "-n", "-p", "-C", "--",
             *command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=DEADLINE_S, check=False)
        check(not good or done.returncode == 0,
              lambda: f"{command}: {done.returncode} {done.stderr}")
        return done

    def write(self, name, text):
        with open(os.path.join(self.etc, name), "w", encoding="utf8") as file:
            file.write(text)

    def tree(self, **children):
        self.write("supd.yaml", "children:\n" + "".join(
            f"  {name}: {spec}\n" for name, spec in children.items()))

    def show(self, what):
        return self.run("systemctl", "show", "-P", what, "supd", good=True).stdout.strip()

    def drop_in(self, text):
        self.run("/bin/sh", "-c", "mkdir -p /run/systemd/system/supd.service.d && printf "
                 f"'[Service]\\n{text}\\n' >/run/systemd/system/supd.service.d/t.conf "
                 "&& systemctl daemon-reload", good=True)

    def start(self):
        self.run("systemctl", "start", "supd", good=True)
        return int(self.show("MainPID"))

    def stop(self):
        self.run("systemctl", "stop", "supd", good=True)

    def cursor(self):
        text = self.run("journalctl", "--no-pager", "-n", "0", "--show-cursor").stdout
        return text.split("-- cursor:")[-1].strip()

    def journal(self, cursor, supd_only=False, priority=7):
        """The lines of the unit after the cursor, of this priority or a more urgent one.
        (journalctl's own filters lose the first line after a cursor.)"""
        self.run("journalctl", "--sync")
        text = self.run("journalctl", "-o", "json", f"--after-cursor={cursor}").stdout
        lines = [json.loads(line) for line in text.splitlines()]
        return "".join(str(line["MESSAGE"]) + "\n" for line in lines
                       if (line.get("_SYSTEMD_UNIT") == "supd.service" or
                           line.get("UNIT") == "supd.service" and not supd_only)
                       and int(line.get("PRIORITY", 7)) <= priority)

    def count(self, marker):
        """How many processes of the container have these arguments?"""
        text = self.run("/bin/sh", "-c", "cat /proc/[0-9]*/cmdline 2>/dev/null").stdout
        return text.count(marker)

    def restarted(self, pid, because):
        """Another supd than this one runs, and says that its tree is up."""
        return until(lambda: self.show("MainPID") not in ("0", str(pid)) and
                     self.show("ActiveState") == "active", f"a new supd: {because}")


@test("systemd finds no fault with the unit")
def valid(m):
    done = m.run("systemd-analyze", "verify", "--man=no", "supd.service")
    check(done.returncode == 0 and "supd.service" not in done.stderr, done.stderr)


@test("the unit is started only when the tree is up, and shows its numbers")
def ready(m):
    os.mkfifo(os.path.join(m.shared, "gate"))
    m.tree(a="{command: [sleep, infinity]}",
           gate="{ready: exit, command: %s}" % sh("read x </srv/gate"))
    m.run("systemctl", "start", "--no-block", "supd", good=True)
    until(lambda: m.show("StatusText") == "1 running, 0 failed", "the first actor")
    check(m.show("ActiveState") == "activating", "active before the tree was up")
    with open(os.path.join(m.shared, "gate"), "w", encoding="ascii") as gate:
        gate.write("go\n")
    until(lambda: m.show("ActiveState") == "active", "READY=1")
    text = m.run("systemctl", "--no-pager", "status", "supd").stdout
    check('Status: "1 running, 0 failed"' in text, text)


@test("each actor has a cgroup of its own, and supd one")
def cgroups(m):
    m.tree(a="{command: [sleep, infinity]}", b="{children: {c: {command: %s}}}"
           % sh("setsid sleep infinity & wait"))
    m.start()
    text = m.run("/bin/sh", "-c", f"cd {CGROUP} && find . -name cgroup.procs -exec "
                 "sh -c 'echo $1 $(wc -l <$1)' - {} ';'", good=True).stdout
    check(sorted(line for line in text.splitlines() if not line.endswith(" 0")) == [
        "./actors/user:a/cgroup.procs 1", "./actors/user:b:c/cgroup.procs 2",
        "./supd/cgroup.procs 1"], text)


@test("the journal has what supd says, with its priority")
def priority(m):
    cursor = m.cursor()
    m.tree(a="{command: %s, restart: temporary}" % sh("exit 3"))
    m.start()
    until(lambda: "exited with 3" in m.journal(cursor, True, 3),
          "the failure as an error in the journal")
    check("started, pid" not in m.journal(cursor, True, 5),
          "what is information only has a higher priority")


@test("a reload applies the changed file")
def reload(m):
    m.tree(a="{command: [sleep, infinity]}", b="{command: [sleep, infinity]}",
           c="{command: [sleep, infinity]}")
    m.start()
    cursor = m.cursor()
    m.tree(a="{command: [sleep, infinity], shutdown: 3s}", b="{command: [sleep, '7700']}",
           d="{command: [sleep, infinity]}")
    m.run("systemctl", "reload", "supd", good=True)
    text = m.journal(cursor)
    for line in (r"updated +/user/a ", r"restarted +/user/b ", r"added +/user/d",
                 r"removed +/user/c"):
        check(re.search(line, text), f"no {line} in {text}")
    check(m.show("ActiveState") == "active", "not active")


@test("a reload of a broken file leaves everything running, and says so in the journal")
def broken_reload(m):
    m.tree(a="{command: [sleep, infinity]}")
    pid = m.start()
    before = m.run(m.ctl, "pid", "a", good=True).stdout
    cursor = m.cursor()
    m.tree(a="{comand: [sleep]}")
    check(m.run("systemctl", "reload", "supd").returncode != 0, "the reload went well")
    text = m.journal(cursor)
    check("did you mean `command`" in text and "nothing was changed" in text, text)
    check(m.run(m.ctl, "pid", "a", good=True).stdout == before, "a was restarted")
    check((m.show("ActiveState"), m.show("MainPID")) == ("active", str(pid)), "not active")


@test("a stop is in reverse order, keeps last words, and leaves nothing")
def stop(m):
    text, marker = marked(1)
    words = "trap 'echo last words of %s; exit 0' TERM; sleep infinity & wait"
    m.tree(a="{command: %s}" % sh(words % "a"), b="{command: %s}" % sh(words % "b"),
           c="{command: %s}" % sh(f"setsid {text} & {text}"))
    m.start()
    cursor = m.cursor()
    m.stop()
    journal = m.journal(cursor)
    found = re.findall(r"^/user/(\w): (stopping|stopped)$", journal, re.M)
    check(found == [(name, what) for name in "cba" for what in ("stopping", "stopped")],
          journal)
    check("supd 0" in journal and "shutting_down" in journal, journal)
    words = m.run("/bin/sh", "-c", "cat $(find / -xdev -path '*supd/user/[ab].log')").stdout
    check("last words of a" in words and "last words of b" in words, repr(words))
    check(m.count(marker) == 0, "something is left")
    check(m.show("Result") == "success", m.show("Result"))
    check(m.run("test", "-e", CGROUP).returncode != 0, "the cgroup is left")


@test("an ordered stop may take longer than systemd's timeout")
def slow_stop(m):
    m.drop_in("TimeoutStopSec=1")
    m.tree(a="{shutdown: 30s, command: %s}" % sh(
        "trap 'sleep 3; echo that was slow; exit 0' TERM; sleep infinity & wait"))
    m.start()
    cursor = m.cursor()
    m.stop()
    check("/user/a: exited: ended normally (exited with 0)" in m.journal(cursor),
          lambda: m.journal(cursor))
    check(m.show("Result") == "success", m.show("Result"))


@test("a supd that was killed is started again, with nothing of it left or doubled")
def killed(m):
    text, marker = marked(2)
    away, away_marker = marked(3)
    m.drop_in("TimeoutStopSec=1")
    m.tree(a="{command: %s}" % sh(f"trap '' TERM; setsid {text} & exec {text}"),
           b="{command: %s}" % sh("echo $$$$ >/sys/fs/cgroup/init.scope/cgroup.procs; "
                                  f"exec {away}"))
    pid = m.start()
    until(lambda: m.count(marker) == 2 and m.count(away_marker) == 1, "the actors")
    cursor = m.cursor()
    m.run("/bin/sh", "-c", f"kill -KILL {pid}", good=True)
    m.restarted(pid, "after SIGKILL")
    until(lambda: m.count(marker) == 2, "both of one actor and no more")
    # It left the unit's cgroup, so systemd spared it: the new supd does not.
    check(m.count(away_marker) == 1, f"{m.count(away_marker)} of b run")
    check("killed" in m.journal(cursor, True), "the leftovers are not told of")


@test("a supd that hangs is ended by the watchdog and started again")
def watchdog(m):
    text, marker = marked(4)
    m.drop_in("WatchdogSec=1")
    m.tree(a="{command: %s}" % sh(f"exec {text}"))
    pid = m.start()
    cursor = m.cursor()
    m.run("/bin/sh", "-c", f"kill -STOP {pid}", good=True)
    m.restarted(pid, "after its watchdog")
    check("Watchdog timeout" in m.journal(cursor), lambda: m.journal(cursor))
    until(lambda: m.count(marker) == 1, "its one actor")


@test("a broken file at the start fails the unit with 78, once")
def broken_start(m):
    m.tree(a="{comand: [sleep]}")
    check(m.run("systemctl", "start", "supd").returncode != 0, "it was started")
    until(lambda: m.show("ActiveState") == "failed", "the failed unit")
    check((m.show("ExecMainStatus"), m.show("NRestarts")) == ("78", "0"),
          f"{m.show('ExecMainStatus')}, {m.show('NRestarts')} restarts")


def packages():
    """Those of the libraries that supd is linked with."""
    names = set()
    linked = subprocess.run(["ldd", f"{BUILD}/supd", f"{BUILD}/supctl"], check=True,
                            capture_output=True, text=True).stdout
    for path in re.findall(r"=> (/\S+)", linked):
        name = "*/" + os.path.basename(os.path.realpath(path))
        names.add(subprocess.run(["dpkg", "-S", name], check=True, capture_output=True,
                                 text=True).stdout.split(":")[0])
    return sorted(names)


def make_root():
    if os.path.isdir(ROOT):
        return 0
    if os.geteuid() != 0 or shutil.which("mmdebstrap") is None:
        print(f"making {ROOT} takes root and mmdebstrap", file=sys.stderr)
        return 1
    with open("/etc/os-release", encoding="utf8") as file:
        suite = re.search(r"^VERSION_CODENAME=(\S+)", file.read(), re.M).group(1)
    wanted = ",".join(["systemd", "systemd-sysv", "dbus", *packages()])
    half = ROOT + ".half"
    shutil.rmtree(half, ignore_errors=True)
    subprocess.run(["mmdebstrap", "--variant=minbase", f"--include={wanted}", suite, half],
                   check=True)
    os.rename(half, ROOT)
    return 0


def missing():
    if not os.path.isdir(ROOT):
        return "no root directory with systemd: `make check-systemd` makes one"
    if os.geteuid() != 0:
        return "needs root"
    for name in "systemd-nspawn", "nsenter":
        if shutil.which(name) is None:
            return f"needs {name}"
    return None


def main():
    if "--make-root" in sys.argv[1:]:
        return make_root()
    reason = missing()
    if reason is not None:
        print(f"1..0 # SKIP {reason}")
        return 0
    chosen = [t for t in TESTS if not sys.argv[1:] or t[1].__name__ in sys.argv[1:]]
    print(f"1..{len(chosen)}", flush=True)
    directory = tempfile.mkdtemp(prefix="supd-systemd-")
    machine = None
    try:
        machine = Machine(directory)
        for number, (sentence, function) in enumerate(chosen, 1):
            result = "ok"
            try:
                function(machine)
            except (Failure, OSError, subprocess.SubprocessError):
                result = "not ok"
                log = traceback.format_exc() + machine.run(
                    "journalctl", "-u", "supd", "--no-pager", "-n", "60").stdout
                print("# " + log.replace("\n", "\n# "))
                machine.run("systemctl", "kill", "-s", "KILL", "supd")
            print(f"{result} {number} - {sentence}", flush=True)
            machine.run("systemctl", "stop", "supd")
            machine.run("systemctl", "reset-failed", "supd")
            machine.drop_in("")
    except Failure as failure:
        print(f"Bail out! {failure}")
    finally:
        if machine is not None:
            machine.close()
        shutil.rmtree(directory, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
