"""Device names beside TensorFlow: thousands of strings, each read in four ways.

    python -m tests.parity.differential.device_strings [--seed N] [--count N] [--write]

The strings are drawn by a seed, well-formed and odd pieces mixed. Compared are the canonical
name or the error's class and first line: of `DeviceSpec.from_string`, of a constant under
``tf.compat.v1.device`` in a graph, and of a constant and an addition under ``tf.device`` in an
eager program. There are no GPUs. `--write` keeps what TensorFlow does with the `INTERESTING`
ones in device_strings.json, for the tests that run without it.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
TABLE = Path(__file__).parents[1] / "device_strings.json"

_WORDS = (
    *("job", "replica", "task", "device", "cpu", "gpu", "CPU", "GPU", "Gpu", "tpu", "TPU"),
    *("custom", "CUSTOM", "epu", "XLA_GPU", "foo", "", "Job", "DEVICE", "localhost", "worker"),
)
_NUMBERS = (
    *("0", "1", "2", "7", "-1", "00", "01", "1_0", "1_", "_1", " 1", "1 ", "+1", "*", "", "x"),
    *("2147483647", "2147483648", "4294967296", "4294967297", "18446744073709551615"),
    *("18446744073709551616", "99999999999999999999", "0x1", "1.0", "\u0663"),
)
_VALUES = (*_NUMBERS, "cpu", "GPU", "GPU:0", "GPU:*", "localhost", "worker", "a_b", "a-b", "w1")
_FRAGMENTS = (
    *("/", "//", ":", "/:", "::", "/job", "/gpu", "gpu", "GPU:0", "cpu:0", "device:GPU:0"),
    *("/device", "/device:", "/device:GPU", "/device:GPU:", "/device::0", "/job:", "/job:*"),
    *("/task", "/task:", " ", "/ ", "*"),
)
INTERESTING = (
    *("", "/", "/:", "::", ":/task:0", "/:7/gpu:0", "//gpu:0", " ", "*"),
    *("/gpu:0", "gpu:0", "/GPU:0", "/Gpu:0", "/gpu", "/gpu:*", "/gpu:", "/gpu:1_0", "/gpu:1_"),
    *("/gpu: 1", "/gpu:+1", "/gpu:-1", "/gpu:x", "/gpu:0x1", "/gpu:\u0663", "/gpu:0:0"),
    *("/device:gpu:0", "/device:GPU:0", "/device:Gpu:0", "/device:GPU", "/device::0"),
    *("/device:foo:0", "/device:TPU:1", "/tpu:0", "/custom:0", "/epu:0", "/XLA_GPU:0"),
    *("/job:localhost", "/job:worker", "/job:", "/job:*", "/job", "/job:a-b", "/job:0/GPU:0"),
    *("/job:a/job:b", "/job:localhost/replica:0/task:0/device:CPU:0", "/JOB:a"),
    *("/task:1", "/task:-1", "/task:", "/task:*", "/task:x", "/replica:1", "/replica:1/gpu:0"),
    *("/task:1_/task:1", "/task:x/task:0", "/task:0/task:x", "/task:x/foo:1", "/task:x/gpu:y"),
    *(
        "/replica:x/task:y",
        "/cpu:0/gpu:x",
        "/cpu:x/gpu:0",
        "/cpu:0/gpu:0",
        "/foo:x/cpu:0/gpu:0",
    ),
    *("/CPU:1", "/CPU:1/task:1", "/CPU:0/task:1", "/CPU:2147483648", "/CPU:4294967296"),
    *("/CPU:18446744073709551615", "/CPU:18446744073709551616", "/task:4294967297/gpu:0"),
    *("/task:4294967296", "/task:2147483648", "/task:4294967296/gpu:0"),
)


def draw(count: int, seed: int) -> list[str]:
    """Draw strings; the same for the same seed, and each once."""
    rng = random.Random(seed)
    pick = rng.choice
    well_formed: Sequence[Callable[[], str]] = (
        lambda: f"/job:{pick(('localhost', 'worker', 'ps'))}",
        lambda: f"/replica:{pick('01')}",
        lambda: f"/task:{pick('01')}",
        lambda: f"/device:{pick(('GPU', 'CPU', 'gpu', 'TPU'))}:{pick('01*')}",
        lambda: f"/{pick(('gpu', 'cpu', 'GPU', 'CPU'))}:{pick('01*')}",
    )
    odd: Sequence[Callable[[], str]] = (
        lambda: f"/{pick(_WORDS)}:{pick(_VALUES)}",
        lambda: f"/{pick(('replica', 'task'))}:{pick(_NUMBERS)}",
        lambda: f"/device:{pick(_WORDS)}:{pick(_NUMBERS)}",
        lambda: f"/{pick(('cpu', 'gpu', 'GPU', 'CPU', 'tpu'))}:{pick(_NUMBERS)}",
        lambda: pick(_FRAGMENTS),
        lambda: f"{pick(_WORDS)}{pick((':', ''))}{pick(_VALUES)}{pick(('', ':', ':0'))}",
    )
    found: dict[str, None] = {}
    while len(found) < count:
        n_pieces = pick((1, 1, 2, 2, 3, 4))
        text = "".join(
            pick(well_formed if rng.random() < 0.6 else odd)() for _ in range(n_pieces)
        )
        if text and rng.random() < 0.05:
            at = rng.randrange(len(text))
            text = text[:at] + pick(" /:_*\t") + text[at + pick((0, 1)) :]
        found[text] = None
    return list(found)


def outcomes(tf: Any, text: str) -> dict[str, Any]:
    """Read a string in four ways with a library."""
    x = tf.constant([1.0])

    def in_graph() -> str:
        with tf.Graph().as_default(), tf.compat.v1.device(text):
            return str(tf.constant(1.0).device)

    def constant() -> str:
        with tf.device(text):
            return str(tf.constant(1.0).device)

    def addition() -> str:
        with tf.device(text):
            return str((x + x).device)

    return {
        "spec": _outcome(lambda: str(tf.DeviceSpec.from_string(text).to_string())),
        "graph": _outcome(in_graph),
        "constant": _outcome(constant),
        "addition": _outcome(addition),
    }


def _outcome(read: Callable[[], str]) -> str | list[str]:
    try:
        return read()
    except Exception as error:
        return [type(error).__name__, str(error).split("\n")[0]]


def evaluate(python: Path, module: str, strings: Sequence[str], env: Any) -> list[Any]:
    """Read strings with the library of a Python, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder) / "strings.json", Path(folder) / "found.json"
        given.write_text(json.dumps(strings))
        command = [str(python), "-m", __spec__.name, "--of", module, str(given), str(found)]
        done = subprocess.run(
            command,
            env={**env, "PYTHONPATH": str(ROOT)},
            cwd=ROOT,
            capture_output=True,
            check=False,
            text=True,
        )
        if done.returncode:
            sys.exit(f"{module} could not be asked:\n{done.stderr}")
        read: list[Any] = json.loads(found.read_text())
        return read


