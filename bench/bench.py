#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Measures supd beside bare loops that do nothing else, in one run.

bench.py --bin DIRECTORY [--rounds N] [-n ACTORS] [--idle S] [--fifo]   (see README.md)
"""
import argparse
import contextlib
import math
import mmap
import os
import resource
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time

SLOT = struct.Struct("=QQ")     # pid, CLOCK_MONOTONIC ns of its start
PATIENCE_S = 60
LOOK_S = 0.004                  # between two looks at stamps, which have their time in them
LATENCY_N = 100
SETTLED = 10                    # cgroups: the kernel frees hundreds in half a second
SPIN_US = 20_000_000


def now_ns():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


class GaveUp(Exception):
    pass


# ---- the stamps of the children --------------------------------------------------

class Results:
    """The file into which each child stamps its start; one slot an actor."""

    def __init__(self, path, n):
        self.path, self.n = path, n
        with open(path, "wb+") as file:
            file.truncate(n * SLOT.size)
            self.map = mmap.mmap(file.fileno(), n * SLOT.size)

    def __getitem__(self, i):
        return SLOT.unpack_from(self.map, i * SLOT.size)

    def pids(self):
        return [pid for pid, _ in SLOT.iter_unpack(self.map[:])]

    def wait(self, since, what):
        """Until each slot has a start after that time; the time of the last one.

        Looks at a slot until it has changed, then at the next, and seldom: what is measured needs
        both processors, and a look each half a millisecond took 15 % of one."""
        deadline = time.monotonic() + PATIENCE_S
        todo = list(range(self.n))
        while self.missing(todo, since):
            if time.monotonic() > deadline:
                missing = sum(self[i][1] <= since for i in todo)
                raise GaveUp(f"{what}: {missing} of {self.n} are missing")
            time.sleep(LOOK_S)
        return max(ns for _, ns in SLOT.iter_unpack(self.map[:]))

    def missing(self, todo, since):
        """Is a slot left among these without a start after that time?  Others are taken out.
        The pid of a start may be the same as that of the one before."""
        while todo and self[todo[-1]][1] > since:
            todo.pop()
        return bool(todo)

    def wait_one(self, i, since):
        deadline = time.monotonic() + PATIENCE_S
        while self[i][1] <= since:
            if time.monotonic() > deadline:
                raise GaveUp(f"restart of {i}: nothing")
            time.sleep(LOOK_S)
        return self[i][1]


# ---- who is measured ---------------------------------------------------------------

class System:
    name = ""
    settings = ""

    def __init__(self, tools, directory, n):
        self.tools, self.dir, self.n = tools, directory, n
        self.process = self.cgroup = None
        self.results = Results(os.path.join(directory, "results"), n)

    def prepare(self):
        pass

    def argv(self):
        raise NotImplementedError

    def status_argv(self):
        return None

    def start(self):
        with open(os.path.join(self.dir, "stderr"), "wb") as said:
            self.process = subprocess.Popen(self.argv(), stdin=subprocess.DEVNULL,
                                            stdout=subprocess.DEVNULL, stderr=said)

    def discard(self):
        """Whatever happened: nothing of it stays."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.kill_children(self.results)

    def kill_children(self, results):
        for pid in results.pids():
            try:
                if pid and os.readlink(f"/proc/{pid}/exe") in self.tools.values():
                    os.kill(pid, signal.SIGKILL)
            except OSError:
                pass


def settle():
    """Until the kernel no longer frees cgroups that were removed, which takes a processor."""
    directory, before = cgroup_directory(), math.inf
    while directory is not None:
        with open(os.path.join(directory, "cgroup.stat"), encoding="ascii") as text:
            left = int(dict(line.split() for line in text).get("nr_dying_descendants", 0))
        if left > before - SETTLED:
            break
        before = left
        time.sleep(0.5)


@contextlib.contextmanager
def prepared(kind, tools, directory, *size):
    """A system in a directory of its own, yet to be started; in the end nothing of it stays."""
    settle()
    where = tempfile.mkdtemp(dir=directory)
    system = kind(tools, where, *size)
    system.prepare()
    try:
        yield system
    finally:
        system.discard()
        shutil.rmtree(where, ignore_errors=True)


class Bare(System):
    name = "bare"
    mode = "share"

    def argv(self):
        return [self.tools["bare"], self.mode, str(self.n), self.tools["child"],
                self.results.path]

    def status_argv(self):
        path = os.path.join(self.dir, "status")
        with open(path, "w", encoding="ascii") as file:
            for i in range(self.n):
                file.write(f"/user/a{i:<12} running {100000 + i:>7}   1m30s   0\n")
        return ["cat", path]


class BareOverlap(Bare):
    name = "bare, 16 at once"
    mode = "overlap"


def cgroup_directory():
    """Where this process may make cgroups, or None."""
    with open("/proc/self/mountinfo", encoding="utf8") as text:
        mounts = [line.split()[4] for line in text if " - cgroup2 " in line]
    with open("/proc/self/cgroup", encoding="utf8") as text:
        own = [line.strip()[3:] for line in text if line.startswith("0::")]
    path = os.path.join(mounts[0], own[0].lstrip("/")) if mounts and own else ""
    return path if os.access(os.path.join(path, "cgroup.procs"), os.W_OK) else None


