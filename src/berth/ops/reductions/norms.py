"""Norms of vectors and matrices, normalization, and clipping by norm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from berth.dtypes import COMPLEX, float32
from berth.ops.arrays.array import either_name, identity, squeeze
from berth.ops.arrays.filling import ones_like, zeros, zeros_like
from berth.ops.arrays.filling import range as range_of
from berth.ops.arrays.gathering import where_v2
from berth.ops.arrays.indexed_slices import IndexedSlices
from berth.ops.arrays.metadata import rank, size
from berth.ops.arrays.transpose import transpose
from berth.ops.compose import convert, is_integer, scope
from berth.ops.elementwise.add_n import add_n
from berth.ops.elementwise.arithmetic import divide, maximum, minimum, multiply, pow
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.compare import greater
from berth.ops.elementwise.complex_numbers import complex, real
from berth.ops.elementwise.roots import rsqrt, sqrt
from berth.ops.elementwise.unary import abs, conj, is_finite, square
from berth.ops.linalg.decompositions import svd
from berth.ops.reductions.reduction import reduce_max, reduce_sum
from berth.ops.types import AxisLike, Tensor, TensorLike
from berth.public import public, public_v1, public_v2

# --- norms --------------------------------------------------------------------------------

_MATRIX_NORMS = ["euclidean", "fro", 1, 2, np.inf]
_VECTOR_NORMS = ["euclidean", 1, 2, np.inf]


@public_v2("norm", "linalg.norm")
def norm(
    tensor: TensorLike,
    ord: Any = "euclidean",
    axis: AxisLike = None,
    keepdims: bool | None = None,
    name: str | None = None,
) -> Tensor:
    """Norm of vectors along an axis, of matrices along two, or of all elements.

    >>> norm([3.0, 4.0]).numpy().tolist()
    5.0
    >>> norm([[1.0, -2.0], [3.0, 4.0]], ord=1, axis=1).numpy().tolist()
    [3.0, 7.0]
    """
    axes = _read_axes(axis, ord)
    with scope("norm", name):
        tensor = convert(tensor)
        if axes is None or len(axes) == 1:
            result = _vector_norm(tensor, ord, axes)
        else:
            result = _matrix_norm(tensor, ord, axes)
        return result if keepdims else squeeze(result, axes)


@public_v1("norm", "linalg.norm")
def norm_v1(
    tensor: TensorLike,
    ord: Any = "euclidean",
    axis: AxisLike = None,
    keepdims: bool | None = None,
    name: str | None = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Norm of vectors, matrices or tensors, with TensorFlow 1's argument names.

    >>> norm_v1([3.0, 4.0], keep_dims=True).numpy().tolist()
    [5.0]
    """
    keepdims = either_name("keepdims", keepdims, "keep_dims", keep_dims)
    return norm(tensor, ord, axis, keepdims, name)


def _read_axes(axis: Any, ord: Any) -> list[int] | None:
    """Read the axes of a norm; ValueError if there is no such norm."""
    if isinstance(axis, tuple | list):
        if len(axis) != 2 or axis[0] == axis[1]:
            raise ValueError(
                "'axis' must be None, an integer, or a tuple of 2 unique integers, got "
                f"{tuple(axis)}"
            )
        if ord not in _MATRIX_NORMS:
            raise ValueError(
                f"'ord' must be a supported matrix norm in {_MATRIX_NORMS}, got {ord}"
            )
        return [int(a) for a in axis]
    if axis is not None and not is_integer(axis):
        raise ValueError(
            f"'axis' must be None, an integer, or a tuple of 2 unique integers, got {axis}"
        )
    is_power = not isinstance(ord, str) and ord > 0
    if ord not in _VECTOR_NORMS and not is_power:
        raise ValueError(f"'ord' must be a supported vector norm, got {ord}")
    return None if axis is None else [int(axis)]


def _vector_norm(tensor: Any, ord: Any, axes: Any) -> Any:
    if ord in ("euclidean", 2):
        return sqrt(reduce_sum(tensor * conj(tensor), axes, keepdims=True))
    sizes = abs(tensor)
    if ord == 1:
        return reduce_sum(sizes, axes, keepdims=True)
    if ord == np.inf:
        return reduce_max(sizes, axes, keepdims=True)
    power = sizes.dtype.np_dtype.type(ord)
    return pow(reduce_sum(pow(sizes, power), axes, keepdims=True), 1 / power)


def _matrix_norm(tensor: Any, ord: Any, axes: list[int]) -> Any:
    if ord in ("euclidean", "fro"):
        return sqrt(reduce_sum(tensor * conj(tensor), axes, keepdims=True))
    if ord == 2:
        return _largest_singular_value(tensor, axes)
    rows, columns = axes if ord == 1 else axes[::-1]
    sums = reduce_sum(abs(tensor), rows, keepdims=True)
    return reduce_max(sums, columns, keepdims=True)


def _largest_singular_value(tensor: Any, axes: list[int]) -> Any:
    n_axes = rank(tensor) if tensor.dims is None else len(tensor.dims)
    if not isinstance(n_axes, int):
        raise ValueError("The spectral norm needs a tensor of known rank.")
    positions = [axis % n_axes for axis in axes]
    order = [axis for axis in range(n_axes) if axis not in positions] + positions
    values = svd(transpose(tensor, order), compute_uv=False)
    largest = reduce_max(values, -1, keepdims=True)[..., None]
    return transpose(largest, np.argsort(order).astype(np.int32))


