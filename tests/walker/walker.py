#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The walker with real processes; its guardian is walker_host.c, which does as it is told."""
import contextlib
import errno
import os
import random
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import (PATIENCE, TOP_BUILD, Failure, Skip, alive, check, children, equal, has, main,
                     test, unshare)

FAKE = os.path.join(TOP_BUILD, "tests/lib/walker_host")
EXITED, SIGNALED, DUMPED, STOPPED, CONTINUED = range(5)


class Guardian:
    """One life of the guardian, as it tells of itself."""

    def __init__(self, connection):
        self.connection = connection
        self.tail = b""
        self.lines = []
        words = self.expect("hello ").split()[1:]
        self.hello = {key: int(value) for key, value in (word.split("=") for word in words)}
        self.pid = self.hello["pid"]

    def read(self, timeout):
        if not select.select([self.connection], [], [], timeout)[0]:
            return False
        try:
            more = self.connection.recv(1 << 16)
        except ConnectionResetError:
            more = b""
        *lines, self.tail = (self.tail + more).split(b"\n")
        self.lines += [line.decode() for line in lines]
        return bool(more)

    def expect(self, start, timeout=15):
        """Wait for a line that begins with `start`; takes the line out, and gives it."""
        end = time.monotonic() + timeout * PATIENCE
        while True:
            for i, line in enumerate(self.lines):
                if line.startswith(start):
                    return self.lines.pop(i)
            left = end - time.monotonic()
            if left < 0 or (not self.read(left) and time.monotonic() < end):
                raise Failure(f"the guardian did not say {start!r}, but {self.lines}")

    def send(self, line):
        self.connection.sendall(line.encode() + b"\n")

    def do(self, line):
        self.send(line)
        self.expect("done " + line.split()[0])

    def child(self, status):
        self.send(f"child {status}")
        return int(self.expect("child ").split()[1])

    def ends(self, n):
        """The next n records of ends: pid, kind, status."""
        found = []
        while len(found) < n:
            self.do("take")
            while any(line.startswith("end ") for line in self.lines):
                found.append(tuple(map(int, self.expect("end ").split()[1:])))
            if len(found) < n:
                self.expect("poke")
        return found


class Walker:
    def __init__(self, box, *, command=(), env=None, before=None, adopt_ms=None, trial_ms=0):
        self.dir = box.dir
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(box.path("control"))
        self.listener.listen(100)
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notify.bind(box.path("notify"))
        environ = dict(os.environ, NOTIFY_SOCKET=box.path("notify"))
        for name in ("WATCHDOG_USEC", "WATCHDOG_PID"):
            environ.pop(name, None)
        environ.update(env or {})
        self.stderr = box.path("stderr")
        arguments = [] if adopt_ms is None else [str(adopt_ms), str(trial_ms)]
        with open(self.stderr, "w", encoding="utf8") as err:
            self.process = subprocess.Popen([*command, FAKE, box.dir, *arguments], env=environ,
                                            stdin=subprocess.DEVNULL, stdout=err, stderr=err,
                                            preexec_fn=before)
        box.background.append(self.process)
        box.undo += [self.listener.close, self.notify.close]
        self.connections = []

    @property
    def pid(self):
        return self.process.pid

    def guardian(self, timeout=15):
        """Wait for the next guardian that says hello."""
        self.listener.settimeout(timeout * PATIENCE)
        try:
            connection, _ = self.listener.accept()
        except TimeoutError:
            raise Failure(f"no guardian came; {self.said()!r}") from None
        return Guardian(connection)

    def said(self):
        with open(self.stderr, encoding="utf8") as text:
            return text.read()

    def until_said(self, pattern, timeout=10):
        self.until(lambda: re.search(pattern, self.said()), f"/{pattern}/", timeout)

    def until(self, condition, what, timeout=10):
        end = time.monotonic() + timeout * PATIENCE
        while not condition():
            check(time.monotonic() < end,
                  lambda: f"waited in vain for {what}: {self.said()!r}")
            time.sleep(0.002)

    def switches(self):
        """How often it went to sleep or was made to."""
        with open(f"/proc/{self.pid}/status", encoding="utf8") as text:
            return sum(map(int, re.findall(r"ctxt_switches:\s+(\d+)", text.read())))

    def ended(self, status):
        try:
            equal(self.process.wait(15 * PATIENCE), status, "the walker's exit status")
        except subprocess.TimeoutExpired:
            raise Failure(f"the walker does not end: {self.said()!r}") from None

    def note(self, timeout):
        self.notify.settimeout(timeout)
        try:
            return self.notify.recv(4096).decode()
        except TimeoutError:
            return None

    def fds(self):
        return [int(fd) for fd in os.listdir(f"/proc/{self.pid}/fd")]


CONTROL, CONF = 1, 4  # VAULT_CONTROL, VAULT_CONF


def crash(walker, guardian, signo=signal.SIGKILL):
    os.kill(guardian.pid, signo)
    return walker.guardian()


def check_delays(walker, count):
    """`count` guardians have failed, and each delay told is the one that is due after such lives (DECISIONS 37)."""
    told = re.findall(r"ended after (\d+) ms, .*; the next guardian starts in (\d+) ms", walker.said())
    equal(len(told), count, "guardians that failed")
    delay = 0
    for life, wait in [map(int, pair) for pair in told]:
        if life >= 10000:
            delay = 0
        if life < 1000:
            delay = min(2 * delay or 100, 5000)
        equal(wait, delay if life < 1000 else 0, f"the delay after a life of {life} ms")
    return wait / 1000


