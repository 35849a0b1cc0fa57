"""Gradients of running sums and products: running sums in the other direction."""

from __future__ import annotations

from typing import Any

from berth.ops.arrays.filling import ones_like, zeros_like
from berth.ops.arrays.gathering import where_v2
from berth.ops.compose import convert
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.compare import equal, greater, less
from berth.ops.elementwise.unary import conj, exp, log
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.reductions.cumulative import (
    CUMPROD,
    CUMSUM,
    CUMULATIVE_LOGSUMEXP,
    cumprod,
    cumsum,
    cumulative_logsumexp,
)


def _backwards(op: RecordedOp) -> dict[str, Any]:
    """Return the arguments of a scan in the other direction."""
    return {
        "axis": op.inputs[1],
        "exclusive": op.attrs["exclusive"],
        "reverse": not op.attrs["reverse"],
    }


@gradient(CUMSUM)
def _cumsum(op: RecordedOp, grad: Any) -> Any:
    return cumsum(grad, **_backwards(op)), None


@gradient(CUMPROD)
def _cumprod(op: RecordedOp, grad: Any) -> Any:
    """Every product without one of its factors: divided by it, unless it is 0.

    All products from the first 0 on are 0, and depend on that factor alone.
    """
    x, axis = conj(op.inputs[0]), op.inputs[1]
    forwards = {**op.attrs, "axis": axis}
    is_zero = equal(x, zeros_like(x))
    n_zeros = cumsum(cast(is_zero, x.dtype.base_dtype), axis, reverse=op.attrs["reverse"])
    is_first = is_zero & equal(n_zeros, ones_like(n_zeros))
    divisor = where_v2(is_zero, ones_like(x), x)
    by_factor = cumsum(cumprod(x, **forwards) * grad, **_backwards(op)) / divisor
    without_first = cumprod(where_v2(is_first, ones_like(x), x), **forwards)
    by_zero = cumsum(without_first * grad, **_backwards(op))
    by_factor = where_v2(is_zero, zeros_like(x), by_factor)
    return where_v2(is_first, by_zero, by_factor), None


@gradient(CUMULATIVE_LOGSUMEXP)
def _cumulative_logsumexp(op: RecordedOp, grad: Any) -> Any:
    """Sums of grad · exp(x - output), in logarithms; by the sign of `grad`, which have none."""
    x, output = op.inputs[0], op.outputs[0]
    nothing = convert(x.dtype.base_dtype.np_dtype.type("-inf"))

    def part(has_sign: Any, size: Any) -> Any:
        known = log(where_v2(has_sign, size, ones_like(size)))
        logarithm = where_v2(has_sign, known - output, nothing)
        return exp(cumulative_logsumexp(logarithm, **_backwards(op)) + x)

    zero = zeros_like(grad)
    return part(greater(grad, zero), grad) - part(less(grad, zero), -grad), None
