#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""make fuzz: build the targets for libFuzzer in ./fuzz, and run each for so many seconds.

What is found stays in fuzz/crash-*; the corpus that grows is fuzz/corpus.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))


def has_libfuzzer(clang):
    if shutil.which(clang) is None:
        return False
    with tempfile.TemporaryDirectory() as place:
        source = os.path.join(place, "t.c")
        with open(source, "w", encoding="ascii") as out:
            out.write("#include <stdint.h>\n#include <stddef.h>\n"
                      "int LLVMFuzzerTestOneInput(const uint8_t *d, size_t n)"
                      "{ (void)d; return n == 0; }\n")
        return subprocess.run([clang, "-fsanitize=fuzzer,address,undefined", source, "-o",
                               os.path.join(place, "t")], capture_output=True,
                              check=False).returncode == 0


def build(clang, targets):
    os.makedirs("fuzz", exist_ok=True)
    if not os.path.exists("fuzz/Makefile"):
        subprocess.run([os.path.join(SOURCE, "configure"), "--enable-fuzzing",
                        f"CC={clang}", "CFLAGS=-g -O1", "--without-seccomp"],
                       cwd="fuzz", check=True, stdout=subprocess.DEVNULL)
    # A generated header is first, as in `make all`: else a system's <paths.h> is found.
    subprocess.run(["make", "-s", "src/paths.h"], cwd="fuzz", check=True)
    subprocess.run(["make", "-s", f"-j{os.cpu_count()}", *targets], cwd="fuzz", check=True,
                   stdout=subprocess.DEVNULL)


def run(target, seconds):
    name = os.path.basename(target)
    grown = os.path.join("corpus", name)
    os.makedirs(os.path.join("fuzz", grown), exist_ok=True)
    done = subprocess.run(
        ["./" + target, f"-max_total_time={seconds}", "-timeout=20", "-rss_limit_mb=4096",
         "-print_final_stats=1", "-verbosity=0", "-max_len=16384",
         f"-artifact_prefix=crash-{name}-",
         grown, os.path.join(SOURCE, "tests/fuzz/corpus", name)],
        cwd="fuzz", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    text = done.stdout.decode(errors="replace")
    runs = [line.split()[-1] for line in text.splitlines() if "number_of_executed_units" in line]
    print(f"{name}: {runs[-1] if runs else '?'} inputs, "
          f"{'nothing found' if done.returncode == 0 else 'FAULT'}", flush=True)
    if done.returncode != 0:
        print("\n".join(text.splitlines()[-60:]))
    return done.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--clang", default=os.environ.get("FUZZ_CLANG", "clang"))
    parser.add_argument("targets", nargs="+")
    arguments = parser.parse_args()
    if not has_libfuzzer(arguments.clang):
        print(f"skipped: {arguments.clang} is not there, or cannot link with "
              "-fsanitize=fuzzer (Debian: clang, libclang-rt-dev)")
        return 0
    build(arguments.clang, arguments.targets)
    good = [run(target, arguments.seconds) for target in arguments.targets]
    return 0 if all(good) else 1


sys.exit(main())