def parent(pid):
    with open(f"/proc/{pid}/stat", encoding="utf8") as text:
        return int(text.read().rpartition(")")[2].split()[1])


def is_zombie(pid):
    return os.path.exists(f"/proc/{pid}") and not alive(pid)


@test("a guardian that lived is replaced at once, and the next one knows how it died")
def at_once(box):
    w = Walker(box)
    first = w.guardian()
    equal(first.hello["crashes"], 0, "crashes")
    equal(first.hello["last"], 0, "the guardian before the first")
    equal(first.hello["walker"], w.pid, "the walker")
    equal(first.hello["group"], first.pid, "the process group of the guardian")
    first.do("adopt")
    time.sleep(1.05)
    second = crash(w, first, signal.SIGALRM)
    equal(second.hello["crashes"], 1, "crashes")
    equal(second.hello["attempts"], 0, "attempts after one that had adopted")
    equal(second.hello["last"], first.pid, "the guardian before")
    check(second.hello["kind"] in (SIGNALED, DUMPED), "how it died")
    equal(second.hello["status"], signal.SIGALRM, "what it died of")
    has(w.said(), rf"guardian \(pid {first.pid}\) ended after .*SIGALRM; .* in 0 ms")
    second.send("exit 0")
    w.ended(0)


@test("guardians that do not live wait longer and longer, and attempts are counted")
def backoff(box):
    w = Walker(box)
    guardian = w.guardian()
    for i in range(1, 5):
        died = time.monotonic()
        guardian = crash(w, guardian)
        equal(guardian.hello["attempts"], i, "attempts")
        delay = check_delays(w, i)
        check(time.monotonic() - died >= delay - 0.005, f"less than {delay} s")
    guardian.do("adopt")
    guardian = crash(w, guardian)
    equal(guardian.hello["attempts"], 0, "attempts after one that had adopted")
    equal(guardian.hello["crashes"], 5, "crashes")
    guardian.send("exit 0")
    w.ended(0)


@test("an end in order is passed on, at any time")
def in_order(box):
    for status, after in ((0, False), (70, False), (0, True), (70, True)):
        w = Walker(Sub(box, f"{status}{after}"))
        guardian = w.guardian()
        if after:
            guardian.do("adopt")
        guardian.send(f"exit {status}")
        w.ended(status)
        equal(w.said(), "", "stderr")


@test("64, 69, 71 and 78 end the walker before the first adoption and are crashes after it")
def first_start(box):
    for status in (64, 69, 71, 78):
        w = Walker(Sub(box, f"first-{status}"))
        w.guardian().send(f"exit {status}")
        w.ended(status)
    w = Walker(box)
    guardian = w.guardian()
    guardian.do("adopt")
    for status in (64, 69, 71, 78, 3):
        guardian.send(f"exit {status}")
        guardian = w.guardian()
        equal(guardian.hello["kind"], EXITED, "how the one before ended")
        equal(guardian.hello["status"], status, "its status")
        w.until_said(f"exit status {status}")
    guardian.send("exit 0")
    w.ended(0)


@test("two walkers cannot have the same directory: the second one exits 69")
def lock(box):
    w = Walker(box)
    guardian = w.guardian()
    second = subprocess.run([FAKE, box.dir], stderr=subprocess.PIPE, check=False, timeout=10 * PATIENCE)
    equal(second.returncode, 69, "the second walker's exit status")
    has(second.stderr.decode(), "another supd runs in .*; stop it, or choose another")
    guardian = crash(w, guardian)
    second = subprocess.run([FAKE, box.dir], stderr=subprocess.PIPE, check=False, timeout=10 * PATIENCE)
    equal(second.returncode, 69, "its exit status after a crash of the first one's guardian")
    os.unlink(box.path("supd.lock"))
    second = subprocess.run([FAKE, box.dir], stderr=subprocess.PIPE, check=False, timeout=10 * PATIENCE)
    equal(second.returncode, 69, "its exit status when the lock was removed")
    has(second.stderr.decode(), rf"the supd of pid {w.pid} runs in .*, although its files were removed")
    guardian.send("exit 0")
    w.ended(0)


@test("another user cannot open the file of the lock, and so not hold the lock either",
      root=True)
def closed_lock(box):
    os.chmod(box.dir, 0o755)
    # An earlier supd may have left the file open to all users.
    box.file("supd.lock")
    os.chmod(box.path("supd.lock"), 0o644)
    w = Walker(box)
    guardian = w.guardian()
    stranger = box.popen(sys.executable, "-c", "import os, sys\n"
                         "os.setgid(65534); os.setuid(65534)\n"
                         "try:\n"
                         "    os.open(sys.argv[1], os.O_RDONLY)\n"
                         "    print('open', flush=True)\n"
                         "except PermissionError:\n"
                         "    print('refused', flush=True)\n",
                         box.path("supd.lock"), stdout=subprocess.PIPE)
    equal(stranger.stdout.readline(), b"refused\n", "what the stranger says")
    guardian.send("exit 0")
    w.ended(0)


