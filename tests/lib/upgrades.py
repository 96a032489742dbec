# SPDX-License-Identifier: ISC
"""What tests of upgrades share: another binary, an impostor, and whether a process runs it."""
import os
import shutil

from chaos import Chaos
from harness import SUPD, program, run

IMPOSTOR = program("impostor", "tests/lib", ".")
VERSION = run(SUPD, "--version").out.split()[1]
OTHER = VERSION[:-1] + ("7" if VERSION[-1] != "7" else "8")


def replace(binary, content):
    """As a package manager does it: a new file under the old name."""
    with open(binary + ".new", "wb") as out:
        out.write(content)
    os.chmod(binary + ".new", 0o755)
    os.rename(binary + ".new", binary)


def contents(path):
    with open(path, "rb") as binary:
        return binary.read()


def of_version(version):
    """The bytes of supd's binary, with another version in them."""
    old, new = VERSION.encode() + b"\0", version.encode() + b"\0"
    return contents(SUPD).replace(old, new)


def impostor(mode):
    start = b"impostor:"
    return contents(IMPOSTOR).replace(start + b"fit-and-dies".ljust(16),
                                      start + mode.encode().ljust(16))


def start(box, tree=None, **options):
    binary = shutil.copy(SUPD, box.path("supd"))
    s = Chaos(box, tree or {"a": {}, "b": {}}, command=[binary], **options)
    s.until(lambda: s.counts["supd", "/"] >= 2, "supd to be ready")
    s.settle()
    return s, binary


def runs(pid, binary):
    """Does this process run this very file?  A zombie runs none."""
    try:
        return os.path.samefile(f"/proc/{pid}/exe", binary)
    except OSError:
        return False
