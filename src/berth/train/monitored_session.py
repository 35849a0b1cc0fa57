"""``tf.train.MonitoredSession``: a session for training, with hooks, that survives failures.

It initializes or restores its variables, calls the hooks around each run, and stops when one of
them asks to. After an AbortedError or UnavailableError it creates a new session, which goes on
from the latest checkpoint.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, TypeVar

from berth.errors import OutOfRangeError
from berth.front import logger
from berth.graph.default_graph import get_default_graph
from berth.graph.keys import GraphKeys
from berth.public import public_v1
from berth.train.coordinator import Coordinator
from berth.train.hooked_session import RECOVERABLE, HookedSession
from berth.train.hooked_session import StepContext as _StepContext
from berth.train.hooks.session_run_hook import SessionRunHook
from berth.train.scaffold import Scaffold
from berth.train.session_creator import ChiefSessionCreator, SessionCreator

T = TypeVar("T")
_CLEAN_ENDS = (OutOfRangeError, StopIteration)
"""What ends the block of a session without an error: the end of the input."""


class BaseMonitoredSession:
    """What MonitoredSession and SingularMonitoredSession have in common."""

    StepContext = _StepContext

    def __init__(
        self,
        session_creator: SessionCreator | None,
        hooks: Sequence[SessionRunHook] | None,
        should_recover: bool,
        stop_grace_period_secs: float = 120,
    ) -> None:
        self._was_finalized = get_default_graph().finalized
        self._hooks = list(hooks or ())
        for hook in self._hooks:
            hook.begin()
        self._creator = session_creator or ChiefSessionCreator()
        self._should_recover = should_recover
        self._stop_grace_period_secs = stop_grace_period_secs
        self._is_closed = False
        self._hooked: HookedSession | None = None
        """None between a failure and the next session, and after the end."""
        try:
            self._hooked = self._create()
        except BaseException:
            self._unfinalize()
            raise

    @property
    def graph(self) -> Any:
        """The graph of the session; None when it is closed."""
        return None if self._hooked is None else self._hooked.session.graph

    # --- running ------------------------------------------------------------------------------

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """Run as a session does, with the hooks; after a failure again, in a new session."""
        return self._try(lambda hooked: hooked.run(fetches, feed_dict, options, run_metadata))

    def run_step_fn(self, step_fn: Callable[[Any], Any]) -> Any:
        """Call a function with a StepContext, which has the session, and its run with hooks."""
        names = tuple(inspect.signature(step_fn).parameters)
        if names not in (("step_context",), ("self", "step_context")):
            raise ValueError(
                "`step_fn` may either have one `step_context` argument, or `self` and "
                "`step_context` arguments if it's an instance method. "
                f"Got {names} instead."
            )
        return self._try(lambda hooked: hooked.run_step_fn(step_fn))

    def should_stop(self) -> bool:
        """Tell whether to stop: a hook or thread asked for it, or an error ended a thread."""
        if self._hooked is None:
            return True
        if not self._should_recover:
            return self._hooked.check_stop()
        try:
            return self._hooked.check_stop()
        except RECOVERABLE as error:
            logger.info(
                "An error was raised while considering whether the session is complete. The "
                "session is closed, and a new one will be created. Error: %s",
                error,
            )
            self._drop()
            self._hooked = self._create()
            return False
        except Exception:
            return True  # it is raised when the session is closed

    def _try(self, call: Callable[[HookedSession], T]) -> T:
        """Call a function with the session, and again with another after a failure."""
        if self._is_closed:
            raise RuntimeError("Session is already closed.")
        while True:
            try:
                if self._hooked is None:
                    self._hooked = self._create()
                return call(self._hooked)
            except RECOVERABLE as error:
                if not self._should_recover:
                    raise
                logger.info(
                    "An error was raised. This may be due to a preemption in a connected "
                    "worker or parameter server. The session is closed, and a new one will be "
                    "created. Error: %s",
                    error,
                )
                self._drop()

    # --- sessions, one after another ------------------------------------------------------

    def _create(self) -> HookedSession:
        """Create a session; if it may recover, until that succeeds."""
        while True:
            try:
                return self._create_one()
            except RECOVERABLE as error:
                if not self._should_recover:
                    raise
                logger.info(
                    "An error was raised while a session was being created. A new session "
                    "will be created. Error: %s",
                    error,
                )

    def _create_one(self) -> HookedSession:
        session = self._creator.create_session()
        coord = Coordinator(clean_stop_exception_types=[])
        hooked = HookedSession(session, self._hooks, coord, self._stop_grace_period_secs)
        try:
            for runner in get_default_graph().get_collection(GraphKeys.QUEUE_RUNNERS):
                runner.create_threads(session, coord=coord, daemon=True, start=True)
            for hook in self._hooks:
                hook.after_create_session(session, coord)
        except BaseException:
            with suppress(Exception):
                hooked.close()
            raise
        return hooked

    def _drop(self) -> None:
        """Close a session that failed. What its threads fail of is of the same failure."""
        hooked, self._hooked = self._hooked, None
        try:
            if hooked is not None:
                hooked.close()
        except RECOVERABLE as error:
            if not self._should_recover:
                raise
            logger.error("An error occurred when attempting to close the session: %s", error)

    # --- its end --------------------------------------------------------------------------

    def close(self) -> None:
        """End the hooks, and close the session."""
        self._close(is_clean=True)

    def _close(self, is_clean: bool) -> None:
        if self._is_closed:
            raise RuntimeError("Session is already closed.")
        try:
            if is_clean and self._hooked is not None:
                for hook in self._hooks:
                    hook.end(self._hooked.session)
        finally:
            self._is_closed = True
            try:
                self._drop()
            finally:
                self._unfinalize()

    def _unfinalize(self) -> None:
        """Allow operations in the graph again, if the program did not finalize it itself."""
        if not self._was_finalized:
            get_default_graph()._unsafe_unfinalize()

    def __enter__(self) -> Any:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        is_clean = kind is None or kind in _CLEAN_ENDS
        self._close(is_clean)
        return is_clean


@public_v1("train.MonitoredSession")
class MonitoredSession(BaseMonitoredSession):
    """A session with hooks, which recovers from AbortedError and UnavailableError.

    >>> import berth.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     step = tf.train.get_or_create_global_step()
    ...     train = tf.assign_add(step, 1)
    ...     with tf.train.MonitoredSession(hooks=[tf.train.StopAtStepHook(3)]) as session:
    ...         while not session.should_stop():
    ...             print(session.run(train))
    1
    2
    3
    """

    def __init__(
        self,
        session_creator: SessionCreator | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
        stop_grace_period_secs: float = 120,
    ) -> None:
        super().__init__(session_creator, hooks, True, stop_grace_period_secs)


@public_v1("train.SingularMonitoredSession")
class SingularMonitoredSession(BaseMonitoredSession):
    """A session with hooks that does not recover: every error ends it."""

    def __init__(
        self,
        hooks: Sequence[SessionRunHook] | None = None,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        checkpoint_dir: Any = None,
        stop_grace_period_secs: float = 120,
        checkpoint_filename_with_path: Any = None,
    ) -> None:
        creator = ChiefSessionCreator(
            scaffold=scaffold,
            master=master,
            config=config,
            checkpoint_dir=checkpoint_dir,
            checkpoint_filename_with_path=checkpoint_filename_with_path,
        )
        super().__init__(creator, hooks, False, stop_grace_period_secs)

    def raw_session(self) -> Any:
        """Return the session, without hooks."""
        return None if self._hooked is None else self._hooked.session
