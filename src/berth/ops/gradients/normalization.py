"""Gradients of biases and of batch normalization."""

from __future__ import annotations

from typing import Any

from berth.ops.arrays.array import reshape
from berth.ops.arrays.broadcasting import broadcast_to
from berth.ops.arrays.filling import ones_like
from berth.ops.arrays.joining import concat
from berth.ops.arrays.metadata import shape
from berth.ops.builder import apply
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.unary import rsqrt
from berth.ops.gradient import RecordedOp, gradient, takes_none
from berth.ops.nn.bias import BIAS_ADD, BIAS_ADD_GRAD, channels_first
from berth.ops.nn.fused_batch_norm import FUSED_BATCH_NORM, FUSED_BATCH_NORM_GRAD
from berth.ops.reductions.reduction import reduce_mean, reduce_sum

# --- biases -------------------------------------------------------------------------------


@gradient(BIAS_ADD)
def _bias_add(op: RecordedOp, grad: Any) -> Any:
    return grad, lambda: apply(BIAS_ADD_GRAD, (grad,), op.attrs)


@gradient(BIAS_ADD_GRAD)
def _bias_add_grad(op: RecordedOp, grad: Any) -> Any:
    sizes = shape(op.inputs[0])
    if channels_first(op.attrs["data_format"]):
        grad = reshape(grad, concat([[-1], ones_like(sizes[2:])], 0))
    return broadcast_to(grad, sizes)


# --- batch normalization ------------------------------------------------------------------


@takes_none
@gradient(FUSED_BATCH_NORM)
def _fused_batch_norm(op: RecordedOp, grad: Any, *others: Any) -> Any:
    """Go back from the normalized tensor only, as TensorFlow does."""
    if grad is None:
        return (None,) * 5
    x, scale = op.inputs[:2]
    statistics = op.outputs[3:5] if op.attrs["is_training"] else op.inputs[3:5]
    wanted = ("epsilon", "data_format", "is_training")
    attrs = {name: op.attrs[name] for name in wanted}
    inputs = (grad, x, scale, *statistics, op.outputs[5])
    of_x, of_scale, of_offset, *_ = apply(FUSED_BATCH_NORM_GRAD, inputs, attrs)
    return of_x, of_scale, of_offset, None, None


@gradient(FUSED_BATCH_NORM_GRAD)
def _fused_batch_norm_grad(
    op: RecordedOp, of_x: Any, of_scale: Any, of_offset: Any, *_: Any
) -> Any:
    """Go back from the gradients that the batch's normalization has.

    Mean and variance count as what they are in training: functions of x.
    """
    dtype = op.inputs[1].dtype.base_dtype
    view = _Channels(op)
    dy, x, g = view.dy, view.normal, cast(of_x, of_scale.dtype)
    scale, inverse, mean, wide = view.scale, view.inverse, view.mean, view.wide
    of_scale, of_offset = wide(of_scale), wide(of_offset)
    if not op.attrs["is_training"]:
        to_dy = g * scale * inverse + of_scale * x + of_offset
        to_x = of_scale * dy * inverse
        to_scale = reduce_sum(g * dy * inverse, view.axes)
        return cast(to_dy, dtype), cast(to_x, dtype), to_scale, None, None, None

    def project(v: Any) -> Any:
        """Take away from v what changes a channel's mean, or its variance."""
        return v - mean(v) - x * mean(v * x)

    projected = project(dy)
    to_dy = scale * inverse * project(g) + of_scale * x + of_offset
    to_normal = of_scale * dy - scale * inverse * (g * mean(dy * x) + dy * mean(g * x))
    to_inverse = scale * mean(g * projected)
    to_x = inverse * (project(to_normal) - inverse * to_inverse * x)
    to_scale = reduce_sum(g * projected * inverse, view.axes)
    return cast(to_dy, dtype), cast(to_x, dtype), to_scale, None, None, None


class _Channels:
    """The inputs of a gradient of batch normalization, wide enough to be multiplied."""

    def __init__(self, op: RecordedOp) -> None:
        dy, x, scale, mean, variance, _ = op.inputs
        rank = len(op.attrs["data_format"]) if x.dims is None else len(x.dims)
        is_first = channels_first(op.attrs["data_format"])
        channel = 1 if is_first else rank - 1
        self._n_places = rank - 2 if is_first else 0
        self.axes = [axis for axis in range(rank) if axis != channel]
        self.dy = cast(dy, scale.dtype)
        self.scale = self.wide(scale)
        self.inverse = rsqrt(self.wide(variance) + op.attrs["epsilon"])
        self.normal = (cast(x, scale.dtype) - self.wide(mean)) * self.inverse

    def wide(self, vector: Any) -> Any:
        """Return a number for each channel so that it meets the channel's elements."""
        return reshape(vector, [-1] + [1] * self._n_places) if self._n_places else vector

    def mean(self, v: Any) -> Any:
        """Return the mean of each channel, as wide."""
        return reduce_mean(v, self.axes, keepdims=True)
