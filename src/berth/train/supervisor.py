"""``tf.train.Supervisor``: training as it was done before monitored sessions.

It finalizes its graph, creates a session from the latest checkpoint or by initializers, and
saves checkpoints and summaries in threads of its own, until it is told to stop.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

from berth.errors import AbortedError
from berth.front import logger
from berth.graph.default_graph import get_default_graph
from berth.graph.keys import GraphKeys
from berth.ops.compose import is_eager
from berth.public import public_v1
from berth.summary.file_writer import FileWriter
from berth.summary.messages import SessionLog
from berth.train import supervisor_ops as default
from berth.train.coordinator import Coordinator, LooperThread
from berth.train.saving.import_meta_graph import write_graph
from berth.train.saving.meta_graph import export_meta_graph
from berth.train.session_manager import SessionManager
from berth.train.supervisor_threads import CheckpointThread, StepCounterThread, SummaryThread
from berth.variables.global_step import global_step as global_step_of


@public_v1("train.Supervisor")
class Supervisor:
    """Creates a session for training, and saves its checkpoints and summaries.

    >>> import berth.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     step = tf.train.get_or_create_global_step()
    ...     train = tf.assign_add(step, 1)
    ...     supervisor = tf.train.Supervisor()
    ...     with supervisor.managed_session() as session:
    ...         while not supervisor.should_stop():
    ...             if session.run(train) == 3:
    ...                 supervisor.request_stop()
    """

    USE_DEFAULT = default.USE_DEFAULT

    def __init__(
        self,
        graph: Any = None,
        ready_op: Any = USE_DEFAULT,
        ready_for_local_init_op: Any = USE_DEFAULT,
        is_chief: bool = True,
        init_op: Any = USE_DEFAULT,
        init_feed_dict: Any = None,
        local_init_op: Any = USE_DEFAULT,
        logdir: Any = None,
        summary_op: Any = USE_DEFAULT,
        saver: Any = USE_DEFAULT,
        global_step: Any = USE_DEFAULT,
        save_summaries_secs: float = 120,
        save_model_secs: float = 600,
        recovery_wait_secs: float = 30,
        stop_grace_secs: float = 120,
        checkpoint_basename: str = "model.ckpt",
        session_manager: SessionManager | None = None,
        summary_writer: Any = USE_DEFAULT,
        init_fn: Callable[[Any], Any] | None = None,
        local_init_run_options: Any = None,
    ) -> None:
        if is_eager():
            raise RuntimeError("Supervisors are incompatible with eager execution.")
        self._graph = graph or get_default_graph()
        with self._graph.as_default():
            self.ready_op = default.chosen_ready_op(ready_op)
            self.ready_for_local_init_op = default.chosen_ready_for_local_init_op(
                ready_for_local_init_op
            )
            self.init_op = default.chosen_init_op(init_op)
            self._local_init_op = default.chosen_local_init_op(local_init_op)
            self.saver = default.chosen_saver(saver)
            self.summary_op = default.chosen_summary_op(summary_op)
            self.global_step = default.chosen_global_step(global_step)
        self.init_feed_dict = init_feed_dict
        self.is_chief = is_chief
        self.coord = Coordinator()
        self._stop_grace_secs = stop_grace_secs
        self._init_fn = init_fn
        self._use_folder(logdir, checkpoint_basename, summary_writer)
        self.save_summaries_secs = save_summaries_secs if is_chief else None
        self.save_model_secs = save_model_secs if is_chief else None
        self.session_manager = session_manager or self._make_manager(
            recovery_wait_secs, local_init_run_options
        )
        self._check_devices()
        self._graph.finalize()

    def _make_manager(self, recovery_wait_secs: float, run_options: Any) -> SessionManager:
        return SessionManager(
            local_init_op=self._local_init_op,
            ready_op=self.ready_op,
            ready_for_local_init_op=self.ready_for_local_init_op,
            graph=self._graph,
            recovery_wait_secs=recovery_wait_secs,
            local_init_run_options=run_options,
        )

    def _use_folder(self, logdir: Any, basename: str, writer: Any) -> None:
        """Choose where the chief writes checkpoints and summaries."""
        self._logdir = os.fspath(logdir) if logdir and self.is_chief else None
        self.save_path = os.path.join(self._logdir, basename) if self._logdir else None
        self.summary_writer: Any = None
        if self.is_chief and writer is not Supervisor.USE_DEFAULT:
            self.summary_writer = writer
        elif self._logdir:
            self.summary_writer = FileWriter(self._logdir)
        self._is_graph_written = False

    def _check_devices(self) -> None:
        """Refuse variables of a worker that are not placed, since each would have its own."""
        for op in () if self.is_chief else self._graph.get_operations():
            if op.type in ("Variable", "VariableV2") and not op.device:
                message = "When using replicas, all Variables must have their device set"
                raise ValueError(f"{message}: {op}")

    # --- sessions -----------------------------------------------------------------------------

    @contextmanager
    def managed_session(
        self,
        master: str = "",
        config: Any = None,
        start_standard_services: bool = True,
        close_summary_writer: bool = True,
    ) -> Iterator[Any]:
        """Create a session for a block; stop and close everything at its end.

        An error in the block stops the threads, and is raised at the end; the end of the
        input (OutOfRangeError) is none.
        """
        session = None
        try:
            session = self.prepare_or_wait_for_session(
                master, config, start_standard_services=start_standard_services
            )
            yield session
        except Exception as error:
            self.request_stop(error)
        finally:
            try:
                self.stop(close_summary_writer=close_summary_writer)
            finally:
                if session is not None:
                    with suppress(Exception):
                        session.close()

    def prepare_or_wait_for_session(
        self,
        master: str = "",
        config: Any = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        start_standard_services: bool = True,
    ) -> Any:
        """Create a session that is ready, and start the threads."""
        self.coord.clear_stop()
        if self.summary_writer is not None:
            self.summary_writer.reopen()
        if self.is_chief:
            session = self.session_manager.prepare_session(
                master,
                init_op=self.init_op,
                saver=self.saver,
                checkpoint_dir=self._logdir,
                wait_for_checkpoint=wait_for_checkpoint,
                max_wait_secs=max_wait_secs,
                config=config,
                init_feed_dict=self.init_feed_dict,
                init_fn=self._init_fn,
            )
            self._write_graph()
            if start_standard_services:
                logger.info("Starting standard services.")
                self.start_standard_services(session)
        else:
            session = self.session_manager.wait_for_session(master, config, max_wait_secs)
        if start_standard_services:
            logger.info("Starting queue runners.")
            self.start_queue_runners(session)
        return session

    def _write_graph(self) -> None:
        if self._logdir:
            write_graph(self._graph, self._logdir, "graph.pbtxt")
        if self.summary_writer is not None and not self._is_graph_written:
            saver_def = None if self.saver is None else self.saver.saver_def
            meta = export_meta_graph(graph=self._graph, saver_def=saver_def, collection_list=())
            self.summary_writer.add_graph(self._graph)
            self.summary_writer.add_meta_graph(meta)
            self._is_graph_written = True

    # --- threads ------------------------------------------------------------------------------

    def start_standard_services(self, sess: Any) -> list[LooperThread] | None:
        """Start the threads that write summaries and checkpoints; return them."""
        if not self.is_chief:
            raise RuntimeError(
                "Only chief supervisor can start standard services. Because only chief "
                "supervisors can write events."
            )
        if not self._logdir:
            logger.warning("Standard services need a 'logdir' passed to the SessionManager")
            return None
        has_writer = self.summary_writer is not None
        has_step = self.global_step is not None
        if has_writer and has_step:
            step = global_step_of(sess, self.global_step)
            self.summary_writer.add_session_log(SessionLog(status=SessionLog.START), step)
        threads: list[LooperThread] = []
        if self.save_summaries_secs and has_writer:
            if self.summary_op is not None:
                threads.append(SummaryThread(self, sess))
            if has_step:
                threads.append(StepCounterThread(self, sess))
        if self.saver is not None and self.save_model_secs:
            threads.append(CheckpointThread(self, sess))
        for thread in threads:
            thread.start()
        return threads

    def start_queue_runners(self, sess: Any, queue_runners: Any = None) -> list[Any]:
        """Start the threads of queue runners, by default all of the graph's; return them."""
        if queue_runners is None:
            queue_runners = self._graph.get_collection(GraphKeys.QUEUE_RUNNERS)
        return [
            thread
            for runner in queue_runners
            for thread in runner.create_threads(sess, coord=self.coord, daemon=True, start=True)
        ]

    def loop(
        self,
        timer_interval_secs: float | None,
        target: Callable[..., Any],
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> LooperThread:
        """Start a thread that calls a function at that interval, until the end; return it."""
        return LooperThread.loop(self.coord, timer_interval_secs, target, args, kwargs)

    # --- stopping -----------------------------------------------------------------------------

    def stop(
        self,
        threads: Any = None,
        close_summary_writer: bool = True,
        ignore_live_threads: bool = False,
    ) -> None:
        """Stop all threads and wait for them; raise the error of one, if there is one."""
        self.coord.request_stop()
        try:
            self.coord.join(
                threads,
                stop_grace_period_secs=self._stop_grace_secs,
                ignore_live_threads=ignore_live_threads,
            )
        finally:
            if close_summary_writer and self.summary_writer is not None:
                self.summary_writer.add_session_log(SessionLog(status=SessionLog.STOP))
                self.summary_writer.close()
                self._is_graph_written = False

    def request_stop(self, ex: Any = None) -> None:
        """Ask to stop, because of an error if one is given."""
        self.coord.request_stop(ex=ex)

    def should_stop(self) -> bool:
        """Tell whether a stop was requested."""
        return self.coord.should_stop()

    def stop_on_exception(self) -> AbstractContextManager[None]:
        """Request a stop when the block raises."""
        return self.coord.stop_on_exception()

    def wait_for_stop(self) -> None:
        """Wait until a stop is requested."""
        self.coord.wait_for_stop()

    def summary_computed(self, sess: Any, summary: Any, global_step: Any = None) -> None:
        """Write a summary that the program has computed itself."""
        if self.summary_writer is None:
            raise RuntimeError("Writing a summary requires a summary writer.")
        if global_step is None and self.global_step is not None:
            global_step = global_step_of(sess, self.global_step)
        self.summary_writer.add_summary(summary, global_step)

    PrepareSession = prepare_or_wait_for_session
    StartQueueRunners = start_queue_runners
    StartStandardServices = start_standard_services
    Stop = stop
    RequestStop = request_stop
    Loop = loop
    ShouldStop = should_stop
    StopOnException = stop_on_exception
    WaitForStop = wait_for_stop
    SummaryComputed = summary_computed


@public_v1("train.basic_train_loop")
def basic_train_loop(
    supervisor: Supervisor,
    train_step_fn: Callable[..., Any],
    args: Sequence[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    master: str = "",
) -> None:
    """Call a function of the session until a supervisor stops; again after AbortedError."""
    while True:
        try:
            with supervisor.managed_session(master) as session:
                while not supervisor.should_stop():
                    train_step_fn(session, *(args or ()), **(kwargs or {}))
            return
        except AbortedError:
            continue