def answer(module: str, given: str, found: str) -> None:
    """Be the process of one library."""
    logging.disable()
    tf = import_module(module)
    strings = json.loads(Path(given).read_text())
    Path(found).write_text(json.dumps([outcomes(tf, text) for text in strings]))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--write", action="store_true", help="keep the table for the tests")
    parser.add_argument("--of", nargs=3, metavar=("MODULE", "STRINGS", "FOUND"))
    asked = parser.parse_args()
    if asked.of:
        answer(*asked.of)
        return 0
    sides = import_module("sides")
    peer = sides.TENSORFLOW.side()
    if peer is None:
        sys.exit("TensorFlow could not be installed: there is nothing to compare with.")
    strings = [*INTERESTING, *draw(asked.count, asked.seed)]
    theirs = evaluate(peer.python, peer.module, strings, sides.NO_GPUS)
    ours = evaluate(sides.BERTH.python, sides.BERTH.module, strings, sides.NO_GPUS)
    if asked.write:
        rows = dict(zip(INTERESTING, theirs, strict=False))
        TABLE.write_text(json.dumps(rows, indent=1, sort_keys=True) + "\n")
    n_differ = 0
    for text, mine, other in zip(strings, ours, theirs, strict=True):
        for way in mine:
            if mine[way] != other[way]:
                n_differ += 1
                print(
                    f"{way} of {text!r}\n    berth       {mine[way]}\n    TensorFlow  {other[way]}"
                )
    print(f"{len(strings)} device names, read in 4 ways each: {n_differ} differences.")
    return 1 if n_differ else 0


if __name__ == "__main__":
    sys.exit(main())
