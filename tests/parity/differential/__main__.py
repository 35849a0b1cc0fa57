"""``make parity``: evaluates the cases on both sides, and prints where they differ.

A whole run with nothing to look at also writes the list of operations in docs/tf-parity.md.
``python -m tests.parity.differential cumsum tile`` looks at cases with one of the words;
``--add`` then writes the rows of functions that the list does not have yet.
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

from tests.parity.differential.coverage import without_a_case
from tests.parity.differential.evaluate import MODES
from tests.parity.differential.known import MEANT, OPEN
from tests.parity.differential.op_list import PAGE, add, write
from tests.parity.differential.verdict import Found, Verdict, judge

ROOT = Path(__file__).parents[3]


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
    # oneDNN ends the process at a convolution whose channels do not fit.
    env = {**NO_GPUS, "PYTHONPATH": str(ROOT), "TF_ENABLE_ONEDNN_OPTS": "0"}
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


def complaints_of(verdicts: Sequence[Verdict], is_whole: bool) -> list[str]:
    """List what is to be looked at: differences nobody expects; in a whole run, gaps as well."""
    complaints = [
        f"{mode}: {case}\n    {found}"
        for mode, case, found, known in verdicts
        if found and known is None
    ]
    if is_whole:
        met = {verdict.known for verdict in verdicts}
        gone = [known for known in (*MEANT, *OPEN) if known not in met]
        complaints += [f"Is no longer so: {known.case}: {known.reason}" for known in gone]
        complaints += [f"Has no case: {name}" for name in without_a_case()]
    return complaints


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("words", nargs="*", help="only cases that contain one of these")
    parser.add_argument(
        "--add", action="store_true", help="write the rows of functions that are not listed yet"
    )
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

    verdicts = list(judge(ours, theirs))
    show(verdicts)
    is_whole = not asked.words and asked.modes == ",".join(MODES)
    complaints = complaints_of(verdicts, is_whole)
    print(*complaints, sep="\n")
    print(f"\n{len(complaints)} to look at.")
    if asked.add and not complaints:
        add(verdicts)
    if is_whole and not complaints:
        write(verdicts, peer.version)
        print(f"The list of operations is in {PAGE.relative_to(ROOT)}.")
    return 1 if complaints else 0


def show(verdicts: Sequence[Verdict]) -> None:
    """Print what is known to differ, and a table of the modes."""
    expected = Counter(verdict.known for verdict in verdicts)
    for title, table in (("Meant:", MEANT), ("Not yet as in TensorFlow:", OPEN)):
        print(title)
        for known in table:
            if known in expected:
                cases = known.case.replace("|", " ") or "any case"
                print(f"  {expected[known]:4} {known.reason}\n       {known.modes}: {cases}")
        print()
    compared = Counter(verdict.mode for verdict in verdicts)
    differ = Counter(each.mode for each in verdicts if each.found and each.known is None)
    print("mode      compared  unexpected")
    for mode, count in compared.items():
        print(f"{mode:8}  {count:8}  {differ[mode]:10}")
    print()


if __name__ == "__main__":
    sys.exit(main())
