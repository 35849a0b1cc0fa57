"""How the cost of a node grows with its graph: building, placing, planning.

    python bench/scaling.py                                         a table, to 10^5 nodes
    python bench/scaling.py --most 1000000 --svg docs/scaling.svg   and the plot, to 10^6

Two shapes: a *chain* of additions, and a *wide* graph in which every addition takes two
tensors at random among all those before it, so that few wait for each other, and values
live for any length of time. All of a graph is needed: what nothing takes is a target.

    build   tf.add, until the graph is there
    place   the placer: a device for every operation
    plan    compiling (Session.plan, less placing) and binding (the first run, less the second)
    run     the second run

Each graph has a process to itself, so that peak memory is its own. Below 50,000 nodes the
figures are medians of several graphs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from plot import Line, Panel, draw

import berth.compat.v1 as tf
from berth.front.context import context
from berth.plan.placer import place

SHAPES = {"chain": "A chain", "wide": "A wide random graph"}
PATIENCE = 180
"""How many seconds a graph may take."""


class Clock:
    """Times a block."""

    def __enter__(self) -> Clock:
        self.seconds = -time.perf_counter()
        return self

    def __exit__(self, *error: object) -> None:
        self.seconds += time.perf_counter()


class Costs(NamedTuple):
    """Seconds for a whole graph."""

    build: float
    place: float
    plan: float
    run: float


class Measured(NamedTuple):
    """Microseconds per node, and bytes for the process at its largest."""

    build: float
    place: float
    plan: float
    run: float
    peak_bytes: int


PLOTTED = ("build", "place", "plan")


def choose_inputs(shape: str, n_nodes: int) -> list[tuple[int, int]]:
    """Say which tensors each node takes; 0 is the one that is fed."""
    if shape == "chain":
        return [(k, 0) for k in range(n_nodes)]
    chosen = random.Random(0)
    return [(chosen.randrange(k + 1), chosen.randrange(k + 1)) for k in range(n_nodes)]


def costs_of(inputs: Sequence[tuple[int, int]], devices: Sequence[Any]) -> Costs:
    """Build, place, plan and run a graph, by the clock."""
    with tf.Graph().as_default() as graph:
        tensors: list[Any] = [tf.placeholder(tf.float32, [])]
        with Clock() as build:
            for a, b in inputs:
                tensors.append(tf.add(tensors[a], tensors[b]))
        done = tf.group(*[tensor for tensor in tensors if not tensor.consumers_list])
    with tf.Session(graph=graph) as sess:
        with Clock() as place_alone:
            place(graph.ops, devices)
        with Clock() as place_and_compile:
            plan = sess.plan(done, {tensors[0]: 0.0})
        with Clock() as bind_and_run:
            sess.run(done, {tensors[0]: 0.0})
        with Clock() as run:
            sess.run(done, {tensors[0]: 0.0})
    assert len(plan.steps) == len(inputs) + 1
    compile_alone = place_and_compile.seconds - place_alone.seconds
    bind_alone = bind_and_run.seconds - run.seconds
    return Costs(build.seconds, place_alone.seconds, compile_alone + bind_alone, run.seconds)


def measure(shape: str, n_nodes: int) -> Measured:
    """Measure one shape and size in this process."""
    devices = context().devices.maker.make(context().devices.options(), take_memory=True)
    inputs = choose_inputs(shape, n_nodes)
    costs_of(inputs[:100], devices)  # what the process has to do but once
    rounds = [costs_of(inputs, devices) for _ in range(max(1, min(15, 50_000 // n_nodes)))]
    medians = (statistics.median(column) for column in zip(*rounds, strict=True))
    build, place_, plan, run = (seconds / n_nodes * 1e6 for seconds in medians)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return Measured(build, place_, plan, run, peak)


def measure_apart(shape: str, n_nodes: int) -> Measured | None:
    """Measure in a process of its own; None if it takes too long."""
    command = [sys.executable, __file__, "--only", shape, "--most", str(n_nodes)]
    env = {key: value for key, value in os.environ.items() if key != "BERTH_SIM"}
    try:
        result = subprocess.run(
            command, env=env, check=True, stdout=subprocess.PIPE, timeout=PATIENCE
        )
    except subprocess.TimeoutExpired:
        return None
    return Measured(*json.loads(result.stdout))


def measure_all(most: int) -> dict[str, dict[int, Measured]]:
    """Measure and tell, size by size."""
    sizes = [10**k for k in range(3, 10) if 10**k <= most]
    found: dict[str, dict[int, Measured]] = {}
    names = " ".join(f"{name:>7}" for name in Costs._fields)
    print(f"{'µs per node':12} {'nodes':>9} {names} {'peak memory':>13}")
    for shape in SHAPES:
        found[shape] = {}
        for n_nodes in sizes:
            row = measure_apart(shape, n_nodes)
            if row is None:
                print(f"{shape:12} {n_nodes:9,} took more than {PATIENCE} s")
                break
            found[shape][n_nodes] = row
            times = " ".join(f"{value:7.2f}" for value in row[:4])
            print(f"{shape:12} {n_nodes:9,} {times} {row.peak_bytes / 2**20:9,.0f} MiB")
    return found


def panels(found: dict[str, dict[int, Measured]]) -> list[Panel]:
    return [
        Panel(
            SHAPES[shape],
            [
                Line(stage, [(n, getattr(row, stage)) for n, row in rows.items()])
                for stage in PLOTTED
            ],
        )
        for shape, rows in found.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure how the cost of a node grows.")
    parser.add_argument("--most", type=int, default=100_000, help="nodes of the largest graph")
    parser.add_argument("--svg", type=Path, help="where to draw the plot")
    parser.add_argument("--only", choices=SHAPES, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.only:
        print(json.dumps(measure(given.only, given.most)))
        return
    found = measure_all(given.most)
    if given.svg:
        given.svg.write_text(draw("µs per node", "nodes in the graph", panels(found)))
        print(f"\nAs a plot: {given.svg}")


if __name__ == "__main__":
    main()
