#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The reader of logs: what it answers, across rotation, and from where it goes on."""
import base64
import json
import os
import select
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from log_reader import BUILD, GUARD_S, Reader, SUPD, equal, main, read, stamp, test, texts, timed

KILLER = os.path.join(BUILD, "tests/lib/killer")


@test("lines have their path, time, stream and text")
def whole(p):
    log = p.write("a.log", timed((1, "one"), (2, 'tw"o\\ \t')))
    equal(Reader(("/user/a", log)).all(), [
        {"path": "/user/a", "time": stamp(1), "stream": "output", "text": "one"},
        {"path": "/user/a", "time": stamp(2), "stream": "output", "text": 'tw"o\\ \t'}])


@test("lines without times, of JSON and of foreign files are read as well")
def formats(p):
    plain = p.write("a.log", "one\n2026-11-21T00:00:00.001Z two\nrest")
    equal(Reader(("/user/a", "stderr", "plain", "", plain)).all(), [
        {"path": "/user/a", "time": None, "stream": "stderr", "text": "one"},
        {"path": "/user/a", "time": None, "stream": "stderr",
         "text": "2026-11-21T00:00:00.001Z two"},
        {"path": "/user/a", "time": None, "stream": "stderr", "text": "rest"}])
    log = p.write("b.log", '{"time":"%s","stream":"stderr","text":"\\u00fc\\"x"}\nnot json\n'
                  '{"time":"%s","stream":"stdout","text":"a"b"}\n' % (stamp(1), stamp(2)))
    equal(Reader(("/user/b", "output", "json", "", log)).all(), [
        {"path": "/user/b", "time": stamp(1), "stream": "stderr", "text": 'ü"x'},
        {"path": "/user/b", "time": None, "stream": "output", "text": "not json"},
        {"path": "/user/b", "time": None, "stream": "output",
         "text": '{"time":"%s","stream":"stdout","text":"a"b"}' % stamp(2)}])
    halves = ["\\udddd", "\\ud83d", "\\ud83d\\u0041", "\\ud83d\\ude0", "\\ud83dx"]
    line = '{"time":"%s","stream":"stdout","text":"%s"}'
    log = p.write("d.log", "".join(line % (stamp(1), one) + "\n"
                                   for one in [*halves, "\\uD83D\\uDE00"]))
    equal(texts(("/user/d", "output", "json", "", log)),
          [*(line % (stamp(1), one) for one in halves), "\U0001f600"], "halves of a pair")
    p.write("c.log.1", "of somebody else\n")
    equal(texts(("/user/c", "stdout", "foreign", "", p.write("c.log", "mine\n"))), ["mine"])


@test("any bytes make valid answers, and lines of any length come whole or in pieces")
def noise(p):
    log = p.write("a.log", b"2026-11-21T00:00:00.001Z \xff\x00\x1b[31m\xc3\n"
                  + b"x" * 200000 + b"\n" + b"y" * (256 * 1024) + b"\n" + b"z" * 600000 + b"\n\n")
    got = Reader(("/user/a", log)).all()
    equal(got[0]["text"], "\ufffd\ufffd\x1b[31m\ufffd")
    equal(base64.b64decode(got[0]["bytes"]), b"\xff\x00\x1b[31m\xc3")
    equal([one for one in got[1:] if "bytes" in one], [], "bytes of what is text")
    equal([len(a["text"]) for a in got[1:]],
          [200000, 262144, 262144, 262144, 600000 - 2 * 262144, 0], "the lengths")


@test("nothing logged yet is no error")
def nothing(p):
    equal(read(("/user/a", p.path("a.log")), ("/user/b", p.path("no/b.log"))), [])
    equal(read(("/user/a", p.write("e.log", ""))), [])


@test("what is no file, or cannot be read, is said")
def unreadable(p):
    os.mkfifo(p.path("fifo"))
    equal(read(("/user/a", p.path("fifo"))),
          ["!/user/a its output is no regular file"])
    os.symlink(p.path("fifo"), p.path("link"))
    equal(read(("/user/a", p.path("link"))),
          [f"!/user/a {p.path('link')}: it is a symbolic link"])
    p.write("b.log", "x\n")
    p.write("b.log.1.gz", "no gzip\n")
    answers = read(("/user/b", p.path("b.log")))
    equal((len(answers), answers[0].startswith("!/user/b " + p.path("b.log"))), (1, True))


