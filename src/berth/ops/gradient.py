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
from typing import Any, Protocol, TypeVar

from berth.ops.opdef import CATALOGUE, NOT_DIFFERENTIABLE, Attrs, OpDef
from berth.public import public, public_v1

F = TypeVar("F", bound=Callable[..., Any])


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


_REGISTERED: dict[str, Any] = {}
"""What programs registered, by the type of operation, which need not exist."""


@public("RegisterGradient")
class RegisterGradient:
    """Register a function as the gradient of a type of operation.

    The function takes the operation, and the gradient of each of its outputs. The type may be a
    new one, for `Graph.gradient_override_map`.

    >>> @RegisterGradient("Doubled")
    ... def doubled(op, grad):
    ...     return 2.0 * grad
    """

    def __init__(self, op_type: str) -> None:
        self._op_type = _checked(op_type)

    def __call__(self, f: F) -> F:
        _register(self._op_type, f)
        return f


@public_v1("NotDifferentiable", "NoGradient")
@public("no_gradient")
def no_gradient(op_type: str) -> None:
    """Declare that a type of operation has no gradient.

    >>> no_gradient("Opaque")
    """
    _register(_checked(op_type), NOT_DIFFERENTIABLE)


def _checked(op_type: Any) -> str:
    if not isinstance(op_type, str):
        raise TypeError("op_type must be a string")
    return op_type


def _register(op_type: str, function: Any) -> None:
    if _found(op_type) is not None:
        raise KeyError(f"Registering two gradient with name '{op_type}'!")
    _REGISTERED[op_type] = function


def _found(op_type: str) -> Any:
    """Return the gradient of a type of operation; None if it has none."""
    if op_type in _REGISTERED:
        return _REGISTERED[op_type]
    return CATALOGUE[op_type].gradient if op_type in CATALOGUE else None


def gradient_of(op: RecordedOp) -> Gradient | None:
    """Return the gradient of an operation; None if it is not differentiable."""
    definition = op.definition
    other_type = getattr(op, "gradient_type", None)
    function = definition.gradient if other_type is None else _found(other_type)
    if function is None and other_type is None:
        function = _REGISTERED.get(definition.name)
    if function is None:
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
    return None if function is NOT_DIFFERENTIABLE else function
