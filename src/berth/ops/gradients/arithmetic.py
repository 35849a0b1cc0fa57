"""Gradients of arithmetic: two operands, which may be stretched to a common shape."""

from __future__ import annotations

from typing import Any

from berth.ops.array import IDENTITY
from berth.ops.broadcasting import BROADCAST_TO, SUM_TO, broadcast_to, sum_like
from berth.ops.gradient import Done, gradient
from berth.ops.math import ADD, ADD_N, MUL, REAL_DIV, SUB
from berth.ops.metadata import shape
from berth.ops.state import READ
from berth.ops.unary import conj


@gradient(IDENTITY, READ)
def _identity(op: Done, grad: Any) -> Any:
    return grad


@gradient(ADD)
def _add(op: Done, grad: Any) -> Any:
    x, y = op.inputs
    return sum_like(grad, x), sum_like(grad, y)


@gradient(SUB)
def _sub(op: Done, grad: Any) -> Any:
    x, y = op.inputs
    return sum_like(grad, x), sum_like(-grad, y)


@gradient(MUL)
def _mul(op: Done, grad: Any) -> Any:
    x, y = op.inputs
    return sum_like(grad * conj(y), x), sum_like(grad * conj(x), y)


@gradient(REAL_DIV)
def _real_div(op: Done, grad: Any) -> Any:
    x, y = map(conj, op.inputs)
    return sum_like(grad / y, op.inputs[0]), sum_like(grad * (-x / y / y), op.inputs[1])


@gradient(ADD_N)
def _add_n(op: Done, grad: Any) -> Any:
    return [grad] * len(op.inputs)


@gradient(BROADCAST_TO)
def _broadcast_to(op: Done, grad: Any) -> Any:
    return sum_like(grad, op.inputs[0]), None


@gradient(SUM_TO)
def _sum_to(op: Done, grad: Any) -> Any:
    return broadcast_to(grad, shape(op.inputs[0])), None
