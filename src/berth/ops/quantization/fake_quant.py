"""Fake quantization: numbers rounded to the values that so many bits can stand for.

The range [min, max] is moved a little, so that 0 is one of these values. Gradients go straight
through the rounding: inside of the range to the input, outside of it to its ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from berth.dtypes import float32
from berth.ops.attributes import at_once
from berth.ops.builder import apply
from berth.ops.gradient import RecordedOp
from berth.ops.opdef import (
    NOT_DIFFERENTIABLE,
    Attrs,
    Call,
    Launch,
    OpDef,
    OutputType,
    Typed,
    all_devices,
)
from berth.ops.rules import check_rank
from berth.ops.types import Tensor, TensorLike
from berth.public import public, public_v1

_ATTRS = "num_bits=8, narrow_range=False"
_SCALARS = "np.array(-0.5, np.float32), np.array(0.75, np.float32)"
_CHANNELS = "f(3) - np.float32(1), f(3) + np.float32(0.5)"


# --- kernels ------------------------------------------------------------------------------


def _levels(attrs: Attrs) -> tuple[float, float]:
    """Return the least and the largest integer."""
    return float(attrs["narrow_range"]), float(2 ** attrs["num_bits"] - 1)


def _nudged(xp: Any, low: Any, high: Any, attrs: Attrs) -> tuple[Any, Any, Any]:
    """Move a range so that 0 is a value; return its ends, and the distance of its values."""
    least, most = (np.float32(level) for level in _levels(attrs))
    scale = (high - low) / (most - least)
    safe = xp.where(scale == 0, np.float32(1), scale)
    place = least - low / safe
    zero = xp.clip(xp.floor(place + np.float32(0.5)), least, most)
    return (least - zero) * scale, (most - zero) * scale, scale


def _quantize(xp: Any, inputs: Any, low: Any, high: Any, attrs: Attrs, out: Any) -> None:
    start, end, scale = _nudged(xp, low, high, attrs)
    is_empty = (low == 0) & (high == 0)
    safe = xp.where(scale == 0, np.float32(1), scale)
    inverse = np.float32(1) / safe
    steps = xp.floor((xp.clip(inputs, start, end) - start) * inverse + np.float32(0.5))
    out[...] = xp.where(is_empty, np.float32(0), steps * scale + start)


def _bind_quantize(launch: Launch) -> Call:
    inputs, low, high = launch.inputs
    return _quantize, (launch.xp, inputs, low, high, launch.attrs, launch.outputs[0])


def _split(
    xp: Any, grads: Any, inputs: Any, low: Any, high: Any, attrs: Attrs, outs: Any
) -> None:
    start, end, _ = _nudged(xp, low, high, attrs)
    is_empty = (low == 0) & (high == 0)
    below, above = (inputs < start) & ~is_empty, (inputs > end) & ~is_empty
    outs[0][...] = xp.where(below | above, np.float32(0), grads)
    axes = tuple(range(inputs.ndim - low.ndim))
    for out, outside in zip(outs[1:], (below, above), strict=True):
        out[...] = xp.where(outside, grads, np.float32(0)).sum(axes)


def _bind_split(launch: Launch) -> Call:
    return _split, (launch.xp, *launch.inputs, launch.attrs, launch.outputs)


# --- operations ---------------------------------------------------------------------------


def _quantized_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    for bound in inputs[1:]:
        check_rank(bound.dims, 0)
    return ((float32, inputs[0].dims),)


def _split_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return ((float32, inputs[1].dims), (float32, inputs[2].dims), (float32, inputs[3].dims))


def _channel_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    for bound in inputs[1:]:
        check_rank(bound.dims, 1)
    return ((float32, inputs[0].dims),)


def _quantizing_op(name: str, infer: Any, bound: str) -> OpDef:
    return OpDef(
        name,
        "inputs:float32 min:float32 max:float32",
        infer,
        kernels=all_devices(_bind_quantize, (float32,)),
        samples=(f"f(2, 3), {bound}, {_ATTRS}",),
    )


def _splitting_op(name: str, bound: str) -> OpDef:
    return OpDef(
        name,
        "gradients:float32 inputs:float32 min:float32 max:float32",
        _split_type,
        kernels=all_devices(_bind_split, (float32,)),
        gradient=NOT_DIFFERENTIABLE,
        samples=(f"f(2, 3), f(2, 3), {bound}, {_ATTRS}",),
    )


VARS = _quantizing_op("FakeQuantWithMinMaxVars", _quantized_type, _SCALARS)
VARS_GRADIENT = _splitting_op("FakeQuantWithMinMaxVarsGradient", _SCALARS)
PER_CHANNEL = _quantizing_op("FakeQuantWithMinMaxVarsPerChannel", _channel_type, _CHANNELS)
PER_CHANNEL_GRADIENT = _splitting_op("FakeQuantWithMinMaxVarsPerChannelGradient", _CHANNELS)


def _vars_gradient(op: RecordedOp, grad: Any) -> Any:
    return apply(VARS_GRADIENT, (grad, *op.inputs), op.attrs)


def _channel_gradient(op: RecordedOp, grad: Any) -> Any:
    return apply(PER_CHANNEL_GRADIENT, (grad, *op.inputs), op.attrs)


VARS.gradient, PER_CHANNEL.gradient = _vars_gradient, _channel_gradient

# --- what users call ----------------------------------------------------------------------


def _attrs(num_bits: int, narrow_range: bool) -> dict[str, Any]:
    if not 2 <= num_bits <= 16:
        raise at_once(
            "FakeQuantWithMinMaxVars",
            f"num_bits must be between 2 and 16, inclusive, got: {num_bits}",
        )
    return {"num_bits": int(num_bits), "narrow_range": bool(narrow_range)}


@public("quantization.fake_quant_with_min_max_vars")
@public_v1("fake_quant_with_min_max_vars")
def fake_quant_with_min_max_vars(
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """Quantize numbers to a range given by two scalars, and convert them back.

    >>> fake_quant_with_min_max_vars([-1.0, 0.4, 9.0], 0.0, 3.0, num_bits=2).numpy().tolist()
    [0.0, 0.0, 3.0]
    """
    return apply(VARS, (inputs, min, max), _attrs(num_bits, narrow_range), name)


@public("quantization.fake_quant_with_min_max_args")
@public_v1("fake_quant_with_min_max_args")
def fake_quant_with_min_max_args(
    inputs: TensorLike,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """Quantize numbers to a range given by two numbers, and convert them back.

    >>> fake_quant_with_min_max_args([-1.0, 0.4, 9.0], 0.0, 3.0, num_bits=2).numpy().tolist()
    [0.0, 0.0, 3.0]
    """
    bounds = np.float32(min), np.float32(max)
    return apply(VARS, (inputs, *bounds), _attrs(num_bits, narrow_range), name)


@public("quantization.fake_quant_with_min_max_vars_per_channel")
@public_v1("fake_quant_with_min_max_vars_per_channel")
def fake_quant_with_min_max_vars_per_channel(
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """Quantize numbers to ranges of their own for each element of the last axis.

    >>> limits = [0.0, 0.0], [3.0, 6.0]
    >>> fake_quant_with_min_max_vars_per_channel([[5.0, 5.0]], *limits, 2).numpy().tolist()
    [[3.0, 6.0]]
    """
    return apply(PER_CHANNEL, (inputs, min, max), _attrs(num_bits, narrow_range), name)


@public("quantization.fake_quant_with_min_max_vars_gradient")
@public_v1("fake_quant_with_min_max_vars_gradient")
def fake_quant_with_min_max_vars_gradient(
    gradients: TensorLike,
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> list[Tensor]:
    """Gradients of `fake_quant_with_min_max_vars` by its inputs, and by both ends.

    >>> found = fake_quant_with_min_max_vars_gradient([1.0, 1.0], [-1.0, 2.0], 0.0, 3.0)
    >>> [each.numpy().tolist() for each in found]
    [[0.0, 1.0], 1.0, 0.0]
    """
    values = (gradients, inputs, min, max)
    return list(apply(VARS_GRADIENT, values, _attrs(num_bits, narrow_range), name))


@public("quantization.fake_quant_with_min_max_args_gradient")
@public_v1("fake_quant_with_min_max_args_gradient")
def fake_quant_with_min_max_args_gradient(
    gradients: TensorLike,
    inputs: TensorLike,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """Gradient of `fake_quant_with_min_max_args` by its inputs.

    >>> found = fake_quant_with_min_max_args_gradient([1.0, 1.0], [-1.0, 2.0], 0.0, 3.0)
    >>> found.numpy().tolist()
    [0.0, 1.0]
    """
    values = (gradients, inputs, np.float32(min), np.float32(max))
    found: Any = apply(VARS_GRADIENT, values, _attrs(num_bits, narrow_range), name)
    result: Tensor = found[0]
    return result


@public("quantization.fake_quant_with_min_max_vars_per_channel_gradient")
@public_v1("fake_quant_with_min_max_vars_per_channel_gradient")
def fake_quant_with_min_max_vars_per_channel_gradient(
    gradients: TensorLike,
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> list[Tensor]:
    """Gradients of `fake_quant_with_min_max_vars_per_channel` by its inputs, and by all ends.

    >>> given = [[1.0, 1.0]], [[-1.0, 2.0]], [0.0, 0.0], [3.0, 3.0]
    >>> found = fake_quant_with_min_max_vars_per_channel_gradient(*given)
    >>> [each.numpy().tolist() for each in found]
    [[[0.0, 1.0]], [1.0, 0.0], [0.0, 0.0]]
    """
    values = (gradients, inputs, min, max)
    return list(apply(PER_CHANNEL_GRADIENT, values, _attrs(num_bits, narrow_range), name))
