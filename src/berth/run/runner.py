"""A plan that can be run, by many threads at once.

Each run needs a binding for itself. Bindings are kept for the next run; a thread that
finds none free makes another. If there is no memory for that, it waits as long as other
runs, which may give some back, are going on.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from berth.errors import OutOfMemoryError
from berth.plan.plan import Plan
from berth.run.binding import Binding
from berth.run.executor import Executor

PAUSE = 0.005
"""How long to wait before another try, in seconds."""


class Runner:
    """One plan, with its bindings."""

    def __init__(
        self,
        plan: Plan,
        bind: Callable[[], Binding],
        executor: Executor,
        is_anything_running: Callable[[], bool],
    ) -> None:
        self.plan = plan
        self.last_used = 0.0
        self._bind = bind
        self._executor = executor
        self._is_anything_running = is_anything_running
        self._free: list[Binding] = []
        self._n_bound = 0
        self._counting = threading.Lock()

    def run(self, feeds: Sequence[Any], run_stage: Any = None) -> list[Any]:
        """Run the plan once; return the fetched values."""
        binding = self._take() or self._another()
        try:
            return self._executor.run(binding, feeds, run_stage)
        finally:
            self._free.append(binding)

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
        self.last_used = time.monotonic()
        is_last_try = False
        while True:
            self._count(1)  # while it is being made, it counts as running
            try:
                return self._bind()
            except OutOfMemoryError:
                self._count(-1)
                # Runs that ended just now have left memory that another try gets.
                if is_last_try:
                    raise
                is_last_try = not self._is_anything_running()
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
        """Give the memory of the bindings back that no run is using."""
        while (binding := self._take()) is not None:
            self._drop(binding)

    def _drop(self, binding: Binding) -> None:
        binding.free()
        self._count(-1)
