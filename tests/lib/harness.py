# SPDX-License-Identifier: ISC
"""The frame of the tests that run a real supd with real processes.

A test is a function with @test("a sentence") that gets a Box: a directory of its own, in
which it starts supd on a tree of probes (probe.c).  Everything is waited for by events:
lines that probes write into a fifo, the event stream, supd's notifications, its end.
When a test is over, supd has to end in order and nothing may be left of its processes.
"""
import atexit
import ctypes
import errno
import fcntl
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback

TOP_BUILD = os.path.abspath(os.environ.get("top_builddir", "."))
TOP_SRC = os.path.abspath(os.environ.get(
    "top_srcdir", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")))
TESTS = []
COUNTS = {"checks": 0, "kills": 0}
SIOCUNIXFILE = 0x89e0  # linux/un.h; Python has no name for it
PR_SET_CHILD_SUBREAPER = 36


class Skip(Exception):
    """This test cannot run here; the text says why."""


# For scripts of tests: a connection to a port that waits for an hour in close().
LINGERING = r"""
import socket, struct
def lingering(port):
    one = socket.create_connection(("127.0.0.1", port))
    one.setblocking(False)
    try:
        while True:
            one.send(b"x" * 65536)
    except BlockingIOError:
        one.setblocking(True)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 3600))
    return one
"""


class Failure(Exception):
    """What the contract promises did not happen."""


def program(name, *places):
    for place in places:
        path = os.path.join(TOP_BUILD, place, name)
        if os.access(path, os.X_OK):
            return path
    return os.path.join(TOP_BUILD, name)


COPIES = []


def for_everybody(path):
    """The program where other users can run it, too: root's home is closed to them."""
    where = os.path.dirname(path)
    while where != "/" and os.stat(where).st_mode & 0o001:
        where = os.path.dirname(where)
    if os.geteuid() != 0 or where == "/" or not os.path.exists(path):
        return path
    if not COPIES:
        COPIES.append(tempfile.mkdtemp(prefix="supd-programs."))
        os.chmod(COPIES[0], 0o755)
        atexit.register(shutil.rmtree, COPIES[0], ignore_errors=True)
    return shutil.copy(path, COPIES[0])


SUPD = os.environ.get("SUPD") or for_everybody(program("supd", ".", "src", "src/daemon"))
BUILT_SUPCTL = os.environ.get("SUPCTL") or program("supctl", ".", "src", "src/ctl")
SUPCTL = for_everybody(BUILT_SUPCTL)
for_everybody(BUILT_SUPCTL + "-terminal")  # supctl finds it beside itself
# A sanitizer keeps what was freed for a while: memory then does not stay flat.
INSTRUMENTED = os.path.exists(SUPD) and b"__asan_init" in open(SUPD, "rb").read()
# How much longer a wait may last than it would on an idle machine; only a failure does.
PATIENCE = 12 if INSTRUMENTED else 4
PROBE = os.environ.get("PROBE") or for_everybody(program("probe", "tests/lib", "."))


def test(sentence, timeout=30, root=False):
    def register(function):
        TESTS.append((sentence, function, timeout, root))
        return function
    return register


def check(truth, text):
    COUNTS["checks"] += 1
    if not truth:
        raise Failure(text() if callable(text) else text)


def equal(got, expected, what):
    check(got == expected, lambda: f"{what}: expected {expected!r}, got {got!r}")


def has(text, pattern, what="the text"):
    check(re.search(pattern, text), lambda: f"{what} lacks /{pattern}/: {text!r}")


def has_no_rights(pid, kept=0, forks=False):
    """What the kernel says of a process that can do nothing."""
    with open(f"/proc/{pid}/status", encoding="utf8") as lines:
        seen = dict(line.rstrip("\n").split(":\t", 1) for line in lines)
    for name in ("CapInh", "CapAmb"):
        equal(int(seen[name], 16), 0, name)
    for name in ("CapEff", "CapPrm", "CapBnd"):
        equal(int(seen[name], 16) & ~kept, 0, name)
    equal(seen["NoNewPrivs"], "1", "NoNewPrivs")
    if os.geteuid() == 0:
        equal(seen["Uid"].split(), ["65534"] * 4, "Uid")
        equal(seen["Gid"].split(), ["65534"] * 4, "Gid")
        equal(seen["Groups"].split(), [], "Groups")
    with open(f"/proc/{pid}/limits", encoding="utf8") as lines:
        limits = lines.read()
    has(limits, r"Max core file size +0 ", "the limits")
    if not forks:
        has(limits, r"Max processes +0 ", "the limits")


def alive(pid):
    """Does the pid belong to a process that is no zombie?"""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf8", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def children(pid="self"):
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as text:
                found += [int(child) for child in text.read().split()]
    except (FileNotFoundError, ProcessLookupError):
        pass
    return found


def state_of(pid):
    with open(f"/proc/{pid}/stat", encoding="utf8", errors="replace") as text:
        return text.read().rpartition(")")[2].split()[0]


def program_of(pid):
    """The path of the file that the process runs, also if the file has been replaced since."""
    return os.readlink(f"/proc/{pid}/exe").removesuffix(" (deleted)")


def offspring(pid):
    found, queue = set(), [pid]
    while queue:
        more = children(queue.pop())
        found.update(more)
        queue += more
    return found


def now_ns():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def comment(text):
    for line in text.splitlines():
        print("# " + line)


def is_dying(pid):
    """Is SIGKILL pending for the process?  The process hangs in a system call, and ends when the
    call returns."""
    with open(f"/proc/{pid}/status", encoding="utf8") as text:
        pending = re.findall(r"(?m)^S\w\wPnd:\s*(\w+)", text.read())
    return any(int(mask, 16) >> signal.SIGKILL - 1 & 1 for mask in pending)


def bury(own):
    """Kill and reap every child that is not in `own`; gives back those that lived."""
    found = []
    while True:
        strangers = [pid for pid in children() if pid not in own]
        if not strangers:
            return found
        for pid in strangers:
            if alive(pid):
                with open(f"/proc/{pid}/cmdline", "rb") as text:
                    command = text.read().replace(bytes(1), b" ").decode()
                # Without a command line the process is about to end.
                if command and not is_dying(pid):
                    found.append(f"{pid} {command}")
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


class Result:
    """Exit status and output of a program."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __repr__(self):
        return f"exit {self.code}, stdout {self.out!r}, stderr {self.err!r}"


def run(*command, timeout=20, **options):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=timeout * PATIENCE, check=False,
                          **options)
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


class Box:
    """The directory of one test, and the processes that the test started."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="supd-test.")
        os.chmod(self.dir, 0o1777)
        self.supds = []
        self.background = []
        self.undo = []

    def file(self, name, text=""):
        path = os.path.join(self.dir, name)
        with open(path, "w", encoding="utf8") as out:
            out.write(text)
        return path

    def path(self, name):
        return os.path.join(self.dir, name)

    def supd(self, tree=None, **options):
        from supd import Supd
        return Supd(self, tree, **options)

    def popen(self, *command, **options):
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, **options)
        self.background.append(child)
        return child

    def finish(self):
        """After a test that passed: end its supds, and demand that no process or file is left."""
        for child in self.background:
            child.kill()
            child.wait()
        for supd in reversed(self.supds):
            supd.finish()
        left = bury([])
        check(not left, lambda: f"processes were left behind: {left}")

    def wreck(self):
        """End all processes and remove all files of the test, also of a failed test."""
        for child in self.background:
            child.kill()
            child.wait()
        for supd in self.supds:
            supd.kill()
        bury([])
        for action in reversed(self.undo):
            action()
        if os.environ.get("KEEP"):
            comment("kept " + self.dir)
        else:
            shutil.rmtree(self.dir, ignore_errors=True)


def on_alarm(*_):
    raise Failure("the test's time is over")


def run_test(function, timeout, root):
    """The end of the TAP line of one test; prints what helps to understand a failure."""
    if root and os.geteuid() != 0:
        return "ok", " # SKIP needs root"
    box = Box()
    try:
        signal.signal(signal.SIGALRM, on_alarm)
        signal.alarm(timeout * PATIENCE)
        function(box)
        box.finish()
        return "ok", ""
    except Skip as reason:
        return "ok", f" # SKIP {reason}"
    except Exception as problem:  # pylint: disable=broad-except
        signal.alarm(10)
        frames = traceback.extract_tb(problem.__traceback__)
        for frame in frames:
            if "/tests/" in frame.filename:
                comment(f"{os.path.basename(frame.filename)}:{frame.lineno} {frame.line}")
        comment(f"{type(problem).__name__}: {problem}")
        for supd in box.supds:
            try:
                supd.diagnose()
            except Exception as worse:  # pylint: disable=broad-except
                comment(f"no diagnosis: {worse!r}")
        return "not ok", ""
    finally:
        signal.alarm(0)
        box.wreck()


def prctl_subreaper():
    """Whatever a supd of ours leaves behind becomes our child."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def unshare():
    """The words before a command that is to be the first process of a namespace."""
    words = ["unshare", "-pf", "--mount-proc"]
    if shutil.which("unshare") is None or subprocess.run(
            [*words, "true"], capture_output=True, check=False).returncode != 0:
        raise Skip("no namespaces by unshare(1) here")
    return words


def needs_net_admin(box):
    """Skip where the kernel does not tell the file of a socket: a container may lack the capability."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.bind(box.path("probe"))
        try:
            os.close(fcntl.ioctl(probe, SIOCUNIXFILE))
        except OSError as problem:
            if problem.errno != errno.EPERM:
                raise
            raise Skip("needs CAP_NET_ADMIN") from None


def main():
    prctl_subreaper()
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    chosen = [one for one in TESTS if re.search(wanted, one[0])]
    print(f"1..{len(chosen)}")
    failed = 0
    for number, (sentence, function, timeout, root) in enumerate(chosen, 1):
        begun = time.monotonic()
        verdict, more = run_test(function, timeout, root)
        failed += verdict != "ok"
        print(f"{verdict} {number} - {sentence}{more}", flush=True)
        if os.environ.get("TIMES"):
            comment(f"{time.monotonic() - begun:.2f} s")
    if COUNTS["kills"]:
        comment(f"{COUNTS['kills']} kills, {COUNTS['checks']} checks, {failed} failures")
    sys.exit(1 if failed else 0)
