"""Runners: what runs a request, from many threads at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

from berth.plan.plan import Plan
from berth.run.binding import Binding
from berth.run.binding_pool import BindingPool
from berth.run.prepared import Program
from berth.run.resources import Resources
from berth.run.state import SessionState


class RequestRunner(Protocol):
    """What runs a request: a `Runner`, or a `SegmentedRunner`."""

    @property
    def is_released(self) -> bool:
        """Whether it was evicted: a cache that still has it has to replace it."""
        ...

    def run(self, feeds: Sequence[Any], run_stage: Any = None) -> list[Any]:
        """Run the request once; return the fetched values."""
        ...

    def prepare(self, program: Program, feeds: Sequence[Any]) -> list[Any]:
        """Add what a run does to a program; return the arrays of the fetches."""
        ...

    def drop_idle(self) -> None:
        """Free the memory that no run is using."""
        ...

    def release(self) -> None:
        """Free all memory, of runs that are going on when they are over."""
        ...


class Runner(BindingPool[Binding]):
    """One plan, with its bindings."""

    def __init__(self, plan: Plan, state: SessionState, resources: Resources) -> None:
        super().__init__(partial(resources.bind, plan, state), resources.executor.run)
        self.plan = plan
        self._state = state
        self._resources = resources

    def prepare(self, program: Program, feeds: Sequence[Any]) -> list[Any]:
        """Add the plan to a program; return the arrays of the fetches."""
        return program.add_plan(self.plan, self._state, self._resources, feeds)
