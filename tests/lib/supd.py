# SPDX-License-Identifier: ISC
"""A running supd, seen from outside: lines of its probes, events, control socket."""
import collections
import fcntl
import json
import os
import re
import select
import signal
import socket
import subprocess
import time

import diagnosis
from harness import (PATIENCE, PROBE, SUPCTL, SUPD, Failure, alive, check, children,
                     equal, offspring, program_of, run, state_of)
from varlink import Varlink, VarlinkError

Line = collections.namedtuple("Line", "ns kind name pid more")
F_SETPIPE_SZ = 1031
CLEAN = ("actors_killed", "ledger_lost")  # after this event of supd no actor lives


def plain_signal(name):
    """KILL of KILL and of SIGKILL."""
    return name.removeprefix("SIG")


def full(path):
    return path if path.startswith("/") else "/user/" + path


class Supd:
    """`tree` is /user's children; other keywords are keys of the file's top level.

    A child without a command is a probe of its own name, with the actions in `do`;
    `I: "2/60s"` is an intensity.  What the tests' conventions are is said in fill().
    """

    def __init__(self, box, tree=None, *, name="", text=None, wait=True, args=(), env=None,
                 uid=None, before=None, command=None, **top):
        self.box = box
        self.dir = box.path(name) if name else box.dir
        os.makedirs(self.dir, exist_ok=True)
        os.chmod(self.dir, 0o1777)
        self.runtime = os.path.join(self.dir, "run")
        self.socket = os.path.join(self.runtime, "control.sock")
        self.file = os.path.join(self.dir, "supd.yaml")
        self.top = top
        self.log, self.events, self.notes = [], [], []
        self.counts = collections.Counter()
        self.pids, self.probes = {}, set()
        self.tail = b""
        self.stream = self.stream_error = self.caller = self.process = None
        self.pidfd = -1
        self.acknowledged = False
        self.follow = True
        self._open()
        box.supds.append(self)
        if uid is not None:
            os.chmod(box.dir, 0o1777)
            os.makedirs(self.runtime, exist_ok=True)
            os.chown(self.runtime, uid, uid)
        self.write(tree or {}, text)
        self._start(args, env, uid, before, command or [SUPD])
        if wait:
            self.until(lambda: any("READY=1" in note for note in self.notes), "READY=1",
                       timeout=20)

    # ---- the file --------------------------------------------------------------------

    def fill(self, name, spec):
        """The conventions: no backoff, a second to stop, everything else by default."""
        spec = dict(spec)
        if "I" in spec:
            restarts, _, within = spec.pop("I").partition("/")
            spec["intensity"] = {"restarts": int(restarts), "within": within}
        spec.setdefault("backoff", "none")
        if "children" in spec:
            spec["children"] = {k: self.fill(k, v) for k, v in spec["children"].items()}
            if "do" not in spec:  # a supervisor; with something to do it has a process
                return spec
        actions = spec.pop("do", [])
        binary = spec.pop("binary", PROBE)
        if "command" not in spec and "use" not in spec:
            self.probes.add(name)
            spec["command"] = [binary, self.dir, name, *actions]
        spec.setdefault("shutdown", "1s")
        return spec

    def write(self, tree, text=None, **top):
        """Write the configuration file, as for a reload."""
        self.top.update(top)
        whole = {"log": {"directory": os.path.join(self.dir, "logs"), "target": "stderr"}}
        whole.update(self.top)
        if "I" in whole:
            restarts, _, within = whole.pop("I").partition("/")
            whole["intensity"] = {"restarts": int(restarts), "within": within}
        whole["children"] = {k: self.fill(k, v) for k, v in tree.items()}
        with open(self.file, "w", encoding="utf8") as out:
            out.write(text or json.dumps(whole, indent=1) + "\n")
        os.chmod(self.file, 0o644)

    # ---- start and end ---------------------------------------------------------------

    def _open(self):
        fifo = os.path.join(self.dir, "log")
        os.mkfifo(fifo)
        os.chmod(fifo, 0o666)
        self.fifo = os.open(fifo, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            fcntl.fcntl(self.fifo, F_SETPIPE_SZ, 1 << 20)
        except OSError:
            pass
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notify.bind(os.path.join(self.dir, "notify"))
        os.chmod(os.path.join(self.dir, "notify"), 0o666)
        self.notify.setblocking(False)

    def _start(self, args, env, uid, before, command):
        environ = {k: v for k, v in os.environ.items() if not k.startswith("SUPD_")}
        environ["NOTIFY_SOCKET"] = os.path.join(self.dir, "notify")
        environ.update(env or {})

        def child():
            if before:
                before()
            if uid is not None:
                os.setgroups([])
                os.setgid(uid)
                os.setuid(uid)

        self.stderr = os.path.join(self.dir, "stderr")
        with open(self.stderr, "w", encoding="utf8") as out:
            self.process = subprocess.Popen(
                [*command, "-c", self.file, "-r", self.runtime, *args], env=environ,
                stdin=subprocess.DEVNULL, stdout=out, stderr=out, preexec_fn=child)
        self.pid = self.process.pid
        self.pidfd = os.pidfd_open(self.pid)

    def signal(self, signo):
        self.process.send_signal(signo)

    def ended(self, expected, timeout=20):
        """Wait for supd's end and demand this exit status."""
        self.acknowledged = True
        self.until(lambda: self.process.poll() is not None, "supd's end", timeout)
        self.pump(0)
        equal(self.process.returncode, expected, "supd's exit status")

    def stop(self, expected=0, timeout=20):
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
        self.ended(expected, timeout)

    def finish(self):
        """The end of a test that went well: supd ends in order and kept its promises."""
        if not self.acknowledged:
            check(self.process.poll() is None,
                  lambda: f"supd ended by itself: {self.process.returncode}")
            self.stop()
        sequence = [event["seq"] for event in self.events]
        if sequence:
            equal(sequence, list(range(sequence[0], sequence[0] + len(sequence))),
                  "sequence numbers")
        living = set()
        for event in self.events:
            if event["event"] == "started" and event.get("pid"):
                check(event["path"] not in living, f"{event['path']} was started twice")
                living.add(event["path"])
            elif event["event"] == "exited":
                living.discard(event["path"])
            elif event.get("what") in CLEAN:
                living.clear()
        # Strangers may have such pids by now; what supd left has come to us.
        stale = [pid for pid in offspring("self") & {line.pid for line in self.log}
                 if alive(pid)]
        check(not stale, f"processes live on after the end: {stale}")
        with open(self.stderr, encoding="utf8", errors="replace") as text:
            faults = re.findall(r".*(?:AddressSanitizer|ERROR: LeakSanitizer|runtime error:|free\(\):|malloc\(\):|Assertion).*",
                                text.read())
        check(not faults, lambda: f"supd is wrong: {faults}")
        self.close()

    def close(self):
        for client in (self.stream, self.caller):
            if client:
                client.close()

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.fifo)
        if self.pidfd >= 0:
            os.close(self.pidfd)
        self.notify.close()
        self.close()

    # ---- events and lines of probes --------------------------------------------------

    def _connect(self):
        if self.stream or not self.follow or self.process.poll() is not None:
            return
        try:
            self.stream = Varlink(self.socket)
            self.stream.send("Events", {"since": 0, "follow": True}, more=True)
        except OSError:
            self.stream = None

    def _read_log(self):
        try:
            while True:
                more = os.read(self.fifo, 1 << 18)
                self.tail += more
        except BlockingIOError:
            pass
        *lines, self.tail = self.tail.split(b"\n")
        for raw in lines:
            ns, kind, name, pid, *more = raw.decode().split(" ", 4)
            line = Line(int(ns), kind, name, int(pid), more[0] if more else "")
            self.log.append(line)
            self.counts[kind, name] += 1
            if kind == "S":
                self.pids[name] = line.pid

    def _read_events(self):
        for reply in self.stream.available():
            if "error" in reply:
                self.stream_error = reply
            else:
                event = reply["parameters"]["event"]
                self.events.append(event)
                self.counts[event["event"], event.get("path")] += 1

    def pump(self, timeout):
        """Take in what is there; if nothing is, wait for something up to `timeout` s."""
        self._connect()
        fds = [self.fifo, self.notify]
        if self.process.returncode is None:
            fds.append(self.pidfd)
        if self.stream and not self.stream.closed:
            fds.append(self.stream)
        select.select(fds, [], [], timeout)
        self.process.poll()
        self._read_log()
        try:
            while True:
                self.notes.append(self.notify.recv(4096).decode())
        except BlockingIOError:
            pass
        if self.stream and not self.stream.closed:
            self._read_events()

    def until(self, condition, what, timeout=10):
        """Go on until the condition is true; its value."""
        timeout *= PATIENCE
        end = time.monotonic() + timeout
        while True:
            value = condition()
            if value:
                return value
            if self.process.returncode is not None and not self.acknowledged:
                self.pump(0)
                value = condition()
                if value:
                    return value
                raise Failure(f"supd ended ({self.process.returncode}) before {what}")
            if time.monotonic() > end:
                raise Failure(f"waited {timeout} s in vain for "
                              f"{what() if callable(what) else what}")
            self.pump(0.05)

    # ---- probes -------------------------------------------------------------------------

    def mark(self):
        self.pump(0)
        return len(self.log)

    def lines(self, kind, name=None, since=0):
        self.pump(0)
        return [line for line in self.log[since:]
                if line.kind in kind and name in (None, line.name)]

    def order(self, since=0, kinds="Stx"):
        """What happened, such as "t a"; probes that start one right after the other write
        as the scheduler pleases: among those the order of the event stream counts."""
        self.pump(0)
        self.settle()
        chosen = [line for line in self.log[since:] if line.kind in kinds]
        place = {event["pid"]: event["seq"] for event in self.seen("started")
                 if event.get("pid")}
        result, run_of_starts = [], []
        for line in [*chosen, None]:
            if line and line.kind == "S":
                run_of_starts.append(line)
                continue
            run_of_starts.sort(key=lambda one: place.get(one.pid, 0))
            result += [f"S {one.name}" for one in run_of_starts]
            run_of_starts = []
            if line:
                result.append(f"{line.kind} {line.name}")
        return result

    def settle(self):
        """Wait until supd and the probes agree: each probe that supd calls started has said so
        itself, or ended, and supd has told of each probe that said so, but for helpers (names
        that begin with "+")."""
        if not self.stream or self.stream.closed:
            return
        told = {line.pid for line in self.lines("S") if not line.name.startswith("+")}
        self.until(lambda: told <= {event.get("pid") for event in self.seen("started")},
                   f"supd to tell of all of {told}")
        wanted = {event["pid"]: event for event in self.seen("started") if event.get("pid")}

        def settled():
            ended = {event["path"]: event["seq"] for event in self.events
                     if event["event"] == "exited"}
            heard = {line.pid for line in self.log if line.kind == "S"}
            silent = [event for pid, event in wanted.items() if pid not in heard
                      and event["path"].rpartition("/")[2] in self.probes
                      and ended.get(event["path"], 0) < event["seq"]]
            return not silent

        self.until(settled, "all probes to tell that they are there")

    def line(self, kind, name, count=1):
        """Wait for the count-th line of that kind; gives it."""
        self.until(lambda: self.counts[kind, name] >= count, f"{count} × '{kind} {name}'")
        return self.lines(kind, name)[count - 1]

    def started(self, name, count=1):
        pid = self.line("S", name, count).pid
        self.settle()
        return pid

    def tell(self, name, action, pid=None):
        """Have the newest probe of that name do something."""
        if pid is None:
            self.until(lambda: name in self.pids, f"a probe {name}")
        address = f"\0probe.{self.dir}.{pid or self.pids[name]}"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.sendto(action.encode(), address)

    # ---- events and state ----------------------------------------------------------------

    def seen(self, event, path=None, since=0, **fields):
        self.pump(0)
        path = path and full(path)
        return [one for one in self.events
                if one["event"] == event and path in (None, one.get("path"))
                and one["seq"] > since
                and all(one.get(key) == value for key, value in fields.items())]

    def event(self, event, path=None, count=1, since=0, timeout=10, **fields):
        """Wait for the count-th event with these fields; gives the event."""
        self.until(lambda: len(self.seen(event, path, since, **fields)) >= count,
                   f"{count} × event {event} of {path} {fields or ''}", timeout)
        return self.seen(event, path, since, **fields)[count - 1]

    def last_seq(self):
        self.pump(0)
        return self.events[-1]["seq"] if self.events else 0

    def call(self, method, **parameters):
        if not self.caller:
            self.caller = Varlink(self.socket)
        return self.caller.call(method, parameters)

    def error_of(self, method, **parameters):
        """The name and the parameters of the error that it ends in."""
        try:
            self.call(method, **parameters)
        except VarlinkError as error:
            return error.name, error.parameters
        raise Failure(f"{method} {parameters} went well")

    def hang_up(self):
        """From now on no client is connected, until the next call."""
        for one in (self.stream, self.caller):
            if one:
                one.close()
        self.follow, self.stream, self.caller = False, None, None

        def connections():
            with open("/proc/net/unix", encoding="utf8") as sockets:
                return [line for line in sockets if line.rstrip().endswith(" " + self.socket)]
        self.until(lambda: len(connections()) == 1, "the listening socket alone")

    def paths(self):
        return [actor["path"] for actor in self.call("Status")["actors"]]

    def crash(self):
        """kill -9 of the guardian; returns when another one answers."""
        old = self.guardian()
        os.kill(old, signal.SIGKILL)
        self.caller = None
        self.until(lambda: self.ctl("is-active", "/user").code == 0 and self.guardian() != old,
                   "another guardian")

    def actor(self, path):
        return self.call("Status", names=[full(path)])["actors"][0]

    def gone(self, path):
        try:
            self.actor(path)
            return False
        except VarlinkError as error:
            equal(error.name, "NoSuchActor", "the error")
            return True

    def wait_for(self, path, **fields):
        """Wait until the actor's status has these values; gives the status."""
        last = {}

        def matches():
            last.update(self.actor(path))
            return all(last[key] == value for key, value in fields.items())

        try:
            self.until(matches, f"{path} to be {fields}")
        except Failure as problem:
            raise Failure(f"{problem}; it is {last}") from None
        return last

    def ctl(self, *args, **options):
        """How long what is started has to live is told by the tests of that alone."""
        if "--settle" not in args and "--" not in args:
            words = [word for word in args if word in ("start", "restart", "apply")]
            if args[:1] == ("apply",):
                args += ("--no-wait",)
            elif words and words[0] != "apply":
                args += ("--settle", "0")
        return run(SUPCTL, "-s", self.socket, *args, **options)

    def ctl_ok(self, *args, **options):
        result = self.ctl(*args, **options)
        equal(result.code, 0, f"supctl {' '.join(args)}: {result}; status")
        return result

    def json(self, *args):
        return json.loads(self.ctl("-o", "json", *args).out)

    # ---- supd's own processes --------------------------------------------------------------

    def guardian(self):
        """The pid of the guardian; self.pid is the outermost process."""
        return self.call("Ping")["pid"]

    def family(self):
        """All processes below the walker, itself included, with their states."""
        found, queue = {}, [self.process.pid]
        while queue:
            pid = queue.pop()
            try:
                found[pid] = state_of(pid)
            except (FileNotFoundError, ProcessLookupError):
                continue
            queue += children(pid)
        return found

    def is_own(self, pid):
        """Is it supd itself: walker, guardian, log?"""
        if pid == self.process.pid:
            return True
        try:
            return program_of(pid) == program_of(self.process.pid)
        except OSError:
            return False

    def brood(self):
        """The guardian's children that are actors.  A process of supd that ends meanwhile has no
        program any more, but its name, until it is reaped."""
        def is_actor(pid):
            try:
                with open(f"/proc/{pid}/comm", encoding="utf8") as name:
                    return name.read() != "supd\n" and not self.is_own(pid)
            except OSError:
                return False
        return [pid for pid in children(self.guardian()) if is_actor(pid)]

    def slay(self):
        """Kill all of supd, and nothing else."""
        own = [pid for pid in self.family() if self.is_own(pid)]
        for signo in (signal.SIGSTOP, signal.SIGKILL):
            for pid in own:
                os.kill(pid, signo)
        self.acknowledged = True
        self.until(lambda: self.process.poll() is not None, "the end")

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.guardian()}/fd"))

    def memory_kib(self):
        """What the guardian has for itself: ledger and ring of events have one size."""
        with open(f"/proc/{self.guardian()}/status", encoding="utf8") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))

    def diagnose(self):
        diagnosis.diagnose(self)
