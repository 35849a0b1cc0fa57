"""The op library beside its peers: TensorFlow, PyTorch and JAX, in one run, as ratios.

Each peer has a virtual environment of its own, in the user's cache folder or where
BERTH_BENCH_VENV, BERTH_BENCH_TORCH and BERTH_BENCH_JAX say; one that cannot be installed
is left out. All have two threads, begin with the same numbers, and must find the same. A
ratio is berth's time by the best of the peers in the same round, or by the peer that is
named; it is the median over the rounds, with the smallest and largest beside it. Where there
is a bar, the ratio should be at most that.

``training.py --rounds 3 CIFAR MLP`` times the cases whose names contain one of the words.
With ``--calm`` what other programs disturbed is measured again.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from models import given
from sides import (
    BERTH,
    TENSORFLOW,
    Peer,
    Ratio,
    Side,
    Times,
    is_wanted,
    machine,
    pretty,
    ratio,
    read_arguments,
    time_all,
    write,
)

PYTORCH = Peer(
    "PyTorch",
    "torch",
    "torch==2.13.* numpy",
    "BERTH_BENCH_TORCH",
    "berth-bench-torch",
    ("--extra-index-url", "https://download.pytorch.org/whl/cpu"),
)
JAX = Peer("JAX", "jax", "jax", "BERTH_BENCH_JAX", "berth-bench-jax")
PEERS = (TENSORFLOW, PYTORCH, JAX)
BEST = "best of them"

# What is timed at a time, in one process, and for each case the bars: by whom, at most.
TURNS: Sequence[Mapping[str, Mapping[str, float]]] = (
    {given.CONVOLUTION: {BEST: 1.3}},
    {given.CIFAR: {BEST: 1.3}},
    {given.ELEMENTWISE: {"JAX": 2.5, "TensorFlow": 0.5}},
    {
        given.ADDITION: {"TensorFlow": 0.15},
        given.SCALING: {"TensorFlow": 0.15},
        given.MATMUL: {"TensorFlow": 0.15},
        given.PERCEPTRON: {"TensorFlow": 0.3},
    },
)
BARS = {case: bars for turn in TURNS for case, bars in turn.items()}
ALIKE = {"rel_tol": 1e-3, "abs_tol": 1e-4}

Numbers = dict[str, list[float]]
"""What the cases find: all sides the same."""


def time_cases(side: Side, cases: Sequence[str], expected: Numbers) -> Times:
    """Time cases in one process; exit unless they find what others found before."""
    measured = side.measure("measure_training.py", cases)
    for case in cases:
        numbers = measured[case]["found"]
        pairs = zip(expected.setdefault(case, numbers), numbers, strict=True)
        if not all(math.isclose(a, b, **ALIKE) for a, b in pairs):
            sys.exit(f"{case}: {side.module} found {numbers} instead of {expected[case]}")
    return {case: measured[case]["seconds"] for case in cases}


# --- the table ----------------------------------------------------------------------------


class Comparison(NamedTuple):
    """How berth stands beside somebody."""

    beside: str
    ratio: Ratio
    bar: float | None


class Row(NamedTuple):
    """One case: the median seconds of each side, and the comparisons."""

    seconds: dict[str, float]
    comparisons: list[Comparison]


def compare(case: str, names: Sequence[str], rounds: Sequence[Sequence[float]]) -> Row:
    ours, *theirs = ([times[k] for times in rounds] for k in range(len(names)))
    beside = dict(zip(names[1:], theirs, strict=True))
    if beside:
        beside = {BEST: [min(times[1:]) for times in rounds], **beside}
    wanted = {BEST: None, **BARS[case]}
    comparisons = [
        Comparison(name, ratio(ours, beside[name]), bar)
        for name, bar in wanted.items()
        if name in beside
    ]
    medians = map(statistics.median, (ours, *theirs))
    return Row(dict(zip(names, medians, strict=True)), comparisons)


def lines(case: str, row: Row) -> Iterator[str]:
    yield f"{case:36}" + "".join(f" {pretty(each):>11}" for each in row.seconds.values())
    for beside, (median, least, most), bar in row.comparisons:
        text = f"    / {beside:30}  {median:7.3f} ({least:.3f} to {most:.3f})"
        if bar is not None:
            text = f"{text:68} bar {bar:.2f}{'  missed' if median > bar else ''}"
        yield text


def print_table(names: Sequence[str], rows: Mapping[str, Row]) -> None:
    print(" " * 36 + "".join(f" {name:>11}" for name in names))
    for case, row in rows.items():
        print(*lines(case, row), sep="\n")


def as_json(row: Row) -> dict[str, object]:
    return {
        "seconds": row.seconds,
        "ratios": {
            each.beside: {**each.ratio._asdict(), "bar": each.bar} for each in row.comparisons
        },
    }


# --- running ------------------------------------------------------------------------------


def main() -> None:
    options = read_arguments("Time berth's operations beside TensorFlow, PyTorch and JAX.")
    peers = {peer.name: peer.side() for peer in PEERS}
    sides = {"berth": BERTH} | {name: side for name, side in peers.items() if side}
    expected = given.by_numpy()
    turns = []
    for turn in TURNS:
        if cases := [case for case in turn if is_wanted(case, options.words)]:
            turns.append([partial(time_cases, s, cases, expected) for s in sides.values()])
    seconds, circumstances = time_all(turns, options.rounds, options.calm)
    rows = {case: compare(case, list(sides), times) for case, times in seconds.items()}
    versions = [f"{name} {side.version}" for name, side in peers.items() if side]
    where = f"{machine(versions)}; {circumstances}"
    print(where)
    for peer in PEERS:
        if not peers[peer.name]:
            print(f"{peer.requirement} could not be installed: {peer.name} is left out.")
    print("Lower is better.\n")
    print_table(list(sides), rows)
    written = {case: as_json(row) for case, row in rows.items()}
    write({"machine": where, "cases": written}, "training.json")


if __name__ == "__main__":
    main()