class BareContained(BareOverlap):
    name = "bare, 16 at once, contained"

    def prepare(self):
        self.cgroup = tempfile.mkdtemp(prefix="supd-bench-", dir=cgroup_directory())

    def argv(self):
        return super().argv() + [self.cgroup]

    def discard(self):
        super().discard()
        deadline = time.monotonic() + PATIENCE_S
        while os.path.isdir(self.cgroup) and time.monotonic() < deadline:
            for path, _, _ in os.walk(self.cgroup, topdown=False):
                with contextlib.suppress(OSError):
                    os.rmdir(path)
            time.sleep(0.01)


class Supd(System):
    name = "supd"
    stop = "parallel"

    def prepare(self, first="0"):
        """Writes the configuration; the index of the first actor may have letters after it."""
        lines = [f"log: {{level: error, directory: {self.dir}/log}}\n",
                 "strategy: one_for_one\nintensity: unlimited\n",
                 f"start: parallel\nstop: {self.stop}\n",
                 f"defaults: {{backoff: none, restart: permanent{self.settings}}}\n",
                 "children:\n"]
        child, path = self.tools["child"], self.results.path
        lines += [f"  a{i}: {{command: ['{child}', '{path}', '{i or first}']}}\n"
                  for i in range(self.n)]
        with open(os.path.join(self.dir, "supd.yaml"), "w", encoding="ascii") as file:
            file.writelines(lines)

    def argv(self):
        return [self.tools["supd"], "-c", os.path.join(self.dir, "supd.yaml"),
                "-r", os.path.join(self.dir, "run")]

    def supctl_argv(self, *words):
        return [self.tools["supctl"], "-s", os.path.join(self.dir, "run", "control.sock"),
                *words]

    def status_argv(self):
        return self.supctl_argv("status")


class SupdLean(Supd):
    name = "supd, lean"
    settings = ", containment: session, output: inherit"


SYSTEMS = (Bare, BareOverlap, *([BareContained] if cgroup_directory() else []), SupdLean, Supd)


# ---- what is measured ----------------------------------------------------------------

def own_pids(system):
    """The supervisor: the launched process and what runs the same program below it."""
    top = system.process.pid
    exe = os.readlink(f"/proc/{top}/exe")
    found, todo = [], [top]
    while todo:
        pid = todo.pop()
        try:
            if os.readlink(f"/proc/{pid}/exe") != exe:
                continue
            with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
                todo += map(int, file.read().split())
        except OSError:
            continue
        found.append(pid)
    return found


