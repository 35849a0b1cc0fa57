"""Pools of bindings, which many threads may run at once.

Each run needs a binding for itself. Bindings are kept for the next run; a thread that
finds none free makes another. If there is no memory for that, it waits for other runs, which
may give some back (`admission`).

A pool that is *released* keeps no binding: what is idle is freed at once, and what a thread
still uses when that run is over. It can be run again, but then binds anew each time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

from berth.run import admission


class Bound(Protocol):
    """Something that is bound to memory: a `Binding`, or a `PreparedLoop`."""

    @property
    def is_current(self) -> bool:
        """Whether the variables are still where they were."""
        ...

    def free(self) -> None:
        """Free the memory."""
        ...


B = TypeVar("B", bound=Bound)


class BindingPool(Generic[B]):
    """The bindings of one plan, or of one loop."""

    def __init__(
        self, bind: Callable[[], B], execute: Callable[[B, Sequence[Any], Any], list[Any]]
    ) -> None:
        self.is_released = False
        self._bind = bind
        self._execute = execute
        self._free: list[B] = []

    def run(self, feeds: Sequence[Any], run_stage: Any = None) -> list[Any]:
        """Run it once; return what it gives."""
        run = object()
        try:
            admission.enter(run, self)
            binding = self._take() or admission.obtain(run, self, self._bind, self._take)
            try:
                return self._execute(binding, feeds, run_stage)
            finally:
                self._free.append(binding)
                if self.is_released or admission.is_awaited_by_others(self):
                    self.drop_idle()
        finally:
            admission.leave(run, None)

    @property
    def n_running(self) -> int:
        """How many runs are going on."""
        return admission.n_running(self)

    @property
    def n_idle(self) -> int:
        """How many bindings are kept for the next run."""
        return len(self._free)

    def _take(self) -> B | None:
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
