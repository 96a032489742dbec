# SPDX-License-Identifier: ISC
"""A supd with a guardian that dies, and what has to be true all the same.

Chaos is a Supd (tests/lib/supd.py) that outlives its guardians: it follows the event
stream from one to the next, repeats calls that a death cut off, and can say at any time
whether the tree is consistent: by the actors' own records of their lives, by the events,
by /proc.  Killer ends a guardian at a chosen system call (killer.c).
"""
import collections
import os
import re
import select
import signal
import subprocess
import time

from harness import (COUNTS, INSTRUMENTED, SUPD, Failure, Skip, alive, check, comment, equal, now_ns,
                     offspring, program, state_of)
from supd import CLEAN, Supd, full
from varlink import Closed, Varlink, VarlinkError

KILLER = os.environ.get("KILLER") or program("killer", "tests/lib", ".")
CUT = (Closed, BrokenPipeError, ConnectionResetError)
Life = collections.namedtuple("Life", "pid cause ended")  # None, None while it lives
ACTING = {"Start", "Stop", "Restart", "Suspend", "Resume", "Reset", "Signal", "Fail", "Add",
          "Delete", "Scale"}


def told(s):
    """What helper processes wrote, in order."""
    try:
        with open(os.path.join(s.dir, "told"), encoding="utf8") as text:
            return text.read().splitlines()
    except FileNotFoundError:
        return []


def wait_told(s, wanted):
    try:
        s.until(lambda: told(s) == wanted, "the helpers", 20)
    finally:
        equal(told(s), wanted, "what the helpers did")


def open_gate(box):
    """Make the file `gate`, for which commands of tests wait."""
    box.file("gate")


