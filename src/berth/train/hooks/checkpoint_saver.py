"""``tf.train.CheckpointSaverHook``: saves checkpoints while a session trains."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from berth.front import logger
from berth.graph.default_graph import get_default_graph
from berth.graph.keys import GraphKeys
from berth.public import public_v1
from berth.summary.file_writer import FileWriterCache
from berth.summary.messages import SessionLog
from berth.train.hooks.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from berth.train.hooks.timer import SecondOrStepTimer
from berth.train.saving.import_meta_graph import write_graph
from berth.train.saving.meta_graph import export_meta_graph
from berth.variables.global_step import global_step_read_for

_MOST_STEPS_PER_RUN = 1_000_000
"""A run may make many steps, as a loop does: the step is read again where that could matter."""


@public_v1("train.CheckpointSaverListener")
class CheckpointSaverListener:
    """The base of what is told of every checkpoint; each of its methods does nothing."""

    def begin(self) -> None:
        """Add to the graph what is needed."""

    def before_save(self, session: Any, global_step_value: Any) -> None:
        """Act before a checkpoint is saved."""

    def after_save(self, session: Any, global_step_value: Any) -> Any:
        """Act after a checkpoint was saved. If it returns true, training stops."""

    def end(self, session: Any, global_step_value: Any) -> None:
        """Act at the end, after the last checkpoint."""


@public_v1("train.CheckpointSaverHook")
class CheckpointSaverHook(SessionRunHook):
    """Saves a checkpoint at the start, once in so many steps or seconds, and at the end."""

    def __init__(
        self,
        checkpoint_dir: str | os.PathLike[str],
        save_secs: float | None = None,
        save_steps: int | None = None,
        saver: Any = None,
        checkpoint_basename: str = "model.ckpt",
        scaffold: Any = None,
        listeners: Sequence[CheckpointSaverListener] | None = None,
        save_graph_def: bool = True,
    ) -> None:
        logger.info("Create CheckpointSaverHook.")
        if saver is not None and scaffold is not None:
            raise ValueError("You cannot provide both saver and scaffold.")
        self._folder = os.fspath(checkpoint_dir)
        self._path = os.path.join(self._folder, checkpoint_basename)
        self._saver = saver
        self._scaffold = scaffold
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
        self._listeners = listeners or []
        self._save_graph_def = save_graph_def

    def begin(self) -> None:
        """Find the global step, and begin the listeners."""
        self._summary_writer = FileWriterCache.get(self._folder)
        self._step = global_step_read_for("CheckpointSaverHook")
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Write the graph, and the first checkpoint."""
        step = session.run(self._step)
        graph = get_default_graph()
        if self._save_graph_def:
            write_graph(graph, self._folder, "graph.pbtxt")
        self._summary_writer.add_graph(graph)
        self._summary_writer.add_meta_graph(
            export_meta_graph(
                graph=graph, saver_def=self._used_saver().saver_def, collection_list=()
            )
        )
        self._save(session, step)
        self._timer.update_last_triggered_step(step)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetch the global step."""
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Save a checkpoint if it is time for one."""
        if not self._timer.should_trigger_for_step(run_values.results + _MOST_STEPS_PER_RUN):
            return
        step = run_context.session.run(self._step)
        if self._timer.should_trigger_for_step(step):
            self._timer.update_last_triggered_step(step)
            if self._save(run_context.session, step):
                run_context.request_stop()

    def end(self, session: Any) -> None:
        """Save the last checkpoint."""
        step = session.run(self._step)
        if step != self._timer.last_triggered_step():
            self._save(session, step)
        for listener in self._listeners:
            listener.end(session, step)

    def _save(self, session: Any, step: Any) -> bool:
        """Save a checkpoint; return whether a listener wants to stop."""
        logger.info("Calling checkpoint listeners before saving checkpoint %d...", step)
        for listener in self._listeners:
            listener.before_save(session, step)
        logger.info("Saving checkpoints for %d into %s.", step, self._path)
        self._used_saver().save(
            session, self._path, global_step=step, write_meta_graph=self._save_graph_def
        )
        saved = SessionLog(status=SessionLog.CHECKPOINT, checkpoint_path=self._path)
        self._summary_writer.add_session_log(saved, step)
        logger.info("Calling checkpoint listeners after saving checkpoint %d...", step)
        wants_stop = False
        for listener in self._listeners:
            if listener.after_save(session, step):
                logger.info(
                    "A CheckpointSaverListener requested that training be stopped. "
                    "listener: %s",
                    listener,
                )
                wants_stop = True
        return wants_stop

    def _used_saver(self) -> Any:
        """Return the saver: given, of the scaffold, or the only one of the graph."""
        if self._saver is not None:
            return self._saver
        if self._scaffold is not None:
            return self._scaffold.saver
        key = GraphKeys.SAVERS
        savers = get_default_graph().get_collection(key)
        if not savers:
            raise RuntimeError(
                f"No items in collection {key}. Please add a saver to the collection or "
                "provide a saver or scaffold."
            )
        if len(savers) > 1:
            raise RuntimeError(
                f"More than one item in collection {key}. Please indicate which one to use by "
                "passing it to the constructor."
            )
        self._saver = savers[0]
        return self._saver
