#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The files of an actor are opened as its user, and nothing is followed that stands there."""
import os
import pwd
import shutil
import signal
import socket
import stat
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import check, equal, has, main, needs_net_admin, run, test, Skip, SUPD

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


@test("what has a second name, or is of a third user, is neither read nor written, though its mode lets every user",
      root=True)
def strange_files(box):
    own = own_directory(box)
    for name, owner in (("roots", 0), ("linked", 0), ("others", 1)):
        path = box.file(name, "KEY=value\n")
        os.chmod(path, 0o666)
        os.chown(path, owner, owner)
    os.link(box.path("linked"), f"{own}/linked")
    keys = {"stdin": "file:", "environment_file": "", "output": "file:"}
    s = box.supd({f"{key}-{name}": {"user": "nobody", key: prefix + path}
                  for key, prefix in keys.items()
                  for name, path in (("roots", box.path("roots")), ("linked", f"{own}/linked"),
                                     ("others", box.path("others")))}, start="parallel", wait=False)
    steps = {"stdin": "open stdin", "environment_file": "environment_file", "output": "open output"}
    for key, step in steps.items():
        s.started(f"{key}-roots")
        for name, errno in (("linked", "EMLINK"), ("others", "EPERM")):
            cause = s.event("failure", f"{key}-{name}")["cause"]
            equal((cause["key"], cause["errno"]), (step, errno), f"{key} of {name}")
            equal(s.seen("started", f"{key}-{name}"), [], "starts")
    for name in ("linked", "others"):
        with open(box.path(name), encoding="ascii") as text:
            equal(text.read(), "KEY=value\n", name)


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
    # The actor replaces its own file by a link.
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


def entries(path):
    """What is in a directory: names, owners, modes and inodes."""
    found = {}
    for entry in os.scandir(path):
        status = entry.stat(follow_symlinks=False)
        found[entry.name] = (status.st_uid, status.st_gid, status.st_mode, status.st_ino)
    return found


def dead_socket(path):
    """The file of a socket that a server left behind."""
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(path)
    os.chmod(path, 0o600)


@test("a socket in a directory of the actor's user is made, restored and removed there, with its mode and owner",
      root=True)
def sockets(box):
    own, paths = own_directory(box), {}
    for kind in ("unix", "unix-dgram", "fifo"):
        paths[kind] = f"{own}/{kind}"
    dead_socket(paths["unix"])
    owners = {"unix": (0, 0), "unix-dgram": (NOBODY.pw_uid, NOBODY.pw_gid), "fifo": (1, 2)}
    s = box.supd({"a": {"user": "nobody", "do": ["serve"], "sockets": {
        kind: {"listen": f"{kind}:{path}", "mode": "0640",
               **({"user": owners[kind][0], "group": owners[kind][1]} if kind != "unix" else {})}
        for kind, path in paths.items()}}})
    pid = s.started("a")
    for kind, path in paths.items():
        status = os.stat(path)
        equal((status.st_uid, status.st_gid, status.st_mode & 0o777), (*owners[kind], 0o640), kind)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(paths["unix"])
        equal(client.getpeername(), paths["unix"], "the name of the socket")
    for path in paths.values():
        os.unlink(path)
    os.kill(pid, signal.SIGKILL)
    s.started("a", 2)
    equal([kind for kind, path in paths.items() if not os.path.exists(path)], [], "what is not restored")
    equal(run(SUPD, "--check", "-c", s.file).err, "", "what --check says")
    s.stop()
    equal(os.listdir(own), [], "what is left")


def roots_directory(box, names):
    """Make a directory of root's with sockets of these names; gives its path and its contents."""
    root = box.path("roots")
    os.mkdir(root)
    for name in names:
        dead_socket(f"{root}/{name}")
    return root, entries(root)


def put_link(own, root):
    """Replace a directory by a link, as the owner of the directory can."""
    os.rename(own, own + ".away")
    os.symlink(root, own)
    os.lchown(own, NOBODY.pw_uid, NOBODY.pw_gid)


@test("through a link in place of its user's directory no socket is made, changed or removed in one of root's",
      root=True)
def socket_links(box):
    own = own_directory(box)
    root, before = roots_directory(box, ["left"])
    put_link(own, root)
    s = box.supd({name: {"user": "nobody", "sockets": {"web": {"listen": listen, "mode": "0666"}}}
                  for name, listen in (("a", f"unix:{own}/new"), ("b", f"unix:{own}/left"),
                                       ("c", f"fifo:{own}/pipe"))}, wait=False)
    for name in "abc":
        equal(s.event("failure", name)["step"], "open socket", name)
    says = f"{own} is a link that others than root can change; write the path to which it leads"
    with open(s.stderr, encoding="utf8") as text:
        has(text.read(), f"/user/a: socket web: unix socket or fifo {own}/new: {says}", "what supd says")
    has(run(SUPD, "--check", "-c", s.file).err, says, "what --check says")
    equal(entries(root), before, "the directory of root")
    s.stop()
    equal(entries(root), before, "the directory of root at the end")


