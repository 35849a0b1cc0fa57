"""One side of bench/training.py: times cases in this process and prints them as JSON.

``measure_training.py torch "a + b, 2 floats, eager"``, with the Python that has the library.
A case is done in each of the ways its module offers; the fastest counts. Beside its seconds
come the numbers by which the sides are compared.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import sys
from typing import Any

from measure import seconds_per_call
from models.given import Cases

N_THREADS = 2
MODULES = {
    "berth": "models.tensorflow_style",
    "tensorflow": "models.tensorflow_style",
    "torch": "models.with_torch",
    "jax": "models.with_jax",
}


def use_few_cores() -> None:
    """Keep this process to as many cores as it may have threads, where that is possible."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:N_THREADS])


def cases_of(side: str) -> Cases:
    """Import a library, and return its cases."""
    cases: Cases = importlib.import_module(MODULES[side]).cases(
        importlib.import_module(side), N_THREADS
    )
    return cases


def measure(cases: Cases, name: str) -> dict[str, Any]:
    """Time a case, and return its seconds and what it found before."""
    prepared = cases[name]()
    assert all(map(math.isfinite, prepared.found)), (name, prepared.found)
    return {
        "seconds": min(map(seconds_per_call, prepared.calls)),
        "found": list(prepared.found),
    }


def main() -> None:
    side, *names = sys.argv[1:]
    use_few_cores()  # before the library counts them
    cases = cases_of(side)
    print(json.dumps({name: measure(cases, name) for name in names}))


if __name__ == "__main__":
    main()
