"""`reverse`, `reverse_sequence`, `roll` and `repeat`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from berth.dtypes import ALL
from berth.errors import InvalidArgumentError
from berth.ops.arrays.any_rank import Around
from berth.ops.arrays.array import either_name, expand_dims, reshape
from berth.ops.arrays.broadcasting import broadcast_to
from berth.ops.arrays.gathering import gather, where
from berth.ops.arrays.grids import sequence_mask
from berth.ops.arrays.metadata import axis_size
from berth.ops.arrays.tile import tile
from berth.ops.builder import apply
from berth.ops.compose import convert, is_integer, scope
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.opdef import Attrs, Call, Launch, OpDef, OutputType, Typed
from berth.ops.rules import (
    INDEX,
    ShapeMismatch,
    all_devices_but_strings,
    check_again,
    check_rank,
    copy_each,
    like_first,
    merge_dims,
)
from berth.ops.types import AxisLike, Tensor, TensorLike
from berth.public import public, public_v1, public_v2

# --- reverse ------------------------------------------------------------------------------


def _reversed(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    tensor, axis = inputs
    check_rank(axis.dims, 1)
    if tensor.dims is not None and axis.value is not None:
        _axes_to_turn(axis.value, len(tensor.dims))
    return like_first(inputs, attrs)


def _axes_to_turn(axes: Any, rank: int) -> set[int]:
    turned: set[int] = set()
    for position, axis in enumerate(int(axis) for axis in axes):
        if not -rank <= axis < rank:
            raise ValueError(
                f"'axis'[{position}] = {axis} is out of valid range [0, {rank - 1}"
            )
        if axis % rank in turned:
            raise ValueError(f"axis {axis % rank} specified more than once.")
        turned.add(axis % rank)
    return turned


def _bind_reverse(launch: Launch) -> Call:
    check_again(_reversed, launch)
    tensor, axis = launch.inputs
    turned = _axes_to_turn(axis, tensor.ndim)
    steps = (slice(None, None, -1 if k in turned else 1) for k in range(tensor.ndim))
    index = (*steps, ...)  # or a part without axes would be no array
    return launch.xp.copyto, (launch.outputs[0], tensor[index])


REVERSE = OpDef(
    "ReverseV2",
    "tensor:T axis:Tidx",
    _reversed,
    types={"T": ALL, "Tidx": INDEX},
    kernels=all_devices_but_strings(_bind_reverse),
    host_inputs=(1,),
    samples=("f(2, 3), i(-1)",),
    large_samples=("square, i(0, 1)",),
)


@public("reverse")
@public_v1("reverse_v2")
def reverse(tensor: TensorLike, axis: AxisLike, name: str | None = None) -> Tensor:
    """Reverse a tensor along axes.

    >>> reverse([[1, 2], [3, 4]], [1]).numpy().tolist()
    [[2, 1], [4, 3]]
    """
    return apply(REVERSE, (tensor, axis), {}, name)


@gradient(REVERSE)
def _reverse_gradient(op: RecordedOp, grad: Any) -> Any:
    return reverse(grad, op.inputs[1]), None


def _sequences_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    tensor, lengths = inputs
    check_rank(lengths.dims, 1)
    if tensor.dims is None:
        return like_first(inputs, attrs)
    rank = len(tensor.dims)
    for name in ("seq_dim", "batch_dim"):
        if attrs[name] >= rank:
            raise ShapeMismatch(
                f"{name} must be < input rank: {attrs[name]} vs. {rank}",
                f"{name} must be < input rank ( {attrs[name]} vs. {rank})",
            )
    batch = attrs["batch_dim"]
    size, n_lengths = tensor.dims[batch], (lengths.dims or (None,))[0]
    if size != n_lengths and None not in (size, n_lengths):
        raise ShapeMismatch(
            f"Dimensions must be equal, but are {size} and {n_lengths}",
            f"Length of seq_lengths != input.dims({batch}), ({n_lengths} vs. {size})",
        )
    known = n_lengths if size is None else size
    dims = (*tensor.dims[:batch], known, *tensor.dims[batch + 1 :])
    return ((tensor.dtype.base_dtype, dims),)


def _bind_reverse_sequences(launch: Launch) -> Call:
    tensor, lengths = launch.inputs
    seq, batch = launch.attrs["seq_dim"], launch.attrs["batch_dim"]
    if seq == batch:
        raise InvalidArgumentError(None, None, f"batch_dim == seq_dim == {seq}")
    source = launch.xp.moveaxis(tensor, (batch, seq), (0, 1))
    out = launch.xp.moveaxis(launch.outputs[0], (batch, seq), (0, 1))
    return _reverse_sequences, (launch.xp.copyto, source, lengths, out, seq)


def _reverse_sequences(copyto: Any, source: Any, lengths: Any, out: Any, axis: int) -> None:
    copyto(out, source)
    for row, length in enumerate(lengths.tolist()):
        if not 0 <= length <= source.shape[1]:
            limit = "< 0" if length < 0 else f"> input.dims({axis})"
            raise InvalidArgumentError(None, None, f"seq_lens({row}) {limit}")
        copyto(out[row, :length], source[row, :length][::-1])


REVERSE_SEQUENCE = OpDef(
    "ReverseSequence",
    "input:T seq_lengths:Tlen",
    _sequences_type,
    types={"T": ALL, "Tlen": INDEX},
    kernels=all_devices_but_strings(_bind_reverse_sequences),
    samples=("f(2, 3, 2), i(2, 3), seq_dim=1, batch_dim=0",),
    large_samples=("square, i(*range(512)), seq_dim=1, batch_dim=0",),
)


@public_v2("reverse_sequence")
def reverse_sequence(
    input: TensorLike,
    seq_lengths: Any,
    seq_axis: int | None = None,
    batch_axis: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Reverse the first `seq_lengths` elements of each sequence of a batch.

    >>> reverse_sequence([[1, 2, 3], [4, 5, 6]], [2, 3], seq_axis=1).numpy().tolist()
    [[2, 1, 3], [6, 5, 4]]
    """
    if seq_axis is None:
        raise TypeError("Expected int for argument 'seq_dim' not None.")
    attrs = {"seq_dim": seq_axis, "batch_dim": batch_axis or 0}
    return apply(REVERSE_SEQUENCE, (input, seq_lengths), attrs, name)


