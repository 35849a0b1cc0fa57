"""Pooling operations: shape rules, checks, definitions and gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from berth.dtypes import (
    FLOATING,
    DType,
    bool_,
    float16,
    float32,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
)
from berth.errors import InvalidArgumentError, UnimplementedError
from berth.ops.arrays.metadata import shape
from berth.ops.builder import apply
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.nn.pooling_kernels import (
    bind_max,
    bind_max_gradient,
    bind_max_gradient_gradient,
    bind_mean,
    bind_mean_gradient,
    bind_positions,
)
from berth.ops.nn.pooling_slices import pool_of
from berth.ops.nn.windows import (
    channel_axis,
    check_fit,
    check_windows,
    spatial_axes,
    window_dims,
    with_channels,
)
from berth.ops.opdef import (
    Attrs,
    Bind,
    Launch,
    OpDef,
    OutputType,
    Parts,
    ScratchShapes,
    Typed,
    all_devices,
)
from berth.ops.rules import check_rank, merge_dims, shape_of_value
from berth.ops.shape import bracketed

COMPARED = (*FLOATING, int32, int64, uint8, int16, int8, uint16)

# --- shape rules --------------------------------------------------------------------------


def _pooled(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    images = inputs[0]
    check_rank(images.dims, 4)
    check_windows(attrs, "Pooling")
    sizes = [attrs["ksize"][axis] for axis in spatial_axes(attrs)]
    dims = (None,) * 4 if images.dims is None else images.dims
    rows, columns = window_dims(dims, sizes, attrs)
    channels = dims[channel_axis(attrs)]
    pooled = with_channels((dims[0], rows, columns), channels, attrs)
    return ((images.dtype.base_dtype, pooled),)


def _check_window_fits(inputs: Sequence[Typed], attrs: Attrs) -> None:
    sizes = [attrs["ksize"][axis] for axis in spatial_axes(attrs)]
    check_fit(inputs[0].dims, sizes, attrs)


def _pooled_with_positions(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    [pooled] = _pooled(inputs, attrs)
    return (pooled, (attrs["Targmax"], pooled[1]))


def _like_images(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    images = inputs[0]
    check_rank(images.dims, 4)
    return ((images.dtype.base_dtype, images.dims),)


def _like_pooled(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    images, largest, grads = inputs
    merge_dims(images.dims, grads.dims)
    return ((images.dtype.base_dtype, merge_dims(_pooled(inputs, attrs)[0][1], largest.dims)),)


def _asked_for(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    shape, grads = inputs
    return ((grads.dtype.base_dtype, shape_of_value(shape) or (None,) * 4),)


# --- scratch memory -----------------------------------------------------------------------


def _scratch(*parts: str, images: int | None = 0) -> ScratchShapes:
    """Scratch memory: the result between rows and columns, and arrays like the output.

    A part is named by a place, and by a type if that is not the one that sums are made in.
    `images` says which input has the images' shape; if none, the output has it.
    """

    def scratch(
        inputs: Sequence[Typed], outputs: Sequence[OutputType], attrs: Attrs, n_threads: int
    ) -> Sequence[OutputType]:
        dtype, dims = (
            outputs[0] if images is None else (inputs[images].dtype, inputs[images].dims)
        )
        pool = pool_of(dims, attrs, n_threads)  # type: ignore[arg-type]
        places = {
            "between": pool.between,
            "out": pool.out,
            "in": (pool.at_once, pool.rows.n_in, pool.columns.n_in, pool.n_channels),
        }
        wide = float32 if dtype.base_dtype is float16 else dtype.base_dtype
        types: dict[str, DType] = {
            "": wide,
            "same": dtype.base_dtype,
            "mask": bool_,
            "position": int64,
        }
        needed = []
        for part in parts:
            place, _, type_name = part.partition(":")
            if place != "in" or wide is not dtype.base_dtype:
                needed.append((types[type_name], (pool.n_threads, *places[place])))
        return needed

    return scratch


# --- kernels ------------------------------------------------------------------------------


def _checked(bind: Bind) -> Bind:
    """Wrap a kernel with the checks that need concrete shapes."""

    def bind_checked(launch: Launch) -> Any:
        attrs = launch.attrs
        ksize, strides = attrs["ksize"], attrs["strides"]
        if min(ksize) <= 0:
            message = (
                "Sliding window ksize must be positive. The specified or inferred ksize is: "
                f"{','.join(map(str, ksize))}"
            )
            raise InvalidArgumentError(None, None, message)
        if ksize[0] != 1 or strides[0] != 1:
            message = "Pooling is not yet supported on the batch dimension."
            raise UnimplementedError(None, None, message)
        channel = channel_axis(attrs)
        if ksize[channel] != 1 or strides[channel] != 1:
            message = "Non-spatial pooling is not yet supported."
            raise UnimplementedError(None, None, message)
        _check_paddings(attrs)
        return bind(launch)

    return bind_checked


def _check_paddings(attrs: Attrs) -> None:
    explicit = attrs.get("explicit_paddings", ())
    if attrs["padding"] != "EXPLICIT":
        return
    for axis, names in zip(
        spatial_axes(attrs), (("Top", "Bottom"), ("Left", "Right")), strict=True
    ):
        for name, size in zip(names, explicit[2 * axis : 2 * axis + 2], strict=True):
            if size >= attrs["ksize"][axis]:
                message = (
                    f"{name} padding {size} needs to be smaller than the window size "
                    f"{attrs['ksize'][axis]}"
                )
                raise InvalidArgumentError(None, None, message)


def _bind_max_gradient(launch: Launch) -> Parts | None:
    images, largest, grads = launch.inputs
    pool = pool_of(images.shape, launch.attrs, 1)
    dims = (images.shape[0], pool.rows.n_out, pool.columns.n_out)
    expected = with_channels(dims, pool.n_channels, launch.attrs)
    for name, array in (("orig_output", largest), ("grad", grads)):
        if array.shape != expected:
            message = (
                f"Expected {name} shape to be {bracketed(expected)}, but got "
                f"{bracketed(array.shape)}"
            )
            raise InvalidArgumentError(None, None, message)
    return bind_max_gradient(launch)


_MASKS = ("out:mask", "out:mask", "out:same")

MAX_POOL = OpDef(
    "MaxPool",
    "input:T",
    _pooled,
    check_static=_check_window_fits,
    types={"T": COMPARED},
    kernels=all_devices(_checked(bind_max), COMPARED, _scratch("between:same")),
    samples=(
        "f(2, 5, 4, 3), **pool",
        "f(2, 3, 5, 4), **pool_edges",
    ),
    large_samples=("images, **half",),
)


@gradient(MAX_POOL)
def _max_pool_gradient(op: RecordedOp, grad: Any) -> Any:
    return apply(MAX_POOL_GRAD, (op.inputs[0], op.outputs[0], grad), op.attrs)


MAX_POOL_GRAD = OpDef(
    "MaxPoolGrad",
    "orig_input:T orig_output:T grad:T",
    _like_images,
    types={"T": COMPARED},
    kernels=all_devices(_checked(_bind_max_gradient), COMPARED, _scratch(*_MASKS)),
    samples=("f(2, 5, 4, 3), f(2, 2, 3, 3), f(2, 2, 3, 3), **pool",),
    large_samples=("images, f(8, 32, 32, 16), f(8, 32, 32, 16), **half",),
)


@gradient(MAX_POOL_GRAD)
def _max_pool_grad_gradient(op: RecordedOp, grad: Any) -> Any:
    images, largest, _ = op.inputs
    return None, None, apply(MAX_POOL_GRAD_GRAD, (images, largest, grad), op.attrs)


MAX_POOL_GRAD_GRAD = OpDef(
    "MaxPoolGradGrad",
    "orig_input:T orig_output:T grad:T",
    _like_pooled,
    types={"T": COMPARED},
    kernels=all_devices(_checked(bind_max_gradient_gradient), COMPARED, _scratch(*_MASKS)),
    samples=("f(2, 5, 4, 3), f(2, 2, 3, 3), f(2, 5, 4, 3), **pool",),
    large_samples=("images, f(8, 32, 32, 16), images, **half",),
)


@gradient(MAX_POOL_GRAD_GRAD)
def _max_pool_grad_grad_gradient(op: RecordedOp, grad: Any) -> Any:
    images, largest, _ = op.inputs
    return None, None, apply(MAX_POOL_GRAD, (images, largest, grad), op.attrs)


MAX_POOL_WITH_ARGMAX = OpDef(
    "MaxPoolWithArgmax",
    "input:T",
    _pooled_with_positions,
    check_static=_check_window_fits,
    types={"T": COMPARED},
    kernels=all_devices(
        _checked(bind_positions),
        COMPARED,
        _scratch("between:same", "out:mask", "out:mask", "out:position"),
    ),
    samples=("f(2, 5, 4, 3), **pool, Targmax=int64, include_batch_in_index=True",),
    large_samples=("images, **half, Targmax=int64, include_batch_in_index=True",),
)


@gradient(MAX_POOL_WITH_ARGMAX)
def _max_pool_with_argmax_gradient(op: RecordedOp, grad: Any, _: Any) -> Any:
    return apply(MAX_POOL_GRAD, (op.inputs[0], op.outputs[0], grad), op.attrs)


AVG_POOL = OpDef(
    "AvgPool",
    "value:T",
    _pooled,
    check_static=_check_window_fits,
    types={"T": FLOATING},
    kernels=all_devices(_checked(bind_mean), FLOATING, _scratch("between", "out")),
    samples=(
        "f(2, 5, 4, 3), **pool",
        "f(2, 3, 5, 4), **pool_edges",
    ),
    large_samples=("images, **half",),
)


@gradient(AVG_POOL)
def _avg_pool_gradient(op: RecordedOp, grad: Any) -> Any:
    return apply(AVG_POOL_GRAD, (shape(op.inputs[0]), grad), op.attrs)


AVG_POOL_GRAD = OpDef(
    "AvgPoolGrad",
    "orig_input_shape:int32 grad:T",
    _asked_for,
    types={"T": FLOATING},
    kernels=all_devices(
        _checked(bind_mean_gradient), FLOATING, _scratch("between", "out", "in", images=None)
    ),
    host_inputs=(0,),
    samples=("i(2, 5, 4, 3), f(2, 2, 3, 3), **pool",),
    large_samples=("i(8, 64, 64, 16), f(8, 32, 32, 16), **half",),
)


@gradient(AVG_POOL_GRAD)
def _avg_pool_grad_gradient(op: RecordedOp, grad: Any) -> Any:
    return None, apply(AVG_POOL, (grad,), op.attrs)