class Chaos(Supd):
    """`gate=True` holds the walker back until open_gate(): for a killer from the start."""

    def __init__(self, box, tree=None, *, gate=False, **options):
        self.refused, self.tokens, self.first_guardian = [], 0, None
        self.lost = 0  # sequence numbers below it belong to a ledger that was given up
        if gate:
            self.gate = box.path("gate")
            os.mkfifo(self.gate)
            options["command"] = ["/bin/sh", "-c", 'read -r x <"$0"; exec "$@"', self.gate,
                                  SUPD]
            options["wait"] = False
        if INSTRUMENTED:  # what is traced cannot look for leaks at its end
            options["env"] = {"ASAN_OPTIONS": "detect_leaks=0", **options.get("env", {})}
        super().__init__(box, tree, **options)

    def open_gate(self):
        with open(self.gate, "w", encoding="ascii") as gate:
            gate.write("\n")

    def fill(self, name, spec):
        spec = dict(spec)
        if not {"command", "children", "use"} & set(spec):
            spec["do"] = ["alone", *spec.get("do", [])]
        return super().fill(name, spec)

    # ---- connections that outlive a guardian -------------------------------------------

    def connect(self, timeout=20):
        """A connection; notes a refusal or a missing socket: see settled()."""
        try:
            return Varlink(self.socket, timeout=timeout)
        except (ConnectionRefusedError, FileNotFoundError) as problem:
            if not self.acknowledged and self.was_ready():
                self.refused.append(repr(problem))
            raise

    def was_ready(self):
        return any("READY=1" in note for note in self.notes)

    def last_known(self):
        return self.events[-1]["seq"] if self.events else 0

    def _connect(self):
        if self.stream and self.stream.closed:
            self.stream.close()
            self.stream = None
        if self.stream or not self.follow or self.process.poll() is not None:
            return
        try:
            self.stream = self.connect()
            self.stream.send("Events", {"since": self.last_known(), "follow": True},
                             more=True)
        except OSError:
            self.stream = None

    def call(self, method, **parameters):
        """As supctl: what a death has cut off is asked again, with the same token."""
        wish = Wish(self, method, **parameters)
        return self.until(wish.done, f"a reply to {method} {parameters}", 20)

    def anew(self):
        """After all of supd died: another one, on the same files and directories."""
        self.process.wait()
        os.close(self.pidfd)
        self.notes.clear()
        self.events.clear()
        if self.stream:
            self.stream.close()
        self.stream, self.acknowledged = None, False
        self._start((), None, None, None, [SUPD])
        self.until(self.was_ready, "READY=1 of the next supd", 20)

    # ---- guardians ------------------------------------------------------------------------

    def successor(self, old):
        """Wait until another guardian than `old` answers; its pid."""
        return self.until(lambda: (new := self.guardian()) != old and new,
                          f"a successor of {old}", 20)

    def crash(self, signo=signal.SIGKILL):
        """Kill the guardian and wait for the next one; both pids."""
        old = self.guardian()
        self.kill_guardian(old, signo)
        return old, self.successor(old)

    def kill_guardian(self, pid, signo=signal.SIGKILL):
        """Kill a process that may be dead already."""
        COUNTS["kills"] += 1
        try:
            os.kill(pid, signo)
        except ProcessLookupError:
            pass

    def aged(self, milliseconds=1050):
        """Wait until the guardian is so old that its successor comes at once."""
        pid = self.guardian()
        self.until(lambda: age_ms(pid) >= milliseconds, "an old guardian")

    # ---- what has to be true ----------------------------------------------------------------

    def lives(self):
        """path → [Life], by the events; pids come round again in a long story."""
        lives = collections.defaultdict(list)
        for event in self.events:
            path, pid = event.get("path"), event.get("pid")
            if event["seq"] <= self.lost:
                continue
            if event.get("what") in CLEAN:
                for ends in lives.values():
                    if not ends[-1].cause:
                        ends[-1] = Life(ends[-1].pid, {"kind": "killed"}, event["mono"])
            if not pid or path.startswith("/system/"):
                continue
            if event["event"] == "started":
                check(not lives[path] or lives[path][-1].cause,
                      lambda p=path, i=pid: f"{p} started as {i} while it runs: {lives[p]}")
                lives[path].append(Life(pid, None, None))
            elif event["event"] == "exited":
                check(lives[path] and lives[path][-1] == (pid, None, None),
                      lambda p=path, i=pid: f"{p} ended as {i}, its lives are {lives[p]}")
                lives[path][-1] = Life(pid, event["cause"], event["mono"])
        return lives

    def consistent(self):
        """Check everything that holds at any moment at which nothing is under way."""
        actors = [one for one in self.call("Status")["actors"]]
        self.caught_up()
        sequence = [event["seq"] for event in self.events if event["seq"] > self.lost]
        if sequence:
            equal(sequence, list(range(sequence[0], sequence[0] + len(sequence))),
                  "sequence numbers")
        ring = self.ring(self.lost)
        seen = {event["seq"]: event for event in self.events}
        for event in ring:
            equal(event, seen.get(event["seq"], event), "an event, told twice")
        lives = self.lives()
        running = {actor["path"]: actor["pid"] for actor in actors if actor["pid"]}
        told = {path: ends[-1].pid for path, ends in lives.items() if not ends[-1].cause}
        equal(running, told, "what Status says and what the events say runs")
        for path, pid in running.items():
            check(alive(pid), f"{path} is said to run as {pid}")
        self.recorded(lives)
        self.counted(actors, lives)
        self.nothing_else(set(running.values()))
        equal(self.refused, [], "connections refused")
        return {actor["path"]: actor for actor in actors}

    def stream_of(self, method, parameters):
        """All replies to a call with `more`; from the beginning if a death cuts it off."""
        end = time.monotonic() + 20
        while time.monotonic() < end:
            try:
                with self.connect() as client:
                    return list(client.stream(method, parameters))
            except CUT:
                continue
        raise Failure(f"{method} was cut off for 20 s")

    def ring(self, since):
        """The events since then that supd still has; the last reply carries none."""
        return [one["event"] for one in self.stream_of("Events", {"since": since})
                if one["event"]]

    def caught_up(self):
        """Take in all events that there are by now."""
        ring = self.ring(self.last_known())
        if ring:
            last = ring[-1]["seq"]
            self.until(lambda: self.last_known() >= last, f"event {last}")

    def recorded(self, lives):
        """The actors' own records: every life is known to supd, and never two at a time."""
        known = collections.Counter((path.rpartition("/")[2], life.pid)
                                    for path, ends in lives.items() for life in ends)
        self.until(lambda: {(line.name, line.pid) for line in self.log if line.kind == "S"}
                   >= {(path.rpartition("/")[2], ends[-1].pid)
                       for path, ends in lives.items()
                       if not ends[-1].cause and path.rpartition("/")[2] in self.probes},
                   "the living to have said that they are there")
        began = collections.Counter((line.name, line.pid) for line in self.log
                                    if line.kind == "S")
        if not self.lost:
            equal(dict(began - known), {}, "lives, or beginnings, that supd does not know of")
        double = [line for line in self.log if line.kind == "D"]
        equal(double, [], "lives that began before the last one had ended")
        self.ended_so(lives)

    def ended_so(self, lives):
        """The ends that the actors reported are the ends in the events of supd."""
        said = collections.defaultdict(list)
        for line in self.log:
            if line.kind == "x":
                said[line.name, line.pid].append(line)
        for path, ends in lives.items():
            before = {}
            for pid, cause, ended in ends:
                codes = [int(line.more) for line in said[path.rpartition("/")[2], pid]
                         if cause and before.get(pid, 0) < line.ns <= ended]
                before[pid] = ended
                if codes and cause["kind"] in ("exit", "normal"):
                    equal([cause["code"]], codes, f"exit code of {path} {pid}")

    def counted(self, actors, lives):
        for actor in actors:
            if self.lost or actor["incarnation"] != 1 or actor["kind"] == "supervisor":
                continue
            path = actor["path"]
            check(actor["generation"] >= len(lives.get(path, [])),
                  f"{path} of generation {actor['generation']} had {lives.get(path)}")
            failed = sum(1 for event in self.events
                         if event["event"] == "failure" and event["path"] == path)
            equal(bool(actor["last_failure"]), failed > 0, f"last_failure of {path}")

    def nothing_else(self, wanted):
        """Below the walker are the guardian, the log process and the actors: no zombie."""
        def strangers():
            family = self.family()
            zombies = [pid for pid, state in family.items() if state in "ZX"]
            lost = [pid for pid in wanted if pid not in family]
            broods = set().union(*(offspring(pid) for pid in wanted))
            others = [pid for pid in family
                      if pid not in wanted | broods and not self.is_own(pid)]
            return zombies, lost, others

        try:
            self.until(lambda: not any(strangers()), "order", 5)
        except Failure:
            zombies, lost, others = strangers()
            raise Failure(f"zombies {zombies}, not below supd {lost}, strangers "
                          f"{[(pid, cmdline(pid)) for pid in others]}") from None

    def descriptors_of(self, pid):
        return len(os.listdir(f"/proc/{pid}/fd"))

    # ---- what can be compared with another run ----------------------------------------------

    def shape(self):
        """path → the history of the actor, without the values that differ from run to run."""
        shape = collections.defaultdict(list)
        for event in self.events:
            kind = event["event"]
            if event["path"].startswith("/system/"):
                continue  # it starts and ends beside the others
            if kind in ("supd", "adopted", "dead_letter"):
                continue
            if kind == "command" and (shape[event["path"]] or [""])[-1].startswith("command"):
                continue  # repeated by the client: told twice at most
            if kind == "applied" and not moved(event):
                continue
            more = [event["generation"]]
            if "cause" in event:
                more.append(event["cause"] and (event["cause"]["kind"], event["cause"]["code"],
                                                event["cause"]["signal"]))
            for key in ("directive", "strategy", "scope", "window", "delay_ms", "verb"):
                if key in event:
                    more.append(event[key])
            shape[event["path"]].append(f"{kind} {more}")
        return dict(shape)

    def state(self):
        """path → those parts of Status that a death may not change."""
        kept = ("state", "incarnation", "generation", "ready", "held", "suspended",
                "sigstopped", "restarts", "window", "waits_for")
        state = {}
        for actor in self.call("Status")["actors"]:
            one = {key: actor[key] for key in kept}
            one["failures"] = actor["backoff"] and actor["backoff"]["failures"]
            failure = actor["last_failure"]
            one["last"] = failure and (failure["cause"]["text"], failure["origin"],
                                       failure["directive"],
                                       os.path.basename(failure["rule"]))
            state[actor["path"]] = one
        return state

    def records(self):
        """name → the letters of the lines that its probes wrote, in order."""
        self.pump(0)
        records = collections.defaultdict(str)
        for line in self.log:
            records[line.name] += line.kind
        return dict(records)

    def diagnose(self):
        comment(f"--- refused {self.refused}, family {self.family()}")
        self.acknowledged = True
        super().diagnose()


