"""The active gradient tapes of a thread, the outermost first."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Protocol

from berth.blocks import FunctionBlock, Stack, Use
from berth.ops.opdef import Attrs


class Recorder(Protocol):
    """The interface of a gradient tape: it records operations."""

    @property
    def is_persistent(self) -> bool:
        """Whether several gradients may be taken."""
        ...

    def record(
        self,
        definition: Any,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        attrs: Attrs,
        device: str,
    ) -> None:
        """Record an operation, if one of its inputs is watched."""
        ...

    def watch_read(self, variable: Any) -> None:
        """Watch a variable that is read."""
        ...

    def watch_output(self, output: Any, others: Sequence[Any]) -> None:
        """Watch what an operation gives from now on, if what it gave before is watched."""
        ...


class _Recording(threading.local):
    def __init__(self) -> None:
        self.blocks: Stack[tuple[Recorder, ...]] = Stack()
        """The tapes that are active in each block that changed them."""


_recording = _Recording()


def active_tapes() -> tuple[Recorder, ...]:
    """Return the tapes that record this thread's operations."""
    blocks = _recording.blocks
    return blocks.innermost if blocks else ()


def set_active_tapes(use: Use, tapes: tuple[Recorder, ...]) -> None:
    """Set the tapes that record this thread's operations, in a block."""
    use.set(_recording.blocks, tapes)


def deactivate(tape: Recorder) -> None:
    """Record nothing more on a tape, though its block is open."""
    blocks = _recording.blocks
    for use, tapes in list(blocks.items()):
        blocks[use] = tuple(active for active in tapes if active is not tape)


def stop_recording() -> FunctionBlock[None]:
    """Record nothing inside the block, on any tape."""
    return FunctionBlock(set_active_tapes, ())


def watch_variable(variable: Any) -> None:
    """Let the tapes of this thread watch a variable that is being read."""
    for tape in active_tapes():
        tape.watch_read(variable)


def record(
    definition: Any,
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    attrs: Attrs,
    device: str = "",
) -> None:
    """Record an operation on every tape that watches one of its inputs."""
    for tape in active_tapes():
        tape.record(definition, inputs, outputs, attrs, device)