def name_of(path):
    """The name that locks this directory: os/self/namelock.c."""
    path = os.path.realpath(path)
    dev = os.stat(path).st_dev
    total = 0xcbf29ce484222325
    for byte in path.encode():
        total = (total ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return (f"\0supd/lock/{os.geteuid()}/{os.major(dev)}:{os.minor(dev)}/{total:016x}")


@test("another user that has taken the name of the lock keeps no walker from starting", root=True)
def squatter(box):
    stranger = box.popen(sys.executable, "-c", "import os, socket, sys\n"
                         "os.setgid(65534); os.setuid(65534)\n"
                         "s = socket.socket(socket.AF_UNIX)\n"
                         "s.bind('\\0' + sys.argv[1]); s.listen()\n"
                         "print('there', flush=True); sys.stdin.read(); s.accept()",
                         name_of(box.dir)[1:], stdout=subprocess.PIPE)
    equal(stranger.stdout.readline(), b"there\n", "what the stranger says")
    w = Walker(box)
    guardian = w.guardian()
    has(w.said(), rf"user 65534 holds the name that locks {re.escape(box.dir)} "
        rf"\(pid {stranger.pid}\): supd is locked by its file only")
    guardian.send("exit 0")
    w.ended(0)


@test("a directory that cannot be made: exit status 71, its name, the reason and the cure")
def no_directory(box):
    with open(os.path.join(box.dir, "file"), "w", encoding="utf8"):
        pass
    done = subprocess.run([FAKE, os.path.join(box.dir, "file", "run")], stderr=subprocess.PIPE,
                          check=False, timeout=10 * PATIENCE)
    equal(done.returncode, 71, "the exit status")
    has(done.stderr.decode(), "create the directory .*/file/run: Not a directory "
        r"\(-r chooses another runtime directory\)")


@test("children of a dead guardian stay, and how they end is told with the right status")
def adoption(box):
    w = Walker(box)
    guardian = w.guardian()
    guardian.do("adopt")
    codes = {guardian.child(code): code for code in range(1, 201)}
    guardian = crash(w, guardian)
    for pid in codes:
        equal(parent(pid), w.pid, "the parent of an adopted process")
        os.kill(pid, signal.SIGTERM)
    got = {pid: status for pid, kind, status in guardian.ends(200) if kind == EXITED}
    equal(got, codes, "statuses")
    check(not any(os.path.exists(f"/proc/{pid}") for pid in codes), "zombies are left")
    guardian.send("exit 0")
    w.ended(0)


@test("ends during the outage, stops and continues are told, too")
def outage(box):
    w = Walker(box)
    guardian = w.guardian()
    guardian.do("adopt")
    one, two = guardian.child(11), guardian.child(12)
    guardian.send("die 9")
    os.kill(one, signal.SIGKILL)
    guardian = w.guardian()
    equal(guardian.ends(1), [(one, SIGNALED, 9)], "the one that died meanwhile")
    os.kill(two, signal.SIGSTOP)
    equal(guardian.ends(1), [(two, STOPPED, signal.SIGSTOP)], "a stop")
    os.kill(two, signal.SIGCONT)
    equal(guardian.ends(1), [(two, CONTINUED, signal.SIGCONT)], "a continue")
    os.kill(two, signal.SIGTERM)
    equal(guardian.ends(1), [(two, EXITED, 12)], "an end")
    guardian.send("exit 0")
    w.ended(0)


@test("a descriptor that a guardian did not take is there for the next guardian")
def untaken(box):
    w = Walker(box)
    guardian = w.guardian()
    guardian.do("adopt")
    pid = guardian.child(33)
    guardian = crash(w, guardian)
    os.kill(pid, signal.SIGTERM)
    guardian.expect("poke")
    guardian = crash(w, guardian)
    equal(guardian.ends(1), [(pid, EXITED, 33)], "the end that its predecessor heard of")
    guardian.send("exit 0")
    w.ended(0)


@test("when the record is full the dead stay zombies until there is room, and none is lost")
def full(box):
    w = Walker(box)
    guardian = w.guardian()
    guardian.do("adopt")
    restless, *mortals = [guardian.child(status) for status in range(50, 56)]
    guardian = crash(w, guardian)
    os.kill(guardian.pid, signal.SIGSTOP)
    # Each stop and each continue that the walker sees is a record: 8192 fill it.  On a busy machine
    # it does not see each: then an end is recorded, and more are sent.
    for n, dying in enumerate(mortals):
        for signo in (signal.SIGSTOP, signal.SIGCONT) * (500 if n else 4500):
            before, end = w.switches(), time.monotonic() + 0.005
            os.kill(restless, signo)
            while w.switches() == before and time.monotonic() < end:
                os.sched_yield()
        os.kill(dying, signal.SIGTERM)
        w.until(lambda pid=dying: not alive(pid), "its end")
        time.sleep(0.25)
        if is_zombie(dying):
            break
    check(is_zombie(dying), "a zombie was reaped that could not be recorded")
    os.kill(guardian.pid, signal.SIGCONT)
    ends = guardian.ends(1)
    while (dying, EXITED, 51 + mortals.index(dying)) not in ends:
        ends += guardian.ends(1)
    check(len(ends) > 8192, f"{len(ends)} records")
    w.until(lambda: not os.path.exists(f"/proc/{dying}"), "the zombie to go")
    for pid in (restless, *mortals[mortals.index(dying) + 1:]):
        os.kill(pid, signal.SIGKILL)
        w.until(lambda pid=pid: not alive(pid), "the end of the last children")
    guardian.send("exit 0")
    # It has a line for each record that came meanwhile, and waits until they are read.
    while guardian.read(15 * PATIENCE):
        pass
    w.ended(0)


@test("1,000 descriptors survive three guardians, each in its place")
def vault(box):
    w = Walker(box)
    guardian = w.guardian()
    equal(guardian.hello["vault"], 0, "descriptors at first")
    guardian.do("adopt")
    guardian.do("store 1000 1000 1000")
    guardian.do("ledger 77")
    guardian.expect("ack 0")
    for _ in range(3):
        guardian = crash(w, guardian)
        equal(guardian.hello["vault"], 1000, "descriptors")
        equal((guardian.hello["low"], guardian.hello["high"]), (1000, 1999), "keys")
        equal((guardian.hello["wrong"], guardian.hello["moved"]), (0, 0), "wrong ones")
        equal(guardian.hello["ledger"], 77, "the ledger")
        guardian.do("adopt")
    low = [fd for fd in w.fds() if 2 < fd < 100]
    equal(low, [3], "descriptors of the walker below the window")
    guardian.do("drop 1000 500")
    guardian.do("store 1500 10 1")
    guardian.do("ledger 78")
    guardian.expect("ack 0")
    guardian = crash(w, guardian)
    equal(guardian.hello["vault"], 500, "descriptors after a half was dropped")
    equal((guardian.hello["low"], guardian.hello["high"]), (1500, 1999), "keys")
    equal((guardian.hello["wrong"], guardian.hello["moved"]), (0, 10), "replaced ones")
    equal(guardian.hello["ledger"], 78, "the ledger")
    guardian.do("drop-rest")
    guardian = crash(w, guardian)
    equal(guardian.hello["vault"], 0, "descriptors that nobody took")
    check(len(w.fds()) < 20, f"the walker keeps {len(w.fds())} descriptors")
    guardian.send("exit 0")
    w.ended(0)


@test("what comes on the link of a guardian that was replaced is never read, and changes nothing")
def old_link(box):
    w = Walker(box)
    first = w.guardian()
    first.do("adopt")
    first.do("store 1 10 1")
    first.do("ledger 77")
    first.expect("ack 0")
    actor = first.child(44)
    first.send("heir")
    heir = int(first.expect("heir ").split()[1])
    second = crash(w, first)
    second.do("adopt")
    os.kill(heir, signal.SIGTERM)
    for kind in ("store", *["drop"] * 10, "ledger", "status"):
        first.expect(f"unsent {kind}")
    first.expect("done sending")
    equal(second.ends(1), [(heir, EXITED, 0)], "its end")
    check(alive(actor), "an actor is dead")
    third = crash(w, second)
    equal((third.hello["vault"], third.hello["low"], third.hello["high"]), (10, 1, 10), "what is kept")
    equal((third.hello["wrong"], third.hello["moved"], third.hello["ledger"]), (0, 0, 77), "what it is")
    os.kill(actor, signal.SIGTERM)
    equal(third.ends(1), [(actor, EXITED, 44)], "the end of the actor")
    third.send("exit 0")
    w.ended(0)


@test("more than a link holds is handed over as the guardian reads")
def large_vault(box):
    w = Walker(box)
    guardian = w.guardian()
    guardian.do("adopt")
    guardian.do("store 100000 15000 100000")
    for _ in range(2):
        guardian = crash(w, guardian)
        equal(guardian.hello["vault"], 15000, "descriptors")
        equal((guardian.hello["wrong"], guardian.hello["moved"]), (0, 0), "wrong ones")
        guardian.do("adopt")
    guardian.send("exit 0")
    w.ended(0)


@test("a guardian that dies while it stores leaves only whole entries")
def storm(box):
    w = Walker(box)
    guardian = w.guardian()
    dice = random.Random(7)
    most = 0
    for _ in range(6):
        guardian.do("adopt")
        guardian.send(f"storm {dice.randrange(2000, 60000)}")
        guardian = w.guardian()
        equal(guardian.hello["status"], signal.SIGALRM, "what it died of")
        equal((guardian.hello["wrong"], guardian.hello["moved"]), (0, 0), "wrong ones")
        check(guardian.hello["vault"] % 16 == 0, f"{guardian.hello['vault']} descriptors")
        most = max(most, guardian.hello["vault"])
    check(most > 0, "nothing was ever kept")
    guardian.send("exit 0")
    w.ended(0)


@test("a vault that is full says so and goes on")
def few_descriptors(box):
    import resource

    def before():
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, 300))

    w = Walker(box, before=before)
    guardian = w.guardian()
    equal(guardian.hello["nofile"], 200, "the limit that supd was started with")
    guardian.do("adopt")
    guardian.do("store 1 400 1")
    w.until_said("descriptors are not kept")
    guardian.do("ledger 5")
    guardian.expect("ack 0")
    guardian = crash(w, guardian)
    kept = guardian.hello["vault"]
    check(100 < kept < 300, f"{kept} descriptors")
    equal(guardian.hello["ledger"], 5, "the ledger")
    # Places are left for what must be kept: the control socket, the configuration.
    guardian.do(f"store {CONTROL << 56} 1 {CONTROL << 56}")
    guardian.do(f"store {CONF << 56 | 1} 4 {CONF << 56 | 1}")
    guardian = crash(w, guardian)
    equal(guardian.hello["vault"], kept + 5, "descriptors with the socket and four configurations")
    equal(guardian.hello["high"], CONF << 56 | 4, "the last configuration")
    guardian.do("room 0")
    guardian.expect("ack 0")
    guardian.do("room 1")
    guardian.expect(f"ack {errno.EMFILE}")
    guardian.do("drop 1 10")
    guardian.do("room 10")
    guardian.expect(f"ack {errno.EMFILE}")
    guardian.do("room 1")
    guardian.expect("ack 0")
    equal(guardian.hello["moved"], 0, "wrong ones")
    guardian.send("exit 0")
    w.ended(0)


