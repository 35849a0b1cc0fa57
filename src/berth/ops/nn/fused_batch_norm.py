"""Fused batch normalization and its gradient.

A tensor is processed in blocks of its first axis, so that intermediate values stay in the
cache. Everything is computed in float32, also for float16.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from berth.dtypes import float16, float32
from berth.ops.arrays.array import constant, reshape
from berth.ops.builder import apply
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.roots import rsqrt
from berth.ops.gradient import RecordedOp, gradient, takes_none
from berth.ops.nn.bias import channels_first
from berth.ops.opdef import Attrs, Call, Launch, OpDef, OutputType, Typed, all_devices
from berth.ops.reductions.reduction import reduce_mean, reduce_sum
from berth.ops.rules import ShapeMismatch
from berth.ops.shape import Dims, bracketed
from berth.ops.types import TensorLike
from berth.public import public_v1

_TYPES = (float16, float32)
_BLOCK = 2**16
_LEAST_EPSILON = 1.001e-5
"""What TensorFlow takes for a smaller one, because cuDNN does."""

# --- types --------------------------------------------------------------------------------


def _n_channels(dims: Dims, attrs: Attrs) -> int | None:
    if dims is None:
        return None
    if len(dims) not in (4, 5):
        raise ShapeMismatch(
            f"Shape must be rank 4 but is rank {len(dims)}",
            f"input must be 4 or 5-dimensional{bracketed(dims)}",
        )
    return dims[1 if channels_first(attrs["data_format"]) else -1]


def _check_sizes(n_channels: int | None, named: Sequence[tuple[str, Typed]]) -> int | None:
    """Return the number of channels; ValueError if some parameter has another."""
    for name, vector in named:
        if vector.dims is not None and len(vector.dims) != 1:
            raise ValueError(f"Shape must be rank 1 but is rank {len(vector.dims)}")
        size = None if vector.dims is None else vector.dims[0]
        if n_channels is not None and size not in (n_channels, None):
            raise ShapeMismatch(
                f"Dimensions must be equal, but are {n_channels} and {size}",
                f"{name} must have the same number of elements as the channels of x, got "
                f"{size} and {n_channels}",
            )
        n_channels = size if n_channels is None else n_channels
    return n_channels


def _norm_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    x, scale, offset, mean, variance = inputs
    n_channels = _n_channels(x.dims, attrs)
    named = [("scale", scale), ("offset", offset)]
    if not attrs["is_training"] or attrs["exponential_avg_factor"] != 1:
        named += [("mean", mean), ("variance", variance)]
    channels = (float32, (_check_sizes(n_channels, named),))
    return ((x.dtype.base_dtype, x.dims), *(channels,) * 4, (float32, ()))


def _grad_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    _, x, scale, *_ = inputs
    channels = (float32, (_check_sizes(_n_channels(x.dims, attrs), [("scale", scale)]),))
    return ((x.dtype.base_dtype, x.dims), channels, channels, *((float32, (0,)),) * 2)


# --- by blocks ----------------------------------------------------------------------------


def _folded(dims: Sequence[int], attrs: Attrs) -> tuple[int, ...]:
    """Return a shape with all places in one axis: (examples, channels, places), or
    (examples and places, channels)."""
    if channels_first(attrs["data_format"]):
        return (dims[0], dims[1], math.prod(dims[2:]))
    return (math.prod(dims[:-1]), dims[-1])


def _scratch(
    inputs: Sequence[Typed], outputs: Sequence[OutputType], attrs: Attrs, n_threads: int
) -> Sequence[OutputType]:
    """Scratch memory: a block of the size of a few examples."""
    dims = _folded([size or 0 for size in outputs[0][1] or ()], attrs)
    n_rows = max(1, _BLOCK // max(1, math.prod(dims[1:])))
    return ((float32, (min(n_rows, dims[0]), *dims[1:])),)


class _Blocks:
    """The blocks of a tensor, with reductions and updates by channel."""

    def __init__(self, launch: Launch) -> None:
        self.xp = launch.xp
        [self._room] = launch.scratch
        self._dims = _folded(launch.outputs[0].shape, launch.attrs)
        self.n_channels = self._dims[1]
        self.n_each = math.prod(self._dims) // max(1, self.n_channels)
        """How many elements each channel has."""

    def fold(self, array: Any) -> Any:
        """Return a tensor with all places in one axis."""
        return array.reshape(self._dims)

    def wide(self, vector: Any) -> Any:
        """Return a number for each channel so that it meets the channel's elements."""
        return vector[:, None] if len(self._dims) == 3 else vector

    def each(self, work: Callable[[slice, Any], None]) -> None:
        """Do ``work(rows, block)`` for all rows; the block is as large as these."""
        at_a_time = max(1, len(self._room))
        for start in range(0, self._dims[0], at_a_time):
            stop = min(start + at_a_time, self._dims[0])
            work(slice(start, stop), self._room[: stop - start])

    def total(self, work: Callable[[slice, Any], None]) -> Any:
        """Add up, for each channel, what ``work(rows, block)`` writes to the blocks."""
        xp = self.xp
        total = xp.zeros(self.n_channels, self._room.dtype)
        part = xp.empty_like(total)
        ones = xp.ones(len(self._room), self._room.dtype)

        def add(rows: slice, block: Any) -> None:
            work(rows, block)
            if block.ndim == 2:
                xp.dot(ones[: len(block)], block, part)
            else:
                xp.add.reduce(block, (0, 2), None, part)
            xp.add(total, part, total)

        self.each(add)
        return total


