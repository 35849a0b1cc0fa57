"""A plan that can be run, by many threads at once.

Each run needs a binding for itself. Bindings are kept for the next run; a thread that
finds none free makes another, and waits for one if there is no memory for that.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from berth.errors import OutOfMemoryError
from berth.plan.plan import Plan
from berth.run.binding import Binding
from berth.run.executor import Executor


class Runner:
    """One plan, with its bindings."""

    def __init__(self, plan: Plan, bind: Callable[[], Binding], executor: Executor) -> None:
        self.plan = plan
        self._bind = bind
        self._executor = executor
        self._free: list[Binding] = []
        self._n_bound = 0
        self._returned = threading.Condition()

    def run(self, feeds: Sequence[Any], run_stage: Any = None) -> list[Any]:
        """Run the plan once; return the fetched values."""
        binding = self._take() or self._another()
        try:
            return self._executor.run(binding, feeds, run_stage)
        finally:
            self._free.append(binding)
            if self._n_bound > 1:
                with self._returned:
                    self._returned.notify()

    def _take(self) -> Binding | None:
        """Take a binding that is free, if there is one. Several threads may try at once."""
        try:
            return self._free.pop()
        except IndexError:
            return None

    def _another(self) -> Binding:
        """Make one more binding; if there is no memory for it, wait for one."""
        try:
            binding: Binding | None = self._bind()
        except OutOfMemoryError:
            binding = None
            if self._n_bound == 0:
                raise
        with self._returned:
            if binding is not None:
                self._n_bound += 1
            while binding is None:
                # With a time-out: the last thread may have ended before we began to wait.
                self._returned.wait(0.01)
                binding = self._take()
        return binding

    def drop_idle(self) -> None:
        """Give the memory of the bindings back that no run is using."""
        with self._returned:
            while (binding := self._take()) is not None:
                binding.free()
                self._n_bound -= 1
