"""A plugin for pytest: tests of multi-GPU code, on a computer without a GPU.

    def test_towers(berth_sim):
        machine = berth_sim("2xT4")

    @pytest.mark.berth_sim("2xT4")
    def test_towers(): ...

The model: a test is a program of its own, on a machine of its own (`Simulation`). A
`BerthSim` is there from before the test's fixtures are made until after they are gone.

  1. What the machine is depends on the test alone. Variables of the environment that decide
     about devices are set aside, and come back after the test; the ledger, by which processes
     share cards, is the test's own. What the test sets counts, and child processes inherit
     the machine.
  2. The program is what the test's module would be if it were run: graphs if that imports
     ``berth.compat.v1`` first, eager if it imports ``berth``.
  3. Memory that is left behind is an error of the test: what is in use on a GPU when the test
     has passed, its fixtures are gone and garbage is collected. After a test that failed
     nothing is checked, for its traceback holds its variables.
  4. What was measured travels in ``user_properties``, which junit.xml has and pytest-xdist
     brings home; the summary is made of these alone.

pytest loads this module in every run. So berth, and NumPy with it, is imported by the first
test that asks for a machine.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import pytest

if TYPE_CHECKING:
    from berth.tools.simulation import SimulatedMachine, Simulation

__all__ = ["BerthSim", "berth_sim"]

MARKER = "berth_sim"
_OPTIONS = {"eager", "keeps_memory"}
_SIM = pytest.StashKey["BerthSim"]()
_PEAK = "berth_peak_bytes_"
_N_SHOWN = 5
"""How many tests the summary names."""


class BerthSim:
    """Starts the simulated machine of a test, and ends it."""

    def __init__(self, test: pytest.Item) -> None:
        from berth.front.context import READ_ONCE

        self.has_passed = False
        self._test = test
        self._simulation: Simulation | None = None
        self._started_by = ""
        self._keeps_memory = False
        self._ledger = tempfile.mkdtemp(prefix="berth-pytest-")
        # BERTH_GPUS decides nothing: it says what `berth run -m pytest` was asked for.
        names = (*READ_ONCE, "BERTH_GPUS")
        self._set_aside = {name: os.environ.pop(name, None) for name in names}
        os.environ["BERTH_LEDGER_DIR"] = self._ledger

    def __call__(
        self,
        machine: str | None = None,
        *,
        eager: bool | None = None,
        keeps_memory: bool = False,
    ) -> SimulatedMachine:
        """Start the machine, like ``"2xT4"``. Without a name: return the one there is.

        `eager` says what the program is, where its module does not tell. A test that
        `keeps_memory` may leave some behind.
        """
        __tracebackhide__ = True
        if machine is None and self._simulation is not None:
            return self._simulation.machine
        if machine is None:
            raise TypeError(
                "berth_sim() has no machine to return: name one, like berth_sim('2xT4'), or "
                "mark the test with @pytest.mark.berth_sim('2xT4')."
            )
        if not isinstance(machine, str):
            raise TypeError(f"berth_sim() takes a text like '2xT4', and not {machine!r}.")
        if self._simulation is not None:
            raise RuntimeError(
                f"berth_sim({machine!r}) asks for a second machine: this test has "
                f"{self._simulation.machine.name} already, by {self._started_by}. "
                "berth_sim() returns that one."
            )
        return self.start(machine, "an earlier call", eager=eager, keeps_memory=keeps_memory)

    def start(
        self, machine: str, by: str, *, eager: bool | None = None, keeps_memory: bool = False
    ) -> SimulatedMachine:
        """Start a program on a machine; `by` says who wants it."""
        __tracebackhide__ = True
        from berth.errors import MachineSpecError
        from berth.tools.simulation import Simulation

        mode = _mode_of(self._test) if eager is None else eager
        try:
            self._simulation = Simulation(machine, is_eager=mode)
        except MachineSpecError as error:
            raise MachineSpecError(str(error)) from None  # the test's line is what matters
        self._started_by, self._keeps_memory = by, keeps_memory
        os.environ["BERTH_SIM"] = self._simulation.machine.name  # for child processes
        return self._simulation.machine

    def leave(self) -> None:
        """Let the program be the default no more."""
        if self._simulation is not None:
            self._simulation.leave()

    def end(self) -> str:
        """End the program; return a complaint about memory that it left behind, or nothing."""
        self.leave()
        try:
            return self._end(self._simulation) if self._simulation is not None else ""
        finally:
            for name, value in self._set_aside.items():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value
            shutil.rmtree(self._ledger, ignore_errors=True)

    def _end(self, simulation: Simulation) -> str:
        name = simulation.machine.name
        noted = self._test.user_properties
        # A plugin may run a test again: what an earlier try noted is no more true.
        noted[:] = [each for each in noted if not each[0].startswith("berth_")]
        noted.append(("berth_machine", name))
        noted += [(_PEAK + gpu, nbytes) for gpu, nbytes in simulation.peaks().items()]
        is_checked = self.has_passed and not self._keeps_memory
        left = simulation.left_behind() if is_checked else []
        simulation.end()
        return _complaint(name, left) if left else ""


def _mode_of(test: pytest.Item) -> bool | None:
    """Tell what a test's module would be as a program: eager, graphs, or neither for sure."""
    berth, v1 = sys.modules["berth"], sys.modules.get("berth.compat.v1")
    for value in vars(getattr(test, "module", None) or object).values():
        if value is berth or (v1 is not None and value is v1):
            return value is berth  # what is imported first decides
    return None


