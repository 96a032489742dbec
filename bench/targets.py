#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Measures what has a target and is in no other table here, and tells which targets are met.

targets.py --bin DIRECTORY [--fifo] [--rows NAME,...] [--rounds N]   (see README.md)
"""
import argparse
import contextlib
import ctypes
import os
import signal
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass

import log
from bench import Bare, BareOverlap, Bench, GaveUp, PATIENCE_S, Supd, SupdLean, find_tools, go_first
from bench import latencies, measure_idle, measure_start, measure_status, measure_stop
from bench import measure_storm, now_ns, own_pids, pss_kib, raise_limits, restart_us, scratch
from bench import wall_ms
from outage import answerer, ping

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/lib"))
from taken import mapped_kib, memory_files_kib

KINDS = (Bare, SupdLean, Supd)
DESCRIPTORS = 20000
MANY = 10000            # --many says how many there are in these rows
SPARE = 1000            # processes that others may start meanwhile
PR_SET_CHILD_SUBREAPER = 36

class BareSessions(BareOverlap):
    """Each child has a session of its own, as those of supd have."""
    name = Bare.name


class LeanInOrder(SupdLean):
    stop = "sequential"


class SessionInOrder(Supd):
    name = "supd"
    settings = ", containment: session"
    stop = "sequential"


class FewDescriptors(Supd):
    descriptors = DESCRIPTORS

    def argv(self):
        return ["sh", "-c", f"ulimit -n {self.descriptors}; exec \"$@\"", "sh", *super().argv()]


class TwoEach(FewDescriptors):
    """Two descriptors an actor of a thousand, as 10,000 actors have of 20,000."""
    descriptors = 2000


# ---- the rows ------------------------------------------------------------------------

@dataclass
class Row:
    """A figure of the table; None is no target."""
    title: str
    form: str
    lean: float = None
    supd: float = None
    ratio: bool = False     # to what stands under bare
    least: bool = False     # the target is to be reached, rather than not exceeded

    def figure(self, value, base):
        return value / base if self.ratio and base else value

    def is_met(self, figure, target):
        return figure >= target if self.least else figure <= target


SIZES = {100: "100", 1000: "1,000", 5000: "5,000", MANY: "{many:,}", 19000: "19,000"}
ACTS = {"same": "`apply` of nothing changed", "one": "`apply` of one changed actor",
        "diff": "`diff`", "storm": "a storm of all", "metrics": "`supctl metrics`",
        "stop": "`supctl stop` of all"}
ROWS = {
    **{f"latency {n}": Row(f"restart latency, median of {size} actors", "{:.0f} µs", 1.25, 1.35,
                           ratio=True) for n, size in SIZES.items()},
    "latency few": Row("… of 1,000 actors with 2,000 descriptors", "{:.0f} µs", ratio=True),
    "tail": Row("restart latency of 1,000 actors, p99 / p50", "{:.2f}", 2, 2),
    "busy": Row("restart latency, median of 100, beside three busy loops", "{:.0f} µs", 2, 2,
                ratio=True),
    "busy sessions": Row("… a session for each child of bare, too", "{:.0f} µs", ratio=True),
    "stop": Row("one after the other: stop of 5,000, `containment: session`", "{:.0f} ms", 900,
                900),
    "status 1": Row("status of one among 1,000 (bare: `cat`)", "{:.2f} ms", 1.3, 1.3, ratio=True),
    "status 1000": Row("status of 1,000 (bare: `cat`)", "{:.1f} ms", 2.5, 2.5),
    "status 10000": Row("status of {many:,} (bare: `cat`)", "{:.1f} ms", 16, 16),
    "metrics 1000": Row("metrics of 1,000, an actor", "{:.1f} µs", 25, 25),
    "metrics 10000": Row("metrics of {many:,}, an actor", "{:.1f} µs", 25, 25),
    "metrics wall": Row("metrics of {many:,}, `supctl metrics`", "{:.0f} ms", 250, 250),
    **{f"ping {act}": Row(f"longest Ping of {{many:,}} during {title}", "{:.1f} ms", 20, 20)
       for act, title in ACTS.items()},
    "each": Row("memory an actor (PSS), from 100 to 1,000", "{:.2f} KiB", 3, 3),
    "fixed": Row("… without actors", "{:.0f} KiB", 3584, 3584),
    "whole each": Row("… an actor, memory files as a whole", "{:.2f} KiB"),
    "whole fixed": Row("… without actors, memory files as a whole", "{:.0f} KiB"),
    "first": Row("… of 1,000 (PSS), after an apply and a storm", "{:.0f} KiB", 8584, 8584),
    "applies": Row("… what 100 applies add to it", "{:.0f} KiB", 512, 512),
    "whole applies": Row("… with memory files as a whole", "{:.0f} KiB", 512, 512),
    "restarts": Row("… what {restarts:,} restarts add to it", "{:.0f} KiB", 512, 512),
    "whole restarts": Row("… with memory files as a whole", "{:.0f} KiB", 512, 512),
    "writers": Row("log, 100 writers of 64 kB (bare: 100 `cat`)", "{:.0f} MB/s", None, 0.9,
                   ratio=True, least=True),
    "writers cpu": Row("… processor time of supd", "{:.2f} s/GB", None, 1, ratio=True),
    "captured": Row(f"captured actors with {DESCRIPTORS:,} descriptors", "{:.0f}", None, 19000,
                    least=True),
    "captured start": Row("… their start", "{:.0f} ms"),
    "captured restart": Row("… restart of one of them", "{:.0f} µs"),
    "captured status": Row("… their status", "{:.1f} ms"),
    "captured stop": Row("… their stop", "{:.0f} ms"),
    "idle": Row("context switches in {idle} s idle, {many:,} actors", "{:.0f}", 0, 0),
}


# ---- what helps to measure -----------------------------------------------------------------

def check_room(n):
    """Without room for these processes others of the machine would get none either."""
    with open("/proc/sys/kernel/pid_max", encoding="ascii") as file:
        most = int(file.read())
    there = sum(name.isdigit() for name in os.listdir("/proc"))
    if there + n + SPARE > most:
        raise GaveUp(f"{n:,} processes more than {there:,}, where {most:,} may be")


def ping_ms(system):
    begun = now_ns()
    ping(system)
    return (now_ns() - begun) / 1e6


def longest_ping_ms(system, argv, is_done=lambda: True, stdin=subprocess.DEVNULL):
    """The longest Ping from the start of a program until its end, and until all is done; at a
    higher priority than supd, as it is supd that is measured."""
    longest, deadline = 0, time.monotonic() + PATIENCE_S
    first = os.sched_getscheduler(0) == os.SCHED_FIFO
    with subprocess.Popen(argv, stdin=stdin, stdout=subprocess.DEVNULL) as act:
        try:
            if first:
                os.sched_setparam(0, os.sched_param(11))
            while act.poll() is None or not is_done():
                longest = max(longest, ping_ms(system))
                if time.monotonic() > deadline:
                    act.kill()
                    raise GaveUp(f"{' '.join(argv)}: no end")
                time.sleep(0.001)
        finally:
            if first:
                os.sched_setparam(0, os.sched_param(10))
    if act.returncode:
        raise GaveUp(f"{' '.join(argv)}: exit status {act.returncode}")
    return longest


def change_first(system, k):
    """Give the first actor another command in the file; returns a function, which is true once
    it has another process."""
    since = now_ns()
    system.prepare(f"0.{k}")
    return lambda: system.results[0][1] > since


def taken_kib(system):
    """Of all processes of supd: PSS, and the same with memory files as a whole."""
    own = own_pids(system)
    shared = sum(map(pss_kib, own))
    return shared, shared - sum(mapped_kib(pid)[0] for pid in own) + memory_files_kib(own)


def storms(system, restarts):
    """An actor that ends soon after its start for the fourth time would have to wait."""
    for k in range(max(1, restarts // system.n)):
        if k % 3 == 0:
            time.sleep(1.1)
        measure_storm(system)


def offspring():
    with open("/proc/thread-self/children", encoding="ascii") as file:
        return [int(pid) for pid in file.read().split()]


def end_offspring():
    """Kill what is left below this process, to which orphans below it are given."""
    while pids := offspring():
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        for pid in pids:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)


def on_term(*_):
    """A second signal is not to interrupt what the first one lets be cleaned up."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(143)


