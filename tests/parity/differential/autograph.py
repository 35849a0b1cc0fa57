"""AutoGraph beside TensorFlow: hand-written and generated programs, run by both.

``python -m tests.parity.differential.autograph`` compares, and with ``--keep`` writes what
TensorFlow gave for the hand-written programs and a sample of the others, which `make test`
reads: tests/autograph/expected.json.
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.autograph.generated import text_of_programs
from tests.autograph.running import EXPECTED, PROGRAMS, load, outcome

ROOT = Path(__file__).parents[3]
N_GENERATED = 400
N_KEPT = 100


def evaluate(module: str, folder: Path, out: Path) -> None:
    """Run all programs on a side, traced and eagerly; write what came of them."""
    tf = importlib.import_module(module)
    found: dict[str, Any] = {}
    for path in (PROGRAMS, folder / "generated_programs.py"):
        for name, program in load(path, tf).items():
            for argument in program.arguments:
                call = f"{name}({argument})"
                eager = outcome(tf, program, argument, is_traced=False)
                found[call] = [outcome(tf, program, argument), eager]
    out.write_text(json.dumps(found))


def compare(ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    """List the calls whose results differ, and hand-written programs with other errors.

    Where TensorFlow cannot convert a generated program, berth may; then the result is what
    the same code gives eagerly.
    """
    different = []
    for call, (expected, _) in theirs.items():
        got, eager = ours[call]
        if is_error(expected) and not call.startswith("generated"):
            is_alike = is_error(got) and got[0] == expected[0]
        elif is_error(expected):
            is_alike = is_error(got) or is_equal(got, eager)
        else:
            is_alike = is_equal(got, expected)
        if is_alike and call in KNOWN:
            different.append(f"{call}: {got} as in TensorFlow, and no known difference")
        elif not is_alike and call not in KNOWN:
            different.append(f"{call}: {got} instead of {expected}")
    return different


def is_equal(got: Any, expected: Any) -> bool:
    """Tell whether two results are the same numbers."""
    if isinstance(expected, float) and isinstance(got, float):
        return abs(got - expected) <= 1e-5 * max(1.0, abs(expected))
    return bool(got == expected)


KNOWN = {
    f"private_names({argument})": "TensorFlow does not convert methods with private names"
    for argument in (3, -2)
}
"""Calls that differ for a reason."""


def is_error(result: Any) -> bool:
    """Tell whether a result is an error's class and words."""
    return isinstance(result, list) and len(result) == 2 and isinstance(result[0], str)


def main() -> int:
    from sides import BERTH, NO_GPUS, TENSORFLOW

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    peer = TENSORFLOW.side()
    if peer is None:
        sys.exit("TensorFlow could not be installed: there is nothing to compare with.")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = text_of_programs(N_GENERATED, asked.seed)
        (folder / "generated_programs.py").write_text(text)
        results = []
        for side in (BERTH, peer):
            out = folder / f"{side.module}.json"
            module = "tests.parity.differential.autograph"
            command = [str(side.python), "-m", module, "evaluate", side.module, name, str(out)]
            env = {**NO_GPUS, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"}
            subprocess.run(command, env=env, cwd=ROOT, check=True, stderr=subprocess.DEVNULL)
            results.append(json.loads(out.read_text()))
    ours, theirs = results
    different = compare(ours, theirs)
    print(*different, sep="\n")
    n_errors = sum(is_error(traced) for traced, _ in theirs.values())
    print(f"{len(theirs)} calls, {n_errors} errors of TensorFlow: {len(different)} differ.")
    if asked.keep:
        written = [c for c in theirs if not c.startswith("generated") and c not in KNOWN]
        sample = [
            call
            for call, (traced, _) in theirs.items()
            if call.startswith("generated") and not is_error(traced) and call not in KNOWN
        ]
        kept = {call: theirs[call][0] for call in (*written, *sample[:N_KEPT])}
        EXPECTED.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
    return 1 if different else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["evaluate"]:
        evaluate(sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]))
    else:
        sys.exit(main())
