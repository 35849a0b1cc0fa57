"""Bias: a vector added along the channels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from berth.dtypes import NUMBERS, float32, float64
from berth.ops.arrays.array import reshape
from berth.ops.arrays.broadcasting import broadcast_to
from berth.ops.arrays.filling import ones_like
from berth.ops.arrays.joining import concat
from berth.ops.arrays.metadata import shape
from berth.ops.builder import apply
from berth.ops.compose import convert, is_eager, scope, type_of
from berth.ops.elementwise.sigmoid import relu
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.linalg.matmul import matmul
from berth.ops.opdef import Attrs, Call, Launch, OpDef, OutputType, Parts, Typed, all_devices
from berth.ops.rules import ShapeMismatch
from berth.ops.shape import Dims, bracketed
from berth.ops.types import Tensor, TensorLike
from berth.public import public, public_v1

_SUMMED_BY_BLAS = (float32, float64)
_FEW = 2**19
"""Below this number of elements, a second thread is not worth its start."""


def channels_first(data_format: str | None) -> bool:
    """Return whether a data format has the channels before the spatial axes (NCHW)."""
    if data_format is None:
        return False
    if data_format.startswith("NC"):
        return True
    if data_format.startswith("N") and data_format.endswith("C"):
        return False
    raise ValueError(
        "`data_format` must be of the form `N...C` or `NC...`. Received: "
        f"data_format={data_format}"
    )


# --- adding -------------------------------------------------------------------------------


def _check_rank(dims: Dims) -> None:
    if dims is not None and len(dims) < 2:
        raise ShapeMismatch(
            f"Shape must be at least rank 2 but is rank {len(dims)}",
            f"Input tensor must be at least 2D: {bracketed(dims)}",
        )


def _biased_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    value, bias = inputs
    dims = value.dims
    _check_rank(dims)
    if bias.dims is not None and len(bias.dims) != 1:
        raise ShapeMismatch(
            f"Shape must be rank 1 but is rank {len(bias.dims)}",
            f"Biases must be 1D: {bracketed(bias.dims)}",
        )
    if dims is None or bias.dims is None:
        return ((value.dtype.base_dtype, dims),)
    axis = 1 if attrs["data_format"] == "NCHW" else len(dims) - 1
    n_channels, n_biases = dims[axis], bias.dims[0]
    if n_channels != n_biases and None not in (n_channels, n_biases):
        where = "channel" if attrs["data_format"] == "NCHW" else "last"
        raise ShapeMismatch(
            f"Dimensions must be equal, but are {n_channels} and {n_biases}",
            f"Must provide as many biases as the {where} dimension of the input tensor: "
            f"{bracketed(bias.dims)} vs. {bracketed(dims)}",
        )
    size = n_biases if n_channels is None else n_channels
    return ((value.dtype.base_dtype, (*dims[:axis], size, *dims[axis + 1 :])),)


def _bind_add(launch: Launch) -> Call | Parts:
    (value, bias), out, add = launch.inputs, launch.outputs[0], launch.xp.add
    if launch.attrs["data_format"] == "NCHW":
        bias = bias.reshape((-1, *(1 for _ in value.shape[2:])))
    if launch.n_threads == 1 or value.size < _FEW:
        return add, (value, bias, out)
    share = -(-len(value) // launch.n_threads)
    parts = [slice(n, n + share) for n in range(0, len(value), share)]
    return Parts([(add, (value[part], bias, out[part])) for part in parts])


BIAS_ADD = OpDef(
    "BiasAdd",
    "value:T bias:T",
    _biased_type,
    types={"T": NUMBERS},
    kernels=all_devices(_bind_add, NUMBERS),
    samples=(
        "f(2, 4, 3), f(3), **nhwc",
        "f(2, 3, 4), f(3), **nchw",
    ),
    large_samples=("images, f(16), **nhwc",),
)

# --- and back -----------------------------------------------------------------------------


def _bias_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    gradient = inputs[0]
    _check_rank(gradient.dims)
    axis = 1 if attrs["data_format"] == "NCHW" else -1
    size = None if gradient.dims is None else gradient.dims[axis]
    return ((gradient.dtype.base_dtype, (size,)),)


def _sum_scratch(
    inputs: Sequence[Typed], outputs: Sequence[OutputType], attrs: Attrs, n_threads: int
) -> Sequence[OutputType]:
    """Scratch memory for ones to multiply rows by: BLAS adds five times as fast as NumPy."""
    dtype, dims = inputs[0].dtype.base_dtype, inputs[0].dims or ()
    if attrs["data_format"] == "NCHW" or dtype not in _SUMMED_BY_BLAS:
        return ()
    return ((dtype, (math.prod(size or 0 for size in dims[:-1]),)),)


def _bind_sum(launch: Launch) -> Call | Parts:
    gradient, out = launch.inputs[0], launch.outputs[0]
    if launch.scratch:
        [ones] = launch.scratch
        rows = gradient.reshape((ones.size, out.size))
        call = _sum_rows, (launch.xp.dot, ones, rows, out)
        return Parts([call]) if gradient.size >= _FEW else call
    axis = 1 if launch.attrs["data_format"] == "NCHW" else gradient.ndim - 1
    others = tuple(k for k in range(gradient.ndim) if k != axis)
    return launch.xp.add.reduce, (gradient, others, None, out)


def _sum_rows(dot: Any, ones: Any, rows: Any, out: Any) -> None:
    ones.fill(1)
    dot(ones, rows, out)


BIAS_ADD_GRAD = OpDef(
    "BiasAddGrad",
    "out_backprop:T",
    _bias_type,
    types={"T": NUMBERS},
    kernels=all_devices(_bind_sum, NUMBERS, _sum_scratch),
    samples=(
        "f(2, 4, 3), **nhwc",
        "f(2, 3, 4), **nchw",
    ),
    large_samples=("images, **nhwc",),
)


@gradient(BIAS_ADD_GRAD)
def _bias_add_grad_gradient(op: RecordedOp, grad: Any) -> Any:
    sizes = shape(op.inputs[0])
    if channels_first(op.attrs["data_format"]):
        grad = reshape(grad, concat([[-1], ones_like(sizes[2:])], 0))
    return broadcast_to(grad, sizes)


# --- what users call ----------------------------------------------------------------------


@public("nn.bias_add")
def bias_add(
    value: TensorLike, bias: Any, data_format: str | None = None, name: str | None = None
) -> Tensor:
    """Add a bias to each channel: the last axis (NHWC) or the second (NCHW).

    >>> bias_add([[1.0, 2.0], [3.0, 4.0]], [10.0, 20.0]).numpy().tolist()
    [[11.0, 22.0], [13.0, 24.0]]
    """
    kind = "NCHW" if channels_first(data_format) else "NHWC"
    with scope("BiasAdd", name) as inner:
        value = convert(value, None, "input")
        known = type_of(bias) if is_eager() else None
        bias = convert(bias, known or value.dtype.base_dtype, "bias")
        return apply(BIAS_ADD, (value, bias), {"data_format": kind}, inner)


@gradient(BIAS_ADD)
def _bias_add_gradient(op: RecordedOp, grad: Any) -> Any:
    return grad, lambda: apply(BIAS_ADD_GRAD, (grad,), op.attrs)


@public_v1("nn.xw_plus_b")
def xw_plus_b(x: TensorLike, weights: Any, biases: Any, name: str | None = None) -> Tensor:
    """Return matmul(x, weights) + biases.

    >>> xw_plus_b([[1.0, 2.0]], [[3.0], [4.0]], [5.0]).numpy().tolist()
    [[16.0]]
    """
    with scope("xw_plus_b", name) as inner:
        return bias_add(matmul(x, weights), biases, name=inner)


@public_v1("nn.relu_layer")
def relu_layer(x: TensorLike, weights: Any, biases: Any, name: str | None = None) -> Tensor:
    """Return relu(matmul(x, weights) + biases).

    >>> relu_layer([[1.0, 2.0]], [[3.0], [4.0]], [-20.0]).numpy().tolist()
    [[0.0]]
    """
    with scope("relu_layer", name) as inner:
        return relu(bias_add(matmul(x, weights), biases), name=inner)
