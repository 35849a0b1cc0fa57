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

import argparse
import datetime
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from measure import CALLS, RUNS, SIMULATED

HERE = Path(__file__).parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
PEER_VENV = Path(os.environ.get("BERTH_BENCH_VENV", CACHE / "berth-bench"))
PEER = "tensorflow-cpu==2.21.*"
CALM = 0.05
"""Up to which share of the cores others may take while something is timed."""
# Installed packages come with bytecode, so the first round must be allowed to write ours.
LEFT_OUT = ("PYTHONDONTWRITEBYTECODE", "CUDA_VISIBLE_DEVICES", "BERTH_SIM")
PLAIN = {key: value for key, value in os.environ.items() if key not in LEFT_OUT}
NO_GPUS = {**PLAIN, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}

IMPORT = "import, beyond NumPy"
LISTING = "program that lists devices"
DOCUMENT_001 = "program of document 001"
ON_TWO_GPUS = "two matmuls: two GPUs / one GPU"
BARS = {
    DOCUMENT_001: 0.15,
    "sess.run(variable + 1.0)": 0.2,
    "run of 1,000 chained ops, per op": 0.9,
    "building a graph, per node": 0.1,
    "first run of 10,000 nodes": 0.15,
    "matmul 2048x2048": 1.05,
    "6 elementwise ops, 4M floats": 0.5,
    ON_TWO_GPUS: 1.1,
}
IMPORTS_V1 = {
    "berth": "import berth.compat.v1 as tf",
    "tensorflow": "import tensorflow.compat.v1 as tf; tf.disable_v2_behavior()",
}
PROGRAM_001 = """
a = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3], name='a')
b = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2], name='b')
c = tf.matmul(a, b)
sess = tf.Session(config=tf.ConfigProto(log_device_placement=True))
print(sess.run(c))
"""

Times = dict[str, float]
Timer = Callable[[], Times]


class Side(NamedTuple):
    """What is timed: a Python, and the module in it."""

    python: Path
    module: str
    version: str = ""

    def time_program(self, code: str) -> float:
        start = time.perf_counter()
        command = [str(self.python), "-c", code]
        subprocess.run(command, env=NO_GPUS, check=True, capture_output=True)
        return time.perf_counter() - start

    def time_import(self) -> Times:
        numpy = self.time_program("import numpy")
        return {IMPORT: max(self.time_program(f"import {self.module}") - numpy, 1e-9)}

    def time_listing(self) -> Times:
        code = f"import {self.module} as tf; tf.config.list_logical_devices()"
        return {LISTING: self.time_program(code)}

    def time_document(self) -> Times:
        return {DOCUMENT_001: self.time_program(IMPORTS_V1[self.module] + PROGRAM_001)}

    def measure(self, cases: Iterable[str], env: Mapping[str, str] = NO_GPUS) -> Times:
        """Time cases in one process of their own."""
        command = [str(self.python), str(HERE / "measure.py"), self.module, *cases]
        result = subprocess.run(command, env=env, check=False, capture_output=True, text=True)
        if result.returncode:
            sys.exit(f"{self.module} could not be measured:\n{result.stderr}")
        times: Times = json.loads(result.stdout)
        return times

    def timers(self, wanted: Callable[[str], bool]) -> Iterator[Timer]:
        """Go through what is timed at a time: whole programs, calls, each of the graphs."""
        programs = {
            IMPORT: self.time_import,
            LISTING: self.time_listing,
            DOCUMENT_001: self.time_document,
        }
        yield from (time_it for case, time_it in programs.items() if wanted(case))
        if calls := [case for case in CALLS if wanted(case)]:
            yield partial(self.measure, calls)
        for case in filter(wanted, RUNS):
            yield partial(self.measure, [case])


def peer_side() -> Side | None:
    """Return the side of TensorFlow, installing it if that is possible."""
    python = PEER_VENV / "bin" / "python"
    if not python.exists():
        print(f"Installing {PEER} into {PEER_VENV} (once) ...", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", str(PEER_VENV)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", PEER], check=False)
    code = "import tensorflow; print(tensorflow.__version__)"
    command = [str(python), "-c", code]
    check = subprocess.run(command, env=NO_GPUS, capture_output=True, check=False, text=True)
    if check.returncode:
        return None
    return Side(python, "tensorflow", check.stdout.split()[-1])


# --- what the machine did -----------------------------------------------------------------


