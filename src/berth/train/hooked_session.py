"""A session with hooks and a coordinator: what a monitored session runs, until one fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from berth.errors import AbortedError, UnavailableError
from berth.proto.config import RunOptions
from berth.session.run_metadata import RunMetadata
from berth.train.coordinator import Coordinator
from berth.train.hooks.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)

RECOVERABLE = (AbortedError, UnavailableError)
"""Errors after which a new session is worth a try."""


class StepContext:
    """What the function of `run_step_fn` is given: the session, and its run with hooks."""

    def __init__(self, session: Any, run_with_hooks_fn: Callable[..., Any]) -> None:
        self._session = session
        self._run_with_hooks_fn = run_with_hooks_fn

    @property
    def session(self) -> Any:
        """The session, without hooks."""
        return self._session

    def run_with_hooks(self, *args: Any, **kwargs: Any) -> Any:
        """Run as the monitored session does, with hooks."""
        return self._run_with_hooks_fn(*args, **kwargs)

    def request_stop(self) -> None:
        """End the training: raise StopIteration, which ends the session's block."""
        raise StopIteration("step_fn has requested the iterations to stop.")


class HookedSession:
    """One session, the hooks around its runs, and the coordinator of its threads."""

    def __init__(
        self,
        session: Any,
        hooks: Sequence[SessionRunHook],
        coord: Coordinator,
        stop_grace_period_secs: float,
    ) -> None:
        self.session = session
        self._hooks = hooks
        self._coord = coord
        self._stop_grace_period_secs = stop_grace_period_secs
        self._stop_requested = False

    def check_stop(self) -> bool:
        """Tell whether to stop; raise the error of a thread if there is one."""
        self._coord.raise_requested_exception()
        return self._coord.should_stop() or self._stop_requested

    def close(self) -> None:
        """Stop the threads, and close the session; raise the error of a thread."""
        self._coord.request_stop()
        try:
            self._coord.join(
                stop_grace_period_secs=self._stop_grace_period_secs, ignore_live_threads=True
            )
        finally:
            with suppress(Exception):
                self.session.close()

    # --- running ------------------------------------------------------------------------------

    def run_step_fn(self, step_fn: Callable[[StepContext], Any]) -> Any:
        """Call a function with the session."""
        return step_fn(StepContext(self.session, self.run))

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """Run with the hooks. If a thread has failed so that recovery helps, raise that."""
        try:
            return self._run(fetches, feed_dict, options, run_metadata)
        except RECOVERABLE:
            raise
        except Exception as error:
            try:
                self._coord.raise_requested_exception()
            except RECOVERABLE:
                raise
            except Exception:
                raise error from None
            raise

    def _run(self, fetches: Any, feed_dict: Any, options: Any, run_metadata: Any) -> Any:
        if self._stop_requested:
            raise RuntimeError("Run called even after should_stop requested.")
        context = SessionRunContext(SessionRunArgs(fetches, feed_dict), self.session)
        all_fetches, feeds, merged = self._gather(context, fetches, feed_dict, options)
        metadata = RunMetadata() if run_metadata is None else run_metadata
        if merged is None and run_metadata is None:
            values = self.session.run(all_fetches, feed_dict=feeds)
        else:
            values = self.session.run(all_fetches, feeds, merged, metadata)
        told = RunOptions() if merged is None else merged
        for hook in self._hooks:
            hook.after_run(context, SessionRunValues(values.get(hook), told, metadata))
        self._stop_requested = self._stop_requested or context.stop_requested
        return values["caller"]

    def _gather(
        self, context: SessionRunContext, fetches: Any, feed_dict: Any, options: Any
    ) -> tuple[dict[Any, Any], Any, Any]:
        """Return the fetches, feeds and options of the program and the hooks together."""
        all_fetches: dict[Any, Any] = {"caller": fetches}
        hook_feeds: dict[Any, Any] = {}
        for hook in self._hooks:
            request = hook.before_run(context)
            if request is None:
                continue
            if request.fetches is not None:
                all_fetches[hook] = request.fetches
            if request.feed_dict:
                _check_disjoint(
                    hook_feeds, request.feed_dict, "Same tensor is fed by two hooks."
                )
                hook_feeds.update(request.feed_dict)
            if request.options is not None:
                options = _merged(options, request.options)
        if hook_feeds and feed_dict:
            message = "Same tensor is fed by a SessionRunHook and user."
            _check_disjoint(feed_dict, hook_feeds, message)
        feeds = {**hook_feeds, **feed_dict} if hook_feeds and feed_dict else hook_feeds
        return all_fetches, feeds or feed_dict, options


def _check_disjoint(feeds: Any, more: Any, message: str) -> None:
    common = [key for key in feeds if key in more]
    if common:
        raise RuntimeError(f"{message} Conflict(s): {common}")


def _merged(options: Any, more: Any) -> Any:
    """Return options that ask for what either asks for."""
    merged = RunOptions()
    merged.CopyFrom(options or RunOptions())
    for name in (
        "trace_level",
        "timeout_in_ms",
        "inter_op_thread_pool",
        "output_partition_graphs",
        "report_tensor_allocations_upon_oom",
    ):
        setattr(merged, name, max(getattr(merged, name), getattr(more, name)))
    return merged
