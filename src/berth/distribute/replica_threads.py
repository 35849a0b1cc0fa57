"""Replicas of a mirrored strategy: threads that run one after the other, and meet.

The function of `Strategy.run` is called for each replica in a thread of its own, so that it
can stop in the middle: `merge_call` waits until every replica has come to it, and goes on with
what the merged call has returned. Only one of these threads runs at any time, in the order of
the replicas. So Python code with effects, and the building of graphs, happen in a fixed order.
What runs at the same time are the operations: a traced function is executed with a thread
for each device.

Invariants:
  1. Between `resume` and its return the replica's thread runs; at all other times it waits.
  2. A replica builds the caller's graph with scopes of its own (`graph.scopes`).
  3. When the caller goes on, also after an error or Ctrl-C, no thread of a replica is left.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from berth.blocks import FunctionBlock, Use
from berth.distribute.replica_context import ReplicaContext, in_replica
from berth.distribute.values import regroup, select
from berth.eager.scope import name_scope
from berth.eager.traced_variables import current_tracing, join_tracing
from berth.front.context import context
from berth.front.device_scope import requested_device
from berth.graph.expect import current_expectation, expect_inside
from berth.graph.graph import Graph
from berth.graph.recording import active_tapes, set_active_tapes
from berth.ops import builder
from berth.ops.arrays.array import constant
from berth.ops.builder import current
from berth.variables.creators import open_creators, set_creators

POLL_SECONDS = 0.2
"""How often a wait for a replica looks for signals."""
INTERRUPT_SECONDS = 0.5
"""How long an interrupted replica may take before it is interrupted again."""


class MergeCall(NamedTuple):
    """A call that a replica waits for, with its own arguments."""

    function: Callable[..., Any]
    args: Sequence[Any]
    kwargs: dict[str, Any]


class _Stopped(BaseException):
    """Ends a replica that waits, because another one failed."""


class Caller:
    """What the replicas take over from the thread that calls `Strategy.run`."""

    def __init__(self) -> None:
        found = current()
        self.graph = found if isinstance(found, Graph) else None
        self.name = found.names.scope if isinstance(found, Graph) else ""
        self.tapes = active_tapes()
        self.tracing = current_tracing()
        self.creators = open_creators()
        self.expectation = current_expectation()
        self.made: list[Any] = []
        """The variables that the first replica has made, which the others share."""

    def begin(self, use: Use, replica: ReplicaThread) -> None:
        """Set up the thread of a replica, in a block."""
        join_tracing(self.tracing)
        if self.graph is not None:
            builder.enter(use, self.graph)
        set_active_tapes(use, self.tapes)
        expect_inside(use, self.expectation)
        use.enter(in_replica(replica.context))
        if self.name:
            use.enter(name_scope(f"{self.name}/"))
        if replica.number > 0:
            use.enter(name_scope(f"replica_{replica.number}"))
        use.enter(requested_device(replica.device))
        set_creators(use, (*self.creators, replica.share_variable))


class MirroredReplicaContext(ReplicaContext):
    """The context of a replica that runs in a thread of its own."""

    def __init__(self, strategy: Any, thread: ReplicaThread) -> None:
        super().__init__(strategy, thread.number)
        self._thread = thread

    @property
    def number(self) -> int:
        """The number of the replica, as a Python number."""
        return self._thread.number

    @property
    def replica_id_in_sync_group(self) -> Any:
        """The number of the replica, as a tensor."""
        return constant(self._thread.number)

    @property
    def devices(self) -> Any:
        """The devices that it runs on."""
        return (self._thread.device,)

    def merge_call(
        self, merge_fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        """Call a function once for all replicas, with the arguments of each as one value."""
        self.require_here()
        return self._thread.wait_for(MergeCall(merge_fn, args, dict(kwargs or {})))


class ReplicaThread:
    """The thread of one replica, which runs from one merge call to the next."""

    def __init__(
        self, strategy: Any, number: int, name: str, caller: Caller, call: Callable[[], Any]
    ) -> None:
        self.number = number
        self.device = name
        self.context = MirroredReplicaContext(strategy, self)
        self.result: Any = None
        self.is_done = False
        self.merge: MergeCall | None = None
        """The call that it waits for."""
        self._caller = caller
        self._call = call
        self._scopes = None if caller.graph is None else caller.graph.scopes.copy()
        self._n_variables = 0
        self._inbox: SimpleQueue[Any] = SimpleQueue()
        self._outbox: SimpleQueue[Any] = SimpleQueue()
        self._error: BaseException | None = None
        self._is_running = False
        self._thread = threading.Thread(target=self._run, name=f"replica {number}", daemon=True)

    # --- in the caller's thread -----------------------------------------------------------

    def resume(self, answer: Any = None) -> None:
        """Let the replica run until it is done, or waits for a merge call; raise its error."""
        graph = self._caller.graph
        before = None if graph is None else graph.scopes
        try:
            if graph is not None:
                graph.scopes = self._scopes  # type: ignore[assignment]
            self._is_running = True
            if self._thread.ident is None:
                self._thread.start()
            else:
                self._inbox.put(answer)
            self._receive(self._next_outcome())
        finally:
            self._end_interrupted()
            if graph is not None:
                graph.scopes = before  # type: ignore[assignment]
        if self._error is not None:
            raise self._error

    def _next_outcome(self) -> Any:
        """Wait until the replica pauses; Ctrl-C ends the wait.

        A signal that arrives just before `get` blocks is seen when it returns: hence the limit.
        """
        while True:
            with suppress(Empty):
                return self._outbox.get(timeout=POLL_SECONDS)

    def _receive(self, outcome: Any) -> None:
        self._is_running = False
        self.merge = outcome if isinstance(outcome, MergeCall) else None
        self.is_done = outcome is None

    def _end_interrupted(self) -> None:
        """Interrupt the replica if it still runs: then the caller was interrupted itself."""
        while self._is_running and self._thread.ident is not None:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(self._thread.ident), ctypes.py_object(KeyboardInterrupt)
            )
            with suppress(Empty):
                self._receive(self._outbox.get(timeout=INTERRUPT_SECONDS))

    def stop(self) -> None:
        """End a replica that waits for a merge call which will not come."""
        if self._thread.ident is not None and not self.is_done:
            self._inbox.put(_Stopped())
        if self._thread.ident is not None:
            self._thread.join()

    # --- in its own thread ----------------------------------------------------------------

    def _run(self) -> None:
        try:
            with FunctionBlock(self._caller.begin, self):
                self.result = self._call()
        except _Stopped:
            pass
        except BaseException as error:
            self._error = error
        finally:
            self._outbox.put(None)

    def wait_for(self, merge: MergeCall) -> Any:
        """Stop until the other replicas have come to the same call; return its result."""
        self._outbox.put(merge)
        answer = self._inbox.get()
        if isinstance(answer, _Stopped):
            raise answer
        return answer

    def share_variable(self, next_creator: Any, **options: Any) -> Any:
        """Create a variable in the first replica; the others get the same, in order."""
        made = self._caller.made
        if self.number == 0:
            made.append(next_creator(**options))
        elif self._n_variables >= len(made):
            raise RuntimeError(
                f"Tried to create variable {options.get('name')} with mismatching name on "
                f"device {self.number}"
            )
        self._n_variables += 1
        return made[self._n_variables - 1]


def call_for_each_replica(
    strategy: Any, devices: Sequence[str], fn: Callable[..., Any], args: Any, kwargs: Any
) -> Any:
    """Call a function for each replica, with its components of the arguments."""
    caller = Caller()

    def call_of(number: int) -> Callable[[], Any]:
        own_args, own_kwargs = select(number, (tuple(args), dict(kwargs)))
        return lambda: fn(*own_args, **own_kwargs)

    context().opened()
    replicas = [
        ReplicaThread(strategy, number, name, caller, call_of(number))
        for number, name in enumerate(devices)
    ]
    try:
        answers: list[Any] = [None] * len(replicas)
        while not replicas[0].is_done:
            for replica, answer in zip(replicas, answers, strict=True):
                replica.resume(answer)
            if len({replica.is_done for replica in replicas}) > 1:
                raise RuntimeError(
                    "Some replicas made a different number of replica_context().merge_call() "
                    "calls."
                )
            if not replicas[0].is_done:
                merged = _merged(strategy, [replica.merge for replica in replicas])
                answers = [select(replica.number, merged) for replica in replicas]
    finally:
        for replica in replicas:
            replica.stop()
    return regroup([replica.result for replica in replicas])


def _merged(strategy: Any, calls: Sequence[Any]) -> Any:
    """Make the call that all replicas wait for, in the cross-replica context."""
    args, kwargs = regroup([(tuple(call.args), call.kwargs) for call in calls])
    return calls[0].function(strategy, *args, **kwargs)
