"""Hooks that write for TensorBoard: `tf.train.SummarySaverHook` and `tf.train.ProfilerHook`."""

from __future__ import annotations

import os
from typing import Any

from berth.front import logger
from berth.proto.config import RunOptions
from berth.public import public_v1
from berth.session.timeline import Timeline
from berth.summary.file_writer import FileWriterCache
from berth.summary.messages import SessionLog
from berth.train.hooks.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from berth.train.hooks.timer import SecondOrStepTimer
from berth.variables.global_step import global_step_read_for


@public_v1("train.SummarySaverHook")
class SummarySaverHook(SessionRunHook):
    """Writes summaries at the first run, and then once in so many steps or seconds."""

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: Any = None,
        summary_writer: Any = None,
        scaffold: Any = None,
        summary_op: Any = None,
    ) -> None:
        if (scaffold is None) == (summary_op is None):
            raise ValueError("Exactly one of scaffold or summary_op must be provided.")
        self._summary_op = summary_op
        self._summary_writer = summary_writer
        self._output_dir = output_dir
        self._scaffold = scaffold
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)

    def begin(self) -> None:
        """Find the global step and the writer."""
        if self._summary_writer is None and self._output_dir:
            self._summary_writer = FileWriterCache.get(self._output_dir)
        self._next_step: Any = None
        self._step = global_step_read_for("SummarySaverHook")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetch the global step, and the summaries if it is time to."""
        self._is_due = self._next_step is None or self._timer.should_trigger_for_step(
            self._next_step
        )
        fetches: dict[str, Any] = {"global_step": self._step}
        summaries = self._summaries()
        if self._is_due and summaries:
            fetches["summary"] = summaries
        return SessionRunArgs(fetches)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Write the summaries."""
        if self._summary_writer is None:
            return
        step = run_values.results["global_step"] + 1
        if self._is_due:
            step = run_context.session.run(self._step)
        if self._next_step is None:
            self._summary_writer.add_session_log(SessionLog(status=SessionLog.START), step)
        if self._is_due:
            self._timer.update_last_triggered_step(step)
            for summary in run_values.results.get("summary", ()):
                self._summary_writer.add_summary(summary, step)
        self._next_step = step + 1

    def end(self, session: Any = None) -> None:
        """Write everything to the file."""
        if self._summary_writer is not None:
            self._summary_writer.flush()

    def _summaries(self) -> list[Any]:
        found = self._summary_op
        if found is None:
            found = self._scaffold.summary_op
        if found is None:
            return []
        return found if isinstance(found, list) else [found]


@public_v1("train.ProfilerHook")
class ProfilerHook(SessionRunHook):
    """Traces one run in so many steps or seconds: ``timeline-<step>.json``, for Perfetto."""

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: str = "",
        show_dataflow: bool = True,
        show_memory: bool = False,
    ) -> None:
        self._output_dir = output_dir
        self._file_writer = FileWriterCache.get(output_dir)
        self._show_dataflow = show_dataflow
        self._show_memory = show_memory
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)

    def begin(self) -> None:
        """Find the global step."""
        self._next_step: Any = None
        self._step = global_step_read_for("ProfilerHook")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetch the global step, with a trace if it is time for one; never at the first run."""
        self._is_due = self._next_step is not None and self._timer.should_trigger_for_step(
            self._next_step
        )
        options = RunOptions(trace_level=RunOptions.FULL_TRACE) if self._is_due else None
        return SessionRunArgs({"global_step": self._step}, options=options)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Write the trace."""
        fetched = run_values.results["global_step"]
        if self._next_step is None:
            self._timer.update_last_triggered_step(fetched)
        step = fetched + 1
        if self._is_due:
            step = run_context.session.run(self._step)
            self._timer.update_last_triggered_step(step)
            self._save(step, run_values.run_metadata)
        self._next_step = step + 1

    def _save(self, step: Any, run_metadata: Any) -> None:
        path = os.path.join(self._output_dir, f"timeline-{step}.json")
        logger.info("Saving timeline for %d into '%s'.", step, path)
        trace = Timeline(run_metadata.step_stats).generate_chrome_trace_format(
            show_dataflow=self._show_dataflow, show_memory=self._show_memory
        )
        with open(path, "w", encoding="utf-8") as file:
            file.write(trace)
        self._file_writer.add_run_metadata(run_metadata, f"step_{step}")
