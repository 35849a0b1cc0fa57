"""Hooks that feed every run, and that run operations at the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from berth.errors import OutOfRangeError
from berth.front import logger
from berth.public import public_v1
from berth.train.hooks.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
)


@public_v1("train.FeedFnHook")
class FeedFnHook(SessionRunHook):
    """Feeds every run with what a function returns: a dictionary for ``feed_dict``."""

    def __init__(self, feed_fn: Callable[[], Any]) -> None:
        self.feed_fn = feed_fn

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Feed what the function returns."""
        return SessionRunArgs(fetches=None, feed_dict=self.feed_fn())


@public_v1("train.FinalOpsHook")
class FinalOpsHook(SessionRunHook):
    """Runs operations when training ends; their values are in `final_ops_values`."""

    def __init__(self, final_ops: Any, final_ops_feed_dict: Any = None) -> None:
        self._final_ops = final_ops
        self._final_ops_feed_dict = final_ops_feed_dict
        self._final_ops_values: Any = None

    @property
    def final_ops_values(self) -> Any:
        """The values, in the structure of `final_ops`; None before the end."""
        return self._final_ops_values

    def end(self, session: Any) -> None:
        """Run them."""
        if self._final_ops is None:
            return
        try:
            self._final_ops_values = session.run(self._final_ops, self._final_ops_feed_dict)
        except (OutOfRangeError, StopIteration):
            logger.warning(
                "The operations of FinalOpsHook read input that has ended. Let them depend on "
                "variables only: the value of a metric, and not its update."
            )
            raise
