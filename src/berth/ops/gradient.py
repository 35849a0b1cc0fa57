"""How to go back through operations: the table of gradients.

A gradient is a function ``(op, *grads)``: `op` has the ``inputs``, ``outputs`` and ``attrs``
of the operation as it was done, and there is one of `grads` for each output. It returns one
gradient for each input, or a single one for a single input; None where there is none. A
gradient that takes work may be given as a function without arguments: it is called if anyone
wants the gradient of that input.

It is written with the operations that users call, so it serves graphs and eager programs, and
can itself be differentiated.

The functions are in `berth.ops.gradients`, which is loaded when the first is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Protocol

from berth.ops.opdef import NOT_DIFFERENTIABLE, Attrs, OpDef


class RecordedOp(Protocol):
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


def takes_none(function: Gradient) -> Gradient:
    """Say of a gradient that it is given None, and no zeros, for outputs that nobody uses."""
    setattr(function, "takes_none", True)  # noqa: B010  (functions have no such attribute)
    return function


def not_differentiable(*ops: OpDef) -> None:
    """Say of operations that nothing goes back through them."""
    for op in ops:
        assert op.gradient is None, f"{op.name} has two gradients"
        op.gradient = NOT_DIFFERENTIABLE


def gradient_of(op: RecordedOp) -> Gradient | None:
    """Return the gradient of an operation; None if nothing goes back through it."""
    definition = op.definition
    if definition.gradient is None:
        import_module("berth.ops.gradients")
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
