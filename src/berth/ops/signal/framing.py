"""Frames of signals, and signals put together again of overlapping frames."""

from __future__ import annotations

from typing import Any

import numpy as np

from berth.ops.arrays.array import expand_dims, reshape, squeeze
from berth.ops.arrays.filling import range as range_op
from berth.ops.arrays.gathering import gather_v2
from berth.ops.arrays.metadata import axis_size
from berth.ops.arrays.pad import pad
from berth.ops.arrays.transpose import transpose
from berth.ops.compose import convert, scope
from berth.ops.elementwise.arithmetic import maximum
from berth.ops.reductions.reduction import reduce_sum
from berth.ops.types import Tensor, TensorLike
from berth.public import public


def as_number(value: Any, name: str) -> Any:
    """Return a scalar argument as a number if it is known, else as a tensor."""
    tensor: Any = convert(value, None, name)
    tensor.shape.with_rank(0)
    return tensor if tensor.value is None else int(tensor.value)


def at_least(number: Any, least: Any) -> Any:
    """Return the larger of two, which are numbers or tensors."""
    if isinstance(number, int) and isinstance(least, int):
        return max(number, least)
    return maximum(number, least)


@public("signal.frame")
def frame(
    signal: TensorLike,
    frame_length: Any,
    frame_step: Any,
    pad_end: bool = False,
    pad_value: Any = 0,
    axis: Any = -1,
    name: str | None = None,
) -> Tensor:
    """Split an axis into overlapping frames: the axis becomes two, frames and their elements.

    >>> frame([1, 2, 3, 4, 5], 3, 2).numpy().tolist()
    [[1, 2, 3], [3, 4, 5]]
    >>> frame([1, 2, 3, 4], 3, 2, pad_end=True).numpy().tolist()
    [[1, 2, 3], [3, 4, 0]]
    """
    with scope("frame", name):
        tensor: Any = convert(signal, None, "signal")
        length = as_number(frame_length, "frame_length")
        step = as_number(frame_step, "frame_step")
        tensor.shape.with_rank_at_least(1)
        rank = len(tensor.dims)
        place = as_number(axis, "axis") % rank
        n_samples = axis_size(tensor, place)
        if pad_end:
            n_frames = at_least(-(-n_samples // step), 0)
            missing = at_least(length + step * (n_frames - 1) - n_samples, 0)
            paddings: list[Any] = [[0, 0] for _ in range(rank)]
            paddings[place] = [0, missing]
            tensor = pad(tensor, paddings, constant_values=pad_value)
        else:
            n_frames = at_least(1 + (n_samples - length) // step, 0)
        if all(isinstance(number, int) for number in (n_frames, length, step)):
            positions: Any = np.arange(n_frames)[:, None] * step + np.arange(length)
            positions = positions.astype(np.int32)
        else:
            positions = (range_op(n_frames) * step)[:, None] + range_op(length)
        if place:
            return gather_v2(tensor, positions, axis=place)
        # Along the first axis, the gradient of a gather would be IndexedSlices.
        return squeeze(gather_v2(expand_dims(tensor, 0), positions, axis=1), [0])


@public("signal.overlap_and_add")
def overlap_and_add(signal: TensorLike, frame_step: Any, name: str | None = None) -> Tensor:
    """Add up overlapping frames, each `frame_step` after the one before.

    >>> overlap_and_add([[1, 2, 3], [10, 20, 30]], 2).numpy().tolist()
    [1, 2, 13, 20, 30]
    """
    with scope("overlap_and_add", name):
        frames: Any = convert(signal, None, "signal")
        frames.shape.with_rank_at_least(2)
        step_tensor: Any = convert(frame_step, None, "frame_step")
        if not step_tensor.dtype.is_integer:
            raise ValueError(f"frame_step must be an integer. Got {step_tensor.dtype}")
        step = as_number(step_tensor, "frame_step")
        outer = [axis_size(frames, axis) for axis in range(len(frames.dims) - 2)]
        n_frames, length = axis_size(frames, -2), axis_size(frames, -1)
        n_parts = -(-length // step)
        untouched = [[0, 0]] * len(outer)
        # Each frame is cut into parts of a step, and part k of it moved k frames further on.
        parts = pad(frames, [*untouched, [0, n_parts], [0, n_parts * step - length]])
        parts = reshape(parts, [*outer, n_frames + n_parts, n_parts, step])
        order = [*range(len(outer)), len(outer) + 1, len(outer), len(outer) + 2]
        parts = transpose(parts, order)
        parts = reshape(parts, [*outer, (n_frames + n_parts) * n_parts, step])
        n_kept = n_frames + n_parts - 1
        parts = parts[..., : n_kept * n_parts, :]
        parts = reshape(parts, [*outer, n_parts, n_kept, step])
        added = reshape(reduce_sum(parts, -3), [*outer, n_kept * step])
        n_samples = (n_frames - 1) * step + length
        result: Tensor = added[..., :n_samples]
        return result
