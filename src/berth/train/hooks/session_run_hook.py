"""``tf.train.SessionRunHook``, the base of all hooks, and what a hook is given and returns."""

from __future__ import annotations

from typing import Any, NamedTuple

from berth.public import public_v1


@public_v1("train.SessionRunArgs")
class SessionRunArgs(NamedTuple):
    """What is run: fetches, feeds and options. A hook returns what it adds to a run.

    >>> SessionRunArgs("loss:0")
    SessionRunArgs(fetches='loss:0', feed_dict=None, options=None)
    """

    fetches: Any
    feed_dict: Any = None
    options: Any = None


@public_v1("train.SessionRunValues")
class SessionRunValues(NamedTuple):
    """What came of a run: the values of a hook's fetches, the options and the metadata."""

    results: Any
    options: Any
    run_metadata: Any


@public_v1("train.SessionRunContext")
class SessionRunContext:
    """One run of a session, as its hooks see it; they may ask for training to stop."""

    def __init__(self, original_args: SessionRunArgs, session: Any) -> None:
        self._original_args = original_args
        self._session = session
        self._stop_requested = False

    @property
    def original_args(self) -> SessionRunArgs:
        """What the program passed to ``run``."""
        return self._original_args

    @property
    def session(self) -> Any:
        """The session that runs, without hooks."""
        return self._session

    @property
    def stop_requested(self) -> bool:
        """Whether a hook has asked to stop."""
        return self._stop_requested

    def request_stop(self) -> None:
        """Ask to stop: the session's `should_stop` is true after this run."""
        self._stop_requested = True


@public_v1("train.SessionRunHook")
class SessionRunHook:
    """The base of hooks; each of its methods does nothing."""

    def begin(self) -> None:
        """Add what the hook needs to the graph, which can be changed only now."""

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Prepare for a session: once, and again after each recovery."""

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Return what to run besides what the program runs, or None."""
        return None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Use the values that `before_run` asked for. Not called if the run fails."""

    def end(self, session: Any) -> None:
        """Finish, with the session still open. Not called if an error ended the training."""
