"""Files of ledgers that were changed, and how they are refused."""

from __future__ import annotations

from berth.backends.ledger import Ledger
from tests.backends.ledger_processes import MACHINE


def write_file(directory, change):
    """Put a changed copy of a good file, as the dead leave it, where it is looked for."""
    ledger = Ledger.open(MACHINE, directory)
    [path] = directory.glob("*.ledger")
    good = bytearray(path.read_bytes())
    ledger.close()
    path.write_bytes(change(good))
    return path


def refusal(path, problem):
    return (
        f"Cannot use the ledger of simulated GPUs {path}: {problem}.\n"
        "  Nothing in it was changed. Stop the programs that use it, and remove it:\n"
        f"  rm {path.with_suffix('')}.*"
    )