@contextlib.contextmanager
def busy_loops(count):
    """Busy loops; neither they nor what is started beside them is at SCHED_FIFO, where a loop
    lets nothing else run.  Each has a session, as of those the kernel lets each have its share."""
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    loops = []
    try:
        for _ in range(count):
            loops.append(subprocess.Popen([sys.executable, "-c", "while True: pass"],
                                          start_new_session=True))
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


class Targets(Bench):
    @contextlib.contextmanager
    def started(self, kind, n):
        check_room(n)
        with self.prepared(kind, n) as system:
            measure_start(system)
            yield system
            measure_stop(system)

    def each(self, n, kinds=(SupdLean, Supd)):
        """The systems, started one after the other."""
        size = self.options.many if n == MANY else n
        for kind in kinds:
            print(f"  {kind.name}: {size:,} actors", file=sys.stderr)
            with self.started(kind, size) as system:
                yield system

    # ---- the groups of rows --------------------------------------------------------------

    def beside(self, n, samples, kinds=KINDS):
        """Restarts of systems that run beside each other: (system, µs of each restart)."""
        with contextlib.ExitStack() as stack:
            systems = [stack.enter_context(self.started(
                kind, min(n, self.options.many) if kind is Bare else n)) for kind in kinds]
            if self.options.fifo:
                go_first()
            yield from zip(systems, latencies(systems, samples))

    def latency(self):
        """Of more than a thousand there are two beside each other, and bare has 10,000 children
        at most: a machine may have room for 32,768 processes."""
        for system, spent in self.beside(100, 300):
            self.note("latency 100", system, statistics.median(spent))
        for system, spent in self.beside(1000, 1000):
            middle = statistics.median(spent)
            self.note("latency 1000", system, middle)
            self.note("tail", system, statistics.quantiles(spent, n=100)[98] / middle)
        for system, spent in self.beside(1000, 300, (Bare, TwoEach)):
            self.note("latency few", system, statistics.median(spent))
        for n in (5000, MANY, 19000):
            size = self.options.many if n == MANY else n
            for kind in KINDS[1:]:
                for system, spent in self.beside(size, 300, (Bare, kind)):
                    self.note(f"latency {n}", system, statistics.median(spent))

    def busy(self):
        """With --fifo what measures is at SCHED_FIFO again once all systems have started."""
        with busy_loops(3):
            for system, spent in self.beside(100, 200, (*KINDS, BareSessions)):
                middle = statistics.median(spent)
                if not isinstance(system, BareSessions):
                    self.note("busy", system, middle)
                if type(system) is not Bare:  # pylint: disable=unidiomatic-typecheck
                    self.note("busy sessions", system, middle)

    def stop(self):
        for kind in (LeanInOrder, SessionInOrder):
            with self.prepared(kind, 5000) as system:
                measure_start(system)
                self.note("stop", system, measure_stop(system))

    def status(self):
        with self.prepared(Bare, 1) as bare:
            cat = bare.status_argv()
            for system in self.each(1000):
                measure_storm(system)
                one, walls = system.supctl_argv("status", "a0"), {}
                for k in range(200):
                    # After a question supd makes ready for the next one: this is no time of cat.
                    time.sleep(0.02)
                    asked, argv = ((bare, cat), (system, one))[k % 2]
                    walls.setdefault(asked.name, []).append(wall_ms(argv))
                for asked in (bare, system):
                    self.note("status 1", asked, statistics.median(walls[asked.name]))
                self.status_of_all(1000, system, bare)
            for system in self.each(MANY):
                measure_storm(system)
                self.status_of_all(10000, system, bare)

    def status_of_all(self, n, system, bare):
        """How fast a machine is today, `cat` tells: the target is a time."""
        self.note(f"status {n}", system, measure_status(system, 20))
        self.note(f"status {n}", bare, measure_status(bare, 20))

    def metrics(self):
        for n in (1000, MANY):
            for system in self.each(n):
                measure_storm(system)
                argv = system.supctl_argv("metrics")
                wall = statistics.median(wall_ms(argv) for _ in range(5))
                self.note(f"metrics {n}", system, wall * 1e3 / system.n)
                if n == MANY:
                    self.note("metrics wall", system, wall)

    def ping_in_storm(self, system):
        since, todo = now_ns(), list(range(system.n))
        with open(os.path.join(system.dir, "pids"), "w+", encoding="ascii") as pids:
            pids.write("\n".join(map(str, system.results.pids())) + "\n")
            pids.seek(0)
            self.note("ping storm", system, longest_ping_ms(
                system, [system.tools["storm"]],
                lambda: not system.results.missing(todo, since), pids))

    def pings(self):
        for system in self.each(MANY, (Bare,)):
            with answerer(system):
                self.ping_in_storm(system)
        for system in self.each(MANY):
            apply = system.supctl_argv("apply")
            self.note("ping same", system, longest_ping_ms(system, apply))
            is_changed = change_first(system, 1)
            self.note("ping diff", system, longest_ping_ms(system, system.supctl_argv("diff")))
            self.note("ping one", system, longest_ping_ms(system, apply, is_changed))
            self.ping_in_storm(system)
            self.note("ping metrics", system,
                      longest_ping_ms(system, system.supctl_argv("metrics")))
            self.note("ping stop", system,
                      longest_ping_ms(system, system.supctl_argv("stop", "user")))

    def apply_often(self, system, times):
        for _ in range(times):
            self.applied += 1
            since = now_ns()
            change_first(system, self.applied)
            wall_ms(system.supctl_argv("apply"))
            system.results.wait_one(0, since)

    def memory(self):
        for kind in (SupdLean, Supd):
            with self.started(kind, 100) as system:
                few = taken_kib(system)
            with self.started(kind, 1000) as system:
                many = taken_kib(system)
                for what, less, more in zip(("", "whole "), few, many):
                    self.note(what + "each", system, (more - less) / 900)
                    self.note(what + "fixed", system, less - (more - less) / 9)
                self.apply_often(system, 1)
                storms(system, 1)
                first = taken_kib(system)
                self.note("first", system, first[0])
                self.apply_often(system, 100)
                second = taken_kib(system)
                storms(system, self.options.restarts)
                for row, old, new in (("applies", first, second),
                                      ("restarts", second, taken_kib(system))):
                    self.note(row, system, new[0] - old[0])
                    self.note("whole " + row, system, new[1] - old[1])

    def writers(self):
        """The time on processors is that of supd, or of all cat; the writers take theirs."""
        for kind, column in ((log.Cat, Bare), (log.Logged, Supd)):
            rate, busy = log.measure(self.tools, self.dir, kind, 60000, 640, 100)
            self.note("writers", column, rate)
            self.note("writers cpu", column, busy)

    def captured(self):
        """As many as come up: when for five seconds none does there are no more."""
        check_room(19000)
        with self.prepared(FewDescriptors, 19000) as system:
            begun = now_ns()
            system.start()
            there, since = 0, time.monotonic()
            while there < system.n and time.monotonic() - since < 5:
                now = sum(pid > 0 for pid in system.results.pids())
                if now > there:
                    there, since = now, time.monotonic()
                time.sleep(0.02)
            self.note("captured", system, there)
            if there < system.n:
                return
            self.note("captured start", system, (now_ns() - begun) / 1e6)
            self.note("captured restart", system, statistics.median(
                restart_us(system, i) for i in range(0, system.n, 1000)))
            self.note("captured status", system, measure_status(system))
            self.note("captured stop", system, measure_stop(system))

    def idle(self):
        for system in self.each(MANY):
            self.note("idle", system, measure_idle(system, self.options.idle))

    # ---- all of it -------------------------------------------------------------------------

    applied = 0
    GROUPS = ("latency", "busy", "stop", "status", "metrics", "pings", "memory", "writers",
              "captured", "idle")

    def run(self):
        """True if all groups could be measured."""
        whole = True
        for k in range(self.options.rounds):
            for group in self.options.rows:
                print(f"round {k + 1}/{self.options.rounds}: {group}", file=sys.stderr)
                try:
                    getattr(self, group)()
                except (GaveUp, OSError, subprocess.SubprocessError) as error:
                    print(f"bench: {group}: {error}", file=sys.stderr)
                    whole = False
                finally:
                    end_offspring()
        return whole

    def figures(self, row, kind):
        """The figures of all rounds; a ratio is that to the median of bare."""
        base = self.values.get((row, Bare.name))
        base = base and statistics.median(base)
        return [ROWS[row].figure(value, base) for value in self.values.get((row, kind.name), [])]

    def cell(self, row, kind):
        values = self.values.get((row, kind.name))
        if not values:
            return "–"
        text = ROWS[row].form.format(statistics.median(values))
        figures = self.figures(row, kind)
        if ROWS[row].ratio and kind is not Bare:
            text = f"{statistics.median(figures):.2f}× ({text})"
        if len(figures) > 1 and kind is not Bare:
            text += f" {min(figures):.2f}–{max(figures):.2f}"
        return text

    def table(self):
        print("| | supd, lean | supd | bare | target | met |\n|---|---:|---:|---:|---:|---|")
        for row, what in ROWS.items():
            kinds = {SupdLean: what.lean, Supd: what.supd}
            if not any(self.values.get((row, kind.name)) for kind in KINDS):
                continue
            sign = "≥" if what.least else "≤"
            limits = list(dict.fromkeys(f"{sign} {limit:g}" + "×" * what.ratio
                                        for limit in kinds.values() if limit is not None))
            met = ["yes" if what.is_met(statistics.median(figures), limit) else "**no**"
                   for kind, limit in kinds.items()
                   if limit is not None and (figures := self.figures(row, kind))]
            cells = [self.cell(row, kind) for kind in (SupdLean, Supd, Bare)]
            title = what.title.format(**vars(self.options))
            print(f"| {title} | {' | '.join(cells)} | {', '.join(limits)} | {', '.join(met)} |")
        print(f"\n{os.uname().release}, {os.cpu_count()} processors, medians of "
              f"{self.options.rounds} rounds (least–most)"
              f"{', SCHED_FIFO but for the busy loops' * self.options.fifo}.")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=".", help="the build directory")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--rows", default=",".join(Targets.GROUPS), help="these groups alone")
    parser.add_argument("--many", type=int, default=MANY, help="actors in the larger rows")
    parser.add_argument("--restarts", type=int, default=20000, help="of which memory grows")
    parser.add_argument("--idle", type=int, default=10, help="seconds")
    parser.add_argument("--fifo", action="store_true", help="at SCHED_FIFO, where allowed")
    options = parser.parse_args()
    options.rows = options.rows.split(",")
    if unknown := set(options.rows) - set(Targets.GROUPS):
        parser.error(f"no such rows: {', '.join(unknown)}")
    return options


def main():
    options = parse()
    raise_limits()
    # Orphans are given to this process, which ends all that it has.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGTERM, on_term)
    options.fifo = options.fifo and go_first()
    try:
        with scratch() as directory:
            bench = Targets(find_tools(options.bin, "spew"), directory, options)
            whole = bench.run()
            bench.table()
    except GaveUp as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main())
