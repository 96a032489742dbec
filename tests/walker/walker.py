#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The walker against guardians that do what a test wants: it replaces them, and knows when to end."""
import os
import re
import select
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import PATIENCE, alive, check, children, equal, has, main, test, unshare, Failure
from walkers import (CONTINUED, DUMPED, EXITED, FAKE, SIGNALED, STOPPED, Sub, Walker, check_delays,
                     crash)


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


@test("the role of a walker is not for users")
def no_role(box):
    equal(subprocess.run([FAKE, "@walker", box.dir], stderr=subprocess.DEVNULL,
                         check=False).returncode, 64, "the exit status")


main()