@public("linalg.normalize")
def normalize(
    tensor: TensorLike, ord: Any = "euclidean", axis: AxisLike = None, name: str | None = None
) -> tuple[Any, Any]:
    """Normalize a tensor by its norm along an axis; returns the result and the norm.

    >>> normalize([3.0, 4.0])[1].numpy().tolist()
    [5.0]
    """
    with scope("normalize", name):
        tensor = convert(tensor)
        length = norm(tensor, ord, axis, keepdims=True)
        return tensor / cast(length, tensor.dtype.base_dtype), length


@public("linalg.l2_normalize", "math.l2_normalize", "nn.l2_normalize")
def l2_normalize(
    x: TensorLike,
    axis: AxisLike = None,
    epsilon: float = 1e-12,
    name: str | None = None,
    dim: Any = None,
) -> Tensor:
    """L2-normalize a tensor along axes: x / sqrt(max(sum(x ** 2), epsilon)).

    >>> l2_normalize([[3.0, 4.0], [0.0, 0.0]], axis=1).numpy().round(6).tolist()[1]
    [0.0, 0.0]
    """
    axis = either_name("axis", axis, "dim", dim)
    with scope("l2_normalize", name) as inner:
        x = convert(x, None, "x")
        if x.dtype.base_dtype in COMPLEX:
            total = reduce_sum(real(x * conj(x)), axis, keepdims=True)
            inverse = rsqrt(maximum(total, epsilon))
            return multiply(x, complex(inverse, zeros_like(inverse)), name=inner)
        total = reduce_sum(square(x), axis, keepdims=True)
        return multiply(x, rsqrt(maximum(total, epsilon)), name=inner)


# --- clipping -----------------------------------------------------------------------------


def _values(tensor: Any) -> Any:
    return tensor.values if isinstance(tensor, IndexedSlices) else tensor


def _with_values(tensor: Any, values: Tensor) -> Any:
    """Return IndexedSlices with other values, or the values."""
    if isinstance(tensor, IndexedSlices):
        return IndexedSlices(values, tensor.indices, tensor.dense_shape)
    return values


@public("clip_by_norm")
def clip_by_norm(t: Any, clip_norm: Any, axes: AxisLike = None, name: str | None = None) -> Any:
    """Clip a tensor, or its vectors along axes, to a maximum L2 norm.

    >>> clip_by_norm([3.0, 4.0], 2.5).numpy().tolist()
    [1.5, 2.0]
    """
    with scope("clip_by_norm", name) as inner:
        values = convert(_values(t), None, "t")
        total = reduce_sum(multiply(values, values), axes, keepdims=True)
        is_positive = greater(total, zeros_like(total))
        # the derivative of the root is infinite at 0
        root = sqrt(where_v2(is_positive, total, ones_like(total)))
        length = where_v2(is_positive, root, total)
        limit = maximum(convert(clip_norm, values.dtype.base_dtype, "clip_norm"), 0)
        longer = multiply(values, limit)
        clipped = identity(divide(longer, maximum(length, limit)), name=inner)
        return _with_values(t, clipped)


@public_v1("clip_by_average_norm")
def clip_by_average_norm(t: Any, clip_norm: Any, name: str | None = None) -> Tensor:
    """Clip a tensor to a maximum average L2 norm per element.

    >>> clip_by_average_norm([3.0, 4.0], 1.25).numpy().tolist()
    [1.5, 2.0]
    """
    with scope("clip_by_average_norm", name) as inner:
        values = convert(t, None, "t")
        n_elements = cast(size(values), values.dtype.base_dtype)
        inverse = rsqrt(reduce_sum(multiply(values, values), range_of(rank(values))))
        limit = divide(convert(1.0, values.dtype.base_dtype), clip_norm)
        scale = minimum(multiply(inverse, n_elements), limit)
        return identity(multiply(values, multiply(scale, clip_norm)), name=inner)


@public("linalg.global_norm")
@public_v1("global_norm")
def global_norm(t_list: Any, name: str | None = None) -> Tensor:
    """Global L2 norm of several tensors; None is ignored.

    >>> global_norm([[3.0, 4.0], [12.0]]).numpy().tolist()
    13.0
    """
    tensors = _read_list(t_list)
    with scope("global_norm", name) as inner:
        values = [convert(_values(tensor)) for tensor in tensors if tensor is not None]
        if not values:
            return zeros([], float32, name=inner)
        totals = [reduce_sum(multiply(value, value)) for value in values]
        return sqrt(add_n(totals), name=inner)


@public("clip_by_global_norm")
def clip_by_global_norm(
    t_list: Any, clip_norm: Any, use_norm: Any = None, name: str | None = None
) -> tuple[list[Any], Any]:
    """Clip several tensors by their global norm; returns them and the norm.

    >>> clip_by_global_norm([[3.0, 4.0]], 2.5)[0][0].numpy().tolist()
    [1.5, 2.0]
    """
    tensors = _read_list(t_list)
    length = global_norm(tensors, name) if use_norm is None else convert(use_norm)
    with scope("clip_by_global_norm", name):
        dtype = length.dtype.base_dtype
        limit = convert(clip_norm, dtype)
        one = convert(1.0, dtype)
        scale = limit * minimum(one / length, one / limit)
        # an infinite norm leaves NaN everywhere
        scale = where_v2(is_finite(length), scale, dtype.np_dtype.type("nan"))
        clipped = [
            None if tensor is None else _with_values(tensor, multiply(_values(tensor), scale))
            for tensor in tensors
        ]
        return clipped, length


def _read_list(t_list: Any) -> list[Any]:
    if not isinstance(t_list, Sequence) or isinstance(t_list, str):
        raise TypeError(f"`t_list` should be a sequence of tensors. Received {type(t_list)}.")
    return list(t_list)
