"""``make parity``: evaluates the cases on both sides, and prints where they differ.

``python -m tests.parity.differential cumsum tile`` looks at cases with one of the words.
TensorFlow is found, or installed, as for ``make bench``: BERTH_BENCH_VENV says where.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sides import BERTH, NO_GPUS, TENSORFLOW, Side

from tests.parity.differential.compare import Allowed, difference
from tests.parity.differential.coverage import without_a_case
from tests.parity.differential.evaluate import MODES
from tests.parity.differential.known import LOOSER, MEANT, OPEN, Known
from tests.parity.differential.outcome import Outcome

ROOT = Path(__file__).parents[3]
Found = dict[tuple[str, str], Outcome]


class Difference(NamedTuple):
    """Of a case in a mode, in words."""

    mode: str
    case: str
    found: str


def evaluate(
    sides: Sequence[Side], modes: str, folder: str, words: Sequence[str]
) -> list[Found]:
    """Evaluate the cases with each side, at the same time, in processes of their own."""
    files = [Path(folder) / f"{side.module}-{modes}.jsonl" for side in sides]
    pairs = zip(sides, files, strict=True)
    processes = [start(side, modes, file, words) for side, file in pairs]
    return [read(process, file) for process, file in zip(processes, files, strict=True)]


def start(side: Side, modes: str, out: Path, words: Sequence[str]) -> subprocess.Popen[str]:
    module = "tests.parity.differential.evaluate"
    command = [str(side.python), "-m", module, side.module, modes, str(out), *words]
    env = {**NO_GPUS, "PYTHONPATH": str(ROOT)}
    silent = subprocess.DEVNULL
    return subprocess.Popen(
        command, env=env, cwd=ROOT, stdout=silent, stderr=subprocess.PIPE, text=True
    )


def read(process: subprocess.Popen[str], file: Path) -> Found:
    """Wait for a side, and read what it found; if it died, say where."""
    _, messages = process.communicate()
    lines = (
        [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    )
    if process.returncode:
        last = lines[-1][:2] if lines else "the start"
        sys.exit(f"{file.stem} ended with {process.returncode} after {last}:\n{messages}")
    return {(mode, case): outcome for mode, case, outcome in lines}


def compare(ours: Found, theirs: Found) -> tuple[list[Difference], Counter[Known]]:
    """List the differences nobody expects; and count the expected ones."""
    unexpected: list[Difference] = []
    expected: Counter[Known] = Counter()
    for (mode, case), outcome in ours.items():
        times = max([1.0, *(each.times for each in LOOSER if case.startswith(each.case))])
        least = 0.1 if mode in ("gradient", "second") else 0.0
        found = difference(outcome, theirs[mode, case], Allowed(times, least))
        known = next((k for k in (*MEANT, *OPEN) if k.covers(mode, case, found)), None)
        if found and known is not None:
            expected[known] += 1
        elif found:
            unexpected.append(Difference(mode, case, found))
    return unexpected, expected


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("words", nargs="*", help="only cases that contain one of these")
    parser.add_argument("--modes", default=",".join(MODES))
    asked = parser.parse_args()
    peer = TENSORFLOW.side()
    if peer is None:
        sys.exit("TensorFlow could not be installed: there is nothing to compare with.")

    ours: Found = {}
    theirs: Found = {}
    session = "session"
    eager = ",".join(mode for mode in asked.modes.split(",") if mode != session)
    with tempfile.TemporaryDirectory() as folder:
        for modes in filter(None, [eager, session if session in asked.modes else ""]):
            found = evaluate([BERTH, peer], modes, folder, asked.words)
            ours |= found[0]
            theirs |= found[1]

    unexpected, expected = compare(ours, theirs)
    show(ours, unexpected, expected)
    complaints = [f"{mode}: {case}\n    {found}" for mode, case, found in unexpected]
    if not asked.words and asked.modes == ",".join(MODES):
        gone = [known for known in (*MEANT, *OPEN) if known not in expected]
        complaints += [f"Is no longer so: {known.case}: {known.reason}" for known in gone]
        complaints += [f"Has no case: {name}" for name in without_a_case()]
    print(*complaints, sep="\n")
    print(f"\n{len(complaints)} to look at.")
    return 1 if complaints else 0


def show(ours: Found, unexpected: Sequence[Difference], expected: Counter[Known]) -> None:
    """Print what is known to differ, and a table of the modes."""
    for title, table in (("Meant:", MEANT), ("Not yet as in TensorFlow:", OPEN)):
        print(title)
        for known in table:
            if known in expected:
                cases = known.case.replace("|", " ") or "any case"
                print(f"  {expected[known]:4} {known.reason}\n       {known.modes}: {cases}")
        print()
    compared = Counter(mode for (mode, _), outcome in ours.items() if "skipped" not in outcome)
    differ = Counter(each.mode for each in unexpected)
    print("mode      compared  unexpected")
    for mode, count in compared.items():
        print(f"{mode:8}  {count:8}  {differ[mode]:10}")
    print()


if __name__ == "__main__":
    sys.exit(main())
