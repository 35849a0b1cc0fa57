"""Square root, its reciprocal, and the reciprocal, with their gradients.

The gradients are operations of their own: `y` is the function's output, `dy` the gradient that
arrives there. Where `dy` is 0 the gradient is 0, though the slope may be infinite.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from berth.ops.builder import apply
from berth.ops.declare import unary
from berth.ops.elementwise.blocks import by_blocks
from berth.ops.elementwise.unary import conj
from berth.ops.gradient import RecordedOp
from berth.ops.opdef import Attrs
from berth.ops.rules import INEXACT, elementwise, like_both
from berth.ops.types import Tensor

# --- square root --------------------------------------------------------------------------


def _sqrt_grad(xp: Any, y: Any, dy: Any) -> Any:
    return xp.where(dy == 0, dy, dy * 0.5 / y)


def _sqrt_grad_gradient(op: RecordedOp, grad: Tensor) -> Any:
    y = conj(op.inputs[0])
    return lambda: -grad * conj(op.outputs[0]) / y, lambda: sqrt_grad(y, grad)


SQRT_GRAD = elementwise(
    "SqrtGrad",
    "y:T dy:T",
    by_blocks(_sqrt_grad),
    INEXACT,
    like_both,
    gradient=_sqrt_grad_gradient,
)


def sqrt_grad(y: Any, dy: Any, name: str | None = None) -> Any:
    """Gradient of sqrt, dy / (2 y), from its output y.

    >>> sqrt_grad([0.0, 2.0], [0.0, 8.0]).numpy().tolist()
    [0.0, 2.0]
    """
    return apply(SQRT_GRAD, (y, dy), {}, name)


SQRT, sqrt = unary(
    "Sqrt",
    "sqrt",
    INEXACT,
    doc="Square root of x, element-wise.",
    example=("[4.0, 9.0]", "[2.0, 3.0]"),
    gradient=lambda op, grad: sqrt_grad(conj(op.outputs[0]), grad),
    public=("sqrt", "math.sqrt"),
)

# --- reciprocal of the square root --------------------------------------------------------


def _rsqrt(xp: Any, attrs: Attrs) -> Callable[..., Any]:
    def rsqrt(x: Any, out: Any) -> None:
        xp.sqrt(x, out)
        xp.reciprocal(out, out)

    return rsqrt


def _rsqrt_grad(xp: Any, y: Any, dy: Any) -> Any:
    return xp.where(dy == 0, dy, dy * -0.5 * y * y * y)


def _rsqrt_grad_gradient(op: RecordedOp, grad: Tensor) -> Any:
    y, dy = map(conj, op.inputs)
    return lambda: grad * dy * (-1.5 * y * y), lambda: rsqrt_grad(y, grad)


RSQRT_GRAD = elementwise(
    "RsqrtGrad",
    "y:T dy:T",
    by_blocks(_rsqrt_grad),
    INEXACT,
    like_both,
    gradient=_rsqrt_grad_gradient,
)


def rsqrt_grad(y: Any, dy: Any, name: str | None = None) -> Any:
    """Gradient of rsqrt, -dy y³ / 2, from its output y.

    >>> rsqrt_grad([2.0], [1.0]).numpy().tolist()
    [-4.0]
    """
    return apply(RSQRT_GRAD, (y, dy), {}, name)


RSQRT, rsqrt = unary(
    "Rsqrt",
    _rsqrt,
    INEXACT,
    doc="Reciprocal of the square root of x, element-wise.",
    example=("[4.0, 0.25]", "[0.5, 2.0]"),
    gradient=lambda op, grad: rsqrt_grad(conj(op.outputs[0]), grad),
    public=("math.rsqrt",),
    public_v1=("rsqrt",),
)

# --- reciprocal ---------------------------------------------------------------------------


def _reciprocal_grad(xp: Any, y: Any, dy: Any) -> Any:
    return xp.where(dy == 0, dy, -dy * y * y)


def _reciprocal_grad_gradient(op: RecordedOp, grad: Tensor) -> Any:
    y, dy = map(conj, op.inputs)
    return lambda: grad * dy * (-2 * y), lambda: reciprocal_grad(y, grad)


RECIPROCAL_GRAD = elementwise(
    "ReciprocalGrad",
    "y:T dy:T",
    by_blocks(_reciprocal_grad),
    INEXACT,
    like_both,
    gradient=_reciprocal_grad_gradient,
)


def reciprocal_grad(y: Any, dy: Any, name: str | None = None) -> Any:
    """Gradient of reciprocal, -dy y², from its output y.

    >>> reciprocal_grad([2.0], [1.0]).numpy().tolist()
    [-4.0]
    """
    return apply(RECIPROCAL_GRAD, (y, dy), {}, name)


RECIPROCAL, reciprocal = unary(
    "Reciprocal",
    "reciprocal",
    INEXACT,
    doc="Reciprocal of x, element-wise.",
    example=("[4.0, -0.5]", "[0.25, -2.0]"),
    gradient=lambda op, grad: reciprocal_grad(conj(op.outputs[0]), grad),
    public=("math.reciprocal",),
    public_v1=("reciprocal",),
)