def machine() -> str:
    """Describe where this runs."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    model = models[0] if models else platform.machine()
    return (
        f"{datetime.date.today()}: {os.cpu_count()} cores of {model}, "
        f"Python {platform.python_version()}, NumPy {metadata.version('numpy')}"
    )


def busy_seconds() -> tuple[float, float]:
    """Return the processor time that all programs, and that we ourselves have had so far."""
    usages = [resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    own = sum(usage.ru_utime + usage.ru_stime for usage in usages)
    stat = Path("/proc/stat")
    if not stat.exists():
        return own, own
    user, nice, system, _idle, _wait, *rest = map(int, stat.read_text().split()[1:9])
    return (user + nice + system + sum(rest)) / os.sysconf("SC_CLK_TCK"), own


class Others:
    """Tells how busy other programs kept the machine meanwhile."""

    def __init__(self) -> None:
        self._start = time.perf_counter(), *busy_seconds()

    def share(self) -> float:
        start, all_before, own_before = self._start
        all_now, own_now = busy_seconds()
        available = (time.perf_counter() - start) * (os.cpu_count() or 1)
        return max(0.0, (all_now - all_before) - (own_now - own_before)) / available


def time_in_turn(timers: Sequence[Timer], shares: list[float], until: float) -> list[Times]:
    """Time one side after the other; until a point of time, again if others were busy."""
    while True:
        others = Others()
        times = [time_it() for time_it in timers]
        share = others.share()
        if share <= CALM or time.monotonic() > until:
            shares.append(share)
            return times
        wait_for_calm(until)


def wait_for_calm(until: float) -> None:
    share = 1.0
    while share > CALM and time.monotonic() < until:
        others = Others()
        time.sleep(3)
        share = others.share()


# --- the table ----------------------------------------------------------------------------


class Measured(NamedTuple):
    """For each case and round the seconds of each side; and what others took."""

    seconds: dict[str, list[list[float]]]
    share_of_others: float


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
    ratios = sorted(mine / other for mine, other in rounds)
    return Row(
        statistics.median(ours),
        statistics.median(theirs[0]),
        statistics.median(ratios),
        ratios[0],
        ratios[-1],
        BARS.get(case),
    )


def pretty(seconds: float) -> str:
    for unit, scale in (("s ", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:7.2f} {unit}"
    return f"{seconds * 1e9:7.0f} ns"


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


# --- running ------------------------------------------------------------------------------


def time_all(pairs: Sequence[Sequence[Timer]], n_rounds: int, minutes: float) -> Measured:
    """Time each pair in each round; return what its sides took, and the share of others."""
    until = time.monotonic() + 60 * minutes
    shares: list[float] = []
    found: dict[str, list[list[float]]] = {}
    for number in range(n_rounds):
        for timers in pairs:
            times = time_in_turn(timers, shares, until)
            for case in times[0]:
                found.setdefault(case, []).append([side[case] for side in times])
        print(f"Round {number + 1} of {n_rounds} is over.", file=sys.stderr)
    return Measured(found, statistics.mean(shares))


def simulated(own: Side, directory: str) -> list[Timer]:
    """Time two GPUs, then one: berth beside itself."""
    env = {**PLAIN, "BERTH_SIM": "2xT4", "BERTH_LEDGER_DIR": directory}

    def time_on(name: str) -> Times:
        return {ON_TWO_GPUS: own.measure([name], env)[name]}

    return [partial(time_on, name) for name in SIMULATED]


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Time berth beside TensorFlow.")
    parser.add_argument("words", nargs="*", help="only cases whose names contain one of these")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--calm",
        type=float,
        default=0.0,
        metavar="MINUTES",
        help="for so long, time again what was disturbed by other programs",
    )
    return parser.parse_args()


def main() -> None:
    given = read_arguments()
    own, peer = Side(Path(sys.executable), "berth"), peer_side()

    def wanted(case: str) -> bool:
        return not given.words or any(word in case for word in given.words)

    sides = [own, peer] if peer else [own]
    pairs = [list(timers) for timers in zip(*(s.timers(wanted) for s in sides), strict=True)]
    with tempfile.TemporaryDirectory() as directory:
        if wanted(ON_TWO_GPUS):
            pairs.append(simulated(own, directory))
        found, share = time_all(pairs, given.rounds, given.calm)
    rows = {case: compare(case, times) for case, times in found.items()}
    where = machine() + (f", TensorFlow {peer.version}" if peer else "")
    where += f"; {given.rounds} rounds; others took {share:.0%} of the cores meanwhile"
    print(where)
    print("Lower is better." if peer else f"{PEER} could not be installed: berth alone.")
    print()
    print_table(rows)
    out = HERE / "results.json"
    results = {"machine": where, "cases": {case: row._asdict() for case, row in rows.items()}}
    out.write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n")
    print(f"\nAs JSON: {out}")


if __name__ == "__main__":
    main()
