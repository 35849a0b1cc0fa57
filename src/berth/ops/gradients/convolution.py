"""Gradients of convolutions: each of the three goes back by the other two."""

from __future__ import annotations

from typing import Any

from berth.ops.arrays.metadata import shape
from berth.ops.builder import apply
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.nn.convolution import CONV2D, CONV2D_BACKPROP_FILTER, CONV2D_BACKPROP_INPUT
from berth.ops.nn.depthwise import (
    DEPTHWISE,
    DEPTHWISE_BACKPROP_FILTER,
    DEPTHWISE_BACKPROP_INPUT,
)
from berth.ops.opdef import OpDef

_FAMILIES = {
    op: family
    for family in (
        (CONV2D, CONV2D_BACKPROP_INPUT, CONV2D_BACKPROP_FILTER),
        (DEPTHWISE, DEPTHWISE_BACKPROP_INPUT, DEPTHWISE_BACKPROP_FILTER),
    )
    for op in family
}


def _forward(op: RecordedOp, images: Any, filters: Any) -> Any:
    forward, _, _ = _FAMILIES[op.definition]
    return apply(forward, (images, filters), op.attrs)


def _to_input(op: RecordedOp, images: Any, filters: Any, grad: Any) -> Any:
    _, back, _ = _FAMILIES[op.definition]
    return apply(back, (shape(images), filters, grad), op.attrs)


def _to_filter(op: RecordedOp, images: Any, filters: Any, grad: Any) -> Any:
    back: OpDef
    _, _, back = _FAMILIES[op.definition]
    return apply(back, (images, shape(filters), grad), op.attrs)


@gradient(CONV2D, DEPTHWISE)
def _convolution(op: RecordedOp, grad: Any) -> Any:
    images, filters = op.inputs
    return _to_input(op, images, filters, grad), _to_filter(op, images, filters, grad)


@gradient(CONV2D_BACKPROP_INPUT, DEPTHWISE_BACKPROP_INPUT)
def _backprop_input(op: RecordedOp, grad: Any) -> Any:
    _, filters, arrived = op.inputs
    return None, _to_filter(op, grad, filters, arrived), _forward(op, grad, filters)


@gradient(CONV2D_BACKPROP_FILTER, DEPTHWISE_BACKPROP_FILTER)
def _backprop_filter(op: RecordedOp, grad: Any) -> Any:
    images, _, arrived = op.inputs
    return _to_input(op, images, grad, arrived), None, _forward(op, images, grad)
