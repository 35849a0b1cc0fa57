"""A plan that can be run, by many threads at once.

Each run needs a binding for itself. Bindings are kept for the next run; a thread that
finds none free makes another. If there is no memory for that, it waits as long as other
runs, which may give some back, are going on.

A runner that is *released* keeps no binding: what is idle is freed at once, and what a thread
still uses when that run is over. It can be run again, but then binds its plan each time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any, Protocol

from berth.errors import OutOfMemoryError
from berth.plan.plan import Plan
from berth.run.binding import Binding
from berth.run.resources import Resources
from berth.run.state import SessionState

PAUSE = 0.005
"""How long to wait before another try, in seconds."""


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
        self._n_bound = 0
        self._counting = threading.Lock()
        resources.add(self)

    def run(self, feeds: Sequence[Any], run_stage: Any = None) -> list[Any]:
        """Run the plan once; return the fetched values."""
        binding = self._take() or self._another()
        try:
            return self._executor.run(binding, feeds, run_stage)
        finally:
            self._free.append(binding)
            if self.is_released:  # while it was running
                self.drop_idle()

    @property
    def n_running(self) -> int:
        """How many bindings are in use."""
        return self._n_bound - len(self._free)

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
            self._drop(binding)

    def _another(self) -> Binding:
        """Make one more binding, or wait for one."""
        is_last_try = False
        while True:
            self._count(1)  # while it is being made, it counts as running
            try:
                return self._resources.bind(self.plan, self._state)
            except OutOfMemoryError:
                self._count(-1)
                # Runs that ended just now have left memory that another try gets.
                if is_last_try:
                    raise
                is_last_try = not self._resources.is_running
            except BaseException:
                self._count(-1)
                raise
            time.sleep(PAUSE)
            binding = self._take()
            if binding is not None:
                return binding

    def _count(self, change: int) -> None:
        with self._counting:
            self._n_bound += change

    def drop_idle(self) -> None:
        """Free the memory of the bindings that no run is using."""
        while (binding := self._take()) is not None:
            self._drop(binding)

    def release(self) -> None:
        """Keep no binding: free those that are idle now, the others when their runs end."""
        self.is_released = True
        self.drop_idle()

    def _drop(self, binding: Binding) -> None:
        binding.free()
        self._count(-1)
