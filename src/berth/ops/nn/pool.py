"""Pooling of sequences, images or volumes, by the rank of the input; and dilated pooling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from berth.ops.arrays.ensure_shape import ensure_shape
from berth.ops.arrays.metadata import axis_size
from berth.ops.compose import convert, scope, type_of
from berth.ops.elementwise.add_n import add_n
from berth.ops.elementwise.arithmetic import maximum
from berth.ops.nn.conv3d import avg_pool3d, max_pool3d
from berth.ops.nn.pooling import avg_pool1d, avg_pool2d, max_pool1d, max_pool2d
from berth.ops.types import Tensor, TensorLike
from berth.public import public_v1, public_v2

_FORMATS = {1: "NWC", 2: "NHWC", 3: "NDHWC"}
_POOLS: dict[str, dict[int, Callable[..., Tensor]]] = {
    "MAX": {1: max_pool1d, 2: max_pool2d, 3: max_pool3d},
    "AVG": {1: avg_pool1d, 2: avg_pool2d, 3: avg_pool3d},
}


@public_v1("nn.max_pool_v2")
@public_v2("nn.max_pool")
def max_pool(
    input: TensorLike,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Max pooling of sequences, images or volumes, by the rank of the input.

    >>> max_pool([[[1.0], [5.0], [2.0]]], 2, 1, "VALID").numpy().tolist()
    [[[5.0], [5.0]]]
    """
    n_axes = _n_spatial_axes(input, data_format)
    pooled = _POOLS["MAX"][n_axes]
    return pooled(input, ksize, strides, padding, data_format or _FORMATS[n_axes], name)


@public_v1("nn.avg_pool_v2")
@public_v2("nn.avg_pool")
def avg_pool(
    input: TensorLike,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Average pooling of sequences, images or volumes, by the rank of the input.

    >>> avg_pool([[[1.0], [5.0], [2.0]]], 2, 1, "VALID").numpy().tolist()
    [[[3.0], [3.5]]]
    """
    n_axes = _n_spatial_axes(input, data_format)
    name = name or ("AvgPool" if n_axes == 2 else None)
    pooled = _POOLS["AVG"][n_axes]
    return pooled(input, ksize, strides, padding, data_format or _FORMATS[n_axes], name)


def _n_spatial_axes(input: Any, data_format: str | None) -> int:
    if data_format is not None and len(data_format) - 2 in _FORMATS:
        return len(data_format) - 2
    dims = np.shape(input) if type_of(input) is None else input.shape.dims_or_none
    rank = None if dims is None else len(dims)
    if rank is None or rank - 2 not in _FORMATS:
        shown = "<unknown>" if dims is None else dims
        raise ValueError(
            "`input.shape.rank` must be 3, 4 or 5. Received: "
            f"input.shape={shown} of rank {rank}."
        )
    return rank - 2


# --- windows with gaps --------------------------------------------------------------------


@public_v2("nn.pool")
def pool(
    input: TensorLike,
    window_shape: Any,
    pooling_type: str,
    strides: Any = None,
    padding: Any = "VALID",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Max (``"MAX"``) or average (``"AVG"``) pooling in one to three dimensions.

    >>> pool([[[1.0], [5.0], [2.0]]], [2], "MAX", dilations=[2]).numpy().tolist()
    [[[2.0]]]
    """
    n_axes = len(window_shape)
    if n_axes not in _FORMATS:
        raise ValueError(
            f"`len(window_shape)` must be 1, 2, or 3. Received: window_shape={window_shape} "
            f"of length {n_axes}"
        )
    steps = _per_axis(strides, "strides", n_axes)
    gaps = _per_axis(dilations, "dilation_rate", n_axes)
    if max(steps) > 1 and max(gaps) > 1:
        raise ValueError(
            "`strides > 1` not supported in conjunction with `dilation_rate > 1`. Received: "
            f"strides={np.array(steps)} and dilation_rate={np.array(gaps)}"
        )
    with scope(f"{pooling_type.lower()}_pool", name) as inner:
        tensor: Any = convert(input, None, "input")
        tensor.shape.with_rank(n_axes + 2)
        if tensor.dims is None:
            tensor = ensure_shape(tensor, [None] * (n_axes + 2))
        if pooling_type not in _POOLS:
            raise ValueError(f"{n_axes}-D {pooling_type} pooling is not supported.")
        wanted = data_format or _FORMATS[n_axes]
        if max(gaps) == 1:
            pooled = _POOLS[pooling_type][n_axes]
            return pooled(tensor, list(window_shape), steps, padding, wanted, inner)
        if padding != "VALID":
            raise ValueError(
                f"pooling with '{padding}' padding is not implemented for `dilation_rate` > 1. "
                f"Received: padding={padding} and dilation_rate={np.array(gaps)}"
            )
        first = 2 if wanted.startswith("NC") else 1
        for axis, (size, gap) in enumerate(zip(window_shape, gaps, strict=True), first):
            tensor = _dilated(tensor, axis, int(size), gap, pooling_type)
        result: Tensor = tensor
        return result


def _per_axis(values: Any, what: str, n_axes: int) -> list[int]:
    """Read strides or dilations: one number for each spatial axis."""
    listed = [1] * n_axes if values is None else [int(value) for value in values]
    if len(listed) != n_axes:
        raise ValueError(
            f"`len({what})` should be {n_axes}. Received: {what}={values} of length "
            f"{len(listed)}"
        )
    if min(listed) < 1:
        raise ValueError(f"all values of {what} must be positive. Received: {what}={values}")
    return listed


def _dilated(tensor: Any, axis: int, size: int, gap: int, pooling_type: str) -> Any:
    """Pool along one axis: the elements of a window are slices of the whole, `gap` apart."""
    n_windows = axis_size(tensor, axis) - (size - 1) * gap
    before = (slice(None),) * axis
    places = [slice(tap * gap, tap * gap + n_windows) for tap in range(size)]
    taps: Sequence[Any] = [tensor.__getitem__((*before, place)) for place in places]
    if pooling_type == "MAX":
        return reduce(maximum, taps)
    return add_n(list(taps)) / size


@public_v1("nn.pool")
def pool_v1(
    input: TensorLike,
    window_shape: Any,
    pooling_type: str,
    padding: Any,
    dilation_rate: Any = None,
    strides: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """Max or average pooling, with TensorFlow 1's argument names.

    >>> pool_v1([[[1.0], [5.0], [2.0]]], [2], "AVG", "VALID").numpy().tolist()
    [[[3.0], [3.5]]]
    """
    gaps = dilation_rate if dilations is None else dilations
    return pool(input, window_shape, pooling_type, strides, padding, data_format, gaps, name)
