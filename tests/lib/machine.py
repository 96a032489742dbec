# SPDX-License-Identifier: ISC
"""A container with a real systemd and supd's unit in it, and what runs its tests.

Needs root, systemd-nspawn, cgroup v2 and a Debian root directory, which is only read: its
name is in SUPD_TEST_SYSTEMD, or it is systemd-root in the build directory.  Where one of
these is not there everything is skipped.  `--make-root` as the argument of a test makes the
second directory with mmdebstrap, which takes the network and a minute.
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
import typing

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
    """The command of a process, and the marker by which /proc shows the process."""
    return f"sleep 77{number}", f"sleep\x0077{number}\0"


class Process(typing.NamedTuple):
    """What /proc says: numbers are the container's, but for `host` and `children`."""
    host: int
    pid: int
    parent: int
    state: str
    argv: list
    children: list


def look_at(host, parent):
    """A process by its number out here; None when it is no more."""
    try:
        with open(f"/proc/{host}/status", encoding="utf8") as file:
            status = file.read()
        with open(f"/proc/{host}/cmdline", encoding="utf8") as file:
            argv = file.read().split("\0")[:-1]
        children = []
        for task in os.listdir(f"/proc/{host}/task"):
            with open(f"/proc/{host}/task/{task}/children", encoding="ascii") as file:
                children += [int(child) for child in file.read().split()]
    except OSError:
        return None
    return Process(host, int(re.search(r"^NSpid:.*\t(\d+)$", status, re.M).group(1)), parent,
                   re.search(r"^State:\t(.)", status, re.M).group(1), argv, children)


def cgroup_here():
    """The directory of the cgroup v2 in which this process is; None if it sees none."""
    with open("/proc/self/cgroup", encoding="utf8") as file:
        name = re.search(r"^0::(/.*)$", file.read(), re.M)
    with open("/proc/self/mountinfo", encoding="utf8") as file:
        mount = re.search(r"^\d+ \d+ \S+ (\S+) (\S+) .*- cgroup2 ", file.read(), re.M)
    if name is None or mount is None:
        return None
    root, place = mount.groups()
    return os.path.normpath(os.path.join(place, os.path.relpath(name.group(1), root)))


def remove_cgroup(path):
    """Kill the processes in the cgroup, and remove the cgroup with all cgroups below."""
    def is_gone():
        for directory, _, _ in os.walk(path, topdown=False):
            try:
                os.rmdir(directory)
            except OSError:
                return False
        return True

    try:
        with open(os.path.join(path, "cgroup.kill"), "w", encoding="ascii") as file:
            file.write("1\n")
    except OSError:
        pass  # before Linux 5.14, where all of it should have died with its first
    until(is_gone, f"the end of all in {path}")


