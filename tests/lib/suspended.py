# SPDX-License-Identifier: ISC
"""Does a process stand still, with all below it?"""
import os

from harness import children, offspring


def state_of(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf8", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "X"


def leaf_of(pid):
    """The directory of the cgroup that the process is in."""
    with open(f"/proc/{pid}/cgroup", encoding="utf8") as text:
        own = [line.strip()[3:] for line in text if line.startswith("0::")][0]
    with open("/proc/self/mountinfo", encoding="utf8") as text:
        mount = [line.split()[4] for line in text
                 if line.partition(" - ")[2].startswith("cgroup2 ")][0]
    return mount + own


def stands_still(pid, kind):
    if kind == "session":
        state = state_of(pid)
        # A process that ended just before its parent was stopped waits to be reaped.  A
        # parent in vfork stays in state D until the child goes on.
        return state in "TZX" or (state == "D" and any(state_of(child) == "T"
                                                       for child in children(pid)))
    with open(os.path.join(leaf_of(pid), "cgroup.events"), encoding="ascii") as events:
        return "frozen 1" in events.read()


def all_stand_still(s, pid, kind):
    """Of an actor: the main process and all below it, for as long as it takes to see."""
    s.until(lambda: all(stands_still(one, kind) for one in {pid} | offspring(pid)),
            f"{pid} and all below it to stand still")


def moves(s, name, count, pid=None):
    """Wait until the probe answers: its process runs."""
    s.tell(name, f"echo={count}", pid)
    s.until(lambda: any(line.more == str(count) for line in s.lines("E", name)),
            f"{name} to answer {count}")
