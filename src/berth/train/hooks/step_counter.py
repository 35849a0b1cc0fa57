"""``tf.train.StepCounterHook``: logs how many steps are made in a second, as a summary too."""

from __future__ import annotations

from typing import Any

from berth.front import logger
from berth.public import public_v1
from berth.summary.file_writer import FileWriterCache
from berth.summary.messages import Summary
from berth.train.hooks.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from berth.train.hooks.timer import SecondOrStepTimer
from berth.variables.global_step import get_global_step, global_step_read_for

_MOST_WARNINGS = 5


@public_v1("train.StepCounterHook")
class StepCounterHook(SessionRunHook):
    """Logs the steps per second, once in so many steps or seconds: ``global_step/sec: 250``."""

    def __init__(
        self,
        every_n_steps: int | None = 100,
        every_n_secs: float | None = None,
        output_dir: Any = None,
        summary_writer: Any = None,
    ) -> None:
        if (every_n_steps is None) == (every_n_secs is None):
            raise ValueError(
                "exactly one of every_n_steps and every_n_secs should be provided."
            )
        self._timer = SecondOrStepTimer(every_steps=every_n_steps, every_secs=every_n_secs)
        self._summary_writer = summary_writer
        self._output_dir = output_dir
        self._last_step: Any = None
        self._n_warnings = 0

    def begin(self) -> None:
        """Find the global step and the writer."""
        if self._summary_writer is None and self._output_dir:
            self._summary_writer = FileWriterCache.get(self._output_dir)
        self._step = global_step_read_for("StepCounterHook")
        self._tag = f"{get_global_step().op.name}/sec"

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetch the global step."""
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Log the speed if it is time to."""
        fetched = run_values.results
        if self._timer.should_trigger_for_step(fetched + 1):
            step = run_context.session.run(self._step)
            if self._timer.should_trigger_for_step(step):
                seconds, steps = self._timer.update_last_triggered_step(step)
                if seconds is not None and steps is not None:
                    self._log(steps / seconds if seconds else float("inf"), step)
        if fetched == self._last_step:
            self._warn_of_standstill(fetched)
        self._last_step = fetched

    def _log(self, steps_per_sec: float, step: Any) -> None:
        if self._summary_writer is not None:
            value = Summary.Value(tag=self._tag, simple_value=steps_per_sec)
            self._summary_writer.add_summary(Summary(value=[value]), step)
        logger.info("%s: %g", self._tag, steps_per_sec)

    def _warn_of_standstill(self, step: Any) -> None:
        if self._n_warnings == _MOST_WARNINGS:
            return
        self._n_warnings += 1
        logger.warning(
            "It seems that global step (tf.train.get_global_step) has not been increased. "
            "Current value (could be stable): %s vs previous value: %s. You could increase the "
            "global step by passing tf.train.get_global_step() to Optimizer.apply_gradients or "
            "Optimizer.minimize.",
            step,
            self._last_step,
        )
