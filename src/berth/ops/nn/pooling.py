"""Max and average pooling of images and sequences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from berth.dtypes import as_dtype, int64
from berth.ops.arrays.array import either_name, expand_dims, squeeze
from berth.ops.attributes import check_choice
from berth.ops.builder import apply
from berth.ops.compose import scope
from berth.ops.nn.pooling_ops import AVG_POOL, MAX_POOL, MAX_POOL_WITH_ARGMAX
from berth.ops.nn.windows import (
    FORMATS,
    PADDINGS,
    read_padding,
    spread,
)
from berth.ops.types import Tensor, TensorLike
from berth.public import public, public_v1, public_v2


def _pool_attrs(
    op_name: str, ksize: Any, strides: Any, padding: Any, data_format: str | None
) -> dict[str, Any]:
    data_format = "NHWC" if data_format is None else data_format
    explicit: list[int] = []
    if op_name != "AvgPool":
        padding, explicit = read_padding(padding)
    check_choice(
        op_name, "padding", padding, PADDINGS if op_name != "AvgPool" else PADDINGS[:2]
    )
    check_choice(op_name, "data_format", data_format, FORMATS)
    return {
        "ksize": spread(ksize, "ksize", data_format),
        "strides": spread(strides, "strides", data_format),
        "padding": padding,
        "explicit_paddings": explicit,
        "data_format": data_format,
    }


@public("nn.max_pool2d")
def max_pool2d(
    input: TensorLike,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    name: str | None = None,
) -> Tensor:
    """Max pooling of images, by channel.

    >>> max_pool2d([[[[1.0], [5.0]], [[3.0], [2.0]]]], 2, 2, "VALID").numpy().tolist()
    [[[[5.0]]]]
    """
    attrs = _pool_attrs("MaxPool", ksize, strides, padding, data_format)
    return apply(MAX_POOL, (input,), attrs, name or "MaxPool2d")


@public_v1("nn.max_pool")
def max_pool_v1(
    value: TensorLike,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    name: str | None = None,
    input: TensorLike | None = None,
) -> Tensor:
    """Max pooling of images, with TensorFlow 1's argument names.

    >>> max_pool_v1([[[[1.0], [2.0]], [[3.0], [4.0]]]], 2, 2, "VALID").numpy().item()
    4.0
    """
    value = either_name("value", value, "input", input)
    return max_pool2d(value, ksize, strides, padding, data_format, name or "MaxPool")


@public_v2("nn.avg_pool2d")
def avg_pool2d(
    input: TensorLike,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    name: str | None = None,
) -> Tensor:
    """Average pooling of images, by channel; padding is not counted.

    >>> avg_pool2d([[[[1.0], [5.0]], [[3.0], [3.0]]]], 2, 1, "SAME").numpy().tolist()
    [[[[3.0], [4.0]], [[3.0], [3.0]]]]
    """
    attrs = _pool_attrs("AvgPool", ksize, strides, padding, data_format)
    return apply(AVG_POOL, (input,), attrs, name or "AvgPool2D")


@public_v1("nn.avg_pool", "nn.avg_pool2d")
def avg_pool_v1(
    value: TensorLike,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    name: str | None = None,
    input: TensorLike | None = None,
) -> Tensor:
    """Average pooling of images, with TensorFlow 1's argument names.

    >>> avg_pool_v1([[[[1.0], [2.0]], [[3.0], [4.0]]]], 2, 2, "VALID").numpy().item()
    2.5
    """
    value = either_name("value", value, "input", input)
    return avg_pool2d(value, ksize, strides, padding, data_format, name or "AvgPool")


# --- sequences ----------------------------------------------------------------------------


@public("nn.max_pool1d")
def max_pool1d(
    input: TensorLike,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NWC",
    name: str | None = None,
) -> Tensor:
    """Max pooling of sequences.

    >>> max_pool1d([[[1.0], [5.0], [2.0], [3.0]]], 2, 2, "VALID").numpy().tolist()
    [[[5.0], [3.0]]]
    """
    with scope("MaxPool1d", name) as inner:
        return _as_images(max_pool2d, input, ksize, strides, padding, data_format, inner)


@public("nn.avg_pool1d")
def avg_pool1d(
    input: TensorLike,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NWC",
    name: str | None = None,
) -> Tensor:
    """Average pooling of sequences.

    >>> avg_pool1d([[[1.0], [5.0], [2.0], [3.0]]], 2, 2, "VALID").numpy().tolist()
    [[[3.0], [2.5]]]
    """
    with scope("AvgPool1D", name) as inner:
        return _as_images(avg_pool2d, input, ksize, strides, padding, data_format, inner)


def _as_images(
    pool: Callable[..., Any],
    input: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str,
    name: str,
) -> Tensor:
    """Pool sequences as images of one row."""
    check_choice("MaxPool", "data_format", data_format, ("NWC", "NCW"))
    axis, wide = (1, "NHWC") if data_format == "NWC" else (2, "NCHW")
    sizes = spread(ksize, "ksize", data_format, 1)
    steps = spread(strides, "strides", data_format, 1)
    if isinstance(padding, list | tuple):
        padding = [*padding[:axis], [0, 0], *padding[axis:]]
    images = expand_dims(input, axis)
    for listed in (sizes, steps):
        listed.insert(axis, 1)
    return squeeze(pool(images, sizes, steps, padding, wide, name), [axis])


# --- where the largest are ----------------------------------------------------------------


class MaxPoolWithArgmax(NamedTuple):
    """Result of max pooling, with the indices of the maxima."""

    output: Any
    argmax: Any


@public_v2("nn.max_pool_with_argmax")
def max_pool_with_argmax(
    input: TensorLike,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    output_dtype: Any = int64,
    include_batch_in_index: bool = False,
    name: str | None = None,
) -> MaxPoolWithArgmax:
    """Max pooling of images, with the flattened indices of the maxima.

    >>> images = [[[[1.0], [5.0]], [[3.0], [2.0]]]]
    >>> [t.numpy().tolist() for t in max_pool_with_argmax(images, 2, 2, "SAME")]
    [[[[[5.0]]]], [[[[1]]]]]
    """
    if data_format != "NHWC":
        raise ValueError(
            "`data_format` values other  than 'NHWC' are not supported. Received: "
            f"{data_format}"
        )
    attrs = _pool_attrs("MaxPoolWithArgmax", ksize, strides, padding, data_format)
    attrs["Targmax"] = as_dtype(output_dtype)
    attrs["include_batch_in_index"] = include_batch_in_index
    return MaxPoolWithArgmax(*apply(MAX_POOL_WITH_ARGMAX, (input,), attrs, name))


@public_v1("nn.max_pool_with_argmax")
def max_pool_with_argmax_v1(
    input: TensorLike,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    Targmax: Any = None,
    name: str | None = None,
    output_dtype: Any = None,
    include_batch_in_index: bool = False,
) -> MaxPoolWithArgmax:
    """Max pooling of images with indices, with TensorFlow 1's argument names.

    >>> best, where = max_pool_with_argmax_v1([[[[1.0], [2.0]], [[3.0], [4.0]]]], 2, 2, "VALID")
    >>> best.numpy().item(), where.numpy().item()
    (4.0, 3)
    """
    dtype = either_name("output_dtype", output_dtype, "Targmax", Targmax)
    return max_pool_with_argmax(
        input,
        ksize,
        strides,
        padding,
        data_format,
        int64 if dtype is None else dtype,
        include_batch_in_index,
        name,
    )
