"""What the benchmarks of several sides share: who is timed, in turn, and how calm it was.

A *side* is a Python and the library in it. Each peer of berth has a virtual environment of
its own, outside the repository, which is made and filled on first use. The sides run
alternately, so that a busy machine disturbs them alike.
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
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
CALM = 0.05
"""Up to which share of the cores others may take while something is timed."""
# Installed packages come with bytecode, so the first round must be allowed to write ours.
LEFT_OUT = ("PYTHONDONTWRITEBYTECODE", "CUDA_VISIBLE_DEVICES", "BERTH_SIM")
# OPENBLAS_CORETYPE and the like make NumPy's products slower than the processor allows.
PLAIN = {
    key: value
    for key, value in os.environ.items()
    if key not in LEFT_OUT and not key.startswith("OPENBLAS_")
}
NO_GPUS = {**PLAIN, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}

Times = dict[str, float]
Timer = Callable[[], Times]


class Side(NamedTuple):
    """What is timed: a Python, and the module in it."""

    python: Path
    module: str
    version: str = ""

    def measure(
        self, script: str, cases: Iterable[str], env: Mapping[str, str] = NO_GPUS
    ) -> dict[str, Any]:
        """Let a script time cases in one process of their own; return what it prints."""
        command = [str(self.python), str(HERE / script), self.module, *cases]
        result = subprocess.run(command, env=env, check=False, capture_output=True, text=True)
        if result.returncode:
            sys.exit(f"{self.module} could not be measured:\n{result.stderr}")
        found: dict[str, Any] = json.loads(result.stdout)
        return found


BERTH = Side(Path(sys.executable), "berth")


class Peer(NamedTuple):
    """A library beside which berth is timed, and how it comes into its environment."""

    name: str
    module: str
    requirement: str
    setting: str
    """The environment variable that says where the virtual environment is."""
    folder: str
    pip_options: Sequence[str] = ()

    def side(self) -> Side | None:
        """Return this side, installing it if that is possible; None if not."""
        venv = Path(os.environ.get(self.setting, CACHE / self.folder))
        python = venv / "bin" / "python"
        if not python.exists():
            print(f"Installing {self.requirement} into {venv} (once) ...", file=sys.stderr)
            subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
            install = [str(python), "-m", "pip", "install", "--quiet", *self.pip_options]
            subprocess.run([*install, *self.requirement.split()], check=False)
        code = f"import {self.module}; print({self.module}.__version__)"
        check = subprocess.run(
            [str(python), "-c", code], env=NO_GPUS, capture_output=True, check=False, text=True
        )
        if check.returncode:
            return None
        return Side(python, self.module, check.stdout.split()[-1])


TENSORFLOW = Peer(
    "TensorFlow", "tensorflow", "tensorflow-cpu==2.21.*", "BERTH_BENCH_VENV", "berth-bench"
)


# --- what the machine did -----------------------------------------------------------------


def machine(versions: Iterable[str]) -> str:
    """Describe where this runs, and beside what."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    model = models[0] if models else platform.machine()
    own = f"Python {platform.python_version()}, NumPy {metadata.version('numpy')}"
    cores = f"{datetime.date.today()}: {os.cpu_count()} cores of {model}"
    return ", ".join([cores, own, *versions])


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


# --- rounds -------------------------------------------------------------------------------


class Measured(NamedTuple):
    """For each case and round the seconds of each side; and under what circumstances."""

    seconds: dict[str, list[list[float]]]
    circumstances: str


def time_all(turns: Sequence[Sequence[Timer]], n_rounds: int, minutes: float) -> Measured:
    """Time each turn in each round; return what its sides took."""
    until = time.monotonic() + 60 * minutes
    shares: list[float] = []
    found: dict[str, list[list[float]]] = {}
    for number in range(n_rounds):
        for timers in turns:
            times = time_in_turn(timers, shares, until)
            for case in times[0]:
                found.setdefault(case, []).append([side[case] for side in times])
        print(f"Round {number + 1} of {n_rounds} is over.", file=sys.stderr)
    share = statistics.mean(shares)
    return Measured(found, f"{n_rounds} rounds; others took {share:.0%} of the cores meanwhile")


def read_arguments(description: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
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


def is_wanted(case: str, words: Sequence[str]) -> bool:
    return not words or any(word in case for word in words)


# --- results ------------------------------------------------------------------------------


class Ratio(NamedTuple):
    """How many times as long one side took as another: the median of rounds, and the range."""

    median: float
    least: float
    most: float


def ratio(ours: Iterable[float], theirs: Iterable[float]) -> Ratio:
    ratios = sorted(mine / other for mine, other in zip(ours, theirs, strict=True))
    return Ratio(statistics.median(ratios), ratios[0], ratios[-1])


def pretty(seconds: float) -> str:
    for unit, scale in (("s ", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:7.2f} {unit}"
    return f"{seconds * 1e9:7.0f} ns"


def write(results: Mapping[str, Any], name: str) -> None:
    """Write results as JSON beside the benchmarks."""
    out = HERE / name
    out.write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n")
    print(f"\nAs JSON: {out}")
