# SPDX-License-Identifier: ISC
"""The chaos monkey: kills an actor every few seconds, as somebody with supctl would."""
import random
import subprocess
import sys
import time


def main():
    supctl, victim = sys.argv[1:]
    while True:
        time.sleep(random.uniform(2.5, 4.5))
        subprocess.run([supctl, "signal", victim, "KILL"], check=False,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
