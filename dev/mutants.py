"""Mutation test of the core: are its tests good enough to notice a changed line?

    make mutants                       all modules, a sample of mutants of each
    dev/mutants.py placer arena        these modules
    dev/mutants.py --each 40 arena     more mutants of each

A mutant is a module with one small change: a comparison turned round, a condition negated, a
number off by one, a statement left out. The tests named for the module run on it, in a copy
of the sources; a mutant that they do not notice is printed as survived, with its line. Some
changes make no difference to any caller: those are listed in `EQUIVALENT`, with the reason.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "berth"
SEED = 20
TIMEOUT = 180
"""Seconds after which a mutant counts as noticed: it hangs."""

TESTS = {
    "memory/arena.py": ("tests/memory", "tests/properties/test_arena.py"),
    "memory/chunks.py": ("tests/memory", "tests/properties/test_arena.py"),
    "memory/limits.py": ("tests/memory/test_limits.py", "tests/devices"),
    "backends/ledger_table.py": ("tests/backends",),
    "devices/numbering.py": ("tests/parity/test_numbering.py", "tests/devices"),
    "plan/placer.py": ("tests/plan", "tests/parity/test_placement.py"),
    "plan/groups.py": ("tests/plan", "tests/parity/test_placement.py"),
    "plan/partition.py": ("tests/plan", "tests/run", "tests/properties/test_plans.py"),
    "plan/specialize.py": ("tests/plan", "tests/run", "tests/parity/session"),
    "plan/fuse.py": ("tests/plan", "tests/run", "tests/properties/test_plans.py"),
    "plan/layout.py": ("tests/plan", "tests/properties/test_plans.py"),
    "run/executor.py": ("tests/run/test_executor.py", "tests/run/test_threads.py"),
    "run/runner.py": (
        "tests/run/test_runner.py",
        "tests/run/test_caches.py",
        "tests/run/test_memory_waits.py",
    ),
    "run/admission.py": ("tests/run/test_admission.py", "tests/run/test_memory_waits.py"),
    "run/planner.py": ("tests/run/test_planner.py", "tests/run/test_caches.py"),
    "run/resources.py": ("tests/run/test_resources.py", "tests/run/test_parts.py"),
    "run/segments.py": (
        "tests/run/test_segments.py",
        "tests/run/test_caches.py",
        "tests/parity/session",
    ),
    "run/binding.py": (
        "tests/run/test_binding.py",
        "tests/run/test_segments.py",
        "tests/parity/session",
    ),
    "autodiff/backprop.py": ("tests/graph/test_autodiff.py", "tests/eager/test_tape.py"),
}
"""The modules of the core, and the tests that hold each to its contract, the quickest first."""

EQUIVALENT: dict[tuple[str, str], str] = {}
"""Changes that no caller can notice, by module and changed line: why."""

_OPPOSITE = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_OTHER = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult}


class Mutant(NamedTuple):
    """One change of one module."""

    module: str
    line: int
    was: str
    text: str
    """The changed module."""
    change: str

    def shown(self) -> str:
        return f"{self.module}:{self.line}: {self.change}: {self.was}"


def mutants_of(module: str) -> Iterator[Mutant]:
    """Yield all mutants of a module."""
    source = (SOURCES / module).read_text()
    lines = source.splitlines()
    tree = ast.parse(source)
    for position, node in enumerate(ast.walk(tree)):
        change = _change_of(node)
        if change is None:
            continue
        changed = copy.deepcopy(tree)
        again = next(n for k, n in enumerate(ast.walk(changed)) if k == position)
        parents = {c: p for p in ast.walk(changed) for c in ast.iter_child_nodes(p)}
        if _make(again, parents.get(again)):
            line = getattr(node, "lineno", 0)
            text = ast.unparse(ast.fix_missing_locations(changed))
            yield Mutant(module, line, lines[line - 1].strip(), text, change)


_CHANGES: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (ast.Compare, "comparison"),
    (ast.BoolOp, "and/or"),
    ((ast.If, ast.While, ast.IfExp), "negated condition"),
    (ast.BinOp, "arithmetic"),
    (ast.Constant, "number + 1"),
    ((ast.Expr, ast.AugAssign), "statement left out"),
    (ast.Return, "return None"),
)


def _change_of(node: ast.AST) -> str | None:
    """Name the change that can be made to a node; None if there is none."""
    cannot = (
        (isinstance(node, ast.Compare) and type(node.ops[0]) not in _OPPOSITE)
        or (isinstance(node, ast.BinOp) and type(node.op) not in _OTHER)
        or (isinstance(node, ast.Constant) and type(node.value) is not int)
        or (isinstance(node, ast.Expr) and not isinstance(node.value, ast.Call))
        or (isinstance(node, ast.Return) and node.value is None)
    )
    if cannot:
        return None
    return next((change for kinds, change in _CHANGES if isinstance(node, kinds)), None)


def _make(node: ast.AST, parent: ast.AST | None) -> bool:
    """Make a node's change; False if it cannot be made here."""
    if isinstance(node, ast.Compare):
        node.ops[0] = _OPPOSITE[type(node.ops[0])]()
    elif isinstance(node, ast.BoolOp):
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        node.test = ast.UnaryOp(ast.Not(), node.test)
    elif isinstance(node, ast.BinOp):
        node.op = _OTHER[type(node.op)]()
    elif isinstance(node, ast.Constant):
        assert isinstance(node.value, int)
        node.value += 1
    elif isinstance(node, ast.Return):
        node.value = ast.Constant(None)
    else:
        for field in ("body", "orelse", "finalbody"):
            block = getattr(parent, field, None)
            if isinstance(block, list) and node in block:
                block[block.index(node)] = ast.Pass()
                return True
        return False
    return True


