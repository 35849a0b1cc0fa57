"""Gradients of what only looks on: it passes a tensor, or checks something about it."""

from __future__ import annotations

from typing import Any

from berth.ops.flow.checks import CHECK_NUMERICS, check_numerics
from berth.ops.flow.printing import PRINT, PRINT_V2
from berth.ops.gradient import RecordedOp, gradient, not_differentiable

not_differentiable(PRINT_V2)


@gradient(PRINT)
def _print(op: RecordedOp, grad: Any) -> Any:
    return grad, *(None for _ in op.inputs[1:])


@gradient(CHECK_NUMERICS)
def _check_numerics(op: RecordedOp, grad: Any) -> Any:
    return check_numerics(
        grad, "Not a number (NaN) or infinity (Inf) values detected in gradient."
    )