@test("a directory that becomes such a link is left alone: nothing is restored, removed or changed behind it",
      root=True)
def socket_link_later(box):
    own = own_directory(box)
    root, before = roots_directory(box, ("one", ".one.supd", ".two.supd"))
    specs = {name: {"listen": f"unix:{own}/{name}", "mode": "0600"} for name in ("one", "two")}
    s = box.supd({"a": {"user": "nobody", "sockets": specs}})
    pid = s.started("a")
    put_link(own, root)
    os.kill(pid, signal.SIGKILL)
    s.started("a", 2)
    equal(entries(root), before, "after a restart")
    s.write({"a": {"user": "nobody", "sockets": {"one": {**specs["one"], "mode": "0666"}}}})
    s.ctl_ok("apply")
    equal(entries(root), before, "after a reload")
    s.stop()
    equal(entries(root), before, "at the end")


@test("where several users can replace a directory its socket is made in the one that is there, and no link is followed",
      root=True)
def socket_mixed(box):
    needs_net_admin(box)
    own, open_ = own_directory(box), box.path("open")
    os.mkdir(own + "/roots")
    os.makedirs(open_ + "/roots")
    os.chmod(open_, 0o777)
    root, before = roots_directory(box, ["x"])
    os.symlink(root, open_ + "/link")
    # The bits of the group are also those of users that an ACL names.
    acl = box.path("acl")
    os.mkdir(acl)
    os.chmod(acl, 0o775)
    os.symlink(root, acl + "/link")
    os.lchown(acl + "/link", NOBODY.pw_uid, 0)
    s = box.supd({"a": {"sockets": {"web": f"unix:{own}/roots/x"}},
                  "b": {"sockets": {"web": f"unix:{open_}/roots/x"}},
                  "c": {"sockets": {"web": f"unix:{open_}/link/x"}},
                  "d": {"sockets": {"web": f"unix:{acl}/link/x"}}}, wait=False)
    s.started("a")
    s.started("b")
    for name in "cd":
        equal(s.event("failure", name)["step"], "open socket", name)
    says = f"{open_}/link is a link that others than root can change"
    has(run(SUPD, "--check", "-c", s.file).err, says, "what --check says")
    for directory in (own, open_):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(directory + "/roots/x")
    equal(entries(root), before, "the directory of root")
    s.stop()
    equal(os.listdir(own + "/roots") + os.listdir(open_ + "/roots"), [], "what is left")


def modes(directory):
    """The names in a directory, each with its mode."""
    return {name: stat.S_IMODE(os.lstat(f"{directory}/{name}").st_mode) for name in sorted(os.listdir(directory))}


@test("a name that a user takes from one socket and gives to another is no way to the other's mode, nor to its end",
      root=True)
def names_exchanged(box):
    needs_net_admin(box)
    shared = box.path("shared")
    os.mkdir(shared)
    os.chmod(shared, 0o777)

    def tree(mode):
        return {name: {"sockets": {kind: {"listen": f"{kind}:{shared}/{name}.{kind}", "mode": mode_of}
                                   for kind in ("unix", "fifo")}}
                for name, mode_of in (("db", "0600"), ("web", mode))}

    s = box.supd(tree("0660"))
    s.started("db")
    pid = s.started("web")
    # Every user with the right to write to the directory can do the following.
    for kind in ("unix", "fifo"):
        os.rename(f"{shared}/web.{kind}", f"{shared}/old.{kind}")
        os.rename(f"{shared}/db.{kind}", f"{shared}/web.{kind}")
        os.unlink(f"{shared}/.web.{kind}.supd")
        os.link(f"{shared}/web.{kind}", f"{shared}/.web.{kind}.supd")
    s.write(tree("0666"))
    s.ctl_ok("apply")
    expected = {f"{prefix}.{kind}": mode for kind in ("fifo", "unix")
                for prefix, mode in (("web", 0o600), ("old", 0o666))}
    seen = modes(shared)
    equal({name: mode for name, mode in seen.items() if name in expected}, expected, "after an apply")
    with open(s.stderr, encoding="utf8") as text:
        has(text.read(), f"{shared}/web.unix is another file by now: its clients do not find the socket", "what supd says")
    s.crash()
    equal({name: mode for name, mode in modes(shared).items() if name in expected}, expected, "after an adoption")
    os.unlink(f"{shared}/web.unix")
    os.kill(pid, signal.SIGKILL)
    s.started("web", 2)
    check(not os.path.exists(f"{shared}/web.unix"), "another's socket is restored under the name")
    os.rename(f"{shared}/.web.unix.supd", f"{shared}/web.unix")
    s.stop()
    equal(modes(shared), {**expected, ".web.fifo.supd": 0o600}, "what is left: the names that supd did not give")


