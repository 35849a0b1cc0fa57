"""`concat`, `stack`, `unstack` and `split`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from berth.dtypes import ALL, int8, int32
from berth.ops.arrays.array import ANY, identity
from berth.ops.arrays.metadata import axis_size, shape
from berth.ops.arrays.stacking import PACK, pack
from berth.ops.builder import apply
from berth.ops.compose import convert, is_integer, is_tensor, scope, type_of
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.opdef import Attrs, Call, Launch, OpDef, OutputType, Typed
from berth.ops.rules import (
    INDEX,
    ShapeMismatch,
    all_devices_but_strings,
    check_rank,
    copy_each,
    merge_dims,
)
from berth.ops.shape import Dims, bracketed
from berth.ops.types import AxisLike, Tensor, TensorLike, TensorList
from berth.public import public

# --- concat and stack ---------------------------------------------------------------------


def _concatenated(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    *values, axis = inputs
    dtype = values[0].dtype.base_dtype
    ranks = {len(tensor.dims) for tensor in values if tensor.dims is not None}
    if not ranks:
        return ((dtype, None),)
    rank = len(next(tensor.dims for tensor in values if tensor.dims is not None))
    if rank == 0:
        raise ValueError("Can't concatenate scalars (use tf.stack instead)")
    for tensor in values:
        check_rank(tensor.dims, rank)
    if axis.value is None:
        return ((dtype, (None,) * rank),)
    position = int(axis.value)
    if not -rank <= position < rank:
        needed = position + 1 if position >= 0 else -position
        raise ShapeMismatch(
            f"Shape must be at least rank {needed} but is rank {rank}",
            "ConcatOp : Expected concatenating dimensions in the range "
            f"[{-rank}, {rank}), but got {position}",
        )
    return ((dtype, _joined_dims(values, position % rank)),)


def _joined_dims(values: Sequence[Typed], axis: int) -> Dims:
    before: Dims = None
    after: Dims = None
    total: int | None = 0
    for position, tensor in enumerate(values):
        if tensor.dims is None:
            total = None
            continue
        at_run = _different(values[0].dims, tensor.dims, axis, position)
        before = merge_dims(before, tensor.dims[:axis], at_run)
        after = merge_dims(after, tensor.dims[axis + 1 :], at_run)
        size = tensor.dims[axis]
        total = None if total is None or size is None else total + size
    return (*(before or ()), total, *(after or ()))


def _different(first: Dims, other: Dims, axis: int, position: int) -> str | None:
    for k, (x, y) in enumerate(zip(first or (), other or (), strict=False)):
        if k != axis and x != y:
            return (
                f"ConcatOp : Dimension {k} in both shapes must be equal: shape[0] = "
                f"{bracketed(first)} vs. shape[{position}] = {bracketed(other)}"
            )
    return None


def _bind_concat(launch: Launch) -> Call:
    *values, axis = launch.inputs
    out = launch.outputs[0]
    return launch.xp.concatenate, (tuple(values), int(axis) % out.ndim, out)


CONCAT = OpDef(
    "ConcatV2",
    "values:T* axis:Tidx",
    _concatenated,
    types={"T": ALL, "Tidx": INDEX},
    kernels=all_devices_but_strings(_bind_concat),
    host_inputs=(-1,),
    samples=(
        "f(2, 3), f(4, 3), at(0)",
        "f(2, 3), f(2, 0), f(2, 1), at(-1)",
    ),
    large_samples=("large, large, at(0)",),
)


@public("concat")
def concat(values: TensorList, axis: AxisLike, name: str = "concat") -> Tensor:
    """Concatenate tensors along an existing axis.

    >>> concat([[[1, 2]], [[3, 4]]], 1).numpy().tolist()
    [[1, 2, 3, 4]]
    """
    tensors = tuple(values) if isinstance(values, list | tuple) else (values,)
    if not tensors:
        raise ValueError(
            "List argument 'values' to 'ConcatV2' Op with length 0 shorter than minimum "
            "length 2."
        )
    if len(tensors) == 1:
        with scope("concat", name):
            convert(axis, int32, "concat_dim")
            return identity(tensors[0], name=name)
    return apply(CONCAT, (*tensors, axis), {}, name)


@gradient(CONCAT)
def _concat_gradient(op: RecordedOp, grad: Any) -> Any:
    *values, axis = op.inputs
    along = axis if axis.value is None else int(axis.value)
    sizes = [shape(v)[axis] if along is axis else axis_size(v, along) for v in values]
    return [*split(grad, sizes, along, num=len(values)), None]


@public("stack")
def stack(values: TensorList, axis: int = 0, name: str = "stack") -> Tensor:
    """Stack tensors of one shape along a new axis.

    >>> stack([[1, 2], [3, 4]], axis=1).numpy().tolist()
    [[1, 3], [2, 4]]
    """
    if is_tensor(values) and axis == 0:
        return convert(values)
    values = list(values)
    if not any(type_of(value) for value in values) and axis == 0:
        return convert(values, None, name)
    first = convert(values[0]) if type_of(values[0]) else None
    if first is not None and first.dims is not None:
        _check_axis(axis, len(first.dims) + 1)
    if axis == 0:
        return pack(values, 0, name)
    return apply(PACK, tuple(values), {"axis": axis}, name)


def _check_axis(axis: int, rank: int) -> None:
    if not -rank <= axis < rank:
        raise ValueError(f"Argument `axis` = {axis} not in range [{-rank}, {rank})")


# --- unstack and split --------------------------------------------------------------------


def _unpacked(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    value = inputs[0]
    num: int = attrs["num"]
    dtype, dims = value.dtype.base_dtype, value.dims
    if dims is None:
        return ((dtype, None),) * num
    _check_axis(attrs["axis"], len(dims))
    axis = attrs["axis"] % len(dims)
    if dims[axis] not in (num, None):
        raise ShapeMismatch(
            f"Dimension must be {num} but is {dims[axis]}",
            f"Input shape axis {axis} must equal {num}, got shape {bracketed(dims)}",
        )
    return ((dtype, dims[:axis] + dims[axis + 1 :]),) * num


def _bind_unpack(launch: Launch) -> Call:
    value = launch.xp.moveaxis(launch.inputs[0], launch.attrs["axis"], 0)
    pairs = tuple(zip(launch.outputs, (value[k, ...] for k in range(len(value))), strict=True))
    return copy_each, (launch.xp.copyto, pairs)


UNPACK = OpDef(
    "Unpack",
    "value:T",
    _unpacked,
    types=ANY,
    kernels=all_devices_but_strings(_bind_unpack),
    samples=("f(2, 3), axis=1, num=3",),
    large_samples=("large.reshape(4, -1), axis=0, num=4",),
)


@public("unstack")
def unstack(
    value: TensorLike, num: int | None = None, axis: int = 0, name: str = "unstack"
) -> list[Tensor]:
    """Unstack a tensor along an axis into tensors of one rank less.

    >>> [part.numpy().tolist() for part in unstack([[1, 2], [3, 4]])]
    [[1, 2], [3, 4]]
    """
    if num is None:
        value = convert(value)
        dims = value.dims
        if dims is not None:
            _check_axis(axis, len(dims))
            num = dims[axis]
        if num is None:
            raise ValueError(f"Cannot infer argument `num` from shape {value.shape}")
    return _listed(apply(UNPACK, (value,), {"num": num, "axis": axis}, name), num)


@gradient(UNPACK)
def _unstack_gradient(op: RecordedOp, *grads: Any) -> Any:
    return stack(grads, op.attrs["axis"])


def _listed(outputs: Any, n_outputs: int) -> list[Tensor]:
    """Return the outputs of an operation as a list, even if there is one or none."""
    if n_outputs == 0:
        return []
    return [outputs] if n_outputs == 1 else list(outputs)


def _axis_to_split(axis: Typed, dims: Dims) -> int | None:
    """Return the axis if it is known; ValueError if the tensor does not have it."""
    if axis.value is None or dims is None:
        return None
    position, rank = int(axis.value), len(dims)
    if not -rank <= position < rank:
        raise ShapeMismatch(
            f"Dimension size, given by scalar input {position} must be in range "
            f"[{-rank}, {rank})",
            f"-input rank(-{rank}) <= split_dim < input rank ({rank}), but got {position}",
        )
    return position % rank


def _split_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    axis, value = inputs
    n_parts: int = attrs["num_split"]
    if n_parts < 1:
        raise ShapeMismatch(
            f"Attr 'num_split' of 'Split' Op passed {n_parts} less than minimum 1.",
            f"Value for attr 'num_split' of {n_parts} must be at least minimum 1",
        )
    dtype, dims = value.dtype.base_dtype, value.dims
    position = _axis_to_split(axis, dims)
    if dims is None or position is None:
        return ((dtype, None if dims is None else (None,) * len(dims)),) * n_parts
    size = dims[position]
    if size is not None and size % n_parts:
        raise ShapeMismatch(
            f"Dimension size must be evenly divisible by {n_parts} but is {size}\n\tNumber of "
            "ways to split should evenly divide the split dimension",
            "Number of ways to split should evenly divide the split dimension, but got "
            f"split_dim {position} (size = {size}) and num_split {n_parts}",
        )
    part = None if size is None else size // n_parts
    return ((dtype, (*dims[:position], part, *dims[position + 1 :])),) * n_parts


def _bind_split(launch: Launch) -> Call:
    return _copy_parts(launch, launch.inputs[1], int(launch.inputs[0]))


def _copy_parts(launch: Launch, value: Any, axis: int) -> Call:
    value = launch.xp.moveaxis(value, axis, 0)
    pairs, start = [], 0
    for out in launch.outputs:
        part = launch.xp.moveaxis(out, axis, 0)
        pairs.append((part, value[start : start + len(part)]))
        start += len(part)
    return copy_each, (launch.xp.copyto, tuple(pairs))


SPLIT = OpDef(
    "Split",
    "split_dim:int32 value:T",
    _split_type,
    types=ANY,
    kernels=all_devices_but_strings(_bind_split),
    host_inputs=(0,),
    samples=("at(1), f(2, 6), num_split=3",),
    large_samples=("at(0), square, num_split=4",),
)


def _split_v_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    value, sizes, axis = inputs
    n_parts: int = attrs["num_split"]
    if sizes.dims and sizes.dims[0] not in (None, n_parts):
        raise ShapeMismatch(
            "Length of size_splits should be equal to num_outputs",
            "size of the split_tensor must be 1-D and have the same elements as outputs got "
            f"{len(sizes.dims)} -D and {sizes.dims[0]} elements",
        )
    dtype, dims = value.dtype.base_dtype, value.dims
    position = _axis_to_split(axis, dims)
    if dims is None or position is None:
        return ((dtype, None if dims is None else (None,) * len(dims)),) * n_parts
    parts: list[int | None] = [None] * n_parts
    if sizes.value is not None:
        parts = _sizes_of_parts([int(size) for size in sizes.value], dims[position])
    return tuple((dtype, (*dims[:position], size, *dims[position + 1 :])) for size in parts)


def _sizes_of_parts(sizes: list[int], total: int | None) -> list[int | None]:
    if sizes.count(-1) > 1:
        raise ValueError("size_splits can only have one -1")
    if total is None:
        return [None if size == -1 else size for size in sizes]
    known = sum(size for size in sizes if size != -1)
    if known > total or (known < total and -1 not in sizes):
        raise ShapeMismatch(
            f"can't split axis of size {total} into pieces of size {bracketed(tuple(sizes))}",
            "Determined shape must either match input shape along split_dim exactly if fully "
            "specified, or be less than the size of the input along split_dim if not fully "
            f"specified.  Got: {known}",
        )
    return [total - known if size == -1 else size for size in sizes]


def _bind_split_v(launch: Launch) -> Call:
    return _copy_parts(launch, launch.inputs[0], int(launch.inputs[2]))


SPLIT_V = OpDef(
    "SplitV",
    "value:T size_splits:Tlen split_dim:int32",
    _split_v_type,
    types={"T": ALL, "Tlen": (int8, *INDEX)},
    kernels=all_devices_but_strings(_bind_split_v),
    host_inputs=(1, 2),
    samples=("f(5, 2), i(1, -1, 2), at(0), num_split=3",),
)


@public("split")
def split(
    value: TensorLike,
    num_or_size_splits: Any,
    axis: AxisLike = 0,
    num: int | None = None,
    name: str = "split",
) -> list[Tensor]:
    """Split a tensor along an axis into equal parts, or into parts of given sizes.

    >>> [part.numpy().tolist() for part in split([1, 2, 3], [1, 2])]
    [[1], [2, 3]]
    """
    if is_integer(num_or_size_splits):
        n_parts = int(num_or_size_splits)
        return _listed(apply(SPLIT, (axis, value), {"num_split": n_parts}, name), n_parts)
    sizes = convert(num_or_size_splits)
    if sizes.dims == ():
        raise ValueError(
            "Rank-0 tensors are not supported as the num_or_size_splits argument to split."
        )
    if num is None:
        num = sizes.dims[0] if sizes.dims else None
        if num is None:
            raise ValueError(f"Cannot infer argument `num` from shape {sizes}")
    return _listed(apply(SPLIT_V, (value, sizes, axis), {"num_split": num}, name), num)


@gradient(SPLIT)
def _split_gradient(op: RecordedOp, *grads: Any) -> Any:
    return None, concat(grads, op.inputs[0])


@gradient(SPLIT_V)
def _split_v_gradient(op: RecordedOp, *grads: Any) -> Any:
    return concat(grads, op.inputs[2]), None, None