def no_descriptors(box, limit):
    import resource

    w = Walker(box, before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))
    guardian = w.guardian()
    has(w.said(), f"{limit} descriptors may be open, .* actors will not survive a crash of supd; "
                  "raise")
    guardian.do("room 1")
    guardian.expect(f"ack {errno.EMFILE}")
    guardian.send("exit 0")
    w.ended(0)


for few in 80, 60:
    test(f"with {few} descriptors, too few to keep anything, that is said in plain words")(
        lambda box, few=few: no_descriptors(box, few))


@test("signals are passed on, and wait for the next guardian when there is none")
def signals(box):
    w = Walker(box)
    guardian = w.guardian()
    for signo in (signal.SIGHUP, signal.SIGUSR1, signal.SIGINT, signal.SIGQUIT,
                  signal.SIGTERM):
        os.kill(w.pid, signo)
        guardian.expect(f"signal {int(signo)}")
    guardian = crash(w, guardian)
    for signo in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        guardian.expect(f"signal {int(signo)}")
    guardian.send("exit 0")
    w.ended(0)


@test("a signal during the backoff is heard by the next guardian")
def queued(box):
    w = Walker(box)
    guardian = crash(w, crash(w, w.guardian()))
    os.kill(guardian.pid, signal.SIGKILL)
    w.until_said(r"(starts in \d+ ms(.|\n)*){3}")
    os.kill(w.pid, signal.SIGUSR1)
    os.kill(w.pid, signal.SIGTERM)
    guardian = w.guardian()
    guardian.expect("signal 10")
    guardian.expect("signal 15")
    guardian.send("exit 0")
    w.ended(0)


