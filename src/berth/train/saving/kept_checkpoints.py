"""Which checkpoints a saver keeps: the last ones, and one for every so many hours."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from berth.train.checkpoints.checkpoint_state import get_checkpoint_mtimes, remove_checkpoint

_HOUR = 3600


class KeptCheckpoints:
    """The checkpoints of a saver, oldest first, with the times at which they were written."""

    def __init__(self, max_to_keep: int, keep_every_n_hours: float, version: int) -> None:
        self._max_to_keep = max_to_keep
        self._hours = keep_every_n_hours
        self._version = version
        self._next_kept = time.time() + keep_every_n_hours * _HOUR
        self._last: list[tuple[str, float]] = []
        self._surplus: list[tuple[str, float]] = []

    @property
    def paths(self) -> list[str]:
        return [path for path, _ in self._last]

    def set(self, paths_and_times: Sequence[tuple[str, float]]) -> None:
        self._last = [(os.fspath(path), when) for path, when in paths_and_times]

    def recover(self, paths: Sequence[str]) -> None:
        """Continue with the checkpoints that still exist, and their times."""
        found = [(path, get_checkpoint_mtimes([path])) for path in map(os.fspath, paths)]
        self.set([(path, times[0]) for path, times in found if times])

    def add(self, path: str) -> None:
        """Note the newest; what is too many is removed by `remove_surplus`."""
        if self._max_to_keep <= 0:
            return
        self._last = [item for item in self._last if item[0] != path]
        self._last.append((path, time.time()))
        if len(self._last) > self._max_to_keep:
            self._surplus.append(self._last.pop(0))

    def remove_surplus(self, meta_graph_suffix: str) -> None:
        """Remove old checkpoints, but for one every so many hours."""
        while self._surplus:
            path, when = self._surplus.pop(0)
            if when > self._next_kept:
                self._next_kept += self._hours * _HOUR
            elif path not in self.paths:
                remove_checkpoint(path, self._version, meta_graph_suffix)
