#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""All of the tests that kill supd, all the way: for `make check-chaos`, which takes long."""
import os
import sys

os.environ.setdefault("CHAOS_ALL", "1")
os.environ.setdefault("CHAOS_CRASHES", "1000")
os.environ.setdefault("CHAOS_UPGRADES", "100")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

# pylint: disable=wrong-import-position,unused-import
import turn
import storm
import crash
import damage
import following
import unlucky
import upgrade
from lib import main

main()
