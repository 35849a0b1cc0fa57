"""Runners: a plan with its bindings, which many threads may run at once.

Each run needs a binding for itself. Bindings are kept for the next run; a thread that
finds none free makes another. If there is no memory for that, it waits for other runs, which
may give some back (`admission`).

A runner that is *released* keeps no binding: what is idle is freed at once, and what a thread
still uses when that run is over. It can be run again, but then binds its plan each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from berth.plan.plan import Plan
from berth.run import admission
from berth.run.binding import Binding
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

    def drop_idle(self) -> None:
        """Free the memory that no run is using."""
        ...

    def release(self) -> None:
        """Free all memory, of runs that are going on when they are over."""
        ...


class Runner:
    """One plan, with its bindings."""

    def __init__(self, plan: Plan, state: SessionState, resources: Resources) -> None:
        self.plan = plan
        self.is_released = False
        self._state = state
        self._resources = resources
        self._executor = resources.executor
        self._free: list[Binding] = []

    def run(self, feeds: Sequence[Any], run_stage: Any = None) -> list[Any]:
        """Run the plan once; return the fetched values."""
        run = object()
        try:
            admission.enter(run, self)
            binding = self._take() or admission.obtain(run, self, self._bind, self._take)
            try:
                return self._executor.run(binding, feeds, run_stage)
            finally:
                self._free.append(binding)
                if self.is_released or admission.is_awaited_by_others(self):
                    self.drop_idle()
        finally:
            admission.leave(run, None)

    def _bind(self) -> Binding:
        return self._resources.bind(self.plan, self._state)

    @property
    def n_running(self) -> int:
        """How many runs are going on."""
        return admission.n_running(self)

    @property
    def n_idle(self) -> int:
        """How many bindings are kept for the next run."""
        return len(self._free)

    def _take(self) -> Binding | None:
        """Take a binding that is free, if there is one. Several threads may try at once."""
        while True:
            try:
                binding = self._free.pop()
            except IndexError:
                return None
            if binding.is_current:
                return binding
            binding.free()

    def drop_idle(self) -> None:
        """Free the memory of the bindings that no run is using."""
        while (binding := self._take()) is not None:
            binding.free()

    def release(self) -> None:
        """Keep no binding: free those that are idle now, the others when their runs end."""
        self.is_released = True
        self.drop_idle()
