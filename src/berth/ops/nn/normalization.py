"""Moments, batch normalization and layer normalization.

Composed of other operations; batch normalization in one operation is in `fused_batch_norm`.
"""

from __future__ import annotations

import math
from typing import Any

from berth.dtypes import float16, float32
from berth.ops.arrays.array import constant, either_name, squeeze, stop_gradient
from berth.ops.arrays.filling import zeros_like
from berth.ops.arrays.gathering import gather
from berth.ops.arrays.metadata import shape
from berth.ops.compose import convert, is_integer, scope
from berth.ops.elementwise.arithmetic import add, multiply, squared_difference, subtract
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.division import divide_no_nan
from berth.ops.elementwise.roots import reciprocal, rsqrt
from berth.ops.elementwise.unary import negative, square
from berth.ops.reductions.reduction import reduce_mean, reduce_prod, reduce_sum
from berth.ops.shape import is_known
from berth.ops.types import AxisLike, Tensor, TensorLike
from berth.public import public, public_v1, public_v2

# --- moments ------------------------------------------------------------------------------


def _wide(x: Tensor) -> Tensor:
    """Return the tensor to compute in: float16 is not precise enough for long sums."""
    return cast(x, float32) if x.dtype.base_dtype is float16 else x


def _listed(axes: Any) -> list[int]:
    return [int(axes)] if is_integer(axes) else [int(axis) for axis in axes]


