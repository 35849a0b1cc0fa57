"""`fill`, `zeros`, `ones`, `zeros_like`, `ones_like` and `range`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from berth.dtypes import (
    ALL,
    REAL,
    DType,
    as_dtype,
    float32,
    float64,
    int32,
    int64,
    string,
    variant,
)
from berth.ops import reductions
from berth.ops.arrays.array import constant, reshape
from berth.ops.arrays.metadata import shape as shape_of
from berth.ops.attributes import at_once, check_type
from berth.ops.builder import apply
from berth.ops.compose import convert, is_eager, is_integer, is_tensor, scope
from berth.ops.elementwise.casting import cast
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.lists.list_value import ListValue, zeros_like_list
from berth.ops.opdef import (
    NOT_DIFFERENTIABLE,
    Attrs,
    Call,
    Launch,
    OpDef,
    OutputType,
    Typed,
    all_devices,
)
from berth.ops.rules import (
    INDEX,
    ON_DEVICES,
    all_devices_but_strings,
    check_rank,
    from_host,
    known_value,
    like_first,
    shape_of_value,
)
from berth.ops.shape import TensorShape, is_known, read_dims
from berth.ops.types import DTypeLike, ShapeLike, Tensor, TensorLike
from berth.public import public, public_v1, public_v2

_CONSTANT_BELOW = 1000
"""TensorFlow makes zeros and ones of fewer elements constants."""

# --- fill, zeros, ones --------------------------------------------------------------------


def _filled(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    dims, value = inputs
    check_rank(value.dims, 0)
    known = shape_of_value(dims)
    if dims.value is not None and None in (known or ()):
        raise ValueError("Dimension -1 must be >= 0")
    return ((value.dtype.base_dtype, known),)


def _bind_fill(launch: Launch) -> Call:
    return launch.xp.copyto, (launch.outputs[0], launch.inputs[1])


FILL = OpDef(
    "Fill",
    "dims:Tidx value:T",
    _filled,
    types={"Tidx": INDEX, "T": ALL},
    kernels=all_devices_but_strings(_bind_fill),
    host_inputs=(0,),
    samples=("i(2, 3), f()",),
    large_samples=("i(large.size), f()",),
)


@public("fill")
def fill(dims: Any, value: TensorLike, name: str | None = None) -> Tensor:
    """Tensor of a shape, filled with one value.

    >>> fill([2, 2], 7).numpy().tolist()
    [[7, 7], [7, 7]]
    """
    if is_eager() and is_integer(dims):
        dims = [dims]
    return apply(FILL, (dims, value), {}, name)


@gradient(FILL)
def _fill_gradient(op: RecordedOp, grad: Any) -> Any:
    return None, reductions.reduction.reduce_sum(grad)


@public("zeros")
def zeros(shape: ShapeLike, dtype: DTypeLike = float32, name: str | None = None) -> Tensor:
    """Tensor of zeros; of empty strings, for strings.

    >>> zeros([2], "int32").numpy().tolist()
    [0, 0]
    """
    wanted = as_dtype(dtype).base_dtype
    with scope("zeros", name) as inner:
        return _full(shape, b"" if wanted is string else 0, wanted, inner)


@public("ones")
def ones(shape: ShapeLike, dtype: DTypeLike = float32, name: str | None = None) -> Tensor:
    """Tensor of ones.

    >>> ones([2]).numpy().tolist()
    [1.0, 1.0]
    """
    wanted = as_dtype(dtype).base_dtype
    if wanted is string:
        raise TypeError("tf.ones cannot make strings: there is no string that is one.")
    with scope("ones", name) as inner:
        return _full(shape, 1, wanted, inner)


def _full(shape: Any, value: Any, dtype: DType, name: str) -> Tensor:
    scalar = np.array(value, dtype.np_dtype)
    if not is_tensor(shape):
        dims = _plain_dims(shape)
        if dims is None:
            shape = convert(shape, int32, "packed")
        elif not is_integer(shape) and math.prod(dims) < _CONSTANT_BELOW:
            return constant(np.full(dims, scalar, dtype.np_dtype), dtype, name=name)
        else:
            fits = all(size < 2**31 for size in dims)
            sizes = np.array(dims, np.int32 if fits else np.int64)
            shape = constant(sizes, name="shape_as_tensor")
    elif not shape.dims:
        shape = reshape(shape, [-1])
    return fill(shape, constant(scalar, dtype), name=name)


def _plain_dims(shape: Any) -> tuple[int, ...] | None:
    """Read a shape that is known; None if there is a tensor in it."""
    try:
        dims = read_dims(shape.tolist() if isinstance(shape, np.ndarray) else shape)
    except TypeError:
        return None
    if is_eager() and isinstance(shape, list | tuple) and -1 in shape:
        raise at_once("Fill", "Dimension -1 must be >= 0")
    if dims is None or not is_known(dims):
        raise ValueError(f"Cannot convert a partially known TensorShape {shape} to a Tensor.")
    return tuple(size or 0 for size in dims)


def _bind_zeros_like(launch: Launch) -> Call:
    out = launch.outputs[0]
    if out.dtype.kind == "O" and out.ndim == 0 and isinstance(launch.inputs[0][()], ListValue):
        return zeros_like_list, (launch.inputs[0], out)
    return out.fill, (b"" if out.dtype.kind == "O" else 0,)


ZEROS_LIKE = OpDef(
    "ZerosLike",
    "x:T",
    like_first,
    types={"T": ALL},
    kernels=all_devices_but_strings(_bind_zeros_like),
    gradient=NOT_DIFFERENTIABLE,
    samples=("f(2, 3)",),
    large_samples=("large",),
)


@public_v1("zeros_like")
def zeros_like(
    tensor: TensorLike, dtype: DTypeLike = None, name: str | None = None, optimize: bool = True
) -> Tensor:
    """Tensor of zeros in the shape of another, with TensorFlow 1's argument names.

    >>> zeros_like([5, 6]).numpy().tolist()
    [0, 0]
    """
    with scope("zeros_like", name) as inner:
        tensor = convert(tensor, None, "tensor")
        wanted = tensor.dtype.base_dtype if dtype is None else as_dtype(dtype).base_dtype
        if optimize and is_known(tensor.dims) and wanted is not variant:
            return zeros(TensorShape(tensor.dims), wanted, name=inner)
        if wanted is tensor.dtype.base_dtype:
            return apply(ZEROS_LIKE, (tensor,), {}, inner)
        return zeros(shape_of(tensor), wanted, name=inner)


@public_v1("ones_like")
def ones_like(
    tensor: TensorLike, dtype: DTypeLike = None, name: str | None = None, optimize: bool = True
) -> Tensor:
    """Tensor of ones in the shape of another, with TensorFlow 1's argument names.

    >>> ones_like([5, 6]).numpy().tolist()
    [1, 1]
    """
    with scope("ones_like", name) as inner:
        tensor = convert(tensor, None, "tensor")
        wanted = tensor.dtype.base_dtype if dtype is None else as_dtype(dtype).base_dtype
        check_type("OnesLike", "T", wanted, ON_DEVICES)
        if optimize and is_known(tensor.dims):
            with scope("Shape"):
                shape = constant(np.array(tensor.dims, np.int32), name="shape_as_tensor")
        else:
            shape = shape_of(tensor)
        return ones(shape, wanted, name=inner)


@public_v2("zeros_like")
def zeros_like_v2(
    input: TensorLike, dtype: DTypeLike = None, name: str | None = None
) -> Tensor:
    """Tensor of zeros in the shape of another.

    >>> zeros_like_v2([5, 6], "float32").numpy().tolist()
    [0.0, 0.0]
    """
    return zeros_like(input, dtype, name)


@public_v2("ones_like")
def ones_like_v2(input: TensorLike, dtype: DTypeLike = None, name: str | None = None) -> Tensor:
    """Tensor of ones in the shape of another.

    >>> ones_like_v2([5, 6], "float32").numpy().tolist()
    [1.0, 1.0]
    """
    return ones_like(input, dtype, name)


# --- range --------------------------------------------------------------------------------


def _range_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    dtype = inputs[0].dtype.base_dtype
    for tensor, name in zip(inputs, ("start", "limit", "delta"), strict=True):
        if tensor.dims:
            rank = len(tensor.dims)
            raise ValueError(f"Shape must be rank 0 but is rank {rank}\n\t for '{name}'")
    values = [known_value(tensor) for tensor in inputs]
    if any(value is None for value in values):
        return ((dtype, (None,)),)
    return ((dtype, (_n_steps(*(value[()] for value in values)),)),)


def _n_steps(start: Any, limit: Any, delta: Any) -> int:
    if delta == 0:
        raise ValueError("Requires delta != 0")
    if delta > 0 and start > limit:
        raise ValueError(f"Requires start <= limit when delta > 0: {start}/{limit}")
    if delta < 0 and start < limit:
        raise ValueError(f"Requires start >= limit when delta < 0: {start}/{limit}")
    if isinstance(start, np.integer):
        return -((int(start) - int(limit)) // int(delta))
    return int(np.ceil(np.abs((limit - start) / delta)))


def _bind_range(launch: Launch) -> Call:
    start, _, delta = launch.inputs
    out = launch.outputs[0]
    return from_host(out, start + np.arange(out.size, dtype=out.dtype) * delta)


RANGE = OpDef(
    "Range",
    "start:Tidx limit:Tidx delta:Tidx",
    _range_type,
    types={"Tidx": REAL},
    kernels=all_devices(_bind_range, REAL),
    host_inputs=(0, 1, 2),
    gradient=NOT_DIFFERENTIABLE,
    samples=("at(1), at(7), at(2)",),
)
_RANGE_TYPES = (int32, int64, float32, float64)


@public("range")
def range(
    start: Any, limit: Any = None, delta: Any = 1, dtype: DTypeLike = None, name: str = "range"
) -> Tensor:
    """Sequence of numbers from `start` up to, and without, `limit`, in steps of `delta`.

    >>> range(3).numpy().tolist(), range(5, 1, -2).numpy().tolist()
    ([0, 1, 2], [5, 3])
    """
    if limit is None:
        start, limit = 0, start
    wanted = None if dtype is None else as_dtype(dtype)
    with scope("range", name) as inner:
        named = zip((start, limit, delta), ("start", "limit", "delta"), strict=True)
        bounds = tuple(
            convert(value, None if is_tensor(value) else wanted, label)
            for value, label in named
        )
        if wanted is not None:
            bounds = tuple(cast(bound, wanted) for bound in bounds)
        types = [bound.dtype.base_dtype for bound in bounds]
        if len(set(types)) > 1 and set(types) <= set(_RANGE_TYPES):
            widest = max(types, key=_RANGE_TYPES.index)
            bounds = tuple(cast(bound, widest) for bound in bounds)
        return apply(RANGE, bounds, {}, inner)
