"""Hooks that decide when training begins and stops: at a step, or at a loss that is NaN."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from berth.front import logger
from berth.public import public_v1
from berth.train.hooks.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from berth.variables.global_step import global_step_read_for

_WAIT_SECS = 0.5
_STEPS_BETWEEN_NOTES = 1000


@public_v1("train.StopAtStepHook")
class StopAtStepHook(SessionRunHook):
    """Stops at a global step, or after a number of steps from where the session starts."""

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        if num_steps is None and last_step is None:
            raise ValueError("One of num_steps or last_step must be specified.")
        if num_steps is not None and last_step is not None:
            raise ValueError("Only one of num_steps or last_step can be specified.")
        self._num_steps = num_steps
        self._last_step = last_step

    def begin(self) -> None:
        """Find the global step."""
        self._step = global_step_read_for("StopAtStepHook")

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Count from the first session's step on; a recovered one does not train longer."""
        if self._last_step is None:
            assert self._num_steps is not None
            self._last_step = session.run(self._step) + self._num_steps

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetch the global step."""
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Ask to stop if the last step was reached."""
        # What was fetched may be of before or after the step: near the end it is read again.
        if run_values.results + 1 < self._last_step:
            return
        if run_context.session.run(self._step) >= self._last_step:
            run_context.request_stop()


@public_v1("train.NanLossDuringTrainingError")
class NanLossDuringTrainingError(RuntimeError):
    """The loss became NaN: `NanTensorHook` raises it."""

    def __str__(self) -> str:
        return "NaN loss during training."


@public_v1("train.NanTensorHook")
class NanTensorHook(SessionRunHook):
    """Stops training when the loss is NaN, with an error unless told otherwise."""

    def __init__(self, loss_tensor: Any, fail_on_nan_loss: bool = True) -> None:
        self._loss_tensor = loss_tensor
        self._fail_on_nan_loss = fail_on_nan_loss

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetch the loss."""
        return SessionRunArgs(self._loss_tensor)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Raise, or ask to stop, if it is NaN."""
        if not np.isnan(run_values.results):
            return
        message = "Model diverged with loss = NaN."
        if self._fail_on_nan_loss:
            logger.error(message)
            raise NanLossDuringTrainingError
        logger.warning(message)
        run_context.request_stop()


@public_v1("train.GlobalStepWaiterHook")
class GlobalStepWaiterHook(SessionRunHook):
    """Lets the first run wait until the global step has reached a number."""

    def __init__(self, wait_until_step: int) -> None:
        self._wait_until_step = wait_until_step

    def begin(self) -> None:
        """Find the global step."""
        self._is_waiting = self._wait_until_step > 0
        self._step = global_step_read_for("_GlobalStepWaiterHook")

    def before_run(self, run_context: SessionRunContext) -> None:
        """Wait, once."""
        if not self._is_waiting:
            return
        wanted, noted = self._wait_until_step, 0
        note = "Waiting for global step %d before starting training."
        logger.info(note, wanted)
        while (step := run_context.session.run(self._step)) < wanted:
            if step - noted > _STEPS_BETWEEN_NOTES:
                logger.info(note + " Current step is %d.", wanted, step)
                noted = step
            time.sleep(_WAIT_SECS)
        self._is_waiting = False
