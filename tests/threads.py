"""Threads that tests start together."""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor


def run_threads(n, work):
    """Run work(0), work(1), … at the same time, and raise what any of them raises."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(n) as pool:
            list(pool.map(work, range(n)))
    finally:
        sys.setswitchinterval(interval)


def until(is_so, seconds=5.0):
    """Wait until something is so; return whether it came to be."""
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            return False
        time.sleep(0.0005)
    return True