@test("a signal to end is obeyed even where no guardian can be started", timeout=60)
def hopeless(box):
    w = Walker(box)
    guardian = w.guardian()
    guardian.do("adopt")
    os.kill(w.pid, signal.SIGTERM)
    guardian.expect("signal 15")
    w.listener.close()
    os.kill(guardian.pid, signal.SIGKILL)
    try:
        equal(w.process.wait(50), 70, "the walker's exit status")
    except subprocess.TimeoutExpired:
        raise Failure(w.said()) from None


@test("the walker works with signals blocked and ignored and no standard descriptors")
def hostile(box):
    def before():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))
        os.closerange(0, 3)

    w = Walker(box, before=before)
    guardian = crash(w, w.guardian())
    equal(guardian.hello["status"], signal.SIGKILL, "how the first one died")
    with open(f"/proc/{guardian.pid}/status", encoding="utf8") as text:
        status = text.read()
    has(status, r"SigBlk:\s+0+4000\n")
    os.kill(w.pid, signal.SIGTERM)
    guardian.expect("signal 15")
    for fd in range(3):
        equal(os.readlink(f"/proc/{w.pid}/fd/{fd}"), "/dev/null", f"descriptor {fd}")
    guardian.send("exit 0")
    w.ended(0)


@test("between two questions to the guardian the walker does nothing at all")
def idle(box):
    w = Walker(box)
    guardian = w.guardian()
    guardian.do("adopt")

    last = [w.switches(), time.monotonic()]

    def silent_for(seconds):
        if w.switches() != last[0]:
            last[:] = w.switches(), time.monotonic()
        return time.monotonic() - last[1] > seconds

    # The questions to one that shows no pulse are 4 s apart in the end.
    w.until(lambda: silent_for(3), "3 s in which it does not wake up", 20)
    guardian.send("exit 0")
    w.ended(0)


@test("the guardian is told when the walker dies, whatever else is alive")
def walker_dies(box):
    w = Walker(box)
    guardian = w.guardian()
    guardian.do("adopt")
    pid = guardian.child(1)
    guardian = crash(w, guardian)
    w.process.kill()
    guardian.expect("eof")
    os.kill(pid, signal.SIGKILL)
    w.until(lambda: not alive(guardian.pid) and not alive(pid), "their end")


@test("what the guardian notifies reaches the service manager")
def notifications(box):
    w = Walker(box)
    guardian = w.guardian()
    guardian.do("notify READY=1")
    equal(w.note(5 * PATIENCE), "READY=1", "the notification")
    guardian.send("exit 0")
    w.ended(0)


