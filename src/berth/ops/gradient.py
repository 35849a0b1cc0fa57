"""Gradients of operations: how they are declared, and looked up.

A gradient is a function ``(op, *grads)``: `op` has the ``inputs``, ``outputs`` and ``attrs``
of the operation as it was executed, and there is one of `grads` for each output. It returns
one gradient for each input, or a single one for a single input; None where there is none. A
gradient that takes work may be given as a function without arguments: it is called if the
gradient of that input is needed.

It is written with the operations that users call, so it serves graphs and eager programs, and
can itself be differentiated. It stands beside the definition of its operation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from berth.ops.opdef import NOT_DIFFERENTIABLE, Attrs, OpDef


class RecordedOp(Protocol):
    """An operation that was executed, or that is a node of a graph."""

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
    """Declare a function as the gradient of operations."""

    def enter(function: Gradient) -> Gradient:
        for op in ops:
            assert op.gradient is None, f"{op.name} has two gradients"
            op.gradient = function
        return function

    return enter


def takes_none(function: Gradient) -> Gradient:
    """Declare that a gradient gets None, and not zeros, for outputs that are not used."""
    setattr(function, "takes_none", True)  # noqa: B010  (functions have no such attribute)
    return function


def gradient_of(op: RecordedOp) -> Gradient | None:
    """Return the gradient of an operation; None if it is not differentiable."""
    definition = op.definition
    if definition.gradient is None:
        name = getattr(op, "name", definition.name)
        raise LookupError(
            f"No gradient defined for operation'{name}' (op type: {definition.name}). In "
            "general every operation must have an associated `@tf.RegisterGradient` for "
            "correct autodiff, which this op is lacking. If you want to pretend this operation "
            "is a constant in your program, you may insert `tf.stop_gradient`. This can be "
            "useful to silence the error in cases where you know gradients are not needed, "
            "e.g. the forward pass of tf.custom_gradient. Please see more details in "
            "https://www.tensorflow.org/api_docs/python/tf/custom_gradient."
        )
    return None if definition.gradient is NOT_DIFFERENTIABLE else definition.gradient