@public_v2("nn.moments")
def moments(
    x: TensorLike,
    axes: AxisLike,
    shift: Any = None,
    keepdims: bool = False,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Mean and variance along axes. `shift` is accepted for older programs, and not used.

    >>> mean, variance = moments([[1.0, 2.0], [3.0, 2.0]], [0])
    >>> mean.numpy().tolist(), variance.numpy().tolist()
    ([2.0, 2.0], [1.0, 0.0])
    """
    axes = _listed(axes)
    with scope("moments", name):
        x = convert(x, None, "x")
        dtype, x = x.dtype.base_dtype, _wide(x)
        mean = reduce_mean(x, axes, keepdims=True, name="mean")
        # The mean's share in the variance's gradient is 0.
        spread = squared_difference(x, stop_gradient(mean))
        variance = reduce_mean(spread, axes, keepdims=True, name="variance")
        return _both(mean, variance, axes if not keepdims else None, dtype)


def _both(mean: Any, variance: Any, dropped: list[int] | None, dtype: Any) -> tuple[Any, Any]:
    if dropped:
        mean, variance = squeeze(mean, dropped), squeeze(variance, dropped)
    return cast(mean, dtype), cast(variance, dtype)


@public_v1("nn.moments")
def moments_v1(
    x: TensorLike,
    axes: AxisLike,
    shift: Any = None,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Any, Any]:
    """Mean and variance along axes, with TensorFlow 1's argument order.

    >>> moments_v1([1.0, 3.0], [0], keep_dims=True)[0].numpy().tolist()
    [2.0]
    """
    keepdims = either_name("keepdims", keepdims, "keep_dims", keep_dims)
    return moments(x, axes, shift, bool(keepdims), name)


@public_v2("nn.weighted_moments")
def weighted_moments(
    x: TensorLike,
    axes: AxisLike,
    frequency_weights: Any,
    keepdims: bool = False,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Weighted mean and variance along axes.

    >>> mean, variance = weighted_moments([1.0, 5.0], [0], [3.0, 1.0])
    >>> mean.numpy().item(), variance.numpy().item()
    (2.0, 3.0)
    """
    axes = _listed(axes)
    with scope("weighted_moments", name):
        x = convert(x, None, "x")
        weights = convert(frequency_weights, None, "frequency_weights")
        dtype, x = x.dtype.base_dtype, _wide(x)
        weights = cast(weights, x.dtype.base_dtype)
        total = reduce_sum(multiply(weights, x), axes, True, name="weighted_input_sum")
        count = reduce_sum(add(weights, zeros_like(x)), axes, True, name="sum_of_weights")
        mean = divide_no_nan(total, count)
        spread = multiply(weights, squared_difference(x, mean))
        variance = divide_no_nan(reduce_sum(spread, axes, True, name="weighted_distsq"), count)
        return _both(mean, variance, axes if not keepdims else None, dtype)


@public_v1("nn.weighted_moments")
def weighted_moments_v1(
    x: TensorLike,
    axes: AxisLike,
    frequency_weights: Any,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Any, Any]:
    """Weighted mean and variance along axes, with TensorFlow 1's argument names.

    >>> weighted_moments_v1([1.0, 5.0], [0], [3.0, 1.0])[0].numpy().item()
    2.0
    """
    keepdims = either_name("keepdims", keepdims, "keep_dims", keep_dims)
    return weighted_moments(x, axes, frequency_weights, bool(keepdims), name)


@public_v2("nn.sufficient_statistics")
def sufficient_statistics(
    x: TensorLike,
    axes: AxisLike,
    shift: Any = None,
    keepdims: bool = False,
    name: str | None = None,
) -> tuple[Any, Any, Any, Any]:
    """Sufficient statistics for mean and variance: count, sum, sum of squares, shift.

    Both sums are those of x less the shift.

    >>> count, total, squares, _ = sufficient_statistics([1.0, 2.0, 3.0], [0])
    >>> count.numpy().item(), total.numpy().item(), squares.numpy().item()
    (3.0, 6.0, 14.0)
    """
    axes = sorted(set(_listed(axes)))
    with scope("sufficient_statistics", name):
        x = convert(x, None, "x")
        dtype = x.dtype.base_dtype
        sizes = None if x.dims is None else tuple(x.dims[axis] for axis in axes)
        if is_known(sizes):
            count = constant(math.prod(sizes), dtype)
        else:
            count = reduce_prod(gather(cast(shape(x), dtype), axes), name="count")
        if shift is None:
            first, second = x, square(x)
        else:
            shift = convert(shift, dtype, "shift")
            first, second = subtract(x, shift), squared_difference(x, shift)
        total = reduce_sum(first, axes, keepdims, name="mean_ss")
        return count, total, reduce_sum(second, axes, keepdims, name="var_ss"), shift


@public_v1("nn.sufficient_statistics")
def sufficient_statistics_v1(
    x: TensorLike,
    axes: AxisLike,
    shift: Any = None,
    keep_dims: bool | None = None,
    name: str | None = None,
    keepdims: bool | None = None,
) -> tuple[Any, Any, Any, Any]:
    """Sufficient statistics for mean and variance, with TensorFlow 1's argument names.

    >>> sufficient_statistics_v1([1.0, 2.0, 3.0], [0])[1].numpy().item()
    6.0
    """
    keepdims = either_name("keepdims", keepdims, "keep_dims", keep_dims)
    return sufficient_statistics(x, axes, shift, bool(keepdims), name)


@public("nn.normalize_moments")
def normalize_moments(
    counts: Any, mean_ss: Any, variance_ss: Any, shift: Any, name: str | None = None
) -> tuple[Any, Any]:
    """Mean and variance from sufficient statistics.

    >>> mean, variance = normalize_moments(2.0, 6.0, 20.0, None)
    >>> mean.numpy().item(), variance.numpy().item()
    (3.0, 1.0)
    """
    with scope("normalize", name):
        divisor = reciprocal(counts, name="divisor")
        shifted = multiply(mean_ss, divisor, name="mean" if shift is None else "shifted_mean")
        mean = shifted if shift is None else add(shifted, shift, name="mean")
        squares = multiply(variance_ss, divisor)
        return mean, subtract(squares, square(shifted), name="variance")


# --- normalization ------------------------------------------------------------------------


@public("nn.batch_normalization")
def batch_normalization(
    x: TensorLike,
    mean: Any,
    variance: Any,
    offset: Any,
    scale: Any,
    variance_epsilon: Any,
    name: str | None = None,
) -> Tensor:
    """Batch normalization: (x - mean) / √(variance + epsilon) * scale + offset.

    >>> batch_normalization([1.0, 5.0], 3.0, 4.0, None, None, 0.0).numpy().tolist()
    [-1.0, 1.0]
    """
    with scope("batchnorm", name):
        x = convert(x, None, "x")
        variance = convert(variance, None, "variance")
        factor = rsqrt(add(variance, variance_epsilon, name="add"))
        if scale is not None:
            factor = multiply(factor, scale, name="mul")
        moved = multiply(mean, factor)
        moved = negative(moved) if offset is None else subtract(offset, moved)
        dtype = x.dtype.base_dtype
        return add(multiply(x, cast(factor, dtype)), cast(moved, dtype))


@public_v2("nn.batch_norm_with_global_normalization")
def batch_norm_with_global_normalization(
    input: TensorLike,
    mean: Any,
    variance: Any,
    beta: Any,
    gamma: Any,
    variance_epsilon: Any,
    scale_after_normalization: bool,
    name: str | None = None,
) -> Tensor:
    """Batch normalization, scaled by `gamma` only on request.

    >>> batch_norm_with_global_normalization(
    ...     [5.0], 3.0, 4.0, 0.5, 9.0, 0.0, scale_after_normalization=False).numpy().tolist()
    [1.5]
    """
    scale = gamma if scale_after_normalization else None
    return batch_normalization(input, mean, variance, beta, scale, variance_epsilon, name)


@public_v1("nn.batch_norm_with_global_normalization")
def batch_norm_with_global_normalization_v1(
    t: Any = None,
    m: Any = None,
    v: Any = None,
    beta: Any = None,
    gamma: Any = None,
    variance_epsilon: Any = None,
    scale_after_normalization: bool | None = None,
    name: str | None = None,
    input: TensorLike | None = None,
    mean: Any = None,
    variance: Any = None,
) -> Tensor:
    """Batch normalization, with TensorFlow 1's argument names.

    >>> batch_norm_with_global_normalization_v1(
    ...     [5.0], 3.0, 4.0, 0.5, 9.0, 0.0, True).numpy().tolist()
    [9.5]
    """
    return batch_norm_with_global_normalization(
        either_name("t", t, "input", input),
        either_name("m", m, "mean", mean),
        either_name("v", v, "variance", variance),
        beta,
        gamma,
        variance_epsilon,
        bool(scale_after_normalization),
        name,
    )


def layer_normalization(
    x: Any,
    scale: Any = None,
    offset: Any = None,
    axis: Any = -1,
    epsilon: float = 1e-3,
    name: str | None = None,
) -> Any:
    """Layer normalization: zero mean and unit variance for each example.

    TensorFlow has it as a layer of Keras only; the defaults are that layer's.

    >>> layer_normalization([[1.0, 3.0], [5.0, 5.0]], epsilon=1e-12).numpy().tolist()
    [[-1.0, 1.0], [0.0, 0.0]]
    """
    with scope("layer_normalization", name):
        x = convert(x, None, "x")
        wide = _wide(x)
        mean, variance = moments(wide, axis, keepdims=True)
        normal = cast(multiply(subtract(wide, mean), rsqrt(variance + epsilon)), x.dtype)
        scaled = normal if scale is None else multiply(normal, scale)
        return scaled if offset is None else add(scaled, offset)
