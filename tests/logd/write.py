#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The log process writes the output of actors."""
import gzip
import json
import os
import re
import signal
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from logd import (JOURNAL, OUTPUT, STAMP, STDERR, SYSLOG, Log, check, equal, has, logd_test, main,
                  numbered, read)


@logd_test("what an actor prints is in its file")
def _(logd, place):
    logd.start()
    one = logd.add(f"{place}/deep/down/a.log", Log())
    one.write("hello\nworld\n")
    logd.settle()
    equal(read(one.path), b"hello\nworld\n", "the file")
    equal(os.stat(one.path).st_mode & 0o777, 0o640, "its mode")


@logd_test("with timestamps each line begins with the time, wherever it was cut")
def _(logd, place):
    logd.start()
    text = b"one\n\ntwo two\nthree\n"
    for cut in range(len(text) + 1):
        one = logd.add(f"{place}/{cut}.log", Log(timestamps=True))
        one.write(text[:cut])
        logd.settle()
        if cut % 5 == 0:
            logd.kill()
            logd.start()
        one.write(text[cut:])
        logd.settle()
        expected = b"".join(STAMP + line + b"\n" for line in text.split(b"\n")[:-1])
        check(re.fullmatch(expected, read(one.path)),
              lambda path=one.path: f"{cut}: {read(path)}")


@logd_test("two streams of one file do not get into each other's lines")
def _(logd, place):
    logd.start()
    out = logd.add(f"{place}/a.log", Log(timestamps=True))
    err = logd.add(f"{place}/a.log", Log(timestamps=True), name=STDERR)
    out.write("half a ")
    logd.settle()
    err.write("an error\n")
    logd.settle()
    out.write("line\n")
    logd.settle()
    check(re.fullmatch(STAMP + b"half a \n" + STAMP + b"an error\n" + STAMP + b"line\n",
                       read(out.path)), read(out.path))


