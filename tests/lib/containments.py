# SPDX-License-Identifier: ISC
"""A test for each containment: a session, and a cgroup of the test's own."""
import os

from harness import Skip, test

CONTAINMENTS = ("session", "cgroup")


def cgroup_root():
    """The directory of this process in the cgroup v2 tree, if it may be written."""
    mount = None
    with open("/proc/self/mountinfo", encoding="utf8") as text:
        for line in text:
            before, _, after = line.partition(" - ")
            if after.split()[0] == "cgroup2":
                mount = before.split()[4]
    with open("/proc/self/cgroup", encoding="utf8") as text:
        own = [line.strip()[3:] for line in text if line.startswith("0::")]
    if not mount or not own:
        raise Skip("no cgroup v2 here")
    path = os.path.join(mount, own[0].lstrip("/"))
    if not os.access(os.path.join(path, "cgroup.procs"), os.W_OK):
        raise Skip("the cgroup is not delegated")
    return path


def delegated(box):
    """A cgroup of the test's own; gives what moves a new process there."""
    path = os.path.join(cgroup_root(), os.path.basename(box.dir))
    os.mkdir(path)
    for name in ("user.delegate", "trusted.delegate"):
        try:
            os.setxattr(path, name, b"1")
        except OSError:
            pass

    def remove():
        for where, _, _ in os.walk(path, topdown=False):
            os.rmdir(where)

    def enter():
        with open(os.path.join(path, "cgroup.procs"), "w", encoding="ascii") as procs:
            procs.write(str(os.getpid()))

    box.undo.append(remove)
    return enter, path


def contained(sentence, **options):
    """The same test for both containments."""
    def register(function):
        for kind in CONTAINMENTS:
            def one(box, kind=kind):
                if kind == "cgroup":
                    enter, path = delegated(box)
                else:
                    enter, path = None, None
                function(box, kind, {"before": enter}, path)
            test(f"{sentence} ({kind})", **options)(one)
        return function
    return register