class Machine:
    """A container with systemd as its first process, and supd's unit in it."""

    def __init__(self, directory):
        self.directory = directory
        self.undo = []  # after the test
        self.init = None
        self.shared = os.path.join(directory, "srv")
        self.etc = os.path.join(directory, "etc")
        os.mkdir(self.shared)
        os.mkdir(self.etc)
        unit = os.path.join(BUILD, "systemd/supd.service")
        with open(unit, encoding="utf8") as file:
            text = file.read()
        self.supd, self.conf = re.search(r"^ExecStart=(\S+) -c (\S+)", text, re.M).groups()
        self.ctl = re.search(r"^ExecReload=(\S+)", text, re.M).group(1)
        self.write("supd.yaml", "children: {}\n")
        # Where systemd-nspawn is told to stay in the cgroup in which it is, it makes one of
        # a fixed name in there: two machines would live in the same one.
        self.cgroup = os.path.join(cgroup_here(), os.path.basename(directory))
        os.mkdir(self.cgroup)
        with open(os.path.join(directory, "boot.log"), "wb") as log:
            self.nspawn = subprocess.Popen(
                ["/bin/sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', self.cgroup,
                 "systemd-nspawn", "-q", "-D", ROOT, "--machine=" + os.path.basename(
                    directory).replace("_", "x"), "--volatile=overlay", "--register=no",
                 "--keep-unit", "--link-journal=no", "--private-network", "--boot",
                 *self.installed(unit), f"--bind={self.shared}:/srv"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=dict(os.environ, SYSTEMD_NSPAWN_UNIFIED_HIERARCHY="1"))

    def installed(self, unit):
        """Arguments for systemd-nspawn that show supd's files in the container, uninstalled."""
        return [f"--bind-ro={BUILD}/supd:{self.supd}", f"--bind-ro={BUILD}/supctl:{self.ctl}",
                f"--bind-ro={unit}:/etc/systemd/system/supd.service",
                f"--bind={self.etc}:{os.path.dirname(self.conf)}"]

    def boot(self):
        self.init = until(self._find_init, "the container's first process")
        with open(f"/proc/{self.init}/cgroup", encoding="utf8") as file:
            check(os.path.basename(self.cgroup) in file.read(), "it is in a foreign cgroup")
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
                try:
                    with open(f"/proc/{pid}/comm", encoding="utf8") as comm:
                        if comm.read() == "systemd\n":
                            return int(pid)
                except OSError:
                    pass  # systemd-nspawn has children that are there for a moment
        return None

    def close(self):
        # The container's machine has nothing to lose: all of it dies with its first.
        self.nspawn.send_signal(signal.SIGTERM)
        try:
            self.nspawn.wait(10)
        except subprocess.TimeoutExpired:
            self.nspawn.kill()
            self.nspawn.wait()
        remove_cgroup(self.cgroup)

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

    def read(self, name):
        with open(os.path.join(self.etc, name), encoding="utf8") as file:
            return file.read()

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

    def entries(self, cursor):
        """All of the journal after the cursor."""
        self.run("journalctl", "--sync")
        text = self.run("journalctl", "-o", "json", "--all", f"--after-cursor={cursor}").stdout
        return [json.loads(line) for line in text.splitlines()]

    def journal(self, cursor, supd_only=False, priority=7):
        """The lines of the unit after the cursor, of this priority or a more urgent one.
        (journalctl's own filters lose the first line after a cursor.)"""
        return "".join(str(line["MESSAGE"]) + "\n" for line in self.entries(cursor)
                       if (line.get("_SYSTEMD_UNIT") == "supd.service" or
                           line.get("UNIT") == "supd.service" and not supd_only)
                       and int(line.get("PRIORITY", 7)) <= priority)

    def family(self, pid):
        """The process of the container and all processes below: pid → Process."""
        found, queue = {}, [(self.host_pid(pid), 0)]
        while queue:
            host, parent = queue.pop()
            process = look_at(host, parent)
            if process is not None:
                found[process.pid] = process
                queue += [(child, process.pid) for child in process.children]
        return found

    def host_pid(self, pid):
        """Its number outside of the container."""
        queue = [self.init]
        while queue:
            host = queue.pop()
            process = look_at(host, 0)
            if process is not None and process.pid == pid:
                return host
            queue += process.children if process is not None else []
        raise Failure(f"there is no process {pid}")

    def guardian(self, walker):
        """The guardian of this walker; None while there is no guardian."""
        for process in self.family(walker).values():
            if process.parent == walker and process.argv[1:2] == ["@guardian"]:
                return process
        return None

    def successor(self, walker, old):
        """Wait for an answer of the guardian that follows `old`; gives the guardian."""
        def answers():
            new = self.guardian(walker)
            if new is None or new.pid == old.pid:
                return None
            return self.run(self.ctl, "ping").returncode == 0 and new
        return until(answers, f"a guardian after {old.pid}")

    def crash(self, walker, signo=signal.SIGKILL):
        """Kill the guardian and wait for the next one; both."""
        old = until(lambda: self.guardian(walker), "a guardian")
        os.kill(old.host, signo)
        return old, self.successor(walker, old)

    def actor_pid(self, name):
        return int(self.run(self.ctl, "pid", name, good=True).stdout)

    def told(self, cursor, what):
        """How often supd has told systemd this since: takes its log level `debug`."""
        return len(re.findall(r"^supd\.service: Got notification message from PID \d+ "
                              rf"\((?:[^\n]*, )?{what}", self.journal(cursor), re.M))

    def count(self, marker):
        """How many processes of the container have these arguments?"""
        text = self.run("/bin/sh", "-c", "cat /proc/[0-9]*/cmdline 2>/dev/null").stdout
        return text.count(marker)

    def restarted(self, pid, because):
        """Wait until a supd with another pid runs, and systemd has been told that its tree is up."""
        return until(lambda: self.show("MainPID") not in ("0", str(pid)) and
                     self.show("ActiveState") == "active", f"a new supd: {because}")


def packages():
    """The packages of the libraries that supd is linked with."""
    names = set()
    linked = subprocess.run(["ldd", f"{BUILD}/supd", f"{BUILD}/supctl-terminal"], check=True,
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
    here = cgroup_here()
    if here is None:
        return "needs cgroup v2, and none that we are in is mounted"
    if not os.access(here, os.W_OK):
        return f"needs to make a cgroup in {here}, which cannot be written"
    return None


def main(names=tuple(sys.argv[1:]), machine_type=Machine):
    """Run the tests of these names, or all, in a machine of this type."""
    if "--make-root" in names:
        return make_root()
    reason = missing()
    if reason is not None:
        print(f"1..0 # SKIP {reason}")
        return 0
    chosen = [t for t in TESTS if not names or t[1].__name__ in names]
    print(f"1..{len(chosen)}", flush=True)
    directory = tempfile.mkdtemp(prefix="supd-systemd-")
    machine = None
    try:
        machine = machine_type(directory)
        machine.boot()
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
            machine.run("rm", "-f", "/srv/doubles")
            machine.drop_in("")
            while machine.undo:
                machine.undo.pop()()
    except Failure as failure:
        print(f"Bail out! {failure}")
    finally:
        if machine is not None:
            machine.close()
        shutil.rmtree(directory, ignore_errors=True)
    return 0

