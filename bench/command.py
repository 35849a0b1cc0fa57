"""What ``berth run program.py`` costs over ``python program.py`` with `import berth`.

Both are started in turn, as often as ``--rounds`` says. The bar is a difference, in
milliseconds, of the medians.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from sides import Others, machine

BAR = 50.0
PROGRAMS = {
    "TensorFlow 2": ("import {} as tf\nprint(tf.constant(1.0) + 1.0)\n", "berth"),
    "TensorFlow 1": (
        "import {} as tf\nprint(tf.Session().run(tf.constant(1.0) + 1.0))\n",
        "berth.compat.v1",
    ),
}


def milliseconds(command: Sequence[str]) -> float:
    """Start a process, and wait for its end."""
    start = time.perf_counter()
    # Compiled files are kept, as on a user's machine.
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(command, env=env, stdout=subprocess.DEVNULL, check=True)
    return 1000 * (time.perf_counter() - start)


def compare(name: str, folder: Path, rounds: int) -> float:
    """Time a program in both ways, print it, and return the difference."""
    text, module = PROGRAMS[name]
    plain, unmodified = folder / "plain.py", folder / "unmodified.py"
    plain.write_text(text.format(module))
    unmodified.write_text(text.format("tensorflow"))
    ways = (
        [sys.executable, str(plain)],
        [sys.executable, "-m", "berth", "run", str(unmodified)],
    )
    for way in ways:
        milliseconds(way)  # what is compiled, is compiled now
    times = [[milliseconds(way) for way in ways] for _ in range(rounds)]
    python, run = (float(statistics.median(column)) for column in zip(*times, strict=True))
    print(
        f"{name:14} {python:8.0f} ms {run:8.0f} ms   + {run - python:4.0f} ms   bar + {BAR:.0f}"
    )
    return run - python


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    others = Others()
    print(f"{'a program of':14} {'python':>11} {'berth run':>11}")
    with tempfile.TemporaryDirectory() as folder:
        for name in PROGRAMS:
            compare(name, Path(folder), rounds)
    print(f"{machine([])}; {rounds} rounds; others took {others.share():.0%} of the cores")


if __name__ == "__main__":
    main()
