"""`constant`, `identity`, and changes of shape without a copy: `reshape`, `squeeze`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from berth.dtypes import ALL, as_dtype
from berth.ops import arrays
from berth.ops.builder import apply
from berth.ops.compose import (
    is_eager,
    is_eager_or_function,
    is_integer,
    scope,
)
from berth.ops.convert import dtype_of, frozen, to_array
from berth.ops.convert_eager import to_array_eager
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.opdef import (
    NOT_DIFFERENTIABLE,
    Attrs,
    GraphOps,
    OpDef,
    OutputType,
    Source,
    Typed,
)
from berth.ops.rules import (
    INDEX,
    ShapeMismatch,
    all_devices_but_strings,
    bind_nothing,
    like_first,
    shape_of_value,
)
from berth.ops.shape import Dims, TensorShape, bracketed, read_dims
from berth.ops.types import AxisLike, DTypeLike, ShapeLike, Tensor, TensorLike, TensorList
from berth.public import public

ANY = {"T": ALL}
_NOTHING = all_devices_but_strings(bind_nothing)

# --- constants ----------------------------------------------------------------------------


def _constant_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return ((attrs["dtype"], attrs["value"].shape),)


CONST = OpDef(
    "Const",
    "",
    _constant_type,
    kernels=_NOTHING,
    source=Source.CONSTANT,
    gradient=NOT_DIFFERENTIABLE,
    samples=("dtype=float32, value=f(2)",),
)
GraphOps.constant = CONST


@public("constant")
def constant(
    value: TensorLike,
    dtype: DTypeLike = None,
    shape: ShapeLike | None = None,
    name: str = "Const",
    verify_shape: bool = False,
) -> Tensor:
    """Constant tensor. A single value fills a larger shape; in v1, the last one.

    >>> constant(7, shape=[2, 2]).numpy().tolist()
    [[7, 7], [7, 7]]
    """
    wanted = None if dtype is None else as_dtype(dtype)
    array = to_array_eager(value, wanted) if is_eager() else to_array(value, wanted)
    if shape is not None and is_eager_or_function():
        array = _shaped_now(array, value, read_dims(shape) or ())
    elif shape is not None:
        array = _shaped(array, read_dims(shape) or (), verify_shape)
    attrs = {"dtype": dtype_of(array), "value": frozen(array)}
    return apply(CONST, (), attrs, name)


def _shaped(array: np.ndarray[Any, Any], dims: Any, exactly: bool) -> np.ndarray[Any, Any]:
    n_elements = int(np.prod(dims, dtype=np.int64))
    if exactly and array.shape != tuple(dims):
        raise TypeError(f"Expected Tensor's shape: {tuple(dims)}, got {array.shape}.")
    if array.size > n_elements or (array.size == 0 and n_elements):
        raise ValueError(
            f"Too many elements provided. Needed at most {n_elements}, but received "
            f"{array.size}"
            if array.size
            else f"Cannot fill shape {list(dims)} from no value at all."
        )
    if array.size < n_elements:
        flat = array.reshape(-1)
        array = np.concatenate([flat, np.repeat(flat[-1:], n_elements - array.size)])
    shaped: np.ndarray[Any, Any] = array.reshape(dims)
    return shaped


def _shaped_now(array: np.ndarray[Any, Any], value: Any, dims: Any) -> np.ndarray[Any, Any]:
    n_elements = int(np.prod(dims, dtype=np.int64))
    if array.size == n_elements:
        shaped: np.ndarray[Any, Any] = array.reshape(dims)
        return shaped
    if array.size != 1:
        raise TypeError(
            f"Eager execution of tf.constant with unsupported shape. Tensor {array} (converted "
            f"from {value}) has {array.size} elements, but got `shape` {TensorShape(dims)} "
            f"with {n_elements} elements)."
        )
    return np.broadcast_to(array.reshape(()), dims)


# --- identity and reshaping ---------------------------------------------------------------

IDENTITY = OpDef(
    "Identity",
    "input:T",
    like_first,
    types=ANY,
    kernels=_NOTHING,
    is_alias=True,
    is_identity=True,
    samples=("f(2, 3)",),
)
GraphOps.identity = IDENTITY
STOP_GRADIENT = OpDef(
    "StopGradient",
    "input:T",
    like_first,
    types=ANY,
    kernels=_NOTHING,
    is_alias=True,
    gradient=NOT_DIFFERENTIABLE,
    samples=("f(2, 3)",),
)


@public("identity")
def identity(input: TensorLike, name: str | None = None) -> Tensor:
    """Identity: a tensor of the same value, as a node of its own.

    >>> identity([1, 2]).numpy().tolist()
    [1, 2]
    """
    return apply(IDENTITY, (input,), {}, name)


@public("identity_n")
def identity_n(input: TensorList, name: str | None = None) -> list[Tensor]:
    """Identity of several tensors.

    >>> [tensor.numpy().tolist() for tensor in identity_n([[1, 2], 3.0])]
    [[1, 2], 3.0]
    """
    with scope("IdentityN", name):
        return [identity(tensor) for tensor in input]


@gradient(IDENTITY)
def _identity_gradient(op: RecordedOp, grad: Any) -> Any:
    return grad


@public("stop_gradient")
def stop_gradient(input: TensorLike, name: str | None = None) -> Tensor:
    """Identity whose gradient is zero: backpropagation stops here.

    >>> stop_gradient([1.0, 2.0]).numpy().tolist()
    [1.0, 2.0]
    """
    return apply(STOP_GRADIENT, (input,), {}, name)


def _reshaped(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    tensor, shape = inputs
    dtype = tensor.dtype.base_dtype
    dims = shape_of_value(shape)
    if shape.value is None or tensor.dims is None or None in tensor.dims:
        return ((dtype, dims),)
    return ((dtype, _fill_in(tensor.dims, [int(size) for size in shape.value])),)


def _fill_in(old: Sequence[Any], new: list[int]) -> Dims:
    """Work out the one size that a reshape gives as -1."""
    n_elements = int(np.prod(old, dtype=np.int64))
    known = int(np.prod([size for size in new if size != -1], dtype=np.int64))
    open_sizes = [axis for axis, size in enumerate(new) if size == -1]
    if len(open_sizes) > 1:
        raise ValueError(
            f"Only one input size may be -1, not both {open_sizes[0]} and {open_sizes[1]}"
        )
    if not open_sizes:
        if known != n_elements:
            raise ShapeMismatch(
                f"Cannot reshape a tensor with {n_elements} elements to shape "
                f"{bracketed(tuple(new))} ({known} elements)",
                f"Input to reshape is a tensor with {n_elements} values, but the requested "
                f"shape has {known}",
            )
        return tuple(new)
    if known == 0 and n_elements == 0:
        # TensorFlow leaves out the sizes that are zero on both sides.
        n_elements = int(np.prod([size for size in old if size], dtype=np.int64))
        known = int(np.prod([size for size in new if size not in (0, -1)], dtype=np.int64))
    if known == 0 or n_elements % known:
        raise ShapeMismatch(
            f"Dimension size must be evenly divisible by {known} but is {n_elements}",
            f"Input to reshape is a tensor with {n_elements} values, but the requested shape "
            f"requires a multiple of {known}",
        )
    return tuple(n_elements // known if size == -1 else size for size in new)


RESHAPE = OpDef(
    "Reshape",
    "tensor:T shape:Tshape",
    _reshaped,
    types={"T": ALL, "Tshape": INDEX},
    kernels=_NOTHING,
    host_inputs=(1,),
    is_alias=True,
    samples=(
        "f(2, 6), i(3, 4)",
        "f(2, 6), i(4, -1)",
    ),
)


@public("reshape")
def reshape(tensor: TensorLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """Reshape a tensor; one size may be -1, and is worked out.

    >>> reshape([1, 2, 3, 4], [2, -1]).numpy().tolist()
    [[1, 2], [3, 4]]
    """
    if isinstance(shape, TensorShape):
        shape = [-1 if size is None else size for size in shape.as_list()]
    return apply(RESHAPE, (tensor, shape), {}, name)


@gradient(RESHAPE)
def _reshape_gradient(op: RecordedOp, grad: Any) -> Any:
    return reshape(grad, arrays.metadata.shape(op.inputs[0])), None


def _expanded(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    tensor, axis = inputs
    dtype = tensor.dtype.base_dtype
    if tensor.dims is None:
        return ((dtype, None),)
    rank = len(tensor.dims)
    if axis.value is None:
        return ((dtype, (None,) * (rank + 1)),)
    if axis.value.size != 1:
        message = "must be a tensor with a single value"
        raise ShapeMismatch(f"'dim' input {message}", f"'dim' {message}")
    position = int(axis.value.reshape(-1)[0])
    if not -rank - 1 <= position <= rank:
        message = f"dim {position} not in the interval [{-rank - 1}, {rank}]."
        at_run = f"Tried to expand dim index {position} for tensor with {rank} dimensions."
        raise ShapeMismatch(message, at_run)
    position %= rank + 1
    return ((dtype, (*tensor.dims[:position], 1, *tensor.dims[position:])),)


EXPAND_DIMS = OpDef(
    "ExpandDims",
    "input:T dim:Tdim",
    _expanded,
    types={"T": ALL, "Tdim": INDEX},
    kernels=_NOTHING,
    host_inputs=(1,),
    is_alias=True,
    samples=("f(2, 3), at(-1)",),
)


@public("expand_dims")
def expand_dims(
    input: TensorLike, axis: AxisLike = None, name: str | None = None, dim: Any = None
) -> Tensor:
    """Insert an axis of size 1.

    >>> expand_dims([1, 2], -1).numpy().tolist()
    [[1], [2]]
    """
    axis = either_name("axis", axis, "dim", dim)
    if axis is None:
        raise ValueError("Must specify an axis argument to tf.expand_dims()")
    return apply(EXPAND_DIMS, (input, axis), {}, name)


@gradient(EXPAND_DIMS)
def _expand_dims_gradient(op: RecordedOp, grad: Any) -> Any:
    return reshape(grad, arrays.metadata.shape(op.inputs[0])), None


def either_name(new: str, value: Any, old: str, old_value: Any) -> Any:
    """Return an argument that has two names; ValueError if it was given under both."""
    if old_value is None:
        return value
    if value is not None:
        raise ValueError(f"Cannot specify both '{old}' and '{new}'.")
    return old_value


def _squeezed(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    tensor = inputs[0]
    dtype, dims, axes = tensor.dtype.base_dtype, tensor.dims, attrs["squeeze_dims"]
    if dims is None or (not axes and None in dims):
        return ((dtype, None),)
    rank, dropped = len(dims), set()
    for position, axis in enumerate(axes):
        if not -rank <= axis < rank:
            message = f"squeeze_dims[{position}] not in [{-rank},{rank})."
            raise ShapeMismatch(
                message, f"Tried to squeeze dim index {axis} for tensor with {rank} dimensions."
            )
        size = dims[axis]
        if size not in (1, None):
            raise ValueError(
                f"Can not squeeze dim[{axis % rank}], expected a dimension of 1, got {size}"
            )
        dropped.add(axis % rank)
    if not axes:
        dropped = {axis for axis, size in enumerate(dims) if size == 1}
    return ((dtype, tuple(size for axis, size in enumerate(dims) if axis not in dropped)),)


SQUEEZE = OpDef(
    "Squeeze",
    "input:T",
    _squeezed,
    types=ANY,
    kernels=_NOTHING,
    is_alias=True,
    samples=(
        "f(2, 1, 3, 1), squeeze_dims=[1]",
        "f(2, 1, 3, 1), squeeze_dims=[]",
    ),
)


@public("squeeze")
def squeeze(
    input: TensorLike, axis: AxisLike = None, name: str | None = None, squeeze_dims: Any = None
) -> Tensor:
    """Remove axes of size 1: those given, or all.

    >>> squeeze([[[1], [2]]]).numpy().tolist()
    [1, 2]
    >>> squeeze([[[1], [2]]], [0]).numpy().tolist()
    [[1], [2]]
    """
    chosen: Any = either_name("axis", axis, "squeeze_dims", squeeze_dims)
    axes = [chosen] if is_integer(chosen) else list(chosen or ())
    return apply(SQUEEZE, (input,), {"squeeze_dims": [int(a) for a in axes]}, name)


@gradient(SQUEEZE)
def _squeeze_gradient(op: RecordedOp, grad: Any) -> Any:
    return reshape(grad, arrays.metadata.shape(op.inputs[0]))