@test("a guardian that misses its watchdog is aborted and replaced: systemd is pinged meanwhile")
def watchdog(box):
    period = 2.4
    w = Walker(box, env={"WATCHDOG_USEC": str(int(period * 1e6))})
    guardian = w.guardian()
    guardian.do("adopt")
    for _ in range(4):
        guardian.do("notify WATCHDOG=1")
        equal(w.note(5 * PATIENCE), "WATCHDOG=1", "the relayed ping")
        time.sleep(0.2)
    guardian.do("notify WATCHDOG=1")
    guardian.send("hang 0")
    last, longest = time.monotonic(), 0
    second = None
    while second is None or time.monotonic() < until:
        if second is None and select.select([w.listener], [], [], 0)[0]:
            second = w.guardian()
            until = time.monotonic() + 2 * period
        if w.note(0.05) == "WATCHDOG=1":
            now = time.monotonic()
            longest, last = max(longest, now - last), now
    equal(second.hello["status"], signal.SIGABRT, "what the first one died of")
    check(longest < period, f"the service manager was left alone for {longest} s")
    has(w.said(), "hangs: it is aborted")
    second.do("adopt")
    second.send("hang 1")
    third = w.guardian()
    equal(third.hello["status"], signal.SIGKILL, "what the deaf one died of")
    has(w.said(), "hangs: it is killed")
    third.send("exit 0")
    w.ended(0)


def descendants(pid):
    """pid in the innermost namespace → pid outside, for the descendants of a process."""
    found, todo = {}, [pid]
    while todo:
        more = children(todo.pop())
        todo += more
        for one in more:
            with open(f"/proc/{one}/status", encoding="utf8") as text:
                found[int(re.search(r"NSpid:.*\s(\d+)\n", text.read()).group(1))] = one
    return found


@test("as PID 1 it reaps strangers and hears signals", root=True)
def pid_one(box):
    w = Walker(box, command=unshare())
    guardian = w.guardian()
    equal(guardian.hello["walker"], 1, "the walker's pid in there")
    walker_pid = children(w.pid)[0]
    guardian.do("adopt")
    dead, orphan = guardian.child(5), guardian.child(6)
    os.kill(descendants(walker_pid)[dead], signal.SIGTERM)
    w.until(lambda: not alive(descendants(walker_pid)[dead]), "a zombie")
    guardian.send("die 9")
    guardian = w.guardian()
    equal(guardian.hello["walker"], 1, "the walker's pid in there")
    equal(guardian.ends(1), [(dead, EXITED, 5)], "the zombie of the dead guardian")
    os.kill(descendants(walker_pid)[orphan], signal.SIGTERM)
    equal(guardian.ends(1), [(orphan, EXITED, 6)], "a stranger")
    equal(list(descendants(walker_pid)), [guardian.pid], "processes")
    os.kill(walker_pid, signal.SIGTERM)
    guardian.expect("signal 15")
    guardian.send("exit 0")
    w.ended(0)


@test("an upgrade runs the new binary, and the walker becomes it in place")
def upgrade(box):
    new = shutil.copy(FAKE, box.path("new"))
    w = Walker(box)
    guardian = w.guardian()
    guardian.do("adopt")
    guardian.do("store 1 300 1")
    guardian.do("ledger 9")
    orphan = guardian.child(44)
    for _ in range(3):
        guardian.do(f"upgrade {new}")
        guardian.send("exit 99")
        guardian = w.guardian()
        equal(guardian.hello["upgrade"], 1, "upgrade")
        equal(guardian.hello["crashes"], 0, "crashes")
        equal(os.readlink(f"/proc/{guardian.pid}/exe"), new, "what the guardian runs")
        guardian.do("adopt")
        w.until(lambda: os.readlink(f"/proc/{w.pid}/exe") == new, "the walker's exec")
        os.kill(w.pid, signal.SIGHUP)
        guardian.expect("signal 1")
        equal(guardian.hello["vault"], 300, "descriptors")
        equal(guardian.hello["ledger"], 9, "the ledger")
    second = subprocess.run([FAKE, box.dir], stderr=subprocess.PIPE, check=False, timeout=10 * PATIENCE)
    equal(second.returncode, 69, "the lock")
    os.kill(orphan, signal.SIGTERM)
    equal(guardian.ends(1), [(orphan, EXITED, 44)], "the end of an adopted one")
    guardian = crash(w, guardian)
    equal(guardian.hello["upgrade"], 0, "upgrade")
    equal(guardian.hello["vault"], 300, "descriptors")
    equal(guardian.hello["moved"], 0, "wrong ones")
    equal(w.said().count("\n"), 1, "lines on stderr")
    guardian.send("exit 70")
    w.ended(70)


@test("signals that come while the walker executes itself are not lost")
def upgrade_signals(box):
    w = Walker(box)
    guardian = w.guardian()
    guardian.do("adopt")
    for i in range(20):
        guardian.do(f"upgrade {FAKE}")
        guardian.send("exit 99")
        guardian = w.guardian()
        child = guardian.child(i)
        guardian.send("adopt")
        os.kill(w.pid, signal.SIGUSR1)
        guardian.expect("signal 10")
        guardian.expect("done adopt")
        os.kill(child, signal.SIGKILL)
    guardian = crash(w, guardian)
    guardian.send("exit 0")
    w.ended(0)


