#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The files of an actor are opened as its user, and nothing is followed that stands there."""
import os
import pwd
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import check, equal, has, main, run, test, SUPD

NOBODY = pwd.getpwnam("nobody")


def secret_of(box):
    """A file of root's that every user can find and none can read or write."""
    path = box.file("secret", "SECRET=of root\n")
    os.chmod(path, 0o600)
    return path


def own_directory(box):
    path = box.path("own")
    os.mkdir(path)
    os.chown(path, NOBODY.pw_uid, NOBODY.pw_gid)
    return path


@test("through a link that an actor's user made nothing of root's is written or read", root=True)
def links(box):
    secret, own = secret_of(box), own_directory(box)
    for name in ("out", "in", "variables"):
        os.symlink(secret, f"{own}/{name}")
    s = box.supd({"a": {"user": "nobody", "output": f"file:{own}/out"},
                  "b": {"user": "nobody", "stdin": f"file:{own}/in"},
                  "c": {"user": "nobody", "environment_file": f"-{own}/variables"},
                  "d": {"output": f"file:{own}/out"}}, wait=False)
    for name, step in (("a", "open output"), ("b", "open stdin"), ("c", "environment_file"),
                       ("d", "open output")):
        failure = s.event("failure", name)
        equal((failure["cause"]["errno"], failure["cause"]["key"]), ("ELOOP", step), name)
    has(s.ctl("explain", "a").out, r"`output\.?\w*` at .*supd\.yaml:\d+", "the line of the file")
    with open(secret, encoding="ascii") as text:
        equal(text.read(), "SECRET=of root\n", "the secret")


@test("a file of root's that the actor's user may not read is a failed start, not a way in",
      root=True)
def closed(box):
    secret = secret_of(box)
    s = box.supd({"a": {"user": "nobody", "environment_file": secret},
                  "b": {"user": "nobody", "stdin": "file:" + secret},
                  "c": {"user": "nobody", "output": "file:" + box.path("new/out")}}, wait=False)
    for name in "ab":
        equal(s.event("failure", name)["cause"]["errno"], "EACCES", name)
    s.started("c")
    status = os.stat(box.path("new/out"))
    equal((status.st_uid, status.st_mode & 0o777), (NOBODY.pw_uid, 0o640), "what was made")
    result = run(SUPD, "--check", "-c", s.file)
    equal(result.code, 0, f"{result}; status")
    has(result.err, rf"warning: .*environment_file: user {NOBODY.pw_uid} cannot read .*secret", "the warning")
    has(result.err, rf"warning: .*stdin: user {NOBODY.pw_uid} cannot read", "another")


@test("logs reads a file of the actor's choice with the rights of the actor, not of root",
      root=True)
def logs(box):
    secret, own = secret_of(box), own_directory(box)
    closed_directory = box.path("closed")
    os.mkdir(closed_directory, 0o700)
    os.rename(secret, closed_directory + "/out")
    os.chmod(closed_directory + "/out", 0o644)
    s = box.supd({"a": {"user": "nobody", "output": f"file:{own}/d/out",
                        "command": ["/bin/sh", "-c", "echo mine; exec sleep 1000"]}})
    s.until(lambda: "mine" in s.ctl("logs", "a").out, "its line")
    # What the actor may do with what is its own.
    os.unlink(f"{own}/d/out")
    os.symlink(closed_directory + "/out", f"{own}/d/out")
    last = s.ctl("logs", "a")
    check("SECRET" not in last.out and last.code != 0, f"through a link at the end: {last}")
    os.unlink(f"{own}/d/out")
    os.rmdir(f"{own}/d")
    os.symlink(closed_directory, f"{own}/d")
    middle = s.ctl("logs", "a")
    check("SECRET" not in middle.out and middle.code != 0, f"through one in the middle: {middle}")
    has(middle.err, "Permission denied", "what is said")
    os.unlink(f"{own}/d")
    os.mkdir(f"{own}/d")
    os.link(closed_directory + "/out", f"{own}/d/out")
    second = s.ctl("logs", "a")
    check("SECRET" not in second.out and second.code != 0, f"by a second name: {second}")


if __name__ == "__main__":
    main()
