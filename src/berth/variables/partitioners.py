"""Partitioners: functions that tell into how many parts a variable is divided on each axis."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from berth.dtypes import DType, as_dtype, string
from berth.ops.shape import TensorShape
from berth.public import public_v1
from berth.variables.initializers import known_dims

Partitioner = Callable[..., list[int]]


@public_v1("fixed_size_partitioner")
def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Partitioner:
    """Partitioner into a number of parts along one axis.

    >>> fixed_size_partitioner(2)(shape=TensorShape([5, 2]))
    [2, 1]
    """

    def partitioner(shape: Any, **_: Any) -> list[int]:
        sizes = _known_sizes(shape)
        return _along(axis, len(sizes), min(num_shards, sizes[axis]))

    return partitioner


@public_v1("variable_axis_size_partitioner")
def variable_axis_size_partitioner(
    max_shard_bytes: int,
    axis: int = 0,
    bytes_per_string_element: int = 16,
    max_shards: int | None = None,
) -> Partitioner:
    """Partitioner into parts of at most so many bytes, and into at most so many parts."""
    if max_shard_bytes < 1 or bytes_per_string_element < 1:
        raise ValueError(
            "Both max_shard_bytes and bytes_per_string_element must be positive. Currently, "
            f"max_shard_bytes is {max_shard_bytes} andbytes_per_string_element is "
            f"{bytes_per_string_element}"
        )

    def partitioner(shape: Any, dtype: Any) -> list[int]:
        sizes = _known_sizes(shape)
        n_bytes = _n_bytes(sizes, as_dtype(dtype), bytes_per_string_element)
        slice_bytes = max(n_bytes / max(sizes[axis], 1), 1)
        per_shard = max(1, math.floor(max_shard_bytes / slice_bytes))
        n_shards = max(1, math.ceil(sizes[axis] / per_shard))
        if max_shards is not None:
            n_shards = min(max_shards, n_shards)
        return _along(axis, len(sizes), n_shards)

    return partitioner


@public_v1("min_max_variable_partitioner")
def min_max_variable_partitioner(
    max_partitions: int = 1,
    axis: int = 0,
    min_slice_size: int = 256 << 10,
    bytes_per_string_element: int = 16,
) -> Partitioner:
    """Partitioner into at most so many parts, each of at least so many bytes."""

    def partitioner(shape: Any, dtype: Any) -> list[int]:
        sizes = _known_sizes(shape)
        if axis >= len(sizes):
            raise ValueError(
                f"Cannot partition variable along axis {axis} when shape is only "
                f"{TensorShape(sizes)}"
            )
        n_bytes = _n_bytes(sizes, as_dtype(dtype), bytes_per_string_element)
        n_shards = min(sizes[axis], max_partitions, max(1, n_bytes // min_slice_size))
        return _along(axis, len(sizes), n_shards)

    return partitioner


def _known_sizes(shape: Any) -> list[int]:
    declared = TensorShape(shape)
    if not declared.is_fully_defined():
        raise ValueError(f"shape is not fully defined: {declared}")
    return list(known_dims(declared))


def _n_bytes(sizes: list[int], dtype: DType, string_bytes: int) -> int:
    return math.prod(sizes) * (string_bytes if dtype is string else dtype.size)


def _along(axis: int, rank: int, n_parts: int) -> list[int]:
    parts = [1] * rank
    parts[axis] = n_parts
    return parts
