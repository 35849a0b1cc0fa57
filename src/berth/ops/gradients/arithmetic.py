"""Gradients of arithmetic: two operands, which may be stretched to a common shape."""

from __future__ import annotations

from typing import Any

from berth.dtypes import DType
from berth.ops.arrays.broadcasting import sum_like
from berth.ops.arrays.filling import zeros_like
from berth.ops.arrays.gathering import where, where_v2
from berth.ops.elementwise.arithmetic import (
    ADD,
    ADD_N,
    FLOOR_DIV,
    FLOOR_MOD,
    MAXIMUM,
    MINIMUM,
    MUL,
    POW,
    REAL_DIV,
    SQUARED_DIFFERENCE,
    SUB,
    floordiv,
    multiply,
    pow,
)
from berth.ops.elementwise.casting import CAST, cast
from berth.ops.elementwise.compare import (
    BITWISE_AND,
    BITWISE_OR,
    BITWISE_XOR,
    EQUAL,
    GREATER,
    GREATER_EQUAL,
    LESS,
    LESS_EQUAL,
    LOGICAL_AND,
    LOGICAL_NOT,
    LOGICAL_OR,
    NOT_EQUAL,
    SELECT,
    SELECT_V2,
    greater,
    greater_equal,
    less_equal,
    not_equal,
)
from berth.ops.elementwise.shifts import LEFT_SHIFT, RIGHT_SHIFT
from berth.ops.elementwise.unary import conj, log
from berth.ops.gradient import RecordedOp, gradient, not_differentiable
from berth.ops.rules import INEXACT
from berth.ops.shape import is_known

not_differentiable(
    BITWISE_AND,
    BITWISE_OR,
    BITWISE_XOR,
    EQUAL,
    FLOOR_DIV,
    GREATER,
    GREATER_EQUAL,
    LEFT_SHIFT,
    LESS,
    LESS_EQUAL,
    LOGICAL_AND,
    LOGICAL_NOT,
    LOGICAL_OR,
    NOT_EQUAL,
    RIGHT_SHIFT,
)

# --- the same, or a sum -------------------------------------------------------------------


@gradient(ADD)
def _add(op: RecordedOp, grad: Any) -> Any:
    x, y = op.inputs
    return lambda: sum_like(grad, x), lambda: sum_like(grad, y)


@gradient(SUB)
def _sub(op: RecordedOp, grad: Any) -> Any:
    x, y = op.inputs
    return lambda: sum_like(grad, x), lambda: -sum_like(grad, y)


@gradient(ADD_N)
def _add_n(op: RecordedOp, grad: Any) -> Any:
    return [grad] * len(op.inputs)


@gradient(CAST)
def _cast(op: RecordedOp, grad: Any) -> Any:
    given: DType = op.inputs[0].dtype.base_dtype
    return cast(grad, given) if given in INEXACT and grad.dtype in INEXACT else None


# --- products -----------------------------------------------------------------------------


@gradient(MUL)
def _mul(op: RecordedOp, grad: Any) -> Any:
    x, y = op.inputs
    return (
        lambda: sum_like(multiply(grad, conj(y)), x),
        lambda: sum_like(multiply(grad, conj(x)), y),
    )


@gradient(REAL_DIV)
def _real_div(op: RecordedOp, grad: Any) -> Any:
    x, y = op.inputs
    return (
        lambda: sum_like(grad / conj(y), x),
        lambda: sum_like(grad * (-conj(op.outputs[0]) / conj(y)), y),
    )


@gradient(FLOOR_MOD)
def _floor_mod(op: RecordedOp, grad: Any) -> Any:
    x, y = op.inputs
    return lambda: sum_like(grad, x), lambda: -sum_like(grad * floordiv(x, y), y)


@gradient(POW)
def _pow(op: RecordedOp, grad: Any) -> Any:
    x, y = op.inputs

    def of_base() -> Any:
        power = conj(y)
        return sum_like(grad * (power * pow(conj(x), power - 1)), x)

    def of_power() -> Any:
        base = conj(x)
        # The power of nothing changes nothing, and there is no logarithm to say so.
        has_log = not_equal(base, 0) if base.dtype.is_complex else greater(base, 0)
        logarithm = where_v2(has_log, log(where_v2(has_log, base, 1)), 0)
        return sum_like(grad * conj(op.outputs[0]) * logarithm, y)

    return of_base, of_power


@gradient(SQUARED_DIFFERENCE)
def _squared_difference(op: RecordedOp, grad: Any) -> Any:
    x, y = op.inputs
    slope = 2 * grad * (x - y)
    return lambda: sum_like(slope, x), lambda: -sum_like(slope, y)


# --- choices ------------------------------------------------------------------------------


@gradient(MAXIMUM)
def _maximum(op: RecordedOp, grad: Any) -> Any:
    x, y = op.inputs
    return _of_chosen(greater_equal(x, y), x, y, grad)


@gradient(MINIMUM)
def _minimum(op: RecordedOp, grad: Any) -> Any:
    x, y = op.inputs
    return _of_chosen(less_equal(x, y), x, y, grad)


@gradient(SELECT_V2)
def _select_v2(op: RecordedOp, grad: Any) -> Any:
    condition, x, y = op.inputs
    return None, *_of_chosen(condition, x, y, grad)


def _of_chosen(is_x: Any, x: Any, y: Any, grad: Any) -> tuple[Any, Any]:
    """Give each element's gradient to the operand that it was chosen from."""
    return (
        lambda: sum_like(where_v2(is_x, grad, 0), x),
        lambda: sum_like(where_v2(is_x, 0, grad), y),
    )


@gradient(SELECT)
def _select(op: RecordedOp, grad: Any) -> Any:
    condition = op.inputs[0]
    if is_known(condition.dims) and condition.dims in ((), grad.dims):
        return None, *_of_chosen(condition, grad, grad, grad)
    nothing = zeros_like(grad)  # a vector chooses rows here, which nothing else does
    return (
        None,
        lambda: where(condition, grad, nothing),
        lambda: where(condition, nothing, grad),
    )
