#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""What an actor takes of supd's memory, and that this stays so.

Counted are the memory that is supd's own, the shares (PSS) that its processes have of memory
files, and those files as a whole: what of them is not mapped is memory, too.  Shares of
programs and libraries depend on what else runs on the machine.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import INSTRUMENTED, Skip, check, comment, main, test
from taken import mapped_kib, memory_files_kib

FEW, MANY = 300, 900
MAPPED_KIB, WHOLE_KIB = 3.4, 3.9   # an actor takes at most
FIXED_KIB = 2200                    # the rest of supd, programs and libraries left out: 1920 to 2000
SLACK_KIB = 512                     # of the ring of events more is mapped as it is written


def actors(count):
    return {f"a{i}": {"command": ["/bin/sleep", "1000000"]} for i in range(count)}


def taken_kib(s):
    """Of all processes of supd: (PSS, the same with memory files as a whole)."""
    own = [pid for pid in s.family() if s.is_own(pid)]
    shares = [mapped_kib(pid) for pid in own]
    rest = sum(share[1] for share in shares)
    return rest + sum(share[0] for share in shares), rest + memory_files_kib(own)


def quiet(box, count):
    if INSTRUMENTED:
        raise Skip("memory is of another size with sanitizers")
    s = box.supd(actors(count), name=f"n{count}", start="parallel", stop="parallel",
                 intensity="unlimited")
    s.follow = False
    if s.stream:
        s.stream.close()
        s.stream = None
    s.until(lambda: len(s.brood()) == count, "all actors", timeout=60)
    return s


@test("what each further actor takes is bounded", timeout=120)
def growth(box):
    taken = {}
    for count in (FEW, MANY):
        s = quiet(box, count)
        taken[count] = taken_kib(s)
        s.stop(timeout=60)
    mapped, whole = [(many - few) / (MANY - FEW)
                     for few, many in zip(taken[FEW], taken[MANY])]
    fixed = taken[FEW][0] - FEW * mapped
    comment(f"{mapped:.2f} KiB of PSS, {whole:.2f} KiB with memory files; "
            f"{fixed:.0f} KiB of PSS without actors")
    check(mapped <= MAPPED_KIB, f"{mapped:.2f} KiB an actor")
    check(fixed <= FIXED_KIB, f"{fixed:.0f} KiB without actors")
    check(whole <= WHOLE_KIB, f"{whole:.2f} KiB an actor with memory files")


def grows(s, what, rounds, act, mapped=True):
    """Let it happen once, then so often: what is taken has to stay the same."""
    act(0)
    before = taken_kib(s)
    for i in range(1, rounds + 1):
        act(i)
    after = taken_kib(s)
    comment(f"{what}: {before[0]}, then {after[0]} KiB of PSS; "
            f"{before[1]}, then {after[1]} KiB with memory files")
    for one, other in list(zip(before, after))[0 if mapped else 1:]:
        check(other <= one + SLACK_KIB, f"{what}: {one} KiB, then {other} KiB")


@test("a hundred applies, each with another actor, take no more than the first", timeout=180)
def applies(box):
    s = quiet(box, FEW)

    def apply(i):
        s.write({**actors(FEW), f"z{i}": {"command": ["/bin/sleep", "1000000"]}})
        s.call("Apply")
        s.until(lambda: f"/user/z{i - 1}" not in s.paths(), "the end of the one before",
                timeout=60)

    grows(s, "applies", 100, apply)


@test("many restarts take no more than the first ones", timeout=180)
def restarts(box):
    s = quiet(box, FEW)

    def restart(_):
        for _ in range(8):
            s.call("Restart", names=["/user/*"])

    # The ring of events lies in a memory file, and is mapped as it is written.
    grows(s, "restarts", 4, restart, mapped=False)


main()