@test("lines of several actors are merged by their times")
def merged(p):
    a = p.write("a.log", timed((1, "a1"), (4, "a2"), (4, "a3"), (9, "a4")))
    b = p.write("b.log", timed((2, "b1"), (4, "b2"), (8, "b3")))
    c = p.write("c.log", timed((3, "c1")) + "c2 without a time\n" + timed((10, "c3")))
    equal(texts(("/user/a", a), ("/user/b", b), ("/user/c", c)),
          ["a1", "b1", "c1", "c2 without a time", "a2", "a3", "b2", "b3", "a4", "c3"])


def three_files(p):
    p.write("a.log.3", timed((1, "l1"), (2, "l2"), (3, "l3")))
    p.pack("a.log.3")
    p.write("a.log.2", timed((4, "l4")))
    p.pack("a.log.2")
    p.write("a.log.1", timed((5, "l5"), (6, "l6")))
    return ("/user/a", p.write("a.log", timed((7, "l7"), (8, "l8"))))


@test("the past is read across rotated and packed files")
def rotated(p):
    equal(texts(three_files(p)), [f"l{n}" for n in range(1, 9)])


@test("the last N lines are found wherever they are")
def tails(p):
    a = three_files(p)
    for n in range(0, 11):
        equal(texts(a, lines=n), [f"l{i}" for i in range(1, 9)][8 - n if n <= 8 else 0:] if n
              else [], f"the last {n}")
    p.append("a.log", stamp(9) + " l9")
    equal(texts(a, lines=2), ["l8", "l9"], "with a line that is not complete")
    big = p.write("b.log", "".join(f"{n}\n" for n in range(100000)))
    equal(texts(("/user/b", "output", "plain", "", big), lines=30000),
          [str(n) for n in range(70000, 100000)], "many")
    b = p.write("c.log", timed((6, "c1"), (7, "c2"), (8, "c3")))
    equal(texts(a, ("/user/c", b), lines=2), ["c2", "l8", "c3", "l9"], "of each")


@test("since leaves out what is older, also whole files")
def since(p):
    a = three_files(p)
    equal(texts(a, since=stamp(4)), ["l4", "l5", "l6", "l7", "l8"])
    equal(texts(a, since=stamp(7), lines=5), ["l7", "l8"])
    equal(texts(a, since=stamp(4), lines=2), ["l7", "l8"])
    equal(texts(a, since=stamp(99)), [])
    day = 1795219200
    for name, second in (("a.log.3.gz", 100), ("a.log.2.gz", 200), ("a.log.1", 300)):
        os.utime(p.path(name), (day + second, day + second))
    equal(texts(a, since=stamp(150000)), [], "lines older than their file")
    plain = p.write("p.log", "new\n")
    p.write("p.log.1", "old\n")
    os.utime(p.path("p.log.1"), (day, day))
    equal(texts(("/user/p", "output", "plain", "", plain), since=stamp(60000)), ["new"])


@test("following begins with the last lines and goes on with what is written")
def follow(p):
    log = p.write("a.log", timed((1, "one"), (2, "two")))
    reader = Reader(("/user/a", log), follow=True, lines=1)
    equal(reader.texts(1), ["two"])
    p.append("a.log", timed((3, "three")) + "2026-")
    equal(reader.texts(1), ["three"])
    reader.quiet()
    p.append("a.log", "11-21T00:00:00.004Z four\n")
    equal(reader.texts(1), ["four"])
    equal(reader.close(), 0, "its exit status when nobody reads any more")


@test("following finds files and directories that are made later")
def late(p):
    reader = Reader(("/user/a", p.path("user/a.log")), ("/user/b", p.path("b.log")),
                    follow=True)
    p.write("b.log", timed((1, "b1")))
    equal(reader.texts(1), ["b1"])
    os.mkdir(p.path("user"))
    p.write("user/a.log", timed((1, "a1")))
    equal(reader.texts(1), ["a1"])
    p.append("user/a.log", timed((2, "a2")))
    equal(reader.texts(1), ["a2"])
    reader.close()


