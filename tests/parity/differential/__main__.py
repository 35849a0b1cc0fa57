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

from sides import BERTH, NO_GPUS, TENSORFLOW, Side

from tests.parity.differential.compare import difference
from tests.parity.differential.coverage import without_a_case
from tests.parity.differential.evaluate import MODES
from tests.parity.differential.known import KNOWN, LOOSER, Known
from tests.parity.differential.outcome import Outcome

ROOT = Path(__file__).parents[3]
Found = dict[tuple[str, str], Outcome]


def start(side: Side, modes: str, out: Path, words: Sequence[str]) -> subprocess.Popen[str]:
    module = "tests.parity.differential.evaluate"
    command = [str(side.python), "-m", module, side.module, modes, str(out), *words]
    env = {**NO_GPUS, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        command, env=env, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )


def evaluate(side: Side, modes: str, folder: str, words: Sequence[str]) -> Found:
    """Evaluate all cases with one side, in a process of its own."""
    out = Path(folder) / f"{side.module}-{modes}.jsonl"
    process = start(side, modes, out, words)
    _, messages = process.communicate()
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    if process.returncode:
        last = lines[-1][:2] if lines else "nothing"
        sys.exit(f"{side.module} ended with {process.returncode} after {last}:\n{messages}")
    return {(mode, case): outcome for mode, case, outcome in lines}


def is_known(known: Known, mode: str, case: str) -> bool:
    return case.startswith(known.begins) and mode in known.modes.split()


def compare(ours: Found, theirs: Found) -> tuple[list[tuple[str, str, str]], set[Known]]:
    """List the differences nobody expects; and the expected ones that were there."""
    unexpected, used = [], set()
    for (mode, case), outcome in ours.items():
        loosened = max([1.0, *(each.times for each in LOOSER if each.contains in case)])
        found = difference(outcome, theirs[mode, case], loosened)
        reasons = [known for known in KNOWN if is_known(known, mode, case)]
        if found and not reasons:
            unexpected.append((mode, case, found))
        elif found:
            used.update(reasons)
    return unexpected, used


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
            ours |= evaluate(BERTH, modes, folder, asked.words)
            theirs |= evaluate(peer, modes, folder, asked.words)

    unexpected, used = compare(ours, theirs)
    for mode, case, found in unexpected:
        print(f"{mode:8} {case}\n         {found}")
    return report(ours, unexpected, used, complete=not asked.words)


def report(
    ours: Found, unexpected: Sequence[tuple[str, str, str]], used: set[Known], complete: bool
) -> int:
    """Print a table of the modes, and what is meant; return the number of complaints."""
    compared = Counter(mode for (mode, _), outcome in ours.items() if "skipped" not in outcome)
    differ = Counter(mode for mode, _, _ in unexpected)
    print("\nmode      compared  differ")
    for mode, count in compared.items():
        print(f"{mode:8}  {count:8}  {differ[mode]:6}")
    print(f"\nMeant, and so not counted ({len(used)}):")
    for known in KNOWN:
        if known in used:
            print(f"  {known.modes}: {known.begins}...: {known.reason}")
    complaints = len(unexpected)
    if complete:
        for known in set(KNOWN) - used:
            print(f"Is no longer so: {known}")
            complaints += 1
        for name in without_a_case():
            print(f"Has no case: {name}")
            complaints += 1
    print("\nNo difference that is not meant." if not complaints else f"\n{complaints} to look at.")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
