"""The default writer of TensorFlow 2's ``tf.summary``, its default step, and `record_if`.

`summary.write_ops` has the functions that write.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from berth.blocks import Block, FunctionBlock, Use
from berth.dtypes import bool_
from berth.front.graph_scope import convert_to_tensor
from berth.ops.types import Tensor
from berth.public import public_v2
from berth.summary.events import EventFileWriter
from berth.summary.messages import Event, Value


@public_v2("summary.SummaryWriter")
class SummaryWriter:
    """Writes summaries to an event file, as the default writer of a block."""

    def __init__(self, events: EventFileWriter | None) -> None:
        self._events = events

    def as_default(self, step: Any = None) -> _DefaultWriter:
        """Make it the default writer of a block, whose default step may be given too."""
        return _DefaultWriter(self, step)

    def set_as_default(self, step: Any = None) -> None:
        """Make it the default writer from now on."""
        state.writer = self
        if step is not None:
            state.step = step

    def init(self) -> None:
        """Do nothing: the file is there."""

    def flush(self) -> None:
        """Write all summaries to the file."""
        if self._events is not None:
            self._events.flush()

    def close(self) -> None:
        """Write all summaries, and close the file."""
        if self._events is not None:
            self._events.close()

    def add(self, step: int, value: Value) -> None:
        """Add one value."""
        if self._events is not None:
            event = Event(wall_time=time.time(), step=step, summary={"value": [value]})
            self._events.add_event(event)

    def add_graph(self, definition: bytes) -> None:
        """Add a serialized graph."""
        if self._events is not None:
            self._events.add_event(Event(wall_time=time.time(), graph_def=definition))


class State(threading.local):
    """The default writer and step of a thread, and whether summaries are recorded."""

    writer: SummaryWriter | None = None
    step: Any = None
    condition: Any = True

    def set_in_block(self, use: Use, name: str, value: Any) -> None:
        """Set one of these until a block ends; then it is what it was before."""
        use.at_end(vars(self).__setitem__, [(name, getattr(self, name))])
        setattr(self, name, value)


state = State()


class _DefaultWriter(Block[SummaryWriter]):
    """A block with a default writer, which is flushed at the end."""

    def __init__(self, writer: SummaryWriter, step: Any) -> None:
        self._writer = writer
        self._step = step

    def _begin(self, use: Use) -> SummaryWriter:
        state.set_in_block(use, "writer", self._writer)
        if self._step is not None:
            state.set_in_block(use, "step", self._step)
        return self._writer

    def _finish(self, use: Use) -> None:
        super()._finish(use)
        self._writer.flush()


@public_v2("summary.create_file_writer")
def create_file_writer(
    logdir: Any,
    max_queue: int | None = None,
    flush_millis: int | None = None,
    filename_suffix: str | None = None,
    name: str | None = None,
    experimental_trackable: bool = False,
    experimental_mesh: Any = None,
) -> SummaryWriter:
    """Create a writer for a folder."""
    seconds = 120.0 if flush_millis is None else flush_millis / 1000
    suffix = ".v2" if filename_suffix is None else filename_suffix
    return SummaryWriter(EventFileWriter(logdir, max_queue or 10, seconds, suffix))


@public_v2("summary.create_noop_writer")
def create_noop_writer() -> SummaryWriter:
    """Create a writer that writes nothing."""
    return SummaryWriter(None)


@public_v2("summary.flush")
def flush(writer: SummaryWriter | None = None, name: str | None = None) -> None:
    """Write all summaries of a writer, by default the default one, to its file."""
    target = writer or state.writer
    if target is not None:
        target.flush()


@public_v2("summary.experimental.get_step")
def get_step() -> Any:
    """Return the default step of this thread."""
    return state.step


@public_v2("summary.experimental.set_step")
def set_step(step: Any) -> None:
    """Set the default step of this thread."""
    state.step = step


@public_v2("summary.record_if")
def record_if(condition: Any) -> FunctionBlock[None]:
    """Record summaries in a block only if the condition, a value or a function, holds."""
    return FunctionBlock(state.set_in_block, "condition", condition)


@public_v2("summary.should_record_summaries")
def should_record_summaries() -> Tensor:
    """Tell whether summaries are recorded: there is a writer, and `record_if` holds."""
    return bool_tensor(current_condition() if state.writer is not None else False)


def bool_tensor(value: Any) -> Tensor:
    """Return a bool as a tensor."""
    tensor: Tensor = convert_to_tensor(value, bool_)
    return tensor


def current_condition() -> Any:
    """Return the condition of the innermost `record_if`; a function is called."""
    condition = state.condition
    return condition() if callable(condition) else condition