# --- forwards -----------------------------------------------------------------------------


def _bind_norm(launch: Launch) -> Call:
    return _normalize, (launch, _Blocks(launch))


def _normalize(launch: Launch, blocks: _Blocks) -> None:
    xp, attrs = launch.xp, launch.attrs
    _, scale, offset, old_mean, old_variance = launch.inputs
    y, *running, mean, variance, unused = launch.outputs
    x, y = blocks.fold(launch.inputs[0]), blocks.fold(y)
    unused.fill(0)

    def centred(rows: slice, block: Any) -> None:
        xp.subtract(x[rows], blocks.wide(mean), block)

    def squared(rows: slice, block: Any) -> None:
        centred(rows, block)
        xp.multiply(block, block, block)

    if attrs["is_training"]:
        total = blocks.total(lambda rows, block: xp.copyto(block, x[rows]))
        xp.divide(total, blocks.n_each, mean)
        xp.divide(blocks.total(squared), blocks.n_each, variance)
        # The running variance is the unbiased estimate (Bessel's correction).
        unbiased = variance * (blocks.n_each / max(1, blocks.n_each - 1))
        pairs = zip(running, (mean, unbiased), (old_mean, old_variance), strict=True)
        for out, new, old in pairs:
            _mix(xp, out, new, old, attrs["exponential_avg_factor"])
    else:
        given = (old_mean, old_variance) * 2
        for out, statistic in zip((*running, mean, variance), given, strict=True):
            xp.copyto(out, statistic)
    factor = blocks.wide(scale / xp.sqrt(variance + attrs["epsilon"]))

    def write(rows: slice, block: Any) -> None:
        centred(rows, block)
        xp.multiply(block, factor, block)
        xp.add(block, blocks.wide(offset), block)
        xp.copyto(y[rows], block, casting="same_kind")

    blocks.each(write)


def _mix(xp: Any, out: Any, new: Any, old: Any, factor: float) -> None:
    if factor == 1:
        xp.copyto(out, new)
    else:
        xp.copyto(out, new * factor + old * (1 - factor))


FUSED_BATCH_NORM = OpDef(
    "FusedBatchNormV3",
    "x:T scale:U offset:U mean:U variance:U",
    _norm_type,
    types={"T": _TYPES, "U": (float32,)},
    kernels=all_devices(_bind_norm, _TYPES, _scratch),
    samples=(
        "f(4, 2, 2, 3), *channels, **norm, **nhwc",
        "f(4, 3, 2, 2), *channels, **mixed, **nchw",
        "f(4, 2, 2, 3), *channels, **given, **nhwc",
    ),
    large_samples=("images, *wide_channels, **norm, **nhwc",),
)

# --- backwards ----------------------------------------------------------------------------


def _bind_grad(launch: Launch) -> Call:
    return _go_back, (launch, _Blocks(launch))


