"""``make bench``: berth and TensorFlow side by side, in one run, as ratios.

TensorFlow gets a virtual environment of its own, outside the repository (by default in
the user's cache folder; BERTH_BENCH_VENV says where). Without it berth is timed alone.
Both sides run alternately, so that a busy machine disturbs them alike; a ratio is the
median over the rounds, with the smallest and largest beside it. Where there is a bar, the
ratio should be at most that.

``run.py --rounds 3 matmul elementwise`` times the cases whose names contain one of the words.
With ``--calm`` what other programs disturbed is measured again.
"""

from __future__ import annotations

import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from measure import CALLS, RUNS, SIMULATED
from sides import (
    BERTH,
    NO_GPUS,
    PLAIN,
    TENSORFLOW,
    Side,
    Timer,
    Times,
    is_wanted,
    machine,
    pretty,
    ratio,
    read_arguments,
    time_all,
    write,
)

IMPORT = "import, beyond NumPy"
LISTING = "program that lists devices"
SESSION_PROGRAM = "small session program"
ON_TWO_GPUS = "two matmuls: two GPUs / one GPU"
BARS = {
    SESSION_PROGRAM: 0.15,
    "while loop of 1,000 steps, in a function": 1.0,
    "sess.run(variable + 1.0)": 0.2,
    "run of 1,000 chained ops, per op": 0.9,
    "building a graph, per node": 0.1,
    "first run of 10,000 nodes": 0.15,
    "matmul 2048x2048": 1.05,
    "6 elementwise ops, 4M floats": 0.5,
    "training step of an MLP, Adam": 0.5,
    "checkpoint of 100 MB, saved and restored": 1.5,
    "tf.data: range, map, shuffle, batch of 32": 1.0,
    ON_TWO_GPUS: 1.1,
}
IMPORTS_V1 = {
    "berth": "import berth.compat.v1 as tf",
    "tensorflow": "import tensorflow.compat.v1 as tf; tf.disable_v2_behavior()",
}
SESSION_CODE = """
a = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3], name='a')
b = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2], name='b')
c = tf.matmul(a, b)
sess = tf.Session(config=tf.ConfigProto(log_device_placement=True))
print(sess.run(c))
"""


def time_program(side: Side, code: str) -> float:
    start = time.perf_counter()
    command = [str(side.python), "-c", code]
    subprocess.run(command, env=NO_GPUS, check=True, capture_output=True)
    return time.perf_counter() - start


def time_import(side: Side) -> Times:
    numpy = time_program(side, "import numpy")
    return {IMPORT: max(time_program(side, f"import {side.module}") - numpy, 1e-9)}


def time_listing(side: Side) -> Times:
    code = f"import {side.module} as tf; tf.config.list_logical_devices()"
    return {LISTING: time_program(side, code)}


def time_session(side: Side) -> Times:
    return {SESSION_PROGRAM: time_program(side, IMPORTS_V1[side.module] + SESSION_CODE)}


def measure(side: Side, cases: Iterable[str], env: Mapping[str, str] = NO_GPUS) -> Times:
    return side.measure("measure.py", cases, env)


def timers(side: Side, wanted: Callable[[str], bool]) -> Iterator[Timer]:
    """Go through what is timed at a time: whole programs, calls, each of the graphs."""
    programs = {IMPORT: time_import, LISTING: time_listing, SESSION_PROGRAM: time_session}
    yield from (partial(time_it, side) for case, time_it in programs.items() if wanted(case))
    if calls := [case for case in CALLS if wanted(case)]:
        yield partial(measure, side, calls)
    for case in filter(wanted, RUNS):
        yield partial(measure, side, [case])


def simulated(directory: str) -> list[Timer]:
    """Time two GPUs, then one: berth beside itself."""
    env = {**PLAIN, "BERTH_SIM": "2xT4", "BERTH_LEDGER_DIR": directory}

    def time_on(name: str) -> Times:
        return {ON_TWO_GPUS: measure(BERTH, [name], env)[name]}

    return [partial(time_on, name) for name in SIMULATED]


# --- the table ----------------------------------------------------------------------------


class Row(NamedTuple):
    """One case: the medians of both sides, and of the ratios of the rounds."""

    berth_seconds: float
    peer_seconds: float | None = None
    ratio: float | None = None
    least: float | None = None
    most: float | None = None
    bar: float | None = None


def compare(case: str, rounds: Sequence[Sequence[float]]) -> Row:
    ours, *theirs = ([times[k] for times in rounds] for k in range(len(rounds[0])))
    if not theirs:
        return Row(statistics.median(ours), bar=BARS.get(case))
    medians = statistics.median(ours), statistics.median(theirs[0])
    return Row(*medians, *ratio(ours, theirs[0]), BARS.get(case))


def line(case: str, row: Row) -> str:
    text = f"{case:34} {pretty(row.berth_seconds)}"
    if row.peer_seconds is not None:
        text += f"  {pretty(row.peer_seconds)}   {row.ratio:7.3f}"
        text += f" ({row.least:.3f} to {row.most:.3f})".ljust(22)
    if row.bar is not None:
        is_missed = row.ratio is not None and row.ratio > row.bar
        text += f"  {row.bar:.2f}{'  missed' if is_missed else ''}"
    return text


def print_table(rows: Mapping[str, Row]) -> None:
    columns = f"{'berth':>10} {'TensorFlow':>11}     ratio (least to most)   bar"
    print(f"{'':34} {columns}")
    for case, row in rows.items():
        if case == ON_TWO_GPUS:
            print(f"\n{'berth alone, on simulated GPUs:':34} {'two':>10} {'one':>11}")
        print(line(case, row))


def main() -> None:
    given = read_arguments("Time berth beside TensorFlow.")
    peer = TENSORFLOW.side()
    wanted = partial(is_wanted, words=given.words)
    sides = [BERTH, peer] if peer else [BERTH]
    pairs = [list(pair) for pair in zip(*(timers(s, wanted) for s in sides), strict=True)]
    with tempfile.TemporaryDirectory() as directory:
        if wanted(ON_TWO_GPUS):
            pairs.append(simulated(directory))
        found, circumstances = time_all(pairs, given.rounds, given.calm)
    rows = {case: compare(case, times) for case, times in found.items()}
    versions = [f"TensorFlow {peer.version}"] if peer else []
    where = f"{machine(versions)}; {circumstances}"
    print(where)
    missing = f"{TENSORFLOW.requirement} could not be installed: berth alone."
    print("Lower is better." if peer else missing)
    print()
    print_table(rows)
    cases = {case: row._asdict() for case, row in rows.items()}
    write({"machine": where, "cases": cases}, "results.json")


if __name__ == "__main__":
    main()
