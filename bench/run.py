"""``make bench``: berth and TensorFlow side by side, in one run, as ratios.

TensorFlow gets a virtual environment of its own, outside the repository (by default in
the user's cache folder; BERTH_BENCH_VENV says where). Without it berth is timed alone.
Both sides run alternately, so that a busy machine disturbs them alike; a ratio is the
median over the rounds, with the smallest and largest beside it.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
N_ROUNDS = 7
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
PEER_VENV = Path(os.environ.get("BERTH_BENCH_VENV", CACHE / "berth-bench"))
# Installed packages come with bytecode, so the first round must be allowed to write ours.
QUIET = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
QUIET.pop("PYTHONDONTWRITEBYTECODE", None)

Times = dict[str, float]


def peer_python() -> Path | None:
    """Return the Python that has TensorFlow, installing it if that is possible."""
    python = PEER_VENV / "bin" / "python"
    if not python.exists():
        print(f"Installing tensorflow-cpu into {PEER_VENV} (once) ...", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", str(PEER_VENV)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "tensorflow-cpu"]
        subprocess.run(install, check=False)
    check = subprocess.run(
        [str(python), "-c", "import tensorflow"],
        env=QUIET,
        capture_output=True,
        check=False,
    )
    return python if check.returncode == 0 else None


def time_command(python: Path, code: str) -> float:
    start = time.perf_counter()
    subprocess.run([str(python), "-c", code], env=QUIET, check=True, capture_output=True)
    return time.perf_counter() - start


def measure(python: Path, module: str) -> Times:
    """Time one side: whole programs first, then calls within one."""
    listing = f"import {module} as tf; tf.config.list_logical_devices()"
    numpy = time_command(python, "import numpy")
    times = {
        "import, beyond NumPy": max(time_command(python, f"import {module}") - numpy, 1e-9),
        "program that lists devices": time_command(python, listing),
    }
    command = [str(python), str(HERE / "measure.py"), module]
    result = subprocess.run(command, env=QUIET, check=True, capture_output=True, text=True)
    return {**times, **json.loads(result.stdout)}


def pretty(seconds: float) -> str:
    for unit, scale in (("s ", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:7.2f} {unit}"
    return f"{seconds * 1e9:7.0f} ns"


def main() -> None:
    own, peer = Path(sys.executable), peer_python()
    ours: list[Times] = []
    theirs: list[Times] = []
    for _ in range(N_ROUNDS):
        ours.append(measure(own, "berth"))
        if peer:
            theirs.append(measure(peer, "tensorflow"))
    if not peer:
        print("TensorFlow could not be installed: berth alone.")
    print(f"{'':32} {'berth':>10} {'TensorFlow':>12}   ratio (least to most), lower is better")
    results = {}
    for case in ours[0]:
        mine = [times[case] for times in ours]
        row = {"berth_seconds": statistics.median(mine)}
        line = f"{case:32} {pretty(row['berth_seconds'])}"
        if peer:
            other = [times[case] for times in theirs]
            ratios = sorted(a / b for a, b in zip(mine, other, strict=True))
            row["tensorflow_seconds"] = statistics.median(other)
            row["ratio"] = statistics.median(ratios)
            line += (
                f"  {pretty(row['tensorflow_seconds'])}"
                f"   {row['ratio']:.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f})"
            )
        results[case] = row
        print(line)
    out = HERE / "results.json"
    out.write_text(json.dumps(results, indent=2) + "\n")
    print(f"\nAs JSON: {out}")


if __name__ == "__main__":
    main()
