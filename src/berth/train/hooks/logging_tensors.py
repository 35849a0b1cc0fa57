"""``tf.train.LoggingTensorHook``: logs the values of tensors while a session trains."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from berth.front import logger
from berth.graph.default_graph import get_default_graph
from berth.public import public_v1
from berth.train.hooks.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from berth.train.hooks.timer import NeverTriggerTimer, SecondOrStepTimer


@public_v1("train.LoggingTensorHook")
class LoggingTensorHook(SessionRunHook):
    """Logs tensors once in so many runs or seconds, or at the end: ``loss = 0.5, step = 100``.

    The tensors are a list of tensors or their names, or a dictionary of them by label. They
    are logged at level INFO, which ``tf.logging.set_verbosity(tf.logging.INFO)`` shows.
    """

    def __init__(
        self,
        tensors: Any,
        every_n_iter: int | None = None,
        every_n_secs: float | None = None,
        at_end: bool = False,
        formatter: Callable[[Any], str] | None = None,
    ) -> None:
        only_at_end = at_end and every_n_iter is None and every_n_secs is None
        if not only_at_end and (every_n_iter is None) == (every_n_secs is None):
            raise ValueError(
                "either at_end and/or exactly one of every_n_iter and every_n_secs must be "
                "provided."
            )
        if every_n_iter is not None and every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        is_labelled = isinstance(tensors, Mapping)
        self._tag_order = sorted(tensors) if is_labelled else list(tensors)
        self._tensors = dict(tensors) if is_labelled else {item: item for item in tensors}
        self._formatter = formatter
        self._timer = (
            NeverTriggerTimer()
            if only_at_end
            else SecondOrStepTimer(every_secs=every_n_secs, every_steps=every_n_iter)
        )
        self._log_at_end = at_end

    def begin(self) -> None:
        """Find the tensors in the graph."""
        self._timer.reset()
        self._iter_count = 0
        self._found = {tag: _in_graph(tensor) for tag, tensor in self._tensors.items()}

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Fetch the tensors if it is time to log them."""
        self._is_due = self._timer.should_trigger_for_step(self._iter_count)
        return SessionRunArgs(self._found) if self._is_due else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Log them."""
        if self._is_due:
            self._log(run_values.results)
        self._iter_count += 1

    def end(self, session: Any) -> None:
        """Log them at the end, if asked to."""
        if self._log_at_end:
            self._log(session.run(self._found))

    def _log(self, values: Any) -> None:
        with np.printoptions(suppress=True):
            seconds, _ = self._timer.update_last_triggered_step(self._iter_count)
            if self._formatter is not None:
                logger.info(self._formatter(values))
                return
            text = ", ".join(f"{tag} = {values[tag]}" for tag in self._tag_order)
            logger.info("%s", text if seconds is None else f"{text} ({seconds:.3f} sec)")


def _in_graph(item: Any) -> Any:
    """Return a tensor or operation of the default graph, given as itself or by its name."""
    graph = get_default_graph()
    if not isinstance(item, str):
        if getattr(item, "graph", None) is not graph:
            raise ValueError(
                f"Passed {item} should have graph attribute that is equal to current graph "
                f"{graph}."
            )
        return item
    if ":" in item:
        return graph.as_graph_element(item)
    tensor = graph.as_graph_element(f"{item}:0")
    if len(tensor.op.outputs) > 1:
        raise ValueError(
            f"Name {item} is ambiguous, as this `Operation` has multiple outputs (at least 2)."
        )
    return tensor