def pss_kib(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        for line in file:
            if line.startswith("Pss:"):
                return int(line.split()[1])
    raise GaveUp("no Pss")


def cpu_ticks(pid):
    with open(f"/proc/{pid}/stat", encoding="utf8", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def switches(pid):
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/status", encoding="ascii") as file:
            total += sum(int(line.split()[1]) for line in file
                         if "ctxt_switches" in line)
    return total


def measure_start(system):
    begun = now_ns()
    system.start()
    return (system.results.wait(begun, "start") - begun) / 1e6


def restart_us(system, i):
    pid = system.results[i][0]
    begun = now_ns()
    os.kill(pid, signal.SIGKILL)
    return (system.results.wait_one(i, begun) - begun) / 1e3


def spread(n, samples):
    """So many indices below n, from all over, none twice before all were there."""
    step = int(n * 0.618) or 1
    while math.gcd(step, n) != 1:
        step += 1
    return [k * step % n for k in range(samples)]


def latencies(systems, samples):
    """The restarts of each system, µs; they take turns, so that other work meets all alike."""
    times = [[] for _ in systems]
    for turn in zip(*(spread(system.n, samples) for system in systems)):
        for system, spent, i in zip(systems, times, turn):
            spent.append(restart_us(system, i))
            time.sleep(0.005)
    return times


def measure_latency(system, samples):
    return statistics.median(latencies([system], samples)[0])


def measure_storm(system):
    text = "\n".join(map(str, system.results.pids())) + "\n"
    since = now_ns()
    out = subprocess.run([system.tools["storm"]], input=text, text=True, check=True,
                         stdout=subprocess.PIPE).stdout
    return (system.results.wait(since, "storm") - int(out)) / 1e6


def wall_ms(argv):
    begun = now_ns()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
    return (now_ns() - begun) / 1e6


def measure_status(system, times=5):
    argv = system.status_argv()
    return statistics.median(wall_ms(argv) for _ in range(times))


def measure_stop(system):
    begun = now_ns()
    system.process.terminate()
    system.process.wait(PATIENCE_S)
    return (now_ns() - begun) / 1e6


def measure_idle(system, seconds):
    """After a start the walker asks once more, up to two seconds later, whether the guardian lives."""
    time.sleep(3)
    pids = own_pids(system)
    before = sum(map(switches, pids))
    time.sleep(seconds)
    return sum(map(switches, pids)) - before


class Bench:
    def __init__(self, tools, directory, options):
        self.tools, self.dir, self.options = tools, directory, options
        self.values = {}    # (metric, system name) → values of the rounds

    def note(self, metric, system, value):
        self.values.setdefault((metric, system.name), []).append(value)

    def prepared(self, kind, n):
        return prepared(kind, self.tools, self.dir, n)

    def many(self, system, last):
        self.note("start", system, measure_start(system))
        self.note("latency_n", system, measure_latency(system, 60))
        own = own_pids(system)
        before = sum(map(cpu_ticks, own))
        for _ in range(2):
            self.note("storm", system, measure_storm(system))
        ticks = sum(map(cpu_ticks, own)) - before
        self.note("cpu", system,
                  ticks * 1e6 / os.sysconf("SC_CLK_TCK") / (2 * system.n))
        self.note("status", system, measure_status(system))
        self.note("memory", system, sum(map(pss_kib, own_pids(system))) / system.n)
        if last and self.options.idle:
            self.note("idle", system, measure_idle(system, self.options.idle))
        self.note("stop", system, measure_stop(system))

    def few(self, system):
        measure_start(system)
        self.note("latency", system, measure_latency(system, 60))
        measure_stop(system)    # in order: the next start is not to run beside its end

    def run(self):
        rounds = self.options.rounds
        for k in range(rounds):
            for turn in range(len(SYSTEMS)):
                kind = SYSTEMS[(turn + k) % len(SYSTEMS)]
                print(f"round {k + 1}/{rounds}: {kind.name}", file=sys.stderr)
                with self.prepared(kind, self.options.n) as system:
                    self.many(system, k == rounds - 1)
                with self.prepared(kind, LATENCY_N) as system:
                    self.few(system)

    # ---- the table ----

    def cell(self, metric, kind, form, ratio):
        values = self.values.get((metric, kind.name))
        if not values:
            return "–"
        value = statistics.median(values)
        base = statistics.median(self.values[(metric, Bare.name)])
        if kind is Bare or not ratio:
            return form.format(value)
        return f"{value / base:.2f}× ({form.format(value)})"

    def table(self):
        n = f"{self.options.n:,}"
        rows = [
            ("start", f"start of {n} actors", "{:.1f} ms", True),
            ("latency", f"restart latency, median of {LATENCY_N} actors", "{:.0f} µs",
             True),
            ("latency_n", f"… of {n} actors", "{:.0f} µs", True),
            ("storm", f"all {n} die at once, until all are back", "{:.1f} ms", True),
            ("cpu", "processor time a restart in it", "{:.0f} µs", True),
            ("stop", f"ordered stop of {n}", "{:.1f} ms", True),
            ("status", f"status of {n} (bare: `cat`)", "{:.1f} ms", True),
            ("memory", "memory an actor (PSS)", "{:.2f} KiB", False),
            ("idle", f"context switches in {self.options.idle} s idle", "{:.0f}", False),
        ]
        print("| | " + " | ".join(kind.name for kind in SYSTEMS) + " |")
        print("|---|" + "---|" * len(SYSTEMS))
        for metric, title, form, ratio in rows:
            cells = (self.cell(metric, kind, form, ratio) for kind in SYSTEMS)
            print(f"| {title} | " + " | ".join(cells) + " |")
        uname = os.uname()
        print(f"\n{uname.sysname} {uname.release} {uname.machine}, "
              f"{os.cpu_count()} processors, medians of {self.options.rounds} "
              f"interleaved rounds{', SCHED_FIFO' * self.options.fifo}; "
              "× is the ratio to bare.")


def find_tools(bindir, *more):
    where = {"supd": "supd", "supctl": "supctl"}
    where.update((name, "bench/" + name) for name in ("bare", "child", "storm", *more))
    tools = {name: os.path.realpath(os.path.join(bindir, path))
             for name, path in where.items()}
    for name, path in tools.items():
        if not os.access(path, os.X_OK):
            raise GaveUp(f"{name}: no {path}; `make bench` builds it")
    return tools


def raise_limits():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def go_first():
    """Before all other work of the machine; what spins is killed after some seconds."""
    try:
        resource.setrlimit(resource.RLIMIT_RTTIME, (SPIN_US, SPIN_US))
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    except (OSError, ValueError) as error:
        print(f"without SCHED_FIFO: {error}", file=sys.stderr)
        return False
    return True


@contextlib.contextmanager
def scratch():
    """A directory for everything, in memory where that can be had."""
    shm = "/dev/shm"
    directory = tempfile.mkdtemp(prefix="supd-bench-",
                                 dir=shm if os.access(shm, os.W_OK) else None)
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=".", help="the build directory")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--idle", type=int, default=10, help="seconds; 0: leave it out")
    parser.add_argument("-n", type=int, default=1000, help="actors")
    parser.add_argument("--fifo", action="store_true", help="at SCHED_FIFO, where allowed")
    options = parser.parse_args()
    raise_limits()
    options.fifo = options.fifo and go_first()
    try:
        with scratch() as directory:
            bench = Bench(find_tools(options.bin), directory, options)
            bench.run()
            bench.table()
    except (GaveUp, subprocess.SubprocessError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
