# SPDX-License-Identifier: ISC
"""How much memory a process takes: what is its own, and its memory files."""
import os


def mapped_kib(pid):
    """Mapped memory of a process: (its share of memory files, what is its own)."""
    files = rest = 0
    is_file = False
    with open(f"/proc/{pid}/smaps", encoding="utf8") as text:
        for line in text:
            if not line.split(None, 1)[0].endswith(":"):
                is_file = "/memfd:" in line and " rw-p " not in line
            elif line.startswith("Pss:" if is_file else "Anonymous:"):
                files += int(line.split()[1]) * is_file
                rest += int(line.split()[1]) * (not is_file)
    return files, rest


def memory_files_kib(pids):
    """The memory files that these processes have open, as a whole."""
    sizes = {}
    for pid in pids:
        for fd in os.listdir(f"/proc/{pid}/fd"):
            name = f"/proc/{pid}/fd/{fd}"
            try:
                if os.readlink(name).startswith("/memfd:"):
                    status = os.stat(name)
                    sizes[status.st_ino] = status.st_blocks // 2
            except FileNotFoundError:
                pass
    return sum(sizes.values())