def _complaint(machine: str, left: list[str]) -> str:
    return "\n  ".join(
        [
            f"Memory is left behind on {machine}.",
            *left,
            "Something that outlives the test holds it: a global, a fixture of a wider scope, "
            "a session that is not closed, a function of the module that was called with it.",
            "Let go of it, or say that it may stay: "
            f"berth_sim({machine!r}, keeps_memory=True).",
        ]
    )


# --- the marker -------------------------------------------------------------------------------


def _start_marked(test: pytest.Item) -> None:
    """Start the machine that the nearest marker asks for."""
    [(node, mark), *others] = test.iter_markers_with_node(MARKER)
    where = _place(node)
    beside = [other for owner, other in others if owner is node]
    if beside:
        written = " and ".join(_written(each) for each in (mark, *beside))
        _refuse(where, f"{written} are on the same test, which has one machine.")
    is_machine = len(mark.args) == 1 and isinstance(mark.args[0], str)
    if not is_machine or not set(mark.kwargs) <= _OPTIONS:
        _refuse(
            where,
            f"{_written(mark)} cannot be read: write a machine, like berth_sim('2xT4'), and "
            "after it eager= or keeps_memory= if needed.",
        )
    from berth.errors import MachineSpecError

    try:
        _sim_of(test).start(mark.args[0], f"the marker at {where}", **mark.kwargs)
    except MachineSpecError as error:
        message = str(error)
    else:
        return
    _refuse(where, message)


def _written(mark: pytest.Mark) -> str:
    arguments = [*map(repr, mark.args), *(f"{k}={v!r}" for k, v in mark.kwargs.items())]
    return f"@pytest.mark.{MARKER}({', '.join(arguments)})"


def _place(node: Any) -> str:
    """Say where a node of pytest's tree is: a function, a class, a module."""
    path, line = node.reportinfo()[:2] if hasattr(node, "reportinfo") else (node.path, None)
    shown = os.path.relpath(path, node.config.rootpath)
    return f"{shown}:{line + 1}" if line else shown


def _refuse(where: str, message: str) -> NoReturn:
    pytest.fail(f"{where}: {message}", pytrace=False)


# --- what pytest calls ------------------------------------------------------------------------


@pytest.fixture
def berth_sim(request: pytest.FixtureRequest) -> Iterator[BerthSim]:
    """Simulated GPUs for one test: ``machine = berth_sim("2xT4")``."""
    sim = _sim_of(request.node)
    yield sim
    sim.leave()


def _sim_of(test: pytest.Item) -> BerthSim:
    if _SIM not in test.stash:
        test.stash[_SIM] = BerthSim(test)
    return test.stash[_SIM]


def pytest_configure(config: pytest.Config) -> None:
    """Describe the marker."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(machine, *, eager=None, keeps_memory=False): run the test on simulated "
        "GPUs, like '2xT4'; memory that it leaves behind is an error.",
    )


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Begin before the test's fixtures are made."""
    if MARKER in getattr(item, "fixturenames", ()):
        _sim_of(item)
    if item.get_closest_marker(MARKER) is not None:
        _start_marked(item)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Iterator[None]:
    """Note whether the test has passed: of unittest's tests, only the report tells."""
    outcome: Any = yield
    if call.when == "call" and _SIM in item.stash:
        item.stash[_SIM].has_passed = outcome.get_result().passed


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """End after the test's fixtures are gone, and after all that others do here."""
    instance = getattr(item, "instance", None) if _SIM in item.stash else None
    outcome: Any = yield
    if _SIM not in item.stash:
        return
    # pytest holds these longer than the test needs them.
    getattr(instance, "__dict__", {}).clear()
    getattr(item, "funcargs", {}).clear()
    sim = item.stash[_SIM]
    del item.stash[_SIM]
    complaint = sim.end()
    if complaint and outcome.excinfo is None:
        outcome.force_exception(pytest.fail.Exception(complaint, pytrace=False))


# --- the report -------------------------------------------------------------------------------


class _Peak(NamedTuple):
    """The most that a test held at once on one GPU: the fullest."""

    nbytes: int
    gpu: str
    machine: str
    test: str


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Show the largest peaks; with -v, all."""
    reports = [each for group in terminalreporter.stats.values() for each in group]
    found = {peak.test: peak for peak in map(_peak_of, reports) if peak is not None}
    peaks = sorted(found.values(), key=lambda peak: (-peak.nbytes, peak.test))
    if not peaks:
        return
    from berth.units import format_bytes

    shown = peaks if terminalreporter.config.option.verbose > 0 else peaks[:_N_SHOWN]
    terminalreporter.section("berth: peak memory of a GPU")
    for peak in shown:
        size = format_bytes(peak.nbytes)
        terminalreporter.line(f"{size:>10}  {peak.gpu} of {peak.machine}  {peak.test}")
    if len(peaks) > len(shown):
        terminalreporter.line(f"and {len(peaks) - len(shown)} more: -v shows them")


def _peak_of(report: object) -> _Peak | None:
    """Read the peak out of the last report of a test, if the test had a machine."""
    if not isinstance(report, pytest.TestReport) or report.when != "teardown":
        return None
    noted: dict[str, Any] = dict(report.user_properties)
    gpus = [name for name in noted if name.startswith(_PEAK)]
    if not gpus:
        return None
    fullest = max(gpus, key=lambda name: noted[name])
    machine = noted["berth_machine"]
    return _Peak(noted[fullest], fullest.removeprefix(_PEAK), machine, report.nodeid)
