#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The log process when a disk is full, a link is in the way or a predecessor died, and lines that are waited for."""
import errno
import gzip
import os
import re
import resource
import select
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from logd import (ASK, AS_BEFORE, FLUSH, SAY, SHOW, STAMP, Log, Skip, check, equal, has, logd_test,
                  main, numbered, program, read)

KILLER = program("killer", "tests/lib")


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


@logd_test("a pipe that finds no descriptor is asked for again")
def _(logd, place):
    logd.start()
    pid = logd.process.pid
    used = {int(fd) for fd in os.listdir(f"/proc/{pid}/fd")}
    limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE,
                     (min(set(range(len(used) + 1)) - used), limits[1]))
    asked = logd.meetings
    stream = logd.add(f"{place}/a.log", Log())
    stream.write(b"one\n")
    logd.until(lambda: logd.meetings > asked + 1, "the second question")
    equal(stream.waiting(), 4, "bytes in the pipe")
    resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
    logd.until(lambda: stream.waiting() == 0, "its line")
    equal(read(f"{place}/a.log"), b"one\n", "the file")


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


if __name__ == "__main__":
    main()
