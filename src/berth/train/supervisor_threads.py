"""Threads of a `tf.train.Supervisor`: summaries, steps per second, checkpoints."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from berth.front import logger
from berth.summary.messages import SessionLog, Summary
from berth.train.coordinator import LooperThread
from berth.variables.global_step import global_step

if TYPE_CHECKING:
    from berth.train.supervisor import Supervisor

_MOST_NOTES = 10


class SummaryThread(LooperThread):
    """Writes the summaries every `save_summaries_secs`."""

    def __init__(self, supervisor: Supervisor, session: Any) -> None:
        super().__init__(supervisor.coord, supervisor.save_summaries_secs)
        self._supervisor = supervisor
        self._session = session

    def run_loop(self) -> None:
        """Write them once."""
        supervisor = self._supervisor
        step = None
        if supervisor.global_step is None:
            summary = self._session.run(supervisor.summary_op)
        else:
            fetches = [supervisor.summary_op, supervisor.global_step]
            summary, step = self._session.run(fetches)
        if supervisor.summary_writer is not None:
            logger.info("Recording summary at step %s.", step)
            supervisor.summary_writer.add_summary(summary, step)


class StepCounterThread(LooperThread):
    """Writes the steps per second every `save_summaries_secs`."""

    def __init__(self, supervisor: Supervisor, session: Any, step_counter: Any = None) -> None:
        super().__init__(supervisor.coord, supervisor.save_summaries_secs)
        self._supervisor = supervisor
        self._session = session
        self._counter = supervisor.global_step if step_counter is None else step_counter
        self._tag = f"{self._counter.op.name}/sec"
        self._n_notes = 0

    def start_loop(self) -> None:
        """Begin to count."""
        self._last = time.time(), global_step(self._session, self._counter)

    def run_loop(self) -> None:
        """Write how many steps were made since the last time."""
        now, step = time.time(), global_step(self._session, self._counter)
        (before, last_step), self._last = self._last, (now, step)
        speed = (step - last_step) / (now - before) if now > before else float("inf")
        if self._supervisor.summary_writer is not None:
            value = Summary.Value(tag=self._tag, simple_value=speed)
            self._supervisor.summary_writer.add_summary(Summary(value=[value]), step)
        if self._n_notes < _MOST_NOTES:
            self._n_notes += 1
            logger.info("%s: %g", self._tag, speed)


class CheckpointThread(LooperThread):
    """Saves a checkpoint every `save_model_secs`."""

    def __init__(self, supervisor: Supervisor, session: Any) -> None:
        super().__init__(supervisor.coord, supervisor.save_model_secs)
        self._supervisor = supervisor
        self._session = session

    def run_loop(self) -> None:
        """Save one checkpoint."""
        supervisor, session = self._supervisor, self._session
        logger.info("Saving checkpoint to path %s", supervisor.save_path)
        supervisor.saver.save(session, supervisor.save_path, global_step=supervisor.global_step)
        if supervisor.summary_writer is not None and supervisor.global_step is not None:
            saved = SessionLog(
                status=SessionLog.CHECKPOINT, checkpoint_path=supervisor.save_path
            )
            step = global_step(session, supervisor.global_step)
            supervisor.summary_writer.add_session_log(saved, step)
