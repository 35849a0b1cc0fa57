"""Slices of tensors: the parts of a partitioned variable, as checkpoints name them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from berth.dtypes import DType
from berth.errors import InvalidArgumentError
from berth.train.checkpoints.protos import TensorSliceProto

_MAX_NUMBER_BYTES = 10
Bounds = Sequence[tuple[int, int]]
"""A start and an end for each axis."""

_ESCAPES = {0x00: b"\x00\xff", 0xFF: b"\xff\x00"}


class TensorSlice(NamedTuple):
    """A start and a length for each axis; a length of -1 is the whole axis."""

    extents: tuple[tuple[int, int], ...]

    @classmethod
    def from_proto(cls, proto: TensorSliceProto) -> TensorSlice:
        return cls(
            tuple(
                (extent.start, extent.length if extent.HasField("length") else -1)
                for extent in proto.extent
            )
        )

    def as_proto(self) -> TensorSliceProto:
        proto = TensorSliceProto()
        for start, length in self.extents:
            extent = proto.extent.add()
            if length >= 0:
                extent.start, extent.length = start, length
        return proto

    def bounds(self, shape: Sequence[int]) -> tuple[tuple[int, int], ...] | None:
        """Return start and end for each axis of a tensor; None if it does not fit into it."""
        if len(shape) != len(self.extents):
            return None
        bounds = []
        for (start, length), size in zip(self.extents, shape, strict=True):
            end = size if length < 0 else start + length
            if not 0 <= start <= end <= size:
                return None
            bounds.append((start, end))
        return tuple(bounds)

    def __str__(self) -> str:
        return ":".join("-" if n < 0 else f"{start},{n}" for start, n in self.extents)


class ShapeAndSlice(NamedTuple):
    """The shape of a whole tensor, and the part that is saved or restored."""

    shape: tuple[int, ...]
    slice: TensorSlice

    @classmethod
    def parse(cls, text: str) -> ShapeAndSlice | None:
        """Read ``4 2 0,2:-``; an empty text means a whole tensor, and gives None.

        >>> ShapeAndSlice.parse("4 2 0,2:-")
        ShapeAndSlice(shape=(4, 2), slice=TensorSlice(extents=((0, 2), (0, -1))))
        """
        if not text:
            return None
        *sizes, extents = text.split(" ")
        try:
            shape = tuple(int(size) for size in sizes)
            slice_ = TensorSlice(tuple(map(_parse_extent, extents.split(":"))))
        except ValueError:
            shape, slice_ = (), TensorSlice(((0, -1),))
        if slice_.bounds(shape) is None:
            raise InvalidArgumentError(
                None,
                None,
                "Expected a space-separated list of sizes and a slice such as '4 2 0,2:-', "
                f"got: {text!r}",
            )
        return cls(shape, slice_)


def _parse_extent(text: str) -> tuple[int, int]:
    if text == "-":
        return 0, -1
    start, length = text.split(",")
    if int(length) < 0:
        raise ValueError
    return int(start), int(length)


def intersection(one: Bounds, other: Bounds) -> Bounds | None:
    """Return what two parts of a tensor have in common; None if that is nothing."""
    common = [(max(a, c), min(b, d)) for (a, b), (c, d) in zip(one, other, strict=True)]
    return None if any(start >= end for start, end in common) else common


class Assembly:
    """A part of a tensor that is put together from slices, which may overlap it."""

    def __init__(self, wanted: Bounds, dtype: DType) -> None:
        self._wanted = wanted
        self._dtype = dtype
        self._sizes = [end - start for start, end in wanted]
        self._out: Any = None
        self._n_left = prod(self._sizes)

    def lacks(self, bounds: Bounds) -> bool:
        """Tell whether a slice has anything of the part."""
        return intersection(self._wanted, bounds) is not None

    def add(self, bounds: Bounds, array: Any) -> None:
        """Copy what a slice has of the part."""
        if tuple(bounds) == tuple(self._wanted) and self._out is None:
            self._out, self._n_left = array, 0
            return
        common = intersection(self._wanted, bounds)
        assert common is not None
        if self._out is None:
            self._out = np.zeros(self._sizes, self._dtype.np_dtype)
        target = self._out[indices(common, self._wanted)]
        target[...] = array[indices(common, bounds)]
        self._n_left -= target.size

    def finish(self) -> Any:
        """Return the part; None if the slices do not cover it, each element once."""
        if self._n_left:
            return None
        return np.zeros(self._sizes, self._dtype.np_dtype) if self._out is None else self._out


def indices(part: Bounds, of: Bounds) -> tuple[slice, ...]:
    """Return the indices of a part in an array that holds a larger part."""
    return tuple(slice(a - o, b - o) for (a, b), (o, _) in zip(part, of, strict=True))


# --- keys of slices ---------------------------------------------------------------------------


def slice_key(name: bytes, slice_: TensorSlice) -> bytes:
    """Return the key of a slice: a code of name and extents that sorts as these do.

    >>> slice_key(b"p", TensorSlice(((2, 2), (0, -1))))
    b'\\x00p\\x00\\x01\\x01\\x02\\x82\\x82\\x80\\x7f'
    """
    escaped = b"".join(_ESCAPES.get(byte) or bytes([byte]) for byte in name)
    key = bytearray(_number(0) + escaped + b"\0\x01" + _number(len(slice_.extents)))
    for start, length in slice_.extents:
        key += _signed_number(start) + _signed_number(length)
    return bytes(key)


def _number(value: int) -> bytes:
    """An unsigned number: how many bytes, then these."""
    n_bytes = (value.bit_length() + 7) // 8
    return bytes([n_bytes]) + value.to_bytes(n_bytes, "big")


def _signed_number(value: int) -> bytes:
    """A number whose first bits tell how many bytes it has, inverted if it is negative."""
    n_bytes = next(n for n in range(1, _MAX_NUMBER_BYTES + 1) if _fits(value, 7 * n))
    header = ((1 << n_bytes) - 1) << (7 * n_bytes)
    return ((value ^ header) & ((1 << (8 * n_bytes)) - 1)).to_bytes(n_bytes, "big")


def _fits(value: int, n_bits: int) -> bool:
    return -(1 << (n_bits - 1)) <= value < 1 << (n_bits - 1)