@test("following goes on across rotation, many at once, packed or not")
def follow_rotation(p):
    p.write("a.log", timed((1, "l1")))
    reader = Reader(("/user/a", p.path("a.log")), follow=True)
    equal(reader.texts(1), ["l1"])
    number = 2
    for pack in (None, 1, None):
        p.append("a.log", timed((number, f"l{number}")))
        p.rotate("a.log", pack_from=pack)
        p.write("a.log", timed((number + 1, f"l{number + 1}")))
        equal(reader.texts(2), [f"l{number}", f"l{number + 1}"])
        number += 2
    os.kill(reader.process.pid, 19)
    for n in range(3):
        p.append("a.log", timed((number + n, f"l{number + n}")))
        p.rotate("a.log", pack_from=1 if n == 1 else None)
        p.write("a.log", "")
    p.append("a.log", timed((number + 3, f"l{number + 3}")))
    os.kill(reader.process.pid, 18)
    equal(reader.texts(4), [f"l{number + n}" for n in range(4)])
    reader.quiet()
    reader.close()


@test("every line comes once while files are rotated as fast as they can be")
def storm(p):
    p.write("a.log", timed((0, "l0")))
    reader = Reader(("/user/a", p.path("a.log")), follow=True)
    expected = ["l0"]
    for n in range(1, 400):
        if n % 4 == 0:
            p.rotate("a.log", keep=1000, pack_from=1 if n % 16 == 0 else None)
            p.write("a.log", "")
        p.append("a.log", timed((n, f"l{n}")))
        expected.append(f"l{n}")
    equal(reader.texts(400), expected)
    reader.close()


@test("a file that is emptied begins anew, one that is written again does not")
def shorter(p):
    log = p.write("a.log", timed((1, "one"), (2, "two")))
    reader = Reader(("/user/a", log), follow=True)
    equal(reader.texts(2), ["one", "two"])
    # The successor of a killed log process cuts off unfinished lines and writes them again.
    os.truncate(log, len(timed((1, "one"))))
    p.append("a.log", timed((5, "two"), (6, "three")))
    equal(reader.texts(1), ["three"])
    os.truncate(log, 0)
    p.append("a.log", timed((7, "uno")))
    equal(reader.texts(1), ["uno"])
    reader.quiet()
    reader.close()


@test("a reader ends when its client is gone, also while nothing happens")
def ends(p):
    reader = Reader(("/user/a", p.path("a.log")), follow=True)
    reader.quiet()
    equal(reader.close(), 0, "its exit status")


def place_of(answer):
    return answer["stream"].partition("@")[2]


@test("with positions the places come first, then a place behind each line")
def places(p):
    log = p.write("a.log", timed((1, "one"), (2, "two")))
    answers = Reader(("/user/a", log), ("/user/b", p.path("b.log")), positions=True,
                     lines=1).all()
    equal([(a["path"], a["stream"].partition("@")[0], a["text"]) for a in answers],
          [("/user/a", "", ""), ("/user/b", "", ""), ("/user/a", "output", "two")])
    for answer, rest in ((answers[0], ["two"]), (answers[2], [])):
        again = ("/user/a", "output", "timed", place_of(answer), log)
        equal(texts(again), rest, "what is behind a place")
    p.write("b.log.1", timed((1, "b1")))
    p.write("b.log", timed((2, "b2")))
    again = ("/user/b", "output", "timed", place_of(answers[1]), p.path("b.log"))
    equal(texts(again), ["b1", "b2"], "where nothing was there all is new")


@test("a place is found again after rotation, packing and removal")
def found_again(p):
    log = p.write("a.log", timed((1, "l1"), (2, "l2")))
    place = place_of(Reader(("/user/a", log), positions=True, lines=1).all()[0])
    again = ("/user/a", "output", "timed", place, log)
    equal(texts(again), ["l2"])
    p.rotate("a.log")
    p.write("a.log", timed((3, "l3")))
    equal(texts(again), ["l2", "l3"], "rotated")
    p.pack("a.log.1")
    equal(texts(again), ["l2", "l3"], "packed")
    p.rotate("a.log")
    p.write("a.log", timed((4, "l4")))
    equal(texts(again), ["l2", "l3", "l4"], "rotated again")
    os.unlink(p.path("a.log.2.gz"))
    equal(texts(again), ["l3", "l4"], "removed")
    equal(texts(("/user/a", "output", "timed", "end", log)), [], "the end")


@test("two files of an actor have the same place")
def two_files(p):
    out = p.write("out", "o1\no2\n")
    err = p.write("err", "e1\n")
    sources = [("/user/a", "stdout", "foreign", "", out),
               ("/user/a", "stderr", "foreign", "", err)]
    answers = Reader(*sources, positions=True).all()
    equal([(a["stream"].partition("@")[0], a["text"]) for a in answers],
          [("", ""), ("stdout", "o1"), ("stdout", "o2"), ("stderr", "e1")])
    first, second = place_of(answers[1]).split("+")
    equal(texts(("/user/a", "stdout", "foreign", first, out),
                ("/user/a", "stderr", "foreign", second, err)), ["o2", "e1"])