@test("a new binary that dies twice before it has adopted is given up for the old one")
def bad_upgrade(box):
    w = Walker(box)
    guardian = w.guardian()
    guardian.do("adopt")
    old = os.readlink(f"/proc/{guardian.pid}/exe")
    guardian.do("upgrade /bin/false")
    guardian.send("exit 99")
    guardian = w.guardian()
    equal((guardian.hello["upgrade"], guardian.hello["back"]), (0, 1), "what it is told")
    equal(os.readlink(f"/proc/{guardian.pid}/exe"), old, "what the guardian runs")
    equal(guardian.hello["crashes"], 2, "crashes")
    equal(guardian.hello["attempts"], 2, "attempts")
    has(w.said(), "back to the old one")
    guardian.do("adopt")
    equal(os.readlink(f"/proc/{w.pid}/exe"), old, "what the walker runs")
    guardian = crash(w, guardian)
    equal((guardian.hello["upgrade"], guardian.hello["back"]), (0, 0), "what it is told")
    guardian.send("exit 0")
    w.ended(0)


@test("a new binary that ends in order before it has adopted does not end supd")
def final_upgrade(box):
    w = Walker(box)
    guardian = w.guardian()
    guardian.do("adopt")
    guardian.do("upgrade /bin/true")
    guardian.send("exit 99")
    guardian = w.guardian()
    equal(guardian.hello["back"], 1, "is it the old one")
    guardian.do("adopt")
    guardian.send("exit 0")
    w.ended(0)


@test("the second attempt of a new binary is an upgrade, too, and comes at once")
def second_attempt(box):
    new = shutil.copy(FAKE, box.path("new"))
    w, guardian = on_trial(box, new)
    guardian = crash(w, guardian)
    equal((guardian.hello["upgrade"], guardian.hello["back"]), (1, 0), "what it is told")
    equal(os.readlink(f"/proc/{guardian.pid}/exe"), new, "what the guardian runs")
    has(w.said(), "the next guardian starts in 0 ms")
    guardian.do("adopt")
    w.until(lambda: os.readlink(f"/proc/{w.pid}/exe") == new, "the walker's exec")
    guardian = crash(w, guardian)
    equal((guardian.hello["upgrade"], guardian.hello["back"]), (0, 0), "what it is told")
    guardian.send("exit 0")
    w.ended(0)


@test("guardians that fail right after they have adopted come back later and later, no more")
def relapse(box):
    w = Walker(box)
    guardian = w.guardian()
    child = guardian.child(1)
    for i, signo in enumerate((signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS)):
        guardian.do("adopt")
        guardian = crash(w, guardian, signo)
        equal(guardian.hello["attempts"], 0, "attempts")
        check_delays(w, i + 1)
    check(alive(child), "an actor is dead")
    os.kill(child, signal.SIGKILL)
    w.until(lambda: not alive(child), "its end")
    guardian.send("exit 0")
    w.ended(0)


def on_trial(box, new, n_actors=None, **times):
    """A walker that was upgraded to the binary `new`: it, and the new guardian.  With n_actors there is
    a ledger."""
    w = Walker(box, **times)
    guardian = w.guardian()
    guardian.do("adopt")
    if n_actors is not None:
        guardian.do(f"ledger 7 {n_actors}")
        guardian.expect("ack 0")
    guardian.do(f"upgrade {new}")
    guardian.send("exit 99")
    guardian = w.guardian()
    equal(os.readlink(f"/proc/{guardian.pid}/exe"), new, "what the guardian runs")
    return w, guardian


@test("a new binary that fails soon after it has adopted is given up for the old one")
def trial(box):
    new = shutil.copy(FAKE, box.path("new"))
    for words, status in (("die 11", signal.SIGSEGV), ("exit 3", 3), ("", signal.SIGABRT)):
        sub = Sub(box, words.replace(" ", "-") or "silent")
        # A fake guardian never speaks to its watchdog: only the silent one is to have one.
        w, guardian = on_trial(sub, new, adopt_ms=60000, trial_ms=600000,
                               env={} if words else {"WATCHDOG_USEC": "2000000"})
        equal(guardian.hello["upgrade"], 1, "upgrade")
        guardian.do("adopt")
        equal(os.readlink(f"/proc/{w.pid}/exe"), FAKE, "what the walker runs")
        if words:
            guardian.send(words)
        guardian = w.guardian()
        equal(guardian.hello["status"], status, "how the new one ended")
        equal((guardian.hello["upgrade"], guardian.hello["back"]), (0, 1), "what it is told")
        equal(os.readlink(f"/proc/{guardian.pid}/exe"), FAKE, "what the guardian runs")
        has(w.said(), "failed soon after it had taken over: back to the old one")
        guardian.do("adopt")
        guardian.send("exit 0")
        w.ended(0)


@test("a new binary that has supervised for long enough is trusted, also by the walker")
def trusted(box):
    new = shutil.copy(FAKE, box.path("new"))
    w, guardian = on_trial(box, new, adopt_ms=60000, trial_ms=300)
    guardian.do("adopt")
    w.until(lambda: os.readlink(f"/proc/{w.pid}/exe") == new, "the walker's exec")
    guardian = crash(w, guardian, signal.SIGSEGV)
    equal((guardian.hello["upgrade"], guardian.hello["back"]), (0, 0), "what it is told")
    equal(os.readlink(f"/proc/{guardian.pid}/exe"), new, "what the guardian runs")
    guardian.send("exit 0")
    w.ended(0)


