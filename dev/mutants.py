"""Mutation test of the core: are its tests good enough to notice a changed line?

    make mutants                          all modules, a sample of the mutants of each
    dev/mutants.py placer arena           these modules
    dev/mutants.py --each 40 arena        more mutants of each
    dev/mutants.py --each 999 --resume    all of them, but for those already known as noticed

`mutations.py` makes the mutants. Each gets a process, forked from one that has imported pytest
and NumPy, and a copy of the sources. There the tests that run the changed line come first, the
quickest ahead, then those of the module's tests that start processes. A mutant that none of
them notices is printed as survived. Those of which no caller can know are in
`equivalent_mutants.py`, with the reason. Verdicts are kept in `.mutants`, with the map of
lines to tests.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import shutil
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import hypothesis  # noqa: F401  (children find it imported)
import numpy  # noqa: F401
import pytest
from equivalent_mutants import EQUIVALENT
from mutations import SOURCES, Mutant, mutants_of

Tracer = Callable[[FrameType, str, Any], Any]

ROOT = Path(__file__).parents[1]
KEPT = ROOT / ".mutants"
SEED = 20
N_QUICK = 60
"""How many tests of a changed line run before all tests of its module."""

ARENAS = ("tests/memory", "tests/properties/test_arena.py", "tests/devices")
PLANS = ("tests/plan", "tests/run", "tests/properties/plans")
PLACEMENT = (
    "tests/plan",
    "tests/parity/test_placement.py",
    "tests/parity/test_soft_placement.py",
    "tests/parity/test_placement_errors.py",
    "tests/properties/test_placement.py",
)
CONTROL_FLOW = ("tests/parity/test_control_flow.py", "tests/graph/test_control_flow.py")
TESTS = {
    "memory/arena.py": ARENAS,
    "memory/chunks.py": ARENAS,
    "memory/limits.py": ("tests/memory", "tests/devices", "tests/parity/test_config_memory.py"),
    "backends/ledger_table.py": ("tests/backends",),
    "devices/numbering.py": ("tests/parity/test_numbering.py", "tests/devices"),
    "plan/placer.py": PLACEMENT,
    "plan/groups.py": PLACEMENT,
    "plan/partition.py": PLANS,
    "plan/specialize.py": (*PLANS, "tests/parity/session", *CONTROL_FLOW),
    "plan/fuse.py": PLANS,
    "plan/liveness.py": PLANS,
    "plan/layout.py": PLANS,
    "plan/workspace_blocks.py": PLANS,
    "plan/infer.py": PLANS,
    "plan/resize.py": PLANS,
    "run/executor.py": ("tests/run", "tests/properties/plans"),
    "run/runner.py": ("tests/run",),
    "run/admission.py": ("tests/run",),
    "run/planner.py": ("tests/run", "tests/parity/session"),
    "run/resources.py": ("tests/run",),
    "run/segments.py": (*PLANS, "tests/parity/session", *CONTROL_FLOW),
    "run/binding.py": (*PLANS, "tests/parity/session"),
    "autodiff/backprop.py": ("tests/graph/test_autodiff.py", "tests/eager/test_tape.py"),
}
"""The modules of the core, and the tests that hold each to its contract."""


class Covering(NamedTuple):
    """What the tests of the core run."""

    tests: Mapping[str, Mapping[str, Sequence[str]]]
    """By module and line: the tests that run it."""
    seconds: Mapping[str, float]
    """How long each test takes."""
    failed: Sequence[str]
    """Tests that fail without a mutant, while lines are recorded: they say nothing."""

    def stages(self, mutant: Mutant) -> tuple[Sequence[str], Sequence[str]]:
        """Return the tests that come first, and those that run if none of the first fails."""
        own = TESTS[mutant.module]
        lines = self.tests.get(mutant.module, {})
        covering = set(lines.get(str(mutant.line), ())) - set(self.failed)
        tests = [test for test in covering if test.startswith(own)]
        if not tests:  # what runs when the module is imported, or in other processes alone
            return (), own
        tests.sort(key=lambda test: (self._seconds(test), test))
        return tests[:N_QUICK], [*tests[N_QUICK:], *_with_processes(own)]

    def patience(self, tests: Iterable[str]) -> float:
        """Return after how many seconds these tests or folders of tests surely hang."""
        chosen = tuple(tests)
        each = (s for test, s in self.seconds.items() if test.startswith(chosen))
        return 30 + 5 * sum(each)

    def _seconds(self, test: str) -> float:
        return self.seconds.get(test, 1.0)


def _with_processes(paths: Sequence[str]) -> list[str]:
    """Return those files of tests that start processes, whose lines are not recorded."""
    files = (file for path in paths for file in _files(ROOT / path))
    return [
        str(file.relative_to(ROOT)) for file in files if _PROCESSES.search(file.read_text())
    ]


def _files(path: Path) -> Iterable[Path]:
    return path.rglob("test_*.py") if path.is_dir() else (path,)


_PROCESSES = re.compile(r"\b(subprocess|fork_server|os\.fork)\b")


class Recorder:
    """A pytest plugin that notes what lines of the core each test runs, and its duration."""

    def __init__(self) -> None:
        self._modules = {str(SOURCES / module): module for module in TESTS}
        self._lines: set[tuple[str, int]] = set()
        self.seconds: dict[str, float] = defaultdict(float)
        self.failed: list[str] = []
        self.tests: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))

    def pytest_runtest_setup(self) -> None:
        # Again for each test: some set a trace function of their own.
        sys.settrace(self._enter)
        threading.settrace(self._enter)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        for module, line in self._lines:
            self.tests[module][str(line)].append(nodeid)
        self._lines.clear()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += report.duration
        if report.failed:
            self.failed.append(report.nodeid)

    def _enter(self, frame: FrameType, event: str, argument: Any) -> Tracer | None:
        return self._note if frame.f_code.co_filename in self._modules else None

    def _note(self, frame: FrameType, event: str, argument: Any) -> Tracer:
        self._lines.add((self._modules[frame.f_code.co_filename], frame.f_lineno))
        return self._note


def cover(file: Path) -> None:
    """Run all tests of the core once, and note which lines each of them runs."""
    recorder = Recorder()
    paths = sorted({path for paths in TESTS.values() for path in paths})
    pytest.main([*_OPTIONS, "-q", *paths], plugins=[recorder])
    file.write_text(json.dumps([recorder.tests, recorder.seconds, recorder.failed]))
    os._exit(0)


_OPTIONS = (
    *("-p", "no:cacheprovider", "-o", "addopts="),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # hypothesis is imported already
)


def covering() -> Covering:
    """Return what the tests run, from the file of an earlier run if there is one."""
    file = KEPT / "covering.json"
    if not file.exists():
        pid = os.fork()
        if not pid:
            cover(file)
        os.waitpid(pid, 0)
    return Covering(*json.loads(file.read_text()))


class Trial:
    """A process that runs tests on a mutant, in a copy of the sources."""

    def __init__(self, mutant: Mutant, folder: Path, covered: Covering) -> None:
        self.mutant = mutant
        self.folder = folder
        target = folder / "berth" / mutant.module
        self._before = target.read_text()
        self._target = target
        target.write_text(mutant.text())
        stages = covered.stages(mutant)
        self._deadline = time.monotonic() + sum(map(covered.patience, stages))
        self._pid = os.fork()
        if not self._pid:
            self._run(stages, covered.failed)

    def verdict(self) -> bool | None:
        """Return whether the mutant was noticed; None if tests are running still."""
        pid, status = os.waitpid(self._pid, os.WNOHANG)
        late = time.monotonic() > self._deadline
        if not pid and not late:
            return None
        if not pid:
            os.killpg(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
        self._target.write_text(self._before)
        return late or status != 0

    def _run(self, stages: Iterable[Sequence[str]], ignored: Sequence[str]) -> None:
        """Run the tests stage by stage until one fails; end the process."""
        os.setsid()
        silence = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(silence, stream)
        os.environ["PYTHONPATH"] = str(self.folder)
        sys.path.insert(0, str(self.folder))
        options = [*_OPTIONS, "-x", *(f"--deselect={test}" for test in ignored)]
        for tests in stages:
            code = pytest.main([*options, *tests]) if tests else 0
            if code:
                os._exit(1)
        os._exit(0)


def trials(mutants: Sequence[Mutant], n_workers: int) -> Iterator[tuple[Mutant, bool]]:
    """Yield each mutant with whether it was noticed, in the order in which they end."""
    covered = covering()
    free = [KEPT / f"sources-{number}" for number in range(n_workers)]
    for folder in free:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(SOURCES.parent, folder)
    waiting = list(reversed(mutants))
    running: list[Trial] = []
    while waiting or running:
        while waiting and free:
            running.append(Trial(waiting.pop(), free.pop(), covered))
        for trial in list(running):
            noticed = trial.verdict()
            if noticed is not None:
                running.remove(trial)
                free.append(trial.folder)
                yield trial.mutant, noticed
        time.sleep(0.02)


def chosen(module: str, each: int) -> list[Mutant]:
    """Choose some mutants of a module, always the same ones."""
    mutants = list(mutants_of(module))
    sample = random.Random(SEED).sample(mutants, min(each, len(mutants)))
    equivalent = EQUIVALENT.get(module, {})
    return [m for m in sample if (m.statement, m.change) not in equivalent]


def run(modules: Sequence[str], each: int, n_workers: int, resume: bool) -> int:
    """Test the mutants of some modules; return how many survived."""
    mutants = [mutant for module in modules for mutant in chosen(module, each)]
    file = KEPT / "noticed"
    if not resume:
        file.unlink(missing_ok=True)
    known = set(file.read_text().split()) if file.exists() else set()
    unknown = [mutant for mutant in mutants if _key(mutant) not in known]
    n_survived = 0
    with file.open("a") as verdicts:
        for mutant, noticed in trials(unknown, n_workers):
            if noticed:
                print(_key(mutant), file=verdicts, flush=True)
            else:
                n_survived += 1
                print(f"survived: {mutant.shown()}", flush=True)
    n_killed = len(mutants) - n_survived
    share = n_killed / len(mutants) if mutants else 1
    print(f"{n_killed} of {len(mutants)} mutants were noticed: {share:.1%}")
    return n_survived


def _key(mutant: Mutant) -> str:
    source = (SOURCES / mutant.module).read_bytes()
    return hashlib.sha256(source + str(mutant).encode()).hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description="Mutation test of the core.")
    parser.add_argument("words", nargs="*", help="parts of the names of modules")
    parser.add_argument("--each", type=int, default=13, help="mutants of each module")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--resume", action="store_true", help="keep the verdicts so far")
    arguments = parser.parse_args()
    modules = [m for m in TESTS if not arguments.words or any(w in m for w in arguments.words)]
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.dont_write_bytecode = True
    KEPT.mkdir(exist_ok=True)
    run(modules, arguments.each, arguments.workers, arguments.resume)


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
