"""Operations of a regular kind, declared in one statement: definition, gradient, function.

    EXP, exp = unary(
        "Exp",
        "exp",
        INEXACT,
        public=("exp", "math.exp"),
        doc="Exponential of x, element-wise.",
        example=("[0.0]", "[1.0]"),
        gradient=lambda op, grad: grad * conj(op.outputs[0]),
    )

The first is the definition (`OpDef`), the second the function that users call.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from berth.dtypes import DType
from berth.ops.builder import apply
from berth.ops.opdef import Infer, OpDef
from berth.ops.rules import Function, elementwise
from berth.ops.types import Tensor, TensorLike
from berth.public import public as public_in_both
from berth.public import public_v1 as public_in_v1

F = TypeVar("F", bound=Callable[..., Any])


class UnaryFunction(Protocol):
    """A function of one tensor."""

    def __call__(self, x: TensorLike, name: str | None = None) -> Tensor: ...


class BinaryFunction(Protocol):
    """A function of two tensors, which are broadcast to a common shape."""

    def __call__(self, x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor: ...


def unary(
    op_name: str,
    function: str | Function,
    dtypes: Sequence[DType],
    infer: Infer | None = None,
    *,
    doc: str,
    example: tuple[str, str],
    gradient: Any,
    public: Sequence[str] = (),
    public_v1: Sequence[str] = (),
) -> tuple[OpDef, UnaryFunction]:
    """Declare an element-wise operation of one operand."""
    op = elementwise(op_name, "x:T", function, dtypes, infer, gradient=gradient)

    def call(x: TensorLike, name: str | None = None) -> Tensor:
        return apply(op, (x,), {}, name)

    return op, publish(call, doc, example, public, public_v1)


def binary(
    op_name: str,
    function: str | Function,
    dtypes: Sequence[DType],
    infer: Infer | None = None,
    *,
    doc: str,
    example: tuple[str, str],
    gradient: Any,
    public: Sequence[str] = (),
    public_v1: Sequence[str] = (),
) -> tuple[OpDef, BinaryFunction]:
    """Declare an element-wise operation of two operands, which are broadcast."""
    op = elementwise(op_name, "x:T y:T", function, dtypes, infer, gradient=gradient)

    def call(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
        return apply(op, (x, y), {}, name)

    return op, publish(call, doc, example, public, public_v1)


def publish(
    function: F,
    doc: str,
    example: tuple[str, str],
    public: Sequence[str],
    public_v1: Sequence[str],
) -> F:
    """Name, document and publish a function made here for the module that declares it.

    An example is the arguments of a call, and its value.
    """
    made: Any = function
    name = (*public, *public_v1)[0].rpartition(".")[2]
    arguments, value = example
    made.__name__ = made.__qualname__ = name
    made.__module__ = sys._getframe(2).f_globals["__name__"]
    made.__doc__ = f"{doc}\n\n>>> {name}({arguments}).numpy().tolist()\n{value}\n"
    public_in_both(*public)(made)
    public_in_v1(*public_v1)(made)
    return function