@test("killed and started again at any moment it leaves out and doubles nothing")
def killed(p):
    p.write("a.log", timed((0, "l0")))
    got = []
    place = ""
    number = 1
    for turn in range(30):
        reader = Reader(("/user/a", "output", "timed", place, p.path("a.log")),
                        follow=True, positions=True)
        reader.take(1)
        for n in range(20):
            if number % 7 == 0:
                p.rotate("a.log", keep=1000, pack_from=1 if number % 3 == 0 else None)
                p.write("a.log", "")
            p.append("a.log", timed((number // 10, f"l{number}")))
            number += 1
        for answer in reader.take(1 + turn % 10):
            got.append(answer["text"])
            place = place_of(answer)
        reader.process.kill()
        reader.close()
    again = ("/user/a", "output", "timed", place, p.path("a.log"))
    equal(got + texts(again), [f"l{n}" for n in range(number)])


def stop_at(pid, n, goes_on):
    """Stop a stopped process at its n-th system call, or its exit, from now; False: before
    that it has done what `goes_on` waits for."""
    with subprocess.Popen([KILLER, str(pid), str(n), "STOP"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as stopper:
        equal(stopper.stdout.readline()[:8], b"attached")
        os.kill(pid, signal.SIGCONT)
        end = time.monotonic() + GUARD_S
        while not select.select([stopper.stdout], [], [], 0)[0]:
            if goes_on():
                return False
            if time.monotonic() > end:
                raise AssertionError(f"neither the {n}th stop nor what comes of it")
    return True


@test("no file is passed over, wherever the reader is while they get their numbers")
def renumbered(p):
    n, stopped = 0, True
    while stopped:
        n += 1
        a = p.write(f"{n}.log", timed((1, "l1")))
        reader = Reader(("/user/a", a), follow=True)
        equal(reader.texts(1), ["l1"])
        pid = reader.process.pid
        os.kill(pid, signal.SIGSTOP)
        os.waitid(os.P_PID, pid, os.WSTOPPED)
        p.rotate(f"{n}.log")
        p.write(f"{n}.log", timed((2, "l2")))
        # The first step of the next rotation; the others come when the reader is stopped.
        os.rename(f"{a}.1", f"{a}.2")
        stopped = stop_at(pid, n, lambda: reader.pump(0.01) and len(reader.answers) > 1)
        os.rename(a, f"{a}.1")
        p.write(f"{n}.log", timed((3, "l3")))
        os.kill(pid, signal.SIGCONT)
        equal(reader.texts(2), ["l2", "l3"], f"the lines, when it was stopped at {n}")
        reader.close()
    if n < 10:
        raise AssertionError(f"only {n} stops")


@test("a request that makes no sense is refused")
def nonsense(p):
    for fields in (["0", "all", "", "0", "/user/a", "x", "no such format", "", "/x"],
                   ["0", "all", "yesterday", "0"],
                   ["0", "all", "", "0", "/user/a", "o", "timed", "", "no slash"],
                   ["0", "all", "", "0", "/user/a", "o", "timed", "1.2", p.path("x")],
                   ["0", "all", "", "0", "/user/a"]):
        done = subprocess.run([SUPD, "@logs"], stdout=subprocess.PIPE, timeout=GUARD_S,
                              input="".join(f + "\0" for f in fields).encode())
        equal((done.returncode, done.stdout[:1]), (74, b"!"), f"the answer to {fields}")


@test("a reader takes one request after the other, and ends when there is none")
def again(p):
    with subprocess.Popen([SUPD, "@logs"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as reader:
        for name in "abc":
            log = p.write(f"{name}.log", timed((1, "x"), (2, name)))
            fields = ["0", "1", "", "0", f"/user/{name}", "output", "timed", "", log]
            reader.stdin.write("".join(f + "\0" for f in fields).encode())
            equal(json.loads(reader.stdout.readline())["text"], name, "the line")
            equal(reader.stdout.readline(), b".\n", "the mark")
        reader.stdin.close()
        equal((reader.stdout.read(), reader.wait(GUARD_S)), (b"", 0), "the end")


sys.exit(main())
