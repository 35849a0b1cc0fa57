"""Optimizers, schedules and moving averages beside TensorFlow: numbers, names and nodes.

    python -m tests.parity.differential.training [--write]

Both run the programs of tests/train/programs.py. Numbers may differ by 1e-5, all else must be
the same. `--write` keeps what TensorFlow found in tests/train/tensorflow.json, for the tests
that run without it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.train.programs import record

ROOT = Path(__file__).parents[3]
TABLE = ROOT / "tests/train/tensorflow.json"
TOLERANCE = 1e-5


def differences(ours: Any, theirs: Any, where: str = "") -> Iterator[str]:
    """Yield where two records differ."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for key in sorted({*ours, *theirs}):
            yield from differences(ours.get(key), theirs.get(key), f"{where}/{key}")
    elif isinstance(theirs, list) and isinstance(ours, list) and len(ours) == len(theirs):
        for k, pair in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(*pair, f"{where}/{k}")
    elif isinstance(theirs, float) and isinstance(ours, float):
        if abs(ours - theirs) > TOLERANCE * max(1.0, abs(theirs)):
            yield f"{where}: {ours} instead of {theirs}"
    elif ours != theirs:
        yield f"{where}: {ours} instead of {theirs}"


def find(side: Any) -> Any:
    """Run the programs with one library, in a process of its own."""
    command = [
        str(side.python),
        "-m",
        "tests.parity.differential.training",
        "--of",
        side.module,
    ]
    result = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
        env={**import_module("sides").NO_GPUS, "PYTHONPATH": str(ROOT)},
    )
    if result.returncode:
        sys.exit(f"{side.module} failed:\n{result.stderr}")
    return json.loads(result.stdout.splitlines()[-1])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help="keep what TensorFlow found")
    parser.add_argument("--of", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.of:
        tf = import_module(f"{asked.of}.compat.v1")
        tf.disable_v2_behavior()
        print(json.dumps(record(tf)))
        return 0
    sides = import_module("sides")
    peer = sides.TENSORFLOW.side()
    if peer is None:
        sys.exit("TensorFlow could not be installed: there is nothing to compare with.")
    theirs = find(peer)
    if asked.write:
        TABLE.write_text(json.dumps(theirs, indent=0, sort_keys=True) + "\n")
    found = list(differences(find(sides.BERTH), theirs))
    print(*found, sep="\n")
    print(f"Training beside TensorFlow {peer.version}: {len(found)} differences.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
