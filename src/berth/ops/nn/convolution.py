"""Convolutions in one, two or three dimensions by the rank of the filters, and atrous ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from berth.ops.arrays.array import either_name, reshape
from berth.ops.arrays.metadata import axis_size
from berth.ops.compose import convert, is_tensor, scope
from berth.ops.nn.conv1d import conv1d, conv1d_transpose
from berth.ops.nn.conv2d import conv2d, conv2d_transpose
from berth.ops.nn.conv3d import conv3d
from berth.ops.nn.conv3d_transpose import conv3d_transpose
from berth.ops.nn.windows import spread
from berth.ops.types import Tensor, TensorLike
from berth.public import public, public_v1, public_v2

_FORMATS = {1: "NWC", 2: "NHWC", 3: "NDHWC"}


@public("nn.atrous_conv2d")
def atrous_conv2d(
    value: TensorLike, filters: TensorLike, rate: int, padding: Any, name: str | None = None
) -> Tensor:
    """Atrous (dilated) 2-D convolution.

    >>> image = [[[[1.0], [2.0], [3.0]]]]
    >>> atrous_conv2d(image, [[[[1.0]], [[10.0]]]], 2, "VALID").numpy().tolist()
    [[[[31.0]]]]
    """
    return conv2d(value, filters, 1, padding, "NHWC", rate, name or "convolution")


@public("nn.atrous_conv2d_transpose")
def atrous_conv2d_transpose(
    value: TensorLike,
    filters: TensorLike,
    output_shape: Any,
    rate: int,
    padding: Any,
    name: str | None = None,
) -> Tensor:
    """Transpose of atrous 2-D convolution: the gradient of `atrous_conv2d` by its input.

    >>> image, filters = [[[[1.0]]]], [[[[1.0]], [[10.0]]]]
    >>> atrous_conv2d_transpose(image, filters, [1, 1, 3, 1], 2, "VALID").numpy().tolist()
    [[[[1.0], [0.0], [10.0]]]]
    """
    with scope("atrous_conv2d_transpose", name) as inner:
        return conv2d_transpose(value, filters, output_shape, 1, padding, "NHWC", rate, inner)


@public_v2("nn.convolution")
def convolution(
    input: TensorLike,
    filters: TensorLike,
    strides: Any = None,
    padding: Any = "VALID",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """1-D, 2-D or 3-D convolution, by the rank of the filters.

    There may be several batch axes.

    >>> convolution([[[1.0], [2.0]]], [[[1.0]], [[10.0]]]).numpy().tolist()
    [[[21.0]]]
    """
    with scope("convolution", name) as inner:
        filters = convert(filters, None, "filters")
        input = convert(input, None, "input")
        n_axes = _n_spatial_axes(input, filters, data_format)
        wanted = data_format or _FORMATS[n_axes]
        steps = spread(strides, "strides", wanted, n_axes)
        holes = spread(dilations, "dilations", wanted, n_axes)
        _check_steps(steps, holes, wanted)
        convolve: Callable[..., Tensor] = {1: conv1d, 2: conv2d, 3: conv3d}[n_axes]
        arguments = (filters, steps, padding, wanted, holes, inner)
        rank = None if input.dims is None else len(input.dims)
        if rank is None or rank <= n_axes + 2:
            return convolve(input, *arguments)
        n_batch = rank - n_axes - 1
        sizes = [axis_size(input, axis) for axis in range(rank)]
        convolved = convolve(reshape(input, [-1, *sizes[n_batch:]]), *arguments)
        inner_sizes = [axis_size(convolved, axis) for axis in range(1, n_axes + 2)]
        return reshape(convolved, [*sizes[:n_batch], *inner_sizes])


def _n_spatial_axes(input: Any, filters: Any, data_format: str | None) -> int:
    """Count the spatial axes: by the filters, or by the input where their rank is unknown."""
    if filters.dims is not None:
        n_axes = len(filters.dims) - 2
    elif data_format is not None:
        n_axes = len(data_format) - 2
    elif input.dims is not None:
        n_axes = len(input.dims) - 2
    else:
        raise ValueError(
            "The rank of `input` or `filter` must be known. Received: "
            f"input.shape={input.shape} of rank None and filter.shape={filters.shape} of rank "
            "None"
        )
    if n_axes not in _FORMATS:
        raise ValueError(
            f"`num_spatial_dims` must be 1, 2, or 3. Received: num_spatial_dims={n_axes}."
        )
    return n_axes


def _check_steps(strides: list[int], dilations: list[int], data_format: str) -> None:
    """Raise ValueError if windows are to be both apart and dilated."""
    inner = slice(2, None) if data_format.startswith("NC") else slice(1, -1)
    steps, holes = np.array(strides[inner]), np.array(dilations[inner])
    if (steps > 1).any() and (holes > 1).any():
        raise ValueError(
            "`strides > 1` not supported in conjunction with `dilation_rate > 1`. Received: "
            f"strides={steps} and dilation_rate={holes}"
        )


@public_v1("nn.convolution")
def convolution_v1(
    input: TensorLike,
    filter: TensorLike,
    padding: Any,
    strides: Any = None,
    dilation_rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    filters: TensorLike | None = None,
    dilations: Any = None,
) -> Tensor:
    """1-D, 2-D or 3-D convolution, with TensorFlow 1's argument names.

    >>> image = [[[[1.0], [2.0]], [[3.0], [4.0]]]]
    >>> convolution_v1(image, [[[[2.0]]]], "SAME").numpy().ravel().tolist()
    [2.0, 4.0, 6.0, 8.0]
    """
    filters = either_name("filter", filter, "filters", filters)
    dilations = either_name("dilations", dilations, "dilation_rate", dilation_rate)
    return convolution(input, filters, strides, padding, data_format, dilations, name)


@public("nn.conv_transpose")
def conv_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: Any,
    strides: Any,
    padding: Any = "SAME",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Transpose of 1-D, 2-D or 3-D convolution, by the length of `output_shape`.

    >>> conv_transpose([[[3.0]]], [[[1.0]], [[2.0]]], [1, 2, 1], 2).numpy().tolist()
    [[[3.0], [6.0]]]
    """
    with scope("conv_transpose", name) as inner:
        if is_tensor(output_shape):
            length = (output_shape.dims or (None,))[0]
        elif hasattr(output_shape, "__len__"):
            length = len(output_shape)
        else:
            raise ValueError(
                "`output_shape` must be a tensor or sized collection. Received: "
                f"output_shape={output_shape}"
            )
        n_axes = 0 if length is None else length - 2
        if n_axes not in _FORMATS:
            raise ValueError(
                "`output_shape` must be of length 3, 4 or 5. Received: "
                f"output_shape={output_shape} of length {length}."
            )
        functions = {1: conv1d_transpose, 2: conv2d_transpose, 3: conv3d_transpose}
        transposed: Callable[..., Tensor] = functions[n_axes]
        wanted = data_format or _FORMATS[n_axes]
        return transposed(
            input, filters, output_shape, strides, padding, wanted, dilations, inner
        )