def outage(s, during):
    """Kill the guardian, call `during` while there is no guardian, let the walker go on."""
    old = s.guardian()
    os.kill(s.process.pid, signal.SIGSTOP)
    try:
        s.until(lambda: state_of(s.process.pid) == "T", "the walker to stop")
        s.kill_guardian(old)
        s.until(lambda: not alive(old), "the guardian's end")
        during()
    finally:
        os.kill(s.process.pid, signal.SIGCONT)
    return old, s.successor(old)


def age_ms(pid):
    """The age of the process; Ping would tell the age of supd."""
    with open(f"/proc/{pid}/stat", encoding="utf8", errors="replace") as text:
        ticks = int(text.read().rpartition(")")[2].split()[19])
    return (time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")) * 1000


def moved(event):
    plan = event.get("plan") or []
    return [one for one in plan if one["change"] != "unchanged"]


def cmdline(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as text:
            return text.read().replace(bytes(1), b" ").decode(errors="replace")
    except OSError:
        return "?"


class Wish:
    """A call that is asked again when its guardian dies, until there is a reply."""

    def __init__(self, supd, method, **parameters):
        self.supd, self.method, self.parameters = supd, method, parameters
        self.client, self.reply = None, None
        if method in ACTING and "token" not in parameters:
            supd.tokens += 1
            parameters["token"] = f"chaos-{os.getpid()}-{supd.tokens}"
        self.asked = 0

    def done(self):
        """The reply's parameters, or None while there is none; raises VarlinkError."""
        while self.reply is None:
            try:
                if not self.client:
                    self.client = self.supd.connect()
                    self.client.send(self.method, self.parameters)
                    self.asked += 1
                replies = self.client.available()
            except CUT:
                replies, self.client.closed = [], True
            except OSError:
                return None
            if replies:
                self.reply = replies[0]
            elif self.client and self.client.closed:
                self.client.close()
                self.client = None
                if self.supd.process.poll() is not None:
                    return None
                continue
            else:
                select.select([self.client], [], [], 0.005)
                if not self.client.closed and not select.select([self.client], [], [], 0)[0]:
                    return None
        if self.client:
            self.client.close()
            self.client = None
        if "error" in self.reply:
            raise VarlinkError(self.reply["error"], self.reply.get("parameters", {}))
        return self.reply["parameters"] or {"": ""}


class Killer:
    """killer.c at work on one process; `end()` gives the report of the killer."""

    def __init__(self, box, pid, n, *flags, signo="KILL"):
        command = [KILLER, *flags, str(pid), str(n)]
        if n != "count":
            command.append(signo)
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        box.background.append(self.process)
        self.text, self.closed = b"", False
        os.set_blocking(self.process.stdout.fileno(), False)
        while b"attached" not in self.text:
            select.select([self.process.stdout], [], [], 10)
            self.read()
            if self.closed and b"attached" not in self.text:
                error = self.process.stderr.read().decode()
                self.process.wait()
                if "permitted" in error:
                    raise Skip("nothing may be traced here")
                raise Failure(f"killer: {error}")

    def read(self):
        try:
            while more := os.read(self.process.stdout.fileno(), 1 << 16):
                self.text += more
            self.closed = True
        except BlockingIOError:
            pass

    def killed(self):
        """The deaths so far, as "N KIND NAME"."""
        if not self.closed:
            self.read()
        return re.findall(r"(?m)^killed \d+ (.*)$", self.text.decode())

    def end(self):
        """Let everything go; how many stops there were (of the last target)."""
        self.process.stdin.close()
        os.set_blocking(self.process.stdout.fileno(), True)
        while more := os.read(self.process.stdout.fileno(), 1 << 16):
            self.text += more
        self.closed = True
        COUNTS["kills"] += len(self.killed())
        self.process.stdout.close()
        self.process.stderr.close()
        self.process.wait()
        found = re.findall(r"(?m)^stops (\d+)$", self.text.decode())
        return int(found[0]) if found else 0


__all__ = ["Chaos", "Killer", "Wish", "alive", "check", "cmdline",
           "equal", "full", "moved", "now_ns", "offspring"]
