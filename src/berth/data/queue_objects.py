"""The queues of a session: elements, and who waits to put or take some.

A `Queue` is what the handle of a queue operation stands for (`run.host_calls`). A thread that
wants to put or take has an entry in one of two lines; only the first of a line is served, so
that elements come out in the order in which they were asked for. A batch is put and taken
element by element, so that one larger than the capacity passes too.

Invariants:
  1. Both lines are served after every change, until their first entries can do nothing.
  2. What is cancelled, or cannot be had in full, gives back the elements it has taken.
  3. Closing waits in the line of those who put: what came before it is still put.
  4. An element is at one place, and moves by one C call, which Ctrl-C cannot interrupt. What
     is left to do for an entry follows from where its elements are, and doing it again
     changes nothing, so that an interrupted `serve` is finished by the next one.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any

import numpy as np

from berth.dtypes import DType
from berth.errors import CancelledError, InvalidArgumentError, OutOfRangeError
from berth.ops.shape import Dims, bracketed
from berth.run.host_calls import Pending

Element = tuple[Any, ...]


class Queue:
    """First in, first out; the other kinds differ in how they hold elements."""

    kind = "FIFOQueue"

    def __init__(
        self, name: str, capacity: int, dtypes: Sequence[DType], shapes: Sequence[Dims]
    ) -> None:
        self.name = name
        self.capacity = capacity if capacity >= 0 else 2**31 - 1
        self.dtypes = dtypes
        self.shapes = shapes
        """The shape of each component; empty if they are not said."""
        self.closed_by: object = None
        """What has closed it, if it is closed."""
        self.lock = threading.Lock()
        self.puts: deque[Put | Close] = deque()
        self.takes: deque[Take] = deque()
        self._elements: Any = self._container()

    # --- how elements are held --------------------------------------------------------------

    def _container(self) -> Any:
        return deque()

    def entries(self, elements: Iterable[Element]) -> deque[Any]:
        """Return elements in the form in which they are held."""
        return deque(elements)

    def elements(self, entries: Iterable[Any]) -> list[Element]:
        """Undo `entries`."""
        return list(entries)

    def put(self, entries: deque[Any], n: int) -> None:
        """Add the first entries of a deque, which loses them."""
        self._elements.extend(map(deque.popleft, repeat(entries, n)))

    def take(self, entries: deque[Any], n: int) -> None:
        """Remove the next entries, and add them to a deque."""
        entries.extend(map(deque.popleft, repeat(self._elements, n)))

    def give_back(self, entries: deque[Any]) -> None:
        """Undo `take`."""
        self._elements.extendleft(map(deque.pop, repeat(entries, len(entries))))

    @property
    def n_free_to_take(self) -> int:
        """How many elements may be taken now."""
        return len(self._elements)

    def batch(self, elements: Sequence[Element]) -> list[Any]:
        """Put the elements of a batch below each other."""
        columns = list(zip(*elements, strict=True)) or [()] * len(self.dtypes)
        return [
            _stacked(column, dtype, dims)
            for column, dtype, dims in zip(columns, self.dtypes, self.shapes, strict=True)
        ]

    # --- from outside -----------------------------------------------------------------------

    @property
    def is_closed(self) -> bool:
        """Whether nothing can be put any more."""
        return self.closed_by is not None

    @property
    def size(self) -> int:
        """How many elements there are."""
        return len(self._elements)

    def serve(self) -> None:
        """Let the first of each line do what they can. The lock is held."""
        changed = True
        while changed:
            changed = False
            for line in (self.puts, self.takes):
                while line:
                    first: Any = line[0]
                    before = first.n_left
                    if first.is_over:
                        first.undo()
                    elif not first.proceed():
                        changed = changed or first.n_left != before
                        break
                    line.popleft()
                    changed = True

    def check(self, components: Sequence[Any], *, is_batch: bool) -> None:
        """Refuse components of other shapes than the queue's."""
        front = components[0].shape[:1] if is_batch else ()
        shapes = self.shapes or [None] * len(components)
        for position, (array, dims) in enumerate(zip(components, shapes, strict=False)):
            if is_batch and not self.shapes and not array.ndim:
                message = f"Tuple component {position} has no rows to enqueue"
                raise InvalidArgumentError(None, None, message)
            wanted = None if dims is None else (*front, *dims)
            is_short = is_batch and array.shape[:1] != front
            if is_short or not _fits(array.shape, wanted):
                raise InvalidArgumentError(
                    None,
                    None,
                    f"Shape mismatch in tuple component {position}. Expected "
                    f"{bracketed(wanted if wanted is not None else front)}, got "
                    f"{bracketed(array.shape)}",
                )

    def check_shared(self, attrs: Any) -> None:
        """Refuse another operation of the same shared name that asks for something else."""
        capacity, types = attrs["capacity"], list(attrs["component_types"])
        mine = list(self.dtypes)[-len(types) :]
        what, has, wanted = "capacity", str(self.capacity), str(capacity)
        if mine != types:
            what, is_or_are = "component types", "were"
            has, wanted = _type_names(mine), _type_names(types)
        elif capacity == self.capacity:
            return
        else:
            is_or_are = "was"
        message = f"Shared queue '{self.name}' has {what} {has} but requested {what} "
        raise InvalidArgumentError(None, None, f"{message}{is_or_are} {wanted}")

    def check_shapes_known(self) -> None:
        """Refuse batches where the shapes of components are not said."""
        if not self.shapes:
            raise InvalidArgumentError(
                None,
                None,
                f"{self.kind}'s DequeueMany and DequeueUpTo require the components to have "
                "specified shapes.",
            )

    def closed_error(self) -> CancelledError:
        """Make the error of putting into a closed queue."""
        return CancelledError(None, None, f"{self.kind} '{self.name}' is closed.")

    def cancel_puts(self) -> None:
        """Close now, and cancel all that wait to put."""
        with self.lock:
            self.closed_by = self.closed_by or "a request to cancel"
            for each in self.puts:
                each.fail(CancelledError(None, None, Put.cancelled_message))
            self.serve()  # all that put leave the line


