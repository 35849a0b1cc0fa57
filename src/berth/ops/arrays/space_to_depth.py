"""`space_to_depth` and `depth_to_space`: blocks of an image as channels, and the reverse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from berth.dtypes import ALL
from berth.ops.attributes import check_choice, check_least
from berth.ops.builder import apply
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.opdef import Attrs, Call, Launch, OpDef, OutputType, Typed
from berth.ops.rules import ShapeMismatch, all_devices_but_strings, check_rank
from berth.ops.types import Tensor, TensorLike
from berth.public import public_v1, public_v2

_PLACES = {"NHWC": (1, 2, 3), "NCHW": (2, 3, 1)}
"""Which axes are height, width and channels."""


def _divided(size: int | None, by: int, at_run: str) -> int | None:
    if size is not None and size % by:
        message = f"Dimension size must be evenly divisible by {by} but is {size}"
        raise ShapeMismatch(message, at_run)
    return None if size is None else size // by


def _deep_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    tensor, block = inputs[0], attrs["block_size"]
    check_rank(tensor.dims, 4)
    dims = list(tensor.dims or (None,) * 4)
    high, wide, deep = _PLACES[attrs["data_format"]]
    at_run = (
        f"Image width {dims[wide]} and height {dims[high]} should be divisible by block_size: "
        f"{block}"
    )
    dims[high] = _divided(dims[high], block, at_run)
    dims[wide] = _divided(dims[wide], block, at_run)
    channels = dims[deep]
    dims[deep] = None if channels is None else channels * block * block
    return ((tensor.dtype.base_dtype, tuple(dims)),)


def _flat_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    tensor, block = inputs[0], attrs["block_size"]
    check_rank(tensor.dims, 4)
    dims = list(tensor.dims or (None,) * 4)
    high, wide, deep = _PLACES[attrs["data_format"]]
    area = block * block
    at_run = f"Input depth dimension {dims[deep]} should be divisible by: {area}"
    dims[deep] = _divided(dims[deep], area, at_run)
    for axis in (high, wide):
        size = dims[axis]
        dims[axis] = None if size is None else size * block
    return ((tensor.dtype.base_dtype, tuple(dims)),)


def _as_blocks(flat: Any, deep: Any, attrs: Attrs) -> tuple[Any, Any]:
    """View both arrays with the same axes: rows and columns of blocks, and those inside."""
    block = attrs["block_size"]
    if attrs["data_format"] == "NHWC":
        n, h, w, c = flat.shape
        inside = flat.reshape(n, h // block, block, w // block, block, c)
        outside = deep.reshape(n, h // block, w // block, block, block, c)
        return inside, outside.transpose(0, 1, 3, 2, 4, 5)
    n, c, h, w = flat.shape
    inside = flat.reshape(n, c, h // block, block, w // block, block)
    outside = deep.reshape(n, block, block, c, h // block, w // block)
    return inside, outside.transpose(0, 3, 4, 1, 5, 2)


def _bind_deep(launch: Launch) -> Call:
    flat, deep = _as_blocks(launch.inputs[0], launch.outputs[0], launch.attrs)
    return launch.xp.copyto, (deep, flat)


def _bind_flat(launch: Launch) -> Call:
    flat, deep = _as_blocks(launch.outputs[0], launch.inputs[0], launch.attrs)
    return launch.xp.copyto, (flat, deep)


SPACE_TO_DEPTH = OpDef(
    "SpaceToDepth",
    "input:T",
    _deep_type,
    types={"T": ALL},
    kernels=all_devices_but_strings(_bind_deep),
    samples=(
        "f(1, 4, 6, 2), block_size=2, data_format='NHWC'",
        "f(1, 2, 4, 6), block_size=2, data_format='NCHW'",
    ),
    large_samples=("square.reshape(1, 512, 512, 1), block_size=2, data_format='NHWC'",),
)
DEPTH_TO_SPACE = OpDef(
    "DepthToSpace",
    "input:T",
    _flat_type,
    types={"T": ALL},
    kernels=all_devices_but_strings(_bind_flat),
    samples=(
        "f(1, 2, 3, 8), block_size=2, data_format='NHWC'",
        "f(1, 8, 2, 3), block_size=2, data_format='NCHW'",
    ),
    large_samples=("square.reshape(1, 256, 256, 4), block_size=2, data_format='NHWC'",),
)


def _attrs(op: OpDef, block_size: int, data_format: str) -> dict[str, Any]:
    check_least(op.name, "block_size", block_size, 2)
    check_choice(op.name, "data_format", data_format, _PLACES)
    return {"block_size": int(block_size), "data_format": data_format}


@public_v2("nn.space_to_depth")
def space_to_depth(
    input: TensorLike, block_size: int, data_format: str = "NHWC", name: str | None = None
) -> Tensor:
    """Rearrange blocks of an image into channels.

    >>> space_to_depth([[[[1], [2]], [[3], [4]]]], 2).numpy().tolist()
    [[[[1, 2, 3, 4]]]]
    """
    return apply(
        SPACE_TO_DEPTH, (input,), _attrs(SPACE_TO_DEPTH, block_size, data_format), name
    )


@public_v1("space_to_depth", "nn.space_to_depth")
def space_to_depth_v1(
    input: TensorLike, block_size: int, name: str | None = None, data_format: str = "NHWC"
) -> Tensor:
    """Rearrange blocks of an image into channels, with TensorFlow 1's argument names.

    >>> space_to_depth_v1([[[[1], [2]], [[3], [4]]]], 2).numpy().tolist()
    [[[[1, 2, 3, 4]]]]
    """
    return space_to_depth(input, block_size, data_format, name)


@public_v2("nn.depth_to_space")
def depth_to_space(
    input: TensorLike, block_size: int, data_format: str = "NHWC", name: str | None = None
) -> Tensor:
    """Rearrange the channels of an image into blocks.

    >>> depth_to_space([[[[1, 2, 3, 4]]]], 2).numpy().tolist()
    [[[[1], [2]], [[3], [4]]]]
    """
    return apply(
        DEPTH_TO_SPACE, (input,), _attrs(DEPTH_TO_SPACE, block_size, data_format), name
    )


@public_v1("depth_to_space", "nn.depth_to_space")
def depth_to_space_v1(
    input: TensorLike, block_size: int, name: str | None = None, data_format: str = "NHWC"
) -> Tensor:
    """Rearrange the channels of an image into blocks, with TensorFlow 1's argument names.

    >>> depth_to_space_v1([[[[1, 2, 3, 4]]]], 2).numpy().tolist()
    [[[[1], [2]], [[3], [4]]]]
    """
    return depth_to_space(input, block_size, data_format, name)


@gradient(SPACE_TO_DEPTH)
def _space_to_depth_gradient(op: RecordedOp, grad: Any) -> Any:
    return depth_to_space(grad, op.attrs["block_size"], op.attrs["data_format"])


@gradient(DEPTH_TO_SPACE)
def _depth_to_space_gradient(op: RecordedOp, grad: Any) -> Any:
    return space_to_depth(grad, op.attrs["block_size"], op.attrs["data_format"])
