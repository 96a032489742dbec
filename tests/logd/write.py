#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The log process writes the output of actors."""
import errno
import gzip
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from logd import (AS_BEFORE, ASK, FLUSH, JOURNAL, OUTPUT, SAY, SHOW, STDERR, SYSLOG, Log, Skip,
                  check, equal, has, logd_test, main, program, read)

KILLER = program("killer", "tests/lib")
STAMP = rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z "


def numbered(path):
    """What is set aside, by number."""
    where, name = os.path.split(path)
    return sorted(entry[len(name) + 1:] for entry in os.listdir(where)
                  if entry.startswith(name + "."))


def sleeps(pid):
    """Does the process wait for something, traced or not?  A stopped process does not."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        return stat.read().rpartition(")")[2].split()[0] == "S"


def with_disk(box, size, use):
    """A small disk of its own for a test."""
    disk = os.path.join(box, "disk")
    os.mkdir(disk)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", disk],
                      stderr=subprocess.DEVNULL, check=False).returncode != 0:
        raise Skip("cannot mount")
    try:
        use(disk)
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


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


@logd_test("a full disk makes its writers wait, others go on, and it is told once",
           root=True)
def _(logd, place):
    def use(disk):
        logd.start()
        full = logd.add(f"{disk}/full.log", Log())
        stamped = logd.add(f"{disk}/stamped.log", Log(timestamps=True))
        fine = logd.add(f"{place}/fine.log", Log())
        with open(f"{disk}/ballast", "wb") as file:
            file.write(bytes(40960))
        lines = b"".join(b"%d\n" % i for i in range(10000))
        full.write(lines)
        stamped.write(lines)
        fine.write(lines)
        logd.until(lambda: fine.waiting() == 0, "the other file")
        logd.until(lambda: len(logd.troubles) == 2, "it is told")
        check(full.waiting() > 0 and stamped.waiting() > 0, "the full disk took all")
        equal({t[0] for t in logd.troubles}, {28}, "the errors")
        has(logd.troubles[0][2], "^disk full: .*: the writers of that file wait$")
        logd.kill()
        logd.start()
        logd.until(lambda: len(logd.troubles) == 4, "its successor tells it")
        os.unlink(f"{disk}/ballast")
        subprocess.run(["mount", "-o", "remount,size=4m", disk], check=True)
        logd.settle()
        logd.until(lambda: len(logd.troubles) == 6, "it is told that it is over")
        equal(read(full.path), lines, "the file")
        equal(re.sub(STAMP, b"", read(stamped.path)), lines, "the one with times")
        equal(read(fine.path), lines, "the other one")
        logd.kill()
    with_disk(place, "80k", use)


@logd_test("when_full: drop: a full disk lets writers go on, and the file says what it lacks",
           root=True)
def _(logd, place):
    def use(disk):
        logd.start()
        plain = logd.add(f"{disk}/plain.log", Log(drop=True))
        stamped = logd.add(f"{disk}/stamped.log", Log(timestamps=True, drop=True))
        both = (plain, stamped)
        with open(f"{disk}/ballast", "wb") as file:
            file.write(bytes(40960))
        line = b"x" * 99 + b"\n"
        for _ in range(10):
            for stream in both:
                stream.write(line * 100)
            logd.settle()
        logd.until(lambda: {key for key, error in logd.blocked if error == 28} == {1, 2}, "blocked")
        has(logd.troubles[0][2], "^disk full: .*: output is dropped$")
        logd.kill()
        logd.start()
        for stream in both:
            stream.write(line * 100)
        logd.settle()
        equal(len(logd.blocked), 2, "a successor tells no new episode")
        os.unlink(f"{disk}/ballast")
        subprocess.run(["mount", "-o", "remount,size=4m", disk], check=True)
        # Nothing is said meanwhile.
        logd.until(lambda: [*dict(logd.blocked).values()] == [0, 0], "it is over")
        for stream in both:
            stream.write("last\n")
        logd.settle()
        for stream in both:
            text = re.sub(STAMP, b"", read(stream.path))
            missing = [int(n) for n in re.findall(rb"(?m)^supd: (\d+) bytes are missing here", text)]
            kept = text.count(line)
            # The last page of a full disk may have room for a note and a line: two notes then.
            check(1 <= len(missing) <= 2, missing)
            check(abs(11 * 100 * 100 - kept * 100 - sum(missing)) < 300, (kept * 100, missing))
            check(re.search(rb"could not be written\nlast\n$", text), text[-200:])
        logd.kill()
    with_disk(place, "80k", use)


@logd_test("when_full: drop: whole lines are dropped, and what is begun is written later")
def _(logd, place):
    logd.start()
    with open(f"{place}/file", "w", encoding="ascii"):
        pass
    one = logd.add(f"{place}/file/a.log", Log(drop=True))
    one.write("lost\nhalf of ")
    logd.until(lambda: one.waiting() == 8, "the whole line is dropped")
    os.unlink(f"{place}/file")
    logd.until(lambda: logd.blocked[-1:] == [(one.key, 0)], "that it is over is told")
    one.write("a line\n")
    logd.settle()
    equal(read(one.path), b"supd: 5 bytes are missing here: they could not be written\n"
          b"half of a line\n", "the file")


@logd_test("a file that can be written and cannot by turns has few troubles")
def _(logd, place):
    logd.start()
    folder = f"{place}/folder"
    one = logd.add(f"{folder}/a.log", Log())
    begun = time.monotonic()
    for _ in range(20):
        with open(folder, "w", encoding="ascii"):
            pass
        one.write("a\n")
        logd.until(lambda: logd.blocked and sleeps(logd.process.pid), "it waits")
        os.unlink(folder)
        logd.settle()
        os.unlink(one.path)
        os.rmdir(folder)
    took = time.monotonic() - begun
    over = [entry for entry in logd.blocked if entry[1] == 0]
    check(len(over) <= took + 1, f"{len(over)} troubles were over in {took:.1f} s")


@logd_test("a link in the place of a log file is not followed, which is told; other files are written")
def _(logd, place):
    logd.start()
    with open(f"{place}/secret", "wb") as file:
        file.write(b"as it was\n")
    os.symlink(f"{place}/secret", f"{place}/0.log")
    os.symlink(f"{place}/nothing", f"{place}/1.log")
    links = [logd.add(f"{place}/{n}.log", Log(timestamps=n == 1)) for n in range(2)]
    fine = logd.add(f"{place}/fine.log", Log())
    for stream in (*links, fine):
        stream.write("hello\n")
    logd.until(lambda: len(logd.troubles) == 2 and fine.waiting() == 0, lambda: logd.troubles)
    equal(read(fine.path), b"hello\n", "the other file")
    for error, path, sentence in logd.troubles:
        equal(error, errno.ELOOP, f"the error of {path}")
        has(sentence, "cannot write .*: the writers of that file wait")
    equal([stream.waiting() for stream in links], [6, 6], "what waits")
    check(not os.path.lexists(f"{place}/nothing"), "the file behind the second link was made")
    for stream in links:
        os.unlink(stream.path)
    logd.settle()
    equal([read(stream.path)[-6:] for stream in links], [b"hello\n"] * 2, "the files")
    equal(read(f"{place}/secret"), b"as it was\n", "the file behind the first link")


@logd_test("a directory that cannot be made is told, and what was said waits for it")
def _(logd, place):
    logd.start()
    with open(f"{place}/file", "w", encoding="ascii"):
        pass
    one = logd.add(f"{place}/file/a.log", Log())
    one.write("hello\n")
    logd.until(lambda: logd.troubles, "it is told")
    has(logd.troubles[0][2], "cannot write .*Not a directory")
    os.unlink(f"{place}/file")
    logd.settle()
    equal(read(one.path), b"hello\n", "the file")
    logd.until(lambda: logd.troubles[-1][0] == 0, "that it is over is told")


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


@logd_test("told to end it does not wait for a place that cannot be written; the next one may")
def _(logd, place):
    logd.start()
    with open(f"{place}/file", "w", encoding="ascii"):
        pass
    lost = [logd.add(f"{place}/file/{i}.log", Log()) for i in range(3)]
    fine = logd.add(f"{place}/fine.log", Log())
    for stream in lost[:2]:
        stream.write("hello\n")
    logd.until(lambda: len(logd.troubles) == 2, "it is told")
    for stream in (lost[0], lost[2], fine):
        stream.write("bye\n")
    equal(logd.stop(), 0, "its end")
    equal(read(fine.path), b"bye\n", "what could be written")
    os.unlink(f"{place}/file")
    logd.start()
    logd.settle()
    equal([read(stream.path) for stream in lost], [b"hello\nbye\n", b"hello\n", b"bye\n"],
          "what waited for the next one")


@logd_test("what was meant for a predecessor is not heeded")
def _(logd, place):
    stale = logd.add(f"{place}/stale.log", Log())
    logd.send(1, instance=7)
    logd.name(stale)
    logd.send(5)
    del logd.streams[stale.key]
    stale.write("not for you\n")
    logd.start()
    one = logd.add(f"{place}/a.log", Log())
    one.write("hello\n")
    logd.settle()
    check(not os.path.exists(stale.path), "the stale stream was written")
    check(not logd.has_open(os.readlink(f"/proc/self/fd/{stale.fd}")), "it has its pipe")
    stale.close()


@logd_test("a new guardian names the streams again; a stream that is not named is gone")
def _(logd, place):
    logd.start()
    one = logd.add(f"{place}/a.log", Log())
    two = logd.add(f"{place}/b.log", Log())
    one.write("one\n")
    two.write("two\n")
    logd.settle()
    del logd.streams[two.key]
    logd.send(0)
    logd.serve(5)
    two.write("last\n")
    one.write("more\n")
    logd.settle()
    pipe = os.readlink(f"/proc/self/fd/{two.fd}")
    logd.until(lambda: not logd.has_open(pipe), "it is dropped")
    equal(read(one.path), b"one\nmore\n", "the one that stays")
    two.close()


@logd_test("a file that was packed by a log process which died before it removed it is removed")
def _(logd, place):
    path = f"{place}/a.log"
    for number, seconds in (1, 1), (2, 2):
        with open(f"{path}.{number}", "wb") as file:
            file.write(b"said\n")
        with gzip.open(f"{path}.{number}.gz", "wb") as file:
            file.write(b"said\n")
        os.utime(f"{path}.{number}", (1000, 1000))
        os.utime(f"{path}.{number}.gz", (1000, 1000 * seconds))
    logd.add(path, Log(compress=True))
    logd.start()
    logd.until(lambda: numbered(path) in (["1.gz", "2"], ["1.gz", "2.gz"]), "one of each")
    equal(logd.stop(), 0, "its end")


@logd_test("what is said at any moment of the first look at a pipe is not overlooked")
def _(logd, place):
    logd.start()
    n, is_over = 1, False
    while not is_over:
        pid = logd.process.pid
        with subprocess.Popen([KILLER, str(pid), str(n), "STOP"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as stopper:
            check(stopper.stdout.readline().startswith(b"attached"), "it is watched")
            stream = logd.add(f"{place}/{n}.log", Log())
            logd.until(lambda: select.select([stopper.stdout], [], [], 0)[0] or
                       sleeps(pid), "it stops, or has nothing to do")
            is_over = not select.select([stopper.stdout], [], [], 0)[0]
            stream.write(b"here\n")
        os.kill(pid, signal.SIGCONT)
        logd.until(lambda: stream.waiting() == 0, f"stopped at {n}, it overlooks a line")
        logd.until(lambda: read(stream.path) == b"here\n", "the line in its file")
        n += 1
    check(n > 10, f"only {n} moments")


def await_line(logd, stream, pattern, match_from):
    stream.pattern, stream.match_from = pattern, match_from
    logd.change(stream)


@logd_test("a line that is waited for is told once; whole, and not one of before")
def _(logd, place):
    logd.start()
    for number, log in enumerate((Log(), Log(timestamps=True), Log(json=True))):
        stream = logd.add(f"{place}/{number}.log", log)
        stream.write("up\n")
        logd.settle()
        await_line(logd, stream, "^up$", 4)
        stream.write("not up\nu")
        logd.until(lambda: stream.waiting() == 1, "a part of a line stays where it is")
        logd.serve()
        equal(logd.matches, [], "matches")
        stream.write("p\nup\n")
        logd.settle()
        logd.until(lambda: logd.matches, "it is told")
        equal(logd.matches, [(stream.key, 4)], "what is told")
        logd.matches.clear()
        await_line(logd, stream, "^up$", 17)
        stream.write("up\n")
        logd.until(lambda: logd.matches, "the next one is told")
        logd.settle()
        equal(logd.matches, [(stream.key, 17)], "what is told")
        logd.matches.clear()


@logd_test("a line that is waited for is found though the life before it was flushed late")
def _(logd, place):
    logd.start()
    stream = logd.add(f"{place}/x.log", Log(timestamps=True))
    await_line(logd, stream, "^listening on [0-9]+$", 1)
    stream.write("the end of the life bef")
    logd.until(lambda: stream.waiting() > 0, "the part")
    logd.send(FLUSH, key=stream.key)
    logd.settle()
    stream.write("listening on ")
    logd.send(FLUSH, key=stream.key)
    logd.settle()
    equal(logd.matches, [], "matches")
    stream.write("80\n")
    logd.until(lambda: logd.matches == [(stream.key, 1)], "it is told")


@logd_test("a line that was waited for is told to each guardian that asks anew, whatever has died")
def _(logd, place):
    logd.start()
    stream = logd.add(f"{place}/x.log", Log(timestamps=True))
    await_line(logd, stream, "up", 1)
    stream.write("it is up\n")
    logd.until(lambda: logd.matches == [(stream.key, 1)], "it is told")
    stream.match_from = AS_BEFORE
    for kill in (False, True):
        logd.matches.clear()
        if kill:
            logd.kill()
            logd.start()
        else:
            logd.send(ASK)
        logd.until(lambda: logd.matches == [(stream.key, 1)], "it is told again")
    await_line(logd, stream, "up", 0)
    logd.matches.clear()
    stream.write("it is up\n")
    logd.settle()
    logd.serve()
    equal(logd.matches, [], "what nobody waits for")


@logd_test("a line of supd's own stands behind what actors wrote before it")
def _(logd, place):
    logd.options = {"stdout": subprocess.PIPE}
    streams = [logd.add(f"{place}/{i}.log", Log(), actor=f"/user/{i}") for i in range(100)]
    for stream in streams:
        stream.shown = 2
        stream.write("up\n")
    logd.send(SHOW, show=1)
    logd.start()
    logd.settle()
    # Everything is there before the process looks: the line, too.
    logd.process.send_signal(signal.SIGSTOP)
    for stream in streams:
        stream.write("last words\n")
    logd.send(SAY, text="\0it failed\0")
    logd.process.send_signal(signal.SIGCONT)
    shown = []
    while not shown or "it failed" not in shown[-1]:
        shown.append(logd.process.stdout.readline().decode())
    equal([line.partition("|")[2].strip() for line in shown],
          ["up"] * 100 + ["last words"] * 100 + ["it failed"], "what is shown")
    logd.stop()
    logd.process.stdout.close()


@logd_test("a line of supd's own waits until the log process knows of all streams")
def _(logd, place):
    logd.options = {"stdout": subprocess.PIPE}
    stream = logd.add(f"{place}/a.log", Log())
    stream.shown = 2
    stream.write("last words\n")
    logd.send(SHOW, show=1)
    logd.send(SAY, text="\0it failed\0")
    logd.start()
    shown = [logd.process.stdout.readline().decode() for _ in range(2)]
    equal([line.partition("|")[2].strip() for line in shown], ["last words", "it failed"],
          "what is shown")
    logd.stop()
    logd.process.stdout.close()


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
