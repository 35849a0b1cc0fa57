"""`apply`, the function through which every operation passes, and the stack of builders.

The current *builder* handles it: a graph adds a node, eager execution computes. It is the
innermost `Builder` that the thread has entered, or else the program's default.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast

from berth.blocks import Stack, Use
from berth.ops.opdef import Attrs, OpDef
from berth.ops.types import Tensor


class Builder(Protocol):
    """Receiver of operations: a graph, or eager execution."""

    def apply(self, op: OpDef, inputs: Sequence[Any], attrs: Attrs, name: str | None) -> Any:
        """Apply one operation; return its output, a list of them, or the operation itself.

        Inputs that are no tensors yet are converted, under the operation's name.
        """
        ...


def _nesting_error(builder: Builder) -> Exception:
    return AssertionError("Nesting violated for default stack of <class 'berth.Graph'> objects")


class _Entered(threading.local):
    def __init__(self) -> None:
        self.builders: Stack[Builder] = Stack(_nesting_error)


_entered = _Entered()
_root: list[Callable[[], Builder]] = []


def start_with(find_builder: Callable[[], Builder]) -> None:
    """Set the builder of operations while none is entered."""
    _root[:] = [find_builder]


def enter(use: Use, builder: Builder) -> None:
    """Make a builder this thread's current one, in a block."""
    use.set(_entered.builders, builder)


def current() -> Builder:
    """Return the current builder of this thread."""
    builders = _entered.builders
    return builders.innermost if builders else _root[0]()


def apply(op: OpDef, inputs: Sequence[Any], attrs: Attrs, name: str | None = None) -> Tensor:
    """Apply an operation with one output in the current builder; return that output."""
    builders = _entered.builders
    builder = builders.innermost if builders else _root[0]()
    try:
        result: Tensor = builder.apply(op, inputs, attrs, name)
    except CompositeInput as found:
        result = found.composite._apply(op, inputs, attrs, name)
    return result


class CompositeInput(ValueError):
    """A composite tensor where a tensor is wanted; `apply` asks it what the operation does."""

    def __init__(self, composite: Any) -> None:
        super().__init__(
            f"Attempt to convert a value ({composite}) with an unsupported type "
            f"({type(composite)}) to a Tensor."
        )
        self.composite = composite


apply_list = cast("Callable[..., list[Tensor]]", apply)
"""`apply` for operations with several outputs: returns the list of them."""
apply_op = cast("Callable[..., Any]", apply)
"""`apply` for operations without outputs: returns the graph's Operation, eagerly None."""


def is_entered() -> bool:
    """Tell whether this thread has entered a builder."""
    return bool(_entered.builders)


def entered() -> Builder | None:
    """Return the innermost builder that this thread has entered, if any."""
    builders = _entered.builders
    return builders.innermost if builders else None
