#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Clients of the control socket that send descriptors: supd never closes the last reference."""
import ctypes
import errno
import os
import platform
import socket
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from harness import LINGERING, Skip, check, equal, main, test

SO_PASSRIGHTS = 83
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 22, 38
OPTION_CALLS = {"x86_64": (54, 55), "aarch64": (208, 209)}

# Sends a descriptor in the midst of WORDS, with OOB as urgent data: a connection to a port
# that waits for an hour in close().  When the sender has ended, supd has the last reference.
CLIENT = LINGERING + r"""
import array, socket, struct, sys
path, port, words, flag = sys.argv[1], int(sys.argv[2]), sys.argv[3].encode(), sys.argv[4]
one = lingering(port)
with socket.socket(socket.AF_UNIX) as out:
    out.connect(path)
    out.send(words)
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [one.fileno()]))]
    try:
        out.sendmsg([b"x"], rights, socket.MSG_OOB if flag == "oob" else 0)
        one.detach()
        print("sent", flush=True)
        try:
            out.recv(1)
        except OSError:
            pass
    except PermissionError:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        print("refused", flush=True)
"""


def forget_option():
    """The kernel does not know SO_PASSRIGHTS, for this process and all below."""
    if platform.machine() not in OPTION_CALLS:
        raise Skip("other numbers of system calls")
    first, second = OPTION_CALLS[platform.machine()]
    load, equal_to, give = 0x20, 0x15, 0x06
    code = [(load, 0, 0, 0), (equal_to, 1, 0, first), (equal_to, 0, 5, second),
            (load, 0, 0, 24), (equal_to, 0, 3, socket.SOL_SOCKET),
            (load, 0, 0, 32), (equal_to, 0, 1, SO_PASSRIGHTS),
            (give, 0, 0, 0x00050000 | errno.ENOPROTOOPT), (give, 0, 0, 0x7fff0000)]
    text = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *one) for one in code))
    program = ctypes.create_string_buffer(struct.pack("@HP", len(code), ctypes.addressof(text)))
    libc = ctypes.CDLL(None, use_errno=True)
    for words in ((PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (PR_SET_SECCOMP, 2, program, 0, 0)):
        if libc.prctl(*words) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


def knows_option():
    with socket.socket(socket.AF_UNIX) as one:
        try:
            one.setsockopt(socket.SOL_SOCKET, SO_PASSRIGHTS, 0)
            return True
        except OSError:
            return False


def send(s, port, words="", flag="-"):
    client = subprocess.run(["/usr/bin/env", "python3", "-c", CLIENT, s.socket, str(port), words, flag],
                            stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=20,
                            check=True, cwd="/")
    return client.stdout.decode().strip()


def log_of(s):
    with open(s.stderr, encoding="utf8") as log:
        return log.read()


@test("a client that sends descriptors is refused by the kernel")
def refused(box):
    if not knows_option():
        raise Skip("the kernel does not know SO_PASSRIGHTS")
    s = box.supd({"a": {}})
    guardian = s.guardian()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        equal(send(s, port), "refused", "the client")
        equal(send(s, port, flag="oob"), "refused", "the client, with urgent data")
        s.crash()
        equal(send(s, port), "refused", "the client of the next guardian")
        check(s.guardian() != guardian, "the next guardian")
        s.call("Ping")


@test("with an older kernel it is sent away, and closed by no process that supd waits for", timeout=60)
def sent_away(box):
    s = box.supd({"a": {}}, before=forget_option)
    guardian = s.guardian()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        # More connections than one user may have hanging children.
        for words in "", "{", "", "{", "", "{":
            equal(send(s, port, words), "sent", "the client")
            s.call("Ping")
        equal(send(s, port, flag="oob"), "sent", "the client, with urgent data")
        s.ctl_ok("ping")
        equal(s.guardian(), guardian, "the guardian")
        s.until(lambda: "sends descriptors" in log_of(s), "a line of log")
        s.crash()
        s.call("Ping")


@test("a client that sends descriptors again and again is a line of log now and then", timeout=60)
def paced(box):
    s = box.supd({"a": {}}, before=forget_option)
    program = (
        "import array, socket, sys\n"
        "for n in range(200):\n"
        "    with socket.socket(socket.AF_UNIX) as one:\n"
        "        one.connect(sys.argv[1])\n"
        "        one.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [0]))])\n"
        "        try:\n"
        "            one.recv(1)\n"
        "        except ConnectionResetError:\n"
        "            pass\n")
    client = subprocess.run(["/usr/bin/env", "python3", "-c", program, s.socket],
                            stdin=subprocess.DEVNULL, timeout=50, check=False, cwd="/")
    equal(client.returncode, 0, "the client")
    s.call("Ping")
    check(1 <= log_of(s).count("sends descriptors") < 40, log_of(s))


if __name__ == "__main__":
    main()
