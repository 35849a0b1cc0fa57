"""The CIFAR-10 example as a whole: beside TensorFlow, and on two simulated GPUs beside one.

The same program and the same made-up data on both sides, from a cold start: imports, building
the graph, 60 steps of 128 images with the model in its full size, summaries and a checkpoint.
Both must print the same losses.

``cifar10.py --rounds 3 towers`` times the cases whose names contain one of the words.
"""

from __future__ import annotations

import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from sides import (
    BERTH,
    HERE,
    NO_GPUS,
    PLAIN,
    TENSORFLOW,
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

EXAMPLE = HERE.parent / "examples" / "cifar10"
PROGRAM = "CIFAR-10 program, 60 steps from a cold start"
TOWERS = "its steps: two towers on two GPUs / one on one"
BARS = {PROGRAM: 0.6, TOWERS: 1.1}
BESIDE = {PROGRAM: "TensorFlow", TOWERS: "one GPU"}
STEPS = ("--steps=60",)


class Run:
    """Runs the program in a folder with data, and compares its losses with those before."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        self._losses: list[float] = []
        make_data = [sys.executable, "-m", "berth", "run", str(EXAMPLE / "make_data.py")]
        subprocess.run(make_data, cwd=folder, env=PLAIN, check=True, capture_output=True)

    def __call__(self, command: list[str], env: Mapping[str, str], *options: str) -> str:
        """Train from the beginning; return what is printed."""
        with tempfile.TemporaryDirectory(dir=self.folder) as train_dir:
            words = [*command, str(EXAMPLE / "train.py"), *STEPS, f"--train_dir={train_dir}"]
            ended = subprocess.run(
                [*words, *options],
                cwd=self.folder,
                env=env,
                check=False,
                capture_output=True,
                text=True,
            )
        if ended.returncode:
            sys.exit(f"{command} could not be timed:\n{ended.stderr}")
        losses = [float(loss) for loss in re.findall(r"loss (\S+)", ended.stdout)]
        self._losses = self._losses or losses
        for found, expected in zip(losses, self._losses, strict=True):
            if not math.isclose(found, expected, abs_tol=0.02):
                sys.exit(f"{command} has the losses {losses} instead of {self._losses}")
        return ended.stdout


def time_program(run: Run, side: Side) -> Times:
    is_berth = side is BERTH
    command = [str(side.python), *(["-m", "berth", "run"] if is_berth else [])]
    start = time.perf_counter()
    run(command, NO_GPUS)
    return {PROGRAM: time.perf_counter() - start}


def time_steps(run: Run, n_gpus: int) -> Times:
    """Time the steps alone, on simulated GPUs, by what the program says."""
    env = {**PLAIN, "BERTH_LEDGER_DIR": str(run.folder)}
    command = [sys.executable, "-m", "berth", "run", "--sim", "2xT4"]
    printed = run(command, env, f"--num_gpus={n_gpus}")
    [seconds] = re.findall(r"steps took ([\d.]+) s", printed)
    return {TOWERS: float(seconds)}


def main() -> None:
    given = read_arguments("Time the CIFAR-10 example.")
    peer = TENSORFLOW.side()
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o700)
        run = Run(folder)
        turns = []
        if is_wanted(PROGRAM, given.words):
            sides = [BERTH, peer] if peer else [BERTH]
            turns.append([partial(time_program, run, side) for side in sides])
        if is_wanted(TOWERS, given.words):
            turns.append([partial(time_steps, run, n_gpus) for n_gpus in (2, 1)])
        found, circumstances = time_all(turns, given.rounds, given.calm)
    where = f"{machine([f'TensorFlow {peer.version}'] if peer else [])}; {circumstances}"
    print(f"{where}\nLower is better.\n")
    cases: dict[str, object] = {}
    for case, rounds in found.items():
        ours, *theirs = ([times[k] for times in rounds] for k in range(len(rounds[0])))
        medians = [statistics.median(each) for each in (ours, *theirs)]
        text = f"{case:48}" + "".join(f" {pretty(each)}" for each in medians)
        cases[case] = {"seconds": medians, "bar": BARS[case]}
        if theirs:
            median, least, most = ratio(ours, theirs[0])
            cases[case] = {"seconds": medians, "ratio": median, "bar": BARS[case]}
            text += f"   / {BESIDE[case]} {median:.3f} ({least:.3f} to {most:.3f})"
            text += f"  bar {BARS[case]:.2f}{'  missed' if median > BARS[case] else ''}"
        print(text)
    write({"machine": where, "cases": cases}, "cifar10.json")


if __name__ == "__main__":
    main()
