"""Shape rules and checks of 2-D convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from berth.errors import InvalidArgumentError, UnimplementedError
from berth.ops.nn.windows import (
    channel_axis,
    check_fit,
    check_windows,
    spatial_axes,
    window_dims,
    windows_along,
    with_channels,
)
from berth.ops.opdef import Attrs, OutputType, Typed
from berth.ops.rules import ShapeMismatch, check_rank, shape_of_value
from berth.ops.shape import Dims, bracketed

# --- shape rules --------------------------------------------------------------------------


def check_images(dims: Dims, what: str = "input") -> None:
    """Raise ValueError unless a shape can be that of images, or of a filter."""
    if dims is not None and len(dims) != 4:
        raise ShapeMismatch(
            f"Shape must be rank 4 but is rank {len(dims)}",
            f"convolution {what} must be 4-dimensional: {bracketed(dims)}",
        )


def convolved_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    """Type and shape of a convolution."""
    images, filters = inputs
    check_windows(attrs)
    check_images(images.dims)
    check_images(filters.dims, "filter")
    sizes = (None,) * 4 if filters.dims is None else filters.dims
    _check_depth(images.dims, sizes, attrs)
    batch = None if images.dims is None else images.dims[0]
    rows, columns = window_dims(images.dims, sizes[:2], attrs)
    return ((images.dtype.base_dtype, with_channels((batch, rows, columns), sizes[3], attrs)),)


def check_filter_fits(inputs: Sequence[Typed], attrs: Attrs) -> None:
    """Raise ValueError if a filter is larger than the images it is moved over."""
    images, filters = inputs
    if filters.dims is not None:
        check_fit(images.dims, filters.dims[:2], attrs)


def _check_depth(dims: Dims, sizes: Sequence[int | None], attrs: Attrs) -> None:
    """Raise ValueError unless the input's channels form groups that the filter fits."""
    depth = None if dims is None else dims[channel_axis(attrs)]
    if sizes[2] == 0:
        raise ShapeMismatch(
            "Depth of filter must not be 0", "filter depth must be stricly positive, got 0"
        )
    if depth is None or sizes[2] is None:
        return
    if depth % sizes[2]:
        raise ShapeMismatch(
            f"Depth of input ({depth}) is not a multiple of input depth of filter ({sizes[2]})",
            f"input depth must be evenly divisible by filter depth: {depth} vs {sizes[2]}",
        )
    n_groups = depth // sizes[2]
    if sizes[3] is not None and n_groups and sizes[3] % n_groups:
        raise ShapeMismatch(
            f"Depth of output ({sizes[3]}) is not a multiple of the number of groups "
            f"({n_groups})",
            "output depth must be evenly divisible by number of groups: "
            f"{sizes[3]} vs {n_groups}",
        )


def input_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    """Type and shape of the gradient of a convolution's input."""
    sizes, filters, grads = inputs
    check_windows(attrs)
    check_images(filters.dims, "filter")
    check_images(grads.dims, "out_backprop")
    dims = shape_of_value(sizes)
    if dims is not None and len(dims) not in (2, 4):
        raise ValueError(
            "Conv2DBackpropInput requires input_sizes to contain 4 values or 2 values, "
            f"but got: {len(dims)}"
        )
    if dims is not None and len(dims) == 2:
        batch = None if grads.dims is None else grads.dims[0]
        channels = None if filters.dims is None else filters.dims[2]
        dims = with_channels((batch, *dims), channels, attrs)
    _check_same(
        None if grads.dims is None else grads.dims[channel_axis(attrs)],
        None if filters.dims is None else filters.dims[3],
        "Conv2DCustomBackpropInput: filter and out_backprop must have the same out_depth",
    )
    if dims is not None and grads.dims is not None:
        _check_same(
            dims[0],
            grads.dims[0],
            "Conv2DCustomBackpropInput: input and out_backprop must have the same batch size. "
            f"Input batch: {dims[0]}, outbackprop batch: {grads.dims[0]}, batch_dim: 0",
        )
    return ((grads.dtype.base_dtype, dims or (None,) * 4),)


def _check_same(a: int | None, b: int | None, at_run: str) -> None:
    if a != b and None not in (a, b):
        raise ShapeMismatch(f"Dimensions must be equal, but are {a} and {b}", at_run)


def filter_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    """Type and shape of the gradient of a convolution's filter."""
    images, sizes, grads = inputs
    check_windows(attrs)
    check_images(images.dims)
    check_images(grads.dims, "out_backprop")
    dims = shape_of_value(sizes)
    check_rank(dims, 4)
    return ((images.dtype.base_dtype, dims or (None,) * 4),)


# --- checks that wait for a run -----------------------------------------------------------


def check_supported(attrs: Attrs) -> None:
    """Raise UnimplementedError for strides or dilations of the batch or the channels."""
    channel = channel_axis(attrs)
    for kind in ("strides", "dilations"):
        if attrs[kind][0] != 1 or attrs[kind][channel] != 1:
            message = (
                f"Current implementation does not yet support {kind} in the batch and depth "
                "dimensions."
            )
            raise UnimplementedError(None, None, message)


def check_arrived(
    what: str, image_dims: Sequence[int], sizes: Sequence[int], grads: Any, attrs: Attrs
) -> None:
    """Raise InvalidArgumentError unless gradients have the shape of the output."""
    for axis, size in zip(spatial_axes(attrs), sizes, strict=True):
        n_out, _ = windows_along(axis, image_dims[axis], size, attrs)
        if n_out != grads.shape[axis]:
            message = (
                f"{what}: Size of out_backprop doesn't match computed: actual = "
                f"{grads.shape[axis]}, computed = {n_out} spatial_dim: {axis} input: "
                f"{image_dims[axis]} filter: {size} output: {grads.shape[axis]} stride: "
                f"{attrs['strides'][axis]} dilation: {attrs['dilations'][axis]}"
            )
            raise InvalidArgumentError(None, None, message)