@logd_test("as JSON each line is an object, and text is valid whatever it is")
def _(logd, place):
    logd.start()
    one = logd.add(f"{place}/a.log", Log(json=True), name=OUTPUT)
    one.write(b'say "hi"\\\n\xff\x00tab\there \xc3\xa9\n')
    one.write("x" * 60000 + "\nhalf")
    logd.until(lambda: one.waiting() == 4, "the whole lines")
    objects = [json.loads(line) for line in read(one.path).split(b"\n")[:-1]]
    equal([o["text"] for o in objects],
          ['say "hi"\\', "\ufffd\ufffdtab\there é", "x" * 49152, "x" * (60000 - 49152)],
          "the texts")
    equal({o["stream"] for o in objects}, {"output"}, "the streams")
    has(objects[0]["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$", "the time")
    one.write(" a line\n")
    logd.settle()
    equal(json.loads(read(one.path).split(b"\n")[-2])["text"], "half a line", "the rest")


@logd_test("a part of a line is a line when its process is gone")
def _(logd, place):
    logd.start()
    one = logd.add(f"{place}/a.log", Log(json=True))
    one.write("last words")
    logd.until(lambda: one.waiting() == 10, "nothing")
    one.incarnation = 2
    logd.change(one)
    logd.settle()
    one.write("first words\n")
    logd.settle()
    texts = [json.loads(line)["text"] for line in read(one.path).split(b"\n")[:-1]]
    equal(texts, ["last words", "first words"], "the lines")


@logd_test("files are set aside when they are full, at the end of a line")
def _(logd, place):
    logd.start()
    one = logd.add(f"{place}/a.log", Log(max_size=1000, keep=3))
    lines = [b"%04d %s\n" % (i, b"x" * 44) for i in range(200)]
    one.write(b"".join(lines))
    logd.settle()
    equal(numbered(one.path), ["1", "2", "3"], "the numbers")
    text = b"".join(read(one.path + end) for end in (".3", ".2", ".1", ""))
    equal(text, b"".join(lines[-80:]), "the text")
    equal({os.stat(one.path + end).st_size for end in (".3", ".2", ".1", "")}, {1000},
          "the sizes")


@logd_test("a line that is longer than a file is cut, and nothing of it is lost")
def _(logd, place):
    logd.start()
    for timestamps in False, True:
        log = Log(max_size=1000, keep=99, timestamps=timestamps)
        one = logd.add(f"{place}/{timestamps}.log", log)
        text = b"%s\nshort\n" % (b"0123456789" * 700)
        one.write(text)
        logd.settle()
        ends = sorted((-int(number) for number in numbered(one.path)))
        got = b"".join(read(f"{one.path}.{-end}") for end in ends) + read(one.path)
        equal(re.sub(STAMP, b"", got), text, "the text")


@logd_test("all files of a log together are no larger than they may be")
def _(logd, place):
    logd.start()
    one = logd.add(f"{place}/a.log", Log(max_size=1000, keep=50, total=5000))
    for _ in range(100):
        one.write(b"x" * 99 + b"\n" + b"y" * 99 + b"\n")
        logd.settle()
        sizes = [os.stat(os.path.join(place, name)).st_size for name in os.listdir(place)]
        check(sum(sizes) <= 5000, f"{sum(sizes)} bytes")
    check(sum(sizes) > 3500, f"only {sum(sizes)} bytes")


@logd_test("what was set aside is removed when it is too old")
def _(logd, place):
    logd.start()
    one = logd.add(f"{place}/a.log", Log(max_size=1000, keep=9, max_age_ms=3600000))
    for _ in range(3):
        one.write((b"x" * 99 + b"\n") * 10)
        logd.settle()
    equal(numbered(one.path), ["1", "2"], "before")
    os.utime(one.path + ".2", (1, 1))
    one.write((b"x" * 99 + b"\n") * 10)
    logd.settle()
    equal(numbered(one.path), ["1", "2"], "after")
    check(os.stat(one.path + ".2").st_mtime > 1, "the old one is still there")


@logd_test("a number that a killed log process left free is used first")
def _(logd, place):
    logd.start()
    one = logd.add(f"{place}/a.log", Log(max_size=1000, keep=5))
    for number, text in (1, "one"), (3, "three"), (4, "four"), (5, "five"):
        with open(f"{one.path}.{number}", "w", encoding="ascii") as file:
            file.write(text)
    one.write((b"x" * 99 + b"\n") * 11)
    logd.settle()
    equal([read(f"{one.path}.{n}") for n in (2, 3, 4, 5)],
          [b"one", b"three", b"four", b"five"], "what was there")


@logd_test("what was set aside is compressed, when that is wanted")
def _(logd, place):
    logd.start()
    one = logd.add(f"{place}/a.log", Log(max_size=100000, keep=9, compress=True))
    text = b"".join(b"%d\n" % i for i in range(40000))
    for names in ["1.gz"], ["1.gz", "2.gz"]:
        half = len(text) // 2
        one.write(text[:half] if len(names) == 1 else text[half:])
        logd.settle()
        logd.until(lambda names=names: numbered(one.path) == names,
                   lambda: numbered(one.path))
    got = b"".join(gzip.decompress(read(one.path + end)) for end in (".2.gz", ".1.gz"))
    equal(got + read(one.path), text, "the text")
    equal(logd.troubles, [], "the troubles")


@logd_test("the last write of a gzip that was killed does not reach what the next one makes")
def _(logd, place):
    with open(f"{place}/a.log.1.gz.part", "wb") as killed:
        logd.start()
        one = logd.add(f"{place}/a.log", Log(max_size=100000, keep=9, compress=True))
        text = b"".join(b"%d\n" % i for i in range(20000))
        one.write(text)
        logd.until(lambda: numbered(one.path) == ["1.gz"], lambda: numbered(one.path))
        killed.write(b"garbage")
    equal(gzip.decompress(read(one.path + ".1.gz")) + read(one.path), text, "the text")


@logd_test("where nothing can be compressed files stay as they are, which is told once")
def _(logd, place):
    for number in range(1, 10):
        os.mkdir(f"{place}/a.log.{number}.gz.part")
    logd.start()
    one = logd.add(f"{place}/a.log", Log(max_size=10000, keep=9, compress=True))
    text = b"".join(b"%d\n" % i for i in range(8000))
    one.write(text)
    logd.settle()
    logd.until(lambda: logd.troubles, "no trouble")
    got = b"".join(read(name) for name in (*(f"{one.path}.{n}" for n in range(9, 0, -1)),
                                           one.path) if os.path.exists(name))
    equal(got, text, "the text")
    equal(len(logd.troubles), 1, "the troubles")
    has(logd.troubles[0][2], "cannot compress a rotated file of .*: it stays uncompressed", "the sentence")


@logd_test("files that were moved away are left, and made anew, with USR1 or REOPEN")
def _(logd, place):
    logd.start()
    one = logd.add(f"{place}/a.log", Log())
    for i, reopen in enumerate((lambda: logd.process.send_signal(signal.SIGUSR1),
                                lambda: logd.send(6))):
        one.write("before\n")
        logd.settle()
        os.rename(one.path, f"{place}/moved{i}")
        reopen()
        logd.until(lambda name=f"{place}/moved{i}": not logd.has_open(name), "it is open")
        one.write("after\n")
        logd.settle()
        equal(read(one.path), b"after\n", "the new file")
        equal(read(f"{place}/moved{i}")[-7:], b"before\n", "the old one")
        os.unlink(one.path)


@logd_test("a file that was removed or cut is noticed with the next line")
def _(logd, place):
    logd.start()
    one = logd.add(f"{place}/a.log", Log())
    one.write("one\n")
    logd.settle()
    os.unlink(one.path)
    one.write("two\n")
    logd.settle()
    equal(read(one.path), b"two\n", "after it was removed")
    os.truncate(one.path, 0)
    one.write("three\n")
    logd.settle()
    equal(read(one.path), b"three\n", "after it was cut")


def fields(datagram):
    """Of the journal's protocol."""
    found = {}
    while datagram:
        line, _, datagram = datagram.partition(b"\n")
        name, equals, value = line.partition(b"=")
        if not equals:
            size = int.from_bytes(datagram[:8], "little")
            value, datagram = datagram[8:8 + size], datagram[9 + size:]
        found[name.decode()] = value
    return found


@logd_test("the journal gets each line with what is known of it")
def _(logd, place):
    logd.start()
    one = logd.add(f"{place}/journal", Log(), target=JOURNAL, name=STDERR,
                   actor="/user/app/api")
    one.incarnation, one.pid = 3, 4711
    logd.change(one)
    one.write(b"early\n<3>an error\n\n<9>odd\nnul \0 in it\nhalf")
    logd.until(lambda: logd.troubles, "that there is no socket is told")
    has(logd.troubles[0][2], "its writers wait")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as journal:
        journal.bind(f"{place}/journal")
        journal.settimeout(10)
        got = [fields(journal.recv(65536)) for _ in range(4)]
        equal([(g["MESSAGE"], g["PRIORITY"]) for g in got],
              [(b"early", b"6"), (b"an error", b"3"), (b"<9>odd", b"6"),
               (b"nul \0 in it", b"6")], "the lines")
        known = {"SYSLOG_IDENTIFIER": b"api", "SYSLOG_PID": b"4711", "SUPD_GENERATION": b"7",
                 "SUPD_PATH": b"/user/app/api", "SUPD_INCARNATION": b"3",
                 "SUPD_STREAM": b"stderr"}
        equal({name: got[0][name] for name in known}, known, "the fields")
        logd.until(lambda: one.waiting() == 4, "a part of a line is left")
        one.write(" a line\n")
        equal(fields(journal.recv(65536))["MESSAGE"], b"half a line", "the rest")
        one.write(b"y" * 50000 + b"\n")
        equal([len(fields(journal.recv(65536))["MESSAGE"]) for _ in range(2)],
              [49152, 50000 - 49152], "the parts of a long line")
    logd.until(lambda: logd.troubles[-1][0] == 0, "that it is over is told")


@logd_test("syslog gets each line with its priority")
def _(logd, place):
    logd.start()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
        log.bind(f"{place}/log")
        log.settimeout(10)
        one = logd.add(f"{place}/log", Log(), target=SYSLOG, actor="/user/app/api")
        one.write("plain\n<2>critical\n")
        for priority, text in (30, "plain"), (26, "critical"):
            has(log.recv(4096).decode(),
                rf"^<{priority}>\w{{3}} [ \d]\d \d\d:\d\d:\d\d api: {text}$", "the line")


@logd_test("a slow journal loses nothing, nor does one that begins anew")
def _(logd, place):
    logd.start()
    one = logd.add(f"{place}/journal", Log(), target=JOURNAL)
    lines = [b"%d" % i for i in range(3000)]
    got = []
    for life in range(2):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as journal:
            journal.bind(f"{place}/journal")
            journal.settimeout(10)
            one.write(b"\n".join(lines[life * 1500:(life + 1) * 1500]) + b"\n")
            while len(got) < (life + 1) * 1500:
                got.append(fields(journal.recv(65536))["MESSAGE"])
        os.unlink(f"{place}/journal")
    equal(got, lines, "the lines")


@logd_test("the last that a stream said can be read at any time")
def _(logd, place):
    logd.start()
    one = logd.add(f"{place}/a.log", Log())
    two = logd.add(f"{place}/b.log", Log(timestamps=True))
    for stream in one, two:
        said = b""
        for i in range(300):
            text = b"%d %s\n" % (i, b"x" * (i % 70))
            stream.write(text)
            said += text
            if i % 50 == 0:
                logd.settle()
            total, tail = logd.tail(stream)
            if total != len(said):
                # Between two steps lines may be there twice.
                logd.settle()
                total, tail = logd.tail(stream)
            equal(total, len(said), "how much was said")
            check(said.endswith(tail) and len(tail) >= min(len(said), 2048),
                  f"{len(tail)} of {len(said)}: {tail[-100:]}")
    logd.kill()
    one.write("after its death\n")
    check(logd.tail(one)[1].endswith(b"after its death\n"), "what is in the pipe")


@logd_test("told to end it writes what was said, and ends")
def _(logd, place):
    logd.start()
    streams = [logd.add(f"{place}/{i}.log", Log(json=i == 3)) for i in range(50)]
    for stream in streams:
        stream.write(b"x\n" * 20000 + b"the last")
    equal(logd.stop(), 0, "its end")
    for stream in streams:
        has(read(stream.path).decode(), 'the last("}\n)?$', stream.path)


@logd_test("when nothing is said nothing wakes")
def _(logd, place):
    logd.start()
    streams = [logd.add(f"{place}/{i}.log", Log(json=i == 1)) for i in range(3)]
    for stream in streams:
        stream.write("hello\nhalf")
    logd.until(lambda: [s.waiting() for s in streams] == [0, 4, 0], "the lines")

    def switches():
        with open(f"/proc/{logd.process.pid}/status", encoding="ascii") as status:
            return sum(int(line.split()[1]) for line in status if "ctxt" in line)
    before = [switches()]

    def is_quiet():
        time.sleep(0.2)
        before.append(switches())
        return before[-1] == before[-2]
    logd.until(is_quiet, "it is never quiet")


if __name__ == "__main__":
    main()
