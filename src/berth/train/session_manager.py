"""``tf.train.SessionManager``: creates sessions whose variables are restored or initialized."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from berth.errors import DeadlineExceededError, FailedPreconditionError
from berth.front import logger
from berth.graph.default_graph import get_default_graph
from berth.public import public_v1
from berth.session.session import Session
from berth.train.checkpoints.checkpoint_state import get_checkpoint_state

Outcome = str | None
"""Why a session is not ready; None if it is."""


@public_v1("train.SessionManager")
class SessionManager:
    """Creates sessions: from a checkpoint if there is one, else by initializers.

    A session is ready when its `ready_op`, usually `tf.report_uninitialized_variables()`,
    returns no names. `local_init_op` runs in every session, after `ready_for_local_init_op`
    returned none.
    """

    def __init__(
        self,
        local_init_op: Any = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        graph: Any = None,
        recovery_wait_secs: float = 30,
        local_init_run_options: Any = None,
        local_init_feed_dict: Any = None,
    ) -> None:
        if ready_for_local_init_op is not None and local_init_op is None:
            raise ValueError(
                "If you pass a ready_for_local_init_op you must also pass a local_init_op "
                f", ready_for_local_init_op [{ready_for_local_init_op}]"
            )
        self._local_init_op = local_init_op
        self._ready_op = ready_op
        self._ready_for_local_init_op = ready_for_local_init_op
        self._graph = graph or get_default_graph()
        self._recovery_wait_secs = recovery_wait_secs
        self._local_init_run_options = local_init_run_options
        self._local_init_feed_dict = local_init_feed_dict

    # --- creating -----------------------------------------------------------------------------

    def prepare_session(
        self,
        master: str,
        init_op: Any = None,
        saver: Any = None,
        checkpoint_dir: Any = None,
        checkpoint_filename_with_path: Any = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: Any = None,
        init_feed_dict: Any = None,
        init_fn: Callable[[Any], Any] | None = None,
    ) -> Session:
        """Create a session that is ready: restored, or else initialized."""

        def prepare(session: Session) -> None:
            is_restored = self._restore(
                session,
                saver,
                checkpoint_dir,
                checkpoint_filename_with_path,
                max_wait_secs if wait_for_checkpoint else 0,
            )
            if not is_restored:
                self._initialize(session, init_op, init_feed_dict, init_fn)
            tried = f"Init op: {_name_of(init_op)}, init fn: {init_fn}"
            error = self._run_local_init(session)
            if error is not None:
                raise RuntimeError(
                    "Init operations did not make model ready for local_init.  "
                    f"{tried}, error: {error}"
                )
            error = _not_ready(self._ready_op, session, "Model not ready")
            if error is not None:
                raise RuntimeError(
                    "Init operations did not make model ready.  "
                    f"{tried}, local_init_op: {self._local_init_op}, error: {error}"
                )

        return self._create(master, config, prepare)

    def recover_session(
        self,
        master: str,
        saver: Any = None,
        checkpoint_dir: Any = None,
        checkpoint_filename_with_path: Any = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: Any = None,
    ) -> tuple[Session, bool]:
        """Create a session and restore it; return whether it is ready then."""
        source = checkpoint_dir or checkpoint_filename_with_path
        is_ready = False

        def recover(session: Session) -> None:
            nonlocal is_ready
            is_restored = self._restore(
                session,
                saver,
                checkpoint_dir,
                checkpoint_filename_with_path,
                max_wait_secs if wait_for_checkpoint else 0,
            )
            error = self._run_local_init(session)
            if not is_restored:
                return
            what = "ready for local init"
            if error is None:
                what, error = "ready", _not_ready(self._ready_op, session, "Model not ready")
            if error is not None:
                logger.info(
                    "Restoring model from %s did not make model %s: %s", source, what, error
                )
                return
            logger.info("Restored model from %s", source)
            is_ready = True

        return self._create(master, config, recover), is_ready

    def wait_for_session(
        self, master: str, config: Any = None, max_wait_secs: float | None = float("inf")
    ) -> Session:
        """Create sessions until one is ready: something else initializes its variables."""
        limit = float("inf") if max_wait_secs is None else max_wait_secs
        deadline = time.monotonic() + limit
        while True:
            session = Session(master, graph=self._graph, config=config)
            local_error, error = self._readiness(session)
            if local_error is None and error is None:
                return session
            session.close()
            if deadline - time.monotonic() - self._recovery_wait_secs < 0:
                message = f"Session was not ready after waiting {limit:.0f} secs."
                raise DeadlineExceededError(None, None, message)
            logger.info(
                "Waiting for model to be ready.  Ready_for_local_init_op:  %s, ready: %s",
                local_error,
                error,
            )
            time.sleep(self._recovery_wait_secs)

    def _create(self, master: str, config: Any, prepare: Callable[[Session], None]) -> Session:
        """Create a session and prepare it; close it if that fails."""
        session = Session(master, graph=self._graph, config=config)
        try:
            prepare(session)
        except BaseException:
            with suppress(Exception):
                session.close()
            raise
        return session

    # --- steps of it ------------------------------------------------------------------------

    def _restore(
        self,
        session: Session,
        saver: Any,
        checkpoint_dir: Any,
        checkpoint_filename_with_path: Any,
        most_secs: float,
    ) -> bool:
        """Restore a session if there is a checkpoint; return whether there was."""
        if checkpoint_dir and checkpoint_filename_with_path:
            raise ValueError(
                "Can not provide both checkpoint_dir and checkpoint_filename_with_path."
            )
        if saver is None:
            return False
        if checkpoint_filename_with_path:
            saver.restore(session, checkpoint_filename_with_path)
            return True
        if not checkpoint_dir:
            return False
        waited = 0.0
        while not (state := get_checkpoint_state(checkpoint_dir)) or (
            not state.model_checkpoint_path
        ):
            if waited >= most_secs:
                return False
            logger.info("Waiting for checkpoint to be available.")
            time.sleep(self._recovery_wait_secs)
            waited += self._recovery_wait_secs
        saver.restore(session, state.model_checkpoint_path)
        saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
        return True

    def _initialize(self, session: Session, init_op: Any, feeds: Any, init_fn: Any) -> None:
        if init_op is None and not init_fn and self._local_init_op is None:
            raise RuntimeError(
                "Model is not initialized and no init_op or init_fn or local_init_op was given"
            )
        if init_op is not None:
            session.run(init_op, feed_dict=feeds)
        if init_fn:
            init_fn(session)

    def _readiness(self, session: Session) -> tuple[Outcome, Outcome]:
        error = self._run_local_init(session)
        if error is not None:
            return error, None
        return None, _not_ready(self._ready_op, session, "Model not ready")

    def _run_local_init(self, session: Session) -> Outcome:
        """Run `local_init_op`, unless the session is not ready for it."""
        if self._local_init_op is None:
            return None
        op = self._ready_for_local_init_op
        error = _not_ready(op, session, "Model not ready for local init")
        if error is None:
            logger.info("Running local_init_op.")
            session.run(
                self._local_init_op,
                feed_dict=self._local_init_feed_dict,
                options=self._local_init_run_options,
            )
            logger.info("Done running local_init_op.")
        return error


def _not_ready(op: Any, session: Session, what: str) -> Outcome:
    """Run an operation that returns the names of what is missing; tell of them."""
    if op is None:
        return None
    try:
        missing = session.run(op)
    except FailedPreconditionError as error:
        if "uninitialized" not in str(error):
            logger.warning("%s : error [%s]", what, error)
            raise
        return str(error)
    if missing is None or missing.dtype == np.int32 or missing.size == 0:
        return None
    return "Variables not initialized: " + ", ".join(name.decode() for name in missing)


def _name_of(op: Any) -> str:
    if op is None:
        return "None"
    return str(op.name) if hasattr(op, "name") else f"<no name for {type(op)}>"
