"""Host calls: operations on objects of a session (queues, readers, iterators), which may wait.

The model:

* A *handle* is the output of an operation whose definition has ``source=Source.HANDLE``. It is
  a value like any other, a scalar of type resource, namely the operation itself. It passes
  through subgraphs as values do.
* The object that a handle stands for is made on first use, by the definition's
  ``host_call(attrs, name)``, and belongs to the session (`HostObjects`). Operations with the
  same ``container`` and ``shared_name`` share one, whose ``check_shared(attrs)`` may refuse
  that; otherwise each operation has its own. ``end_of_session()`` of the object, if it has one,
  is called then.
* An operation on it has ``host_call(inputs, attrs, objects)`` in its definition. ``inputs`` are
  arrays of the host, ``objects.of(inputs[0])`` is the object. It returns its outputs, arrays of
  the host; or, where it may have to wait, it is a generator: it yields a `Pending`, is resumed
  with what that was given, and returns the outputs.

      def _dequeue(inputs, attrs, objects):
          queue = objects.of(inputs[0])
          return (yield queue.dequeue(1))

* A `Pending` is one thing waited for. The run calls its `start` when it has noted it, so that
  nothing begins which an interrupt could leave behind. Some thread calls `finish` or `fail`.
  Both are one C call, which is the fact and wakes the run, so that Ctrl-C in that thread
  cannot come in between; a second call is ignored.

Host calls are made by the thread of the run, between the parts that are planned
(`run.segments`). Invariants:

  1. A run that waits holds no binding, no lock and no worker: other runs of its session go on.
  2. Of several calls that are ready none waits for another, but for the order that the graph
     asks for: what can be done is done, and the run waits when only waiting is left. (A
     call inside of a conditional or loop holds up the calls beside that.)
  3. A wait ends by what it waits for, by the end of the session (CancelledError), by the
     timeout of the run (DeadlineExceededError), or by Ctrl-C; in the last three cases what was
     pending is cancelled, and the objects are as if it had not begun.
  4. A pending `is_over` from the moment at which its run ends, however that ends (`blocks`).
     If Ctrl-C comes before the rest is undone, the next operation on the object does that.
  5. Whatever an interrupted thread has left undone, a run that waits does by itself, after
     `SERVE_SECONDS` (`Pending.serve`).
"""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections.abc import Generator, Sequence
from queue import Empty, SimpleQueue
from types import GeneratorType
from typing import Any

from berth.blocks import Block, Use
from berth.errors import CancelledError
from berth.graph.operation import Operation
from berth.run.stage import fail
from berth.run.trace import timed_out

Outputs = Sequence[Any]
SERVE_SECONDS = 1.0
_serial = itertools.count()


class Pending:
    """One thing that a run waits for."""

    cancelled_message = "Operation was cancelled"

    def __init__(self) -> None:
        self.results: SimpleQueue[Result | None] = SimpleQueue()
        """Where the run looks for what is done."""
        self.outcome: Result | None = None
        """What the run has found there."""
        self.ends: list[object] = []
        """Not empty when no run waits for it any more."""

    @property
    def is_over(self) -> bool:
        """Whether no run waits for it any more."""
        return bool(self.ends)

    def start(self) -> None:
        """Begin: it may be done at once."""

    def cancel(self) -> None:
        """Undo what was begun: the run waits no more. It may not have begun, or be done."""

    def serve(self) -> None:
        """Do what can be done by now, if the thread whose work this is was interrupted."""

    def finish(self, value: Any = None) -> None:
        """Give what was waited for."""
        self.results.put((self, value, None))

    def fail(self, error: Exception) -> None:
        """Raise an error in the operation that waits."""
        self.results.put((self, None, error))


Result = tuple[Pending, Any, "Exception | None"]


