"""Gradients of sums of products: sums of products with what arrives."""

from __future__ import annotations

from typing import Any

from berth.ops.arrays.broadcasting import sum_like
from berth.ops.builder import apply
from berth.ops.elementwise.unary import conj
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.linalg.contraction import EINSUM, ELLIPSIS, read_labels, without, write
from berth.ops.linalg.tensor_products import CROSS, cross


@gradient(EINSUM)
def _einsum(op: RecordedOp, grad: Any) -> Any:
    left, _, output = op.attrs["equation"].partition("->")
    if len(op.inputs) == 1:
        return apply(EINSUM, (grad,), {"equation": f"{output}->{left}"})
    sides = left.split(",")
    return [
        _by_one(output, sides[1 - k], sides[k], grad, op.inputs[1 - k], op.inputs[k])
        for k in (0, 1)
    ]


def _by_one(output: str, other: str, own: str, grad: Any, factor: Any, tensor: Any) -> Any:
    """Multiply what arrives with the other factor, and sum where `tensor` was stretched."""
    if ELLIPSIS not in output:
        return apply(EINSUM, (grad, conj(factor)), {"equation": f"{output},{other}->{own}"})
    wide = ELLIPSIS + write(without(read_labels(own), ELLIPSIS))
    product = apply(EINSUM, (grad, conj(factor)), {"equation": f"{output},{other}->{wide}"})
    return sum_like(product, tensor)


@gradient(CROSS)
def _cross(op: RecordedOp, grad: Any) -> Any:
    a, b = op.inputs
    return cross(b, grad), cross(grad, a)