class _InLine(Pending):
    """An entry in one of the lines of a queue."""

    line: deque[Any]

    def __init__(self, queue: Queue) -> None:
        super().__init__()
        self._queue = queue

    @property
    def n_left(self) -> int:
        """How many elements have to be put or taken yet."""
        return 0

    def start(self) -> None:
        """Join the line."""
        with self._queue.lock:
            self.line.append(self)
            self._queue.serve()

    def proceed(self) -> bool:
        """Do what can be done; True if that was all."""
        raise NotImplementedError

    def serve(self) -> None:
        """Serve the queue."""
        with self._queue.lock:
            self._queue.serve()

    def cancel(self) -> None:
        """Leave the line."""
        self.ends.append("cancelled")
        with self._queue.lock:
            if self in self.line:
                self.undo()
                self.line.remove(self)
            self._queue.serve()

    def undo(self) -> None:
        """Give back what was taken."""


class Put(_InLine):
    """Elements to be put into a queue."""

    cancelled_message = "Enqueue operation was cancelled"

    def __init__(self, queue: Queue, elements: Sequence[Element]) -> None:
        super().__init__(queue)
        self.line = queue.puts
        self._left = queue.entries(elements)

    @property
    def n_left(self) -> int:
        """How many elements have to be put yet."""
        return len(self._left)

    def proceed(self) -> bool:
        """Put as many as there is room for."""
        queue = self._queue
        if queue.is_closed:
            self.fail(queue.closed_error())
            return True
        n_free = max(0, queue.capacity - queue.size)
        queue.put(self._left, min(self.n_left, n_free))
        if not self.n_left:
            self.finish(())
        return not self.n_left


class Close(_InLine):
    """The end of a queue, when all that came before is put."""

    cancelled_message = "Close operation was cancelled"

    def __init__(self, queue: Queue) -> None:
        super().__init__(queue)
        self.line = queue.puts

    def proceed(self) -> bool:
        """Close the queue."""
        queue = self._queue
        if queue.is_closed and queue.closed_by is not self:
            message = f"Queue '{queue.name}' is already closed."
            self.fail(CancelledError(None, None, message))
        else:
            queue.closed_by = self
            self.finish(())
        return True


class Take(_InLine):
    """Elements to be taken from a queue: so many, or what is left of a closed one."""

    cancelled_message = "Dequeue operation was cancelled"

    def __init__(self, queue: Queue, n: int, *, takes_less: bool = False) -> None:
        super().__init__(queue)
        self.line = queue.takes
        self._n = n
        self._takes_less = takes_less
        self._taken: deque[Any] = deque()

    @property
    def n_left(self) -> int:
        """How many elements have to be taken yet."""
        return self._n - len(self._taken)

    def proceed(self) -> bool:
        """Take as many as there are."""
        queue = self._queue
        size, n_left = queue.size, self.n_left
        if queue.is_closed and size < n_left:
            self.undo()
            if self._takes_less and queue.size:
                self._n = queue.size
            elif queue.puts and self._takes_less:
                return False
            else:
                self.fail(
                    OutOfRangeError(
                        None,
                        None,
                        f"{queue.kind} '{queue.name}' is closed and has insufficient elements "
                        f"(requested {n_left}, current size {size})",
                    )
                )
                return True
        queue.take(self._taken, min(self.n_left, queue.n_free_to_take))
        if not self.n_left:
            self.finish(queue.elements(self._taken))
        return not self.n_left

    def undo(self) -> None:
        """Give back what was taken."""
        self._queue.give_back(self._taken)


def _type_names(types: Sequence[DType]) -> str:
    return ", ".join(dtype.type_string for dtype in types)


def _fits(found: Sequence[int], dims: Dims) -> bool:
    if dims is None:
        return True
    return len(found) == len(dims) and all(
        b is None or a == b for a, b in zip(found, dims, strict=True)
    )


def _stacked(column: Sequence[Any], dtype: DType, dims: Dims) -> Any:
    if column:
        return np.stack(column)
    return np.empty((0, *(size or 0 for size in dims or ())), dtype.np_dtype)
