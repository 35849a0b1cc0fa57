"""Gradients of products of matrices."""

from __future__ import annotations

from typing import Any

from berth.ops.arrays.broadcasting import sum_like
from berth.ops.elementwise.unary import conj
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.linalg.products import BATCH_MATMUL, MATMUL, matmul


@gradient(MATMUL)
def _matmul(op: RecordedOp, grad: Any) -> Any:
    return _product(op, grad, op.attrs["transpose_a"], op.attrs["transpose_b"])


@gradient(BATCH_MATMUL)
def _batch_matmul(op: RecordedOp, grad: Any) -> Any:
    x, y = op.inputs
    of_x, of_y = _product(op, grad, op.attrs["adj_x"], op.attrs["adj_y"])
    return lambda: sum_like(of_x(), x), lambda: sum_like(of_y(), y)


def _product(op: RecordedOp, grad: Any, turns_a: bool, turns_b: bool) -> tuple[Any, Any]:
    """Return the gradients of both factors: each is a product of `grad` and the other."""
    a, b = op.inputs

    def of_a() -> Any:
        other = conj(b)
        if turns_a:
            return matmul(other, grad, transpose_a=turns_b, transpose_b=True)
        return matmul(grad, other, transpose_b=not turns_b)

    def of_b() -> Any:
        other = conj(a)
        if turns_b:
            return matmul(grad, other, transpose_a=True, transpose_b=turns_a)
        return matmul(other, grad, transpose_a=not turns_a)

    return of_a, of_b