def _go_back(launch: Launch, blocks: _Blocks) -> None:
    xp = launch.xp
    scale, mean, variance = launch.inputs[2:5]
    dy, x, dx = (blocks.fold(a) for a in (*launch.inputs[:2], launch.outputs[0]))
    inverse = 1 / xp.sqrt(variance + launch.attrs["epsilon"])

    def product(rows: slice, block: Any) -> None:
        xp.subtract(x[rows], blocks.wide(mean), block)
        xp.multiply(block, dy[rows], block)

    by_offset = blocks.total(lambda rows, block: xp.copyto(block, dy[rows]))
    by_scale = blocks.total(product) * inverse
    xp.copyto(launch.outputs[1], by_scale)
    xp.copyto(launch.outputs[2], by_offset)
    is_training = launch.attrs["is_training"]
    n_each = max(1, blocks.n_each)
    slope = blocks.wide(-inverse * by_scale / n_each)
    shift = blocks.wide(by_offset / n_each)
    factor = blocks.wide(scale * inverse)

    def write(rows: slice, block: Any) -> None:
        if is_training:
            xp.subtract(x[rows], blocks.wide(mean), block)
            xp.multiply(block, slope, block)
            xp.add(block, dy[rows], block)
            xp.subtract(block, shift, block)
        else:
            xp.copyto(block, dy[rows])
        xp.multiply(block, factor, block)
        xp.copyto(dx[rows], block, casting="same_kind")

    blocks.each(write)


FUSED_BATCH_NORM_GRAD = OpDef(
    "FusedBatchNormGradV3",
    "y_backprop:T x:T scale:float32 reserve_space_1:U reserve_space_2:U reserve_space_3:U",
    _grad_type,
    types={"T": _TYPES, "U": (float32,)},
    kernels=all_devices(_bind_grad, _TYPES, _scratch),
    samples=(
        "f(4, 2, 2, 3), f(4, 2, 2, 3), *statistics, **norm, **nhwc",
        "f(4, 3, 2, 2), f(4, 3, 2, 2), *statistics, **given, **nchw",
    ),
    large_samples=("images, images, *wide_statistics, **norm, **nhwc",),
)


@gradient(FUSED_BATCH_NORM_GRAD)
def _fused_batch_norm_grad_gradient(
    op: RecordedOp, of_x: Any, of_scale: Any, of_offset: Any, *_: Any
) -> Any:
    """Second-order gradient of batch normalization, in training.

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


# --- what users call ----------------------------------------------------------------------


@public_v1("nn.fused_batch_norm")
def fused_batch_norm(
    x: TensorLike,
    scale: Any,
    offset: Any,
    mean: Any = None,
    variance: Any = None,
    epsilon: float = 0.001,
    data_format: str = "NHWC",
    is_training: bool = True,
    name: str | None = None,
    exponential_avg_factor: float = 1.0,
) -> tuple[Any, Any, Any]:
    """Batch normalization of images by channel; returns also the mean and variance.

    In training by the batch's own, else by those given. What is returned mixes the given
    ones with the batch's own, of which `exponential_avg_factor` is the share.

    >>> x = [[[[1.0], [3.0]]]]
    >>> y, mean, variance = fused_batch_norm(x, [1.0], [5.0], epsilon=0.25)
    >>> mean.numpy().tolist(), variance.numpy().tolist()
    ([2.0], [2.0])
    """
    if (not is_training or exponential_avg_factor != 1) and (mean is None or variance is None):
        raise ValueError(
            "Both `mean` and `variance` must be a 1D tensor when `is_training` is False or "
            f"`exponential_avg_factor` != 1.0. Received: `mean` {mean!r} and `variance` "
            f"{variance!r}"
        )
    attrs = {
        "epsilon": max(float(epsilon), _LEAST_EPSILON),
        "exponential_avg_factor": float(exponential_avg_factor),
        "data_format": data_format,
        "is_training": bool(is_training),
    }
    mean = constant([], float32) if mean is None else mean
    variance = constant([], float32) if variance is None else variance
    inputs = (x, scale, offset, mean, variance)
    y, running_mean, running_variance, *_ = apply(FUSED_BATCH_NORM, inputs, attrs, name)
    return y, running_mean, running_variance


@takes_none
@gradient(FUSED_BATCH_NORM)
def _fused_batch_norm_gradient(op: RecordedOp, grad: Any, *others: Any) -> Any:
    """Gradient through the normalized tensor only, as in TensorFlow."""
    if grad is None:
        return (None,) * 5
    x, scale = op.inputs[:2]
    statistics = op.outputs[3:5] if op.attrs["is_training"] else op.inputs[3:5]
    wanted = ("epsilon", "data_format", "is_training")
    attrs = {name: op.attrs[name] for name in wanted}
    inputs = (grad, x, scale, *statistics, op.outputs[5])
    of_x, of_scale, of_offset, *_ = apply(FUSED_BATCH_NORM_GRAD, inputs, attrs)
    return of_x, of_scale, of_offset, None, None