def is_noticed(mutant: Mutant, folder: Path) -> bool:
    """Run the module's tests on a mutant, in a copy of the sources; True if one fails."""
    target = folder / "src" / "berth" / mutant.module
    before = target.read_text()
    target.write_text(mutant.text)
    tests = [str(ROOT / test) for test in TESTS[mutant.module]]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    environ = {
        **os.environ,
        "PYTHONPATH": str(folder / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    try:
        result = subprocess.run(
            command, cwd=ROOT, env=environ, capture_output=True, timeout=TIMEOUT, check=False
        )
        return result.returncode != 0
    except subprocess.TimeoutExpired:
        return True
    finally:
        target.write_text(before)


def chosen(module: str, each: int) -> list[Mutant]:
    """Choose some mutants of a module, always the same ones."""
    mutants = [
        mutant for mutant in mutants_of(module) if (mutant.module, mutant.was) not in EQUIVALENT
    ]
    return random.Random(SEED).sample(mutants, min(each, len(mutants)))


def run(modules: Sequence[str], each: int, n_workers: int) -> int:
    """Test the mutants of some modules; return how many survived."""
    mutants = [mutant for module in modules for mutant in chosen(module, each)]
    with tempfile.TemporaryDirectory() as base:
        folders = [Path(base) / str(number) for number in range(n_workers)]
        for folder in folders:
            shutil.copytree(ROOT / "src", folder / "src")
        free = list(folders)

        def test(mutant: Mutant) -> bool:
            folder = free.pop()
            try:
                noticed = is_noticed(mutant, folder)
            finally:
                free.append(folder)
            if not noticed:
                print(f"survived: {mutant.shown()}", flush=True)
            return noticed

        with ThreadPoolExecutor(n_workers) as pool:
            noticed = list(pool.map(test, mutants))
    n_killed = sum(noticed)
    share = n_killed / len(mutants) if mutants else 1
    print(f"{n_killed} of {len(mutants)} mutants were noticed: {share:.1%}")
    return len(mutants) - n_killed


def main() -> None:
    parser = argparse.ArgumentParser(description="Mutation test of the core.")
    parser.add_argument("words", nargs="*", help="parts of the names of modules")
    parser.add_argument("--each", type=int, default=13, help="mutants of each module")
    arguments = parser.parse_args()
    modules = [m for m in TESTS if not arguments.words or any(w in m for w in arguments.words)]
    run(modules, arguments.each, os.cpu_count() or 1)


if __name__ == "__main__":
    main()