@test("a guardian that is killed after it has sent the new binary is no failure of that")
def killed_before(box):
    new = shutil.copy(FAKE, box.path("new"))
    w = Walker(box, adopt_ms=60000, trial_ms=600000)
    guardian = w.guardian()
    guardian.do("adopt")
    guardian.do(f"upgrade {new}")
    guardian = crash(w, guardian)
    equal((guardian.hello["upgrade"], guardian.hello["back"]), (1, 0), "what it is told")
    equal(os.readlink(f"/proc/{guardian.pid}/exe"), new, "what the guardian runs")
    guardian.do("adopt")
    guardian.send("exit 0")
    w.ended(0)


@test("asked twice to end, supd finds out soon that its guardian cannot hear that")
def hurried(box):
    w = Walker(box)
    guardian = w.guardian()
    guardian.do("adopt")
    guardian.do("silence 1")
    os.kill(w.pid, signal.SIGTERM)
    guardian.expect("signal 15")
    os.kill(w.pid, signal.SIGTERM)
    second = w.guardian()
    equal(second.hello["status"], signal.SIGABRT, "what the first one died of")
    second.expect("signal 15")
    second.send("exit 0")
    w.ended(0)


@test("a guardian that hangs before it has adopted is aborted, killed, and counts as an attempt")
def hang_at_start(box):
    w = Walker(box, adopt_ms=1500)
    guardian = w.guardian()  # it says no more than hello
    guardian = w.guardian()
    equal(guardian.hello["status"], signal.SIGABRT, "what the first one died of")
    equal(guardian.hello["attempts"], 1, "attempts")
    has(w.said(), "hangs: it is aborted")
    guardian.send("hang 1")
    guardian = w.guardian()
    equal(guardian.hello["status"], signal.SIGKILL, "what the deaf one died of")
    equal(guardian.hello["attempts"], 2, "attempts")
    has(w.said(), "hangs: it is killed")
    # A message to the service manager does not prove that the guardian works.
    guardian.do("notify WATCHDOG=1")
    guardian = w.guardian()
    equal(guardian.hello["attempts"], 3, "attempts")
    guardian.do("adopt")
    time.sleep(1.6)
    guardian.do("notify READY=1")
    equal(alive(guardian.pid), True, "one that has adopted lives")
    guardian.send("exit 0")
    w.ended(0)


@test("a new binary that hangs before it has adopted is given up for the old one")
def hanging_upgrade(box):
    new = shutil.copy(FAKE, box.path("new"))
    w, guardian = on_trial(box, new, adopt_ms=1500)
    guardian = w.guardian()  # the new one says no more than hello
    equal(os.readlink(f"/proc/{guardian.pid}/exe"), FAKE, "what the guardian runs")
    has(w.said(), r"did not take over in time \(1500 ms\): back to the old one")
    guardian.do("adopt")
    guardian.send("exit 0")
    w.ended(0)


@test("a new binary has 10 s and a millisecond for each actor to take over, silent or not", timeout=90)
def bound_of_an_upgrade(box):
    new = shutil.copy(FAKE, box.path("new"))
    trials = []
    for name, n_actors in (("silent", 0), ("busy", 1500)):
        w, guardian = on_trial(Sub(box, name), new, n_actors)
        trials.append((w, guardian, 10000 + n_actors))
    busy, beating, _ = trials[1]
    # The busy binary shows by beats that it lives, and never takes over.
    while not select.select([busy.listener], [], [], 1)[0]:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it may just have been aborted
            beating.send("beat")
    for w, guardian, bound in trials:
        second = w.guardian()
        equal(os.readlink(f"/proc/{second.pid}/exe"), FAKE, "what the guardian runs")
        equal(second.hello["back"], 1, "is it the old one")
        has(w.said(), rf"did not take over in time \({bound} ms\): back to the old one")
        life = re.search(rf"guardian \(pid {guardian.pid}\) ended after (\d+) ms", w.said())
        check(int(life.group(1)) >= bound, f"given up after {life.group(1)} ms of {bound}")
        second.send("exit 0")
        w.ended(0)


@test("a guardian that makes room without having adopted anything is a failed attempt like others")
def no_upgrade(box):
    w = Walker(box)
    guardian = w.guardian()
    for i in range(1, 4):
        guardian.send("exit 99")
        guardian = w.guardian()
        equal(guardian.hello["attempts"], i, "attempts")
        equal(guardian.hello["upgrade"], 0, "upgrade")
    guardian.send("exit 0")
    w.ended(0)


@test("the role of a walker is not for users")
def no_role(box):
    equal(subprocess.run([FAKE, "@walker", box.dir], stderr=subprocess.DEVNULL,
                         check=False).returncode, 64, "the exit status")


class Sub:
    """A box in a box, for one of several walkers."""

    def __init__(self, box, name):
        self.dir = box.path(name)
        os.mkdir(self.dir)
        self.background, self.undo = box.background, box.undo

    def path(self, name):
        return os.path.join(self.dir, name)


main()