@public_v1("reverse_sequence")
def reverse_sequence_v1(
    input: TensorLike,
    seq_lengths: Any,
    seq_axis: int | None = None,
    batch_axis: int | None = None,
    name: str | None = None,
    seq_dim: int | None = None,
    batch_dim: int | None = None,
) -> Tensor:
    """Reverse the first elements of each sequence, with TensorFlow 1's argument names.

    >>> reverse_sequence_v1([[1, 2], [3, 4]], [1, 2], seq_dim=1).numpy().tolist()
    [[1, 2], [4, 3]]
    """
    seq_axis = either_name("seq_axis", seq_axis, "seq_dim", seq_dim)
    batch_axis = either_name("batch_axis", batch_axis, "batch_dim", batch_dim)
    return reverse_sequence(input, seq_lengths, seq_axis, batch_axis, name)


@gradient(REVERSE_SEQUENCE)
def _reverse_sequence_gradient(op: RecordedOp, grad: Any) -> Any:
    seq, batch = op.attrs["seq_dim"], op.attrs["batch_dim"]
    return reverse_sequence(grad, op.inputs[1], seq, batch), None


# --- roll ---------------------------------------------------------------------------------


def _rolled(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    tensor, shift, axis = inputs
    if tensor.dims == ():
        message = "Shape must be at least rank 1 but is rank 0"
        raise ShapeMismatch(message, "input must be 1-D or higher")
    for number in (shift, axis):
        if number.dims is not None and len(number.dims) > 1:
            raise ValueError(f"Shape must be at most rank 1 but is rank {len(number.dims)}")
    merge_dims(shift.dims, axis.dims, "shift and axis must have the same size")
    return like_first(inputs, attrs)


def _bind_roll(launch: Launch) -> Call:
    check_again(_rolled, launch)
    tensor, shift, axis = launch.inputs
    out, shifts = launch.outputs[0], [0] * tensor.ndim
    for by, along in zip(shift.reshape(-1).tolist(), axis.reshape(-1).tolist(), strict=True):
        if not -tensor.ndim <= along < tensor.ndim:
            raise InvalidArgumentError(None, None, f"axis {along} is out of range")
        size = max(tensor.shape[along], 1)
        shifts[along] = (shifts[along] + by) % size
    halves = [_halves(by, size) for by, size in zip(shifts, tensor.shape, strict=True)]
    pairs = [
        (
            out[tuple(target for target, _ in parts)],
            tensor[tuple(source for _, source in parts)],
        )
        for parts in itertools.product(*halves)
    ]
    return copy_each, (launch.xp.copyto, tuple(pairs))


def _halves(shift: int, size: int) -> list[tuple[slice, slice]]:
    """Return the slices of a roll along one axis: what is shifted, and what wraps around."""
    moved = slice(shift, size), slice(0, size - shift)
    return [moved, (slice(0, shift), slice(size - shift, size))] if shift else [moved]


ROLL = OpDef(
    "Roll",
    "input:T shift:Tshift axis:Taxis",
    _rolled,
    types={"T": ALL, "Tshift": INDEX, "Taxis": INDEX},
    kernels=all_devices_but_strings(_bind_roll),
    host_inputs=(1, 2),
    samples=(
        "f(2, 3), i(1, -2), i(0, 1)",
        "f(2, 3), at(4), at(-1)",
    ),
    large_samples=("square, i(3, 5), i(0, 1)",),
)


@public("roll")
def roll(input: TensorLike, shift: Any, axis: AxisLike, name: str | None = None) -> Tensor:
    """Roll the elements of a tensor along axes; those beyond the end wrap around.

    >>> roll([1, 2, 3, 4], 1, 0).numpy().tolist()
    [4, 1, 2, 3]
    """
    return apply(ROLL, (input, shift, axis), {}, name)


@gradient(ROLL)
def _roll_gradient(op: RecordedOp, grad: Any) -> Any:
    _, shift, axis = op.inputs
    return roll(grad, -shift, axis), None, None


# --- repeat -------------------------------------------------------------------------------


@public("repeat")
def repeat(
    input: TensorLike, repeats: Any, axis: int | None = None, name: str | None = None
) -> Tensor:
    """Repeat the elements of a tensor along an axis.

    Without an axis, the elements are put in one row first.

    >>> repeat([[1, 2], [3, 4]], 2, axis=1).numpy().tolist()
    [[1, 1, 2, 2], [3, 3, 4, 4]]
    >>> repeat([5, 6, 7], [2, 0, 1]).numpy().tolist()
    [5, 5, 7]
    """
    with scope("repeat", name):
        tensor = convert(input, None, "data")
        if axis is None:
            tensor, axis = reshape(tensor, [-1]), 0
        if tensor.dims is None:
            around = Around.of(tensor, axis)
            return around.restored(repeat(around.block, repeats, 1))
        rank = len(tensor.dims)
        if not is_integer(axis) or not -rank <= axis < rank:
            raise ValueError(f"axis={axis} out of bounds: expected {-rank}<=axis<{rank}")
        axis %= rank
        known = None if hasattr(repeats, "dims") else np.asarray(repeats)
        if known is not None and known.size == 1:
            return _repeat_all(tensor, int(known.reshape(())), axis)
        repeats = convert(repeats, None, "repeats")
        if repeats.dims == ():
            repeats = reshape(repeats, [1])
        _check_repeats(repeats.dims, tensor.dims[axis])
        if known is not None:
            order: Any = np.repeat(np.arange(known.size), known)
        else:
            counts = broadcast_to(repeats, [axis_size(tensor, axis)])
            order = where(sequence_mask(counts))[:, 0]
        return gather(tensor, order, axis=axis)


def _repeat_all(tensor: Any, times: int, axis: int) -> Tensor:
    multiples = [1] * (len(tensor.dims) + 1)
    multiples[axis + 1] = times
    wide = tile(expand_dims(tensor, axis + 1), multiples)
    sizes = [axis_size(tensor, k) for k in range(len(tensor.dims))]
    sizes[axis] *= times
    return reshape(wide, sizes)


def _check_repeats(repeats: Any, size: int | None) -> None:
    check_rank(repeats, 1)
    n_repeats = repeats[0] if repeats else None
    if n_repeats not in (1, size, None) and size is not None:
        raise ValueError(f"Dimensions {size} and {n_repeats} are not compatible")