class HostObjects:
    """The objects of one session that its handles stand for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._objects: dict[Any, Any] = {}
        self._waiting: set[SimpleQueue[Result | None]] = set()
        self.is_closed = False

    def of(self, handle: Any) -> Any:
        """Return the object of a handle, made on first use; or what a value has of its own."""
        op = handle[()]
        if not isinstance(op, Operation):
            return op
        found = self._objects.get(op)
        if found is None:
            with self._lock:
                found = self._objects.get(op)
                if found is None:
                    try:
                        found = self._make(op)
                    except Exception as error:
                        fail(error, op)
                    if not self.is_closed:
                        self._objects[op] = found
        return found

    def _make(self, op: Operation) -> Any:
        """Make the object of an operation, or find the one that it shares with others."""
        shared = op.attrs.get("shared_name") or ""
        key = (op.attrs.get("container") or "", shared)
        found = self._objects.get(key) if shared else None
        if found is not None:
            found.check_shared(op.attrs)
            return found
        make = op.definition.host_call
        assert make is not None, f"{op.name} has no object"
        made = make(op.attrs, shared or f"_{next(_serial)}_{op.name}")
        if shared and not self.is_closed:
            self._objects[key] = made
        return made

    def wait(self, results: SimpleQueue[Result | None], seconds: float | None) -> Result | None:
        """Wait for a result, for the end of the session, or until the time runs out."""
        try:
            self._waiting.add(results)
            return None if self.is_closed else results.get(timeout=seconds)
        except Empty:
            return None
        finally:
            self._waiting.discard(results)

    def close(self) -> None:
        """Forget the objects, after telling them, and cancel what waits."""
        with self._lock:
            self.is_closed = True
            objects, self._objects = self._objects, {}
        for results in list(self._waiting):
            results.put(None)
        for each in objects.values():
            getattr(each, "end_of_session", _nothing)()


def _nothing() -> None:
    pass


class _Waiting:
    """A host call that waits."""

    __slots__ = ("generator", "op", "pending")

    def __init__(self, op: Operation, generator: Generator[Pending, Any, Outputs]) -> None:
        self.op = op
        self.generator = generator
        self.pending: Pending | None = None


class HostCalls(Block["HostCalls"]):
    """The host calls of one run, which is the block."""

    def __init__(self, objects: HostObjects, end: float) -> None:
        self._objects = objects
        self._end = end
        self._results: SimpleQueue[Result | None] = SimpleQueue()
        self._waiting: dict[Operation, _Waiting] = {}
        self._ends: list[object] = []

    def _begin(self, use: Use) -> HostCalls:
        use.at_end(self._ends.append, [("the run",)])
        return self

    def _finish(self, use: Use) -> None:
        use.end()
        self._ends.append("the run")
        self.cancel()

    def begin(self, op: Operation, inputs: Sequence[Any]) -> Outputs | None:
        """Make a call, unless it was begun; return its outputs, or None if it waits."""
        if op in self._waiting:
            return None
        call = op.definition.host_call
        assert call is not None
        try:
            result = call(inputs, op.attrs, self._objects)
        except Exception as error:
            fail(error, op)
        if not isinstance(result, GeneratorType):
            outputs: Outputs = result
            return outputs
        waiting = self._waiting[op] = _Waiting(op, result)
        return self._resume(waiting)

    def wait(self) -> list[tuple[Operation, Outputs]]:
        """Wait until at least one call is done; return those that are, with their outputs."""
        while True:
            done = []
            for waiting in list(self._waiting.values()):
                outputs = self._resume(waiting)
                if outputs is not None:
                    done.append((waiting.op, outputs))
            if done:
                return done
            if self._objects.is_closed:
                self._raise_cancelled()
            self._wait_for_result()

    def _wait_for_result(self) -> None:
        seconds = SERVE_SECONDS
        if self._end != math.inf:
            seconds = min(seconds, max(0.0, self._end - time.monotonic()))
        found = self._objects.wait(self._results, seconds)
        if found is not None:
            self._note(found)
        elif time.monotonic() >= self._end:
            raise timed_out()
        else:
            for waiting in self._waiting.values():
                if waiting.pending is not None:
                    waiting.pending.serve()

    def _note(self, found: Result) -> None:
        pending = found[0]
        if pending.outcome is None:  # else it was done twice: the first time counts
            pending.outcome = found

    def _resume(self, waiting: _Waiting) -> Outputs | None:
        """Go on with a call as far as possible; return its outputs, or None if it waits."""
        try:
            while True:
                step = waiting.generator
                if waiting.pending is None:
                    following = next(step)
                elif (outcome := self._outcome(waiting.pending)) is None:
                    return None
                elif outcome[2] is not None:
                    following = step.throw(outcome[2])
                else:
                    following = step.send(outcome[1])
                following.results, following.ends = self._results, self._ends
                waiting.pending = following
                following.start()
        except StopIteration as stop:
            del self._waiting[waiting.op]
            outputs: Outputs = stop.value
            return outputs
        except Exception as error:
            fail(error, waiting.op)

    def _outcome(self, pending: Pending) -> Result | None:
        """Return what became of a pending, if it is done."""
        while pending.outcome is None:
            try:
                found = self._results.get_nowait()
            except Empty:
                return None
            if found is not None:
                self._note(found)
        return pending.outcome

    def _raise_cancelled(self) -> None:
        first = next(iter(self._waiting.values()))
        message = Pending.cancelled_message
        if first.pending is not None:
            message = first.pending.cancelled_message
        fail(CancelledError(None, None, message), first.op)

    def cancel(self) -> None:
        """Undo what is still waited for, when the run has failed."""
        while self._waiting:
            _, waiting = self._waiting.popitem()
            if waiting.pending is not None:
                waiting.pending.cancel()
            waiting.generator.close()