@test("a directory that users exchange while supd runs: sockets of other programs in it stay as they are", root=True)
def directory_exchanged(box):
    open_ = box.path("open")
    os.makedirs(open_ + "/sub")
    os.makedirs(open_ + "/other")
    os.chmod(open_, 0o777)

    def tree(mode):
        return {"a": {"sockets": {"web": {"listen": f"unix:{open_}/sub/x", "mode": mode}}}}

    s = box.supd(tree("0600"))
    pid = s.started("a")
    with socket.socket(socket.AF_UNIX) as foreign:
        foreign.bind(open_ + "/other/x")
        foreign.listen()
        os.chmod(open_ + "/other/x", 0o640)
        before = entries(open_ + "/other")
        os.rename(open_ + "/sub", open_ + "/away")
        os.rename(open_ + "/other", open_ + "/sub")
        s.write(tree("0666"))
        s.ctl_ok("apply")
        equal(entries(open_ + "/sub"), before, "after an apply")
        os.kill(pid, signal.SIGKILL)
        s.started("a", 2)
        equal(entries(open_ + "/sub"), before, "after a restart")
        s.stop()
        equal(entries(open_ + "/sub"), before, "at the end")


def as_nobody(action):
    """Call `action` in a child process with the rights of the user `nobody`."""
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setgid(NOBODY.pw_gid)
        os.setuid(NOBODY.pw_uid)
        action()
        os._exit(0)
    equal(os.waitpid(child, 0)[1], 0, "what nobody did")


@test("a fifo that another user could have put there is neither taken nor given away: a new one stands in its place",
      root=True)
def strange_fifos(box):
    open_, sticky = box.path("open"), box.path("sticky")
    for path, mode in ((open_, 0o777), (sticky, 0o1777)):
        os.mkdir(path)
        os.chmod(path, mode)
    os.mkfifo(f"{open_}/victim", 0o600)
    victim = os.stat(f"{open_}/victim")
    as_nobody(lambda: os.rename(f"{open_}/victim", f"{open_}/web"))
    os.link(f"{open_}/web", box.path("kept"))
    as_nobody(lambda: os.mkfifo(f"{sticky}/jobs", 0o666))
    s = box.supd({"a": {"sockets": {"web": {"listen": f"fifo:{open_}/web", "user": "nobody"}}},
                  "b": {"sockets": {"jobs": {"listen": f"fifo:{sticky}/jobs", "mode": "0600"}}}})
    s.started("a")
    s.started("b")
    kept, web, jobs = (os.stat(path) for path in (box.path("kept"), f"{open_}/web", f"{sticky}/jobs"))
    equal((kept.st_ino, kept.st_uid, kept.st_mode), (victim.st_ino, 0, victim.st_mode), "the fifo of another program")
    check(web.st_ino != victim.st_ino, "it was taken")
    equal((web.st_uid, jobs.st_uid), (NOBODY.pw_uid, 0), "the owners")
    equal(stat.S_IMODE(jobs.st_mode), 0o600, "the mode")


@test("without CAP_NET_ADMIN mode and owner are changed where no other user can exchange the file, and else refused",
      root=True)
def no_net_admin(box):
    if shutil.which("setpriv") is None:
        raise Skip("there is no setpriv")
    places = {"own": 0o755, "sticky": 0o1777, "open": 0o777}
    for name, mode in places.items():
        os.mkdir(box.path(name))
        os.chmod(box.path(name), mode)

    def tree(mode):
        return {name: {"sockets": {"web": {"listen": f"unix:{box.path(name)}/web", "mode": mode}}} for name in places}

    s = box.supd(tree("0600"), command=["setpriv", "--bounding-set", "-net_admin", SUPD])
    s.crash()
    with open(s.stderr, encoding="utf8") as text:
        check("CAP_NET_ADMIN" not in text.read(), "what an adoption has not to change is no error")
    s.write(tree("0666"))
    s.ctl_ok("apply")
    equal({name: stat.S_IMODE(os.stat(f"{box.path(name)}/web").st_mode) for name in places},
          {"own": 0o666, "sticky": 0o666, "open": 0o600}, "the modes")
    with open(s.stderr, encoding="utf8") as text:
        has(text.read(), f"unix socket {box.path('open')}/web: supd cannot tell its file from others without CAP_NET_ADMIN",
            "what supd says")
    replaced = f"{box.path('own')}/web"
    os.unlink(replaced)
    os.symlink(secret_of(box), replaced)
    s.write(tree("0640"))
    s.ctl_ok("apply")
    with open(s.stderr, encoding="utf8") as text:
        has(text.read(), f"{replaced} is another file by now: its clients do not find the socket", "of the link")
    os.unlink(replaced)
    s.stop()
    equal([os.listdir(box.path(name)) for name in places], [[], [], []], "what is left")


@test("supd of root runs where its runtime directory lies in one of another user", root=True)
def runtime_in_home(box):
    home = box.path("home")
    os.mkdir(home)
    os.chown(home, NOBODY.pw_uid, NOBODY.pw_gid)
    s = box.supd({"a": {}}, name="home",
                 before=lambda: [os.chmod(path, 0o755) for path in (box.dir, home)])
    equal(os.stat(s.runtime).st_uid, 0, "the owner of the runtime directory")
    s.started("a")
    s.stop()


if __name__ == "__main__":
    main()
