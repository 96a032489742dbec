#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""An actor that leaves descriptors and files for its successor, and tells which it has found.

storer_actor.py DIR NAME: appends a line of JSON to DIR/NAME.found at each start, then obeys the
lines that it reads from the fifo DIR/NAME.do: put NAME TEXT [FDPOLL=0], open NAME FILE
(which is not closed), drop NAME, pipe NAME (a pipe; the actor keeps the other end), again
(the newest once more), file NAME TEXT, exit CODE.  The actor answers each by a line "done" in DIR/NAME.found.
"""
import array
import json
import os
import socket
import sys

HELD = []


def say(text, fds=()):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        out.sendmsg([text.encode()], rights, 0, os.environ["NOTIFY_SOCKET"].replace("@", "\0", 1))


def found():
    fds = []
    names = os.environ.get("LISTEN_FDNAMES", "")
    for i, name in enumerate(names.split(":") if names else []):
        try:
            text = os.pread(3 + i, 100, 0).decode()
        except OSError:
            text = None
        fds.append([name, text])
    where = os.environ.get("RUNTIME_DIRECTORY")
    status = os.stat(where) if where else None
    return {"pid": os.getpid(), "fds": fds, "directory": where,
            "files": sorted(os.listdir(where)) if where else [],
            "owner": [status.st_uid, status.st_mode & 0o7777] if where else None}


def memory(text):
    fd = os.memfd_create("stored")
    os.write(fd, text.encode())
    return fd


def obey(words):
    verb, *rest = words
    if verb == "put":
        HELD.append(memory(rest[1]))
        say("\n".join(["FDSTORE=1", f"FDNAME={rest[0]}", *rest[2:]]), HELD[-1:])
    elif verb == "open":
        fd = os.open(rest[1], os.O_RDONLY)
        say(f"FDSTORE=1\nFDNAME={rest[0]}", [fd])
    elif verb == "again":
        say("FDSTORE=1\nFDNAME=again", HELD[-1:])
    elif verb == "pipe":
        ends = os.pipe()
        HELD.append(ends[1])
        say("\n".join(["FDSTORE=1", f"FDNAME={rest[0]}", *rest[1:]]), ends[:1])
        os.close(ends[0])
    elif verb == "drop":
        say(f"FDSTOREREMOVE=1\nFDNAME={rest[0]}")
    elif verb == "file":
        path = os.path.join(os.environ["RUNTIME_DIRECTORY"], rest[0])
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf8") as out:
            out.write(rest[1])
    elif verb == "exit":
        os._exit(int(rest[0]))


def main():
    base = os.path.join(sys.argv[1], sys.argv[2])
    with open(base + ".found", "a", encoding="utf8") as out:
        out.write(json.dumps(found()) + "\n")
        out.flush()
        with open(base + ".do", encoding="utf8") as commands:
            while True:
                line = commands.readline()
                if line:
                    obey(line.split())
                    out.write("done\n")
                    out.flush()


if __name__ == "__main__":
    main()
