# SPDX-License-Identifier: ISC
"""Many small lives of supd side by side, because most of each is waiting."""
import io
import json
import os
import signal
import sys
import traceback

from harness import (COUNTS, PATIENCE, Box, Failure, Skip, bury, comment, on_alarm,
                     prctl_subreaper)

WORKERS = int(os.environ.get("CHAOS_WORKERS", "6"))
ALL = bool(os.environ.get("CHAOS_ALL"))  # every system call, not some of them


def one_item(function, item, timeout):
    """Run function(box, item) in a box of its own; ("ok", value) or ("not ok", text)."""
    box = Box()
    old, sys.stdout = sys.stdout, io.StringIO()
    try:
        signal.signal(signal.SIGALRM, on_alarm)
        signal.alarm(timeout * PATIENCE)
        value = function(box, item)
        box.finish()
        return "ok", value
    except Skip as reason:
        return "skip", str(reason)
    except Exception as problem:  # pylint: disable=broad-except
        signal.alarm(15)
        for frame in traceback.extract_tb(problem.__traceback__):
            if "/tests/" in frame.filename:
                print(f"{os.path.basename(frame.filename)}:{frame.lineno} {frame.line}")
        print(f"{type(problem).__name__}: {problem}")
        for supd in box.supds:
            try:
                supd.diagnose()
            except Exception as worse:  # pylint: disable=broad-except
                print(f"no diagnosis: {worse!r}")
        return "not ok", sys.stdout.getvalue()
    finally:
        signal.alarm(0)
        sys.stdout = old
        try:
            box.wreck()
        except Exception:  # pylint: disable=broad-except
            pass


def worker(function, tasks, results, timeout):
    """Take items off the pipe `tasks`, a line each, and write what came of them."""
    prctl_subreaper()
    with os.fdopen(results, "w", encoding="utf8") as out:
        while line := os.read(tasks, 64):
            item = json.loads(line)
            COUNTS.update(checks=0, kills=0)
            verdict, value = one_item(function, item, timeout)
            out.write(json.dumps([item, verdict, value, COUNTS]) + "\n")
            out.flush()
    os._exit(0)


def in_parallel(function, items, timeout=30, workers=WORKERS, failures_max=int(os.environ.get("CHAOS_FAILURES", "3"))):
    """function(box, item) for every item; gives (item, value) of those that went well.

    Raises Failure with the first failures' whole story.  Items are numbers or short
    lists: a task has to fit into 63 bytes of a packet pipe.
    """
    items = list(items)
    read_end, write_end = os.pipe2(os.O_DIRECT | os.O_CLOEXEC)
    results, result_write = os.pipe2(os.O_CLOEXEC)
    pids = []
    sys.stdout.flush()
    for _ in range(min(workers, len(items))):
        pid = os.fork()
        if pid == 0:
            os.close(write_end)
            os.close(results)
            worker(function, read_end, result_write, timeout)
        pids.append(pid)
    os.close(read_end)
    os.close(result_write)
    good, bad = [], []
    try:
        collect(items, write_end, results, pids, good, bad, failures_max)
    finally:
        os.close(results)
        for pid in pids:
            if bad:
                os.kill(pid, signal.SIGTERM)
            os.waitpid(pid, 0)
        bury([])
    if bad:
        raise Failure(f"{len(bad)} of {len(good) + len(bad)} failed:\n" + "\n".join(
            f"==== item {item}\n{text}" for item, text in bad))
    return good


def at_every_call(function, every):
    """function(box, n), in which a Killer strikes at its n-th stop, for every n, or, unless
    ALL, for one of so many; with "count" it says how many stops there are."""
    (_, stops), = in_parallel(function, ["count"], timeout=60)
    every = 1 if ALL else every
    done = in_parallel(function, range(1 + every // 2, stops + 1, every), timeout=60)
    comment(f"{len(done)} of {stops} system calls")


def collect(items, write_end, results, pids, good, bad, failures_max):
    """Hand out the items two a worker ahead, take in what came of them."""
    waiting, out, tail = items[::-1], 0, b""
    while waiting or out:
        while waiting and out < 2 * len(pids):
            os.write(write_end, json.dumps(waiting.pop()).encode())
            out += 1
        more = os.read(results, 1 << 16)
        if not more:
            raise Failure(f"the workers are gone, {out} items with them")
        *lines, tail = (tail + more).split(b"\n")
        for line in lines:
            item, verdict, value, counts = json.loads(line)
            out -= 1
            for key, count in counts.items():
                COUNTS[key] += count
            if verdict == "skip":
                raise Skip(value)
            if verdict == "ok":
                good.append((item, value))
            else:
                bad.append((item, value))
                if len(bad) >= failures_max:
                    waiting = []
    os.close(write_end)
