"""How to go back through operations: the table of gradients.

A gradient is a function ``(op, *grads)``: `op` has the ``inputs``, ``outputs`` and ``attrs``
of the operation as it was done, and there is one of `grads` for each output. It returns one
gradient for each input, or a single one for a single input; None where there is none. It is
written with the operations that users call, so it serves graphs and eager programs, and can
itself be differentiated.

The functions are in `berth.ops.gradients`, which is loaded when the first is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Protocol

from berth.ops.opdef import NOT_DIFFERENTIABLE, Attrs, OpDef


class Done(Protocol):
    """An operation as it was done, or will be."""

    @property
    def definition(self) -> OpDef: ...
    @property
    def inputs(self) -> Sequence[Any]: ...
    @property
    def outputs(self) -> Sequence[Any]: ...
    @property
    def attrs(self) -> Attrs: ...


Gradient = Callable[..., Any]


def gradient(*ops: OpDef) -> Callable[[Gradient], Gradient]:
    """Make a function the gradient of operations."""

    def enter(function: Gradient) -> Gradient:
        for op in ops:
            assert op.gradient is None, f"{op.name} has two gradients"
            op.gradient = function
        return function

    return enter


def not_differentiable(*ops: OpDef) -> None:
    """Say of operations that nothing goes back through them."""
    for op in ops:
        assert op.gradient is None, f"{op.name} has two gradients"
        op.gradient = NOT_DIFFERENTIABLE


def gradient_of(op: OpDef) -> Gradient | None:
    """Return an operation's gradient; None if nothing goes back through it."""
    if op.gradient is None:
        import_module("berth.ops.gradients")
    if op.gradient is None:
        raise LookupError(f"No gradient defined for operation '{op.name}' (op type: {op.name}).")
    return None if op.gradient is NOT_DIFFERENTIABLE else op.gradient
