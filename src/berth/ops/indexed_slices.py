"""Gradients of which most rows are zero: the others, and where they belong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from berth.ops.joining import concat
from berth.ops.math import add_n
from berth.ops.segments import unsorted_segment_sum


class IndexedSlices:
    """Rows of a larger tensor, `values`, and their numbers in it, `indices`.

    A row may be there several times; it counts as the sum then. Where a tensor is wanted it
    becomes one, with zeros in all other rows.
    """

    def __init__(self, values: Any, indices: Any, dense_shape: Any = None) -> None:
        self.values = values
        self.indices = indices
        self.dense_shape = dense_shape

    @property
    def dtype(self) -> Any:
        return self.values.dtype

    @property
    def shape(self) -> Any:
        """The shape of the larger tensor, as far as it is known."""
        return self.as_tensor().shape

    @property
    def device(self) -> Any:
        return self.values.device

    @property
    def graph(self) -> Any:
        return self.values.graph

    @property
    def op(self) -> Any:
        return self.values.op

    @property
    def name(self) -> Any:
        return self.values.name

    def as_tensor(self) -> Any:
        """Return the larger tensor."""
        if self.dense_shape is None:
            raise ValueError(
                "Tensor conversion requested for IndexedSlices without dense_shape: "
                f"{self!r}"
            )
        return unsorted_segment_sum(self.values, self.indices, self.dense_shape[0])

    def __neg__(self) -> IndexedSlices:
        return IndexedSlices(-self.values, self.indices, self.dense_shape)

    def __repr__(self) -> str:
        shape = "" if self.dense_shape is None else f", dense_shape={self.dense_shape!r}"
        return f"IndexedSlices(indices={self.indices!r}, values={self.values!r}{shape})"


def total(parts: Sequence[Any]) -> Any:
    """Add gradients of one tensor up; None if there are none."""
    if not parts:
        return None
    if len(parts) == 1:
        return parts[0]
    if all(isinstance(part, IndexedSlices) for part in parts):
        values = concat([part.values for part in parts], 0)
        indices = concat([part.indices for part in parts], 0)
        return IndexedSlices(values, indices, parts[0].dense_shape)
    return add_n([as_dense(part) for part in parts])


def as_dense(grad: Any) -> Any:
    """Return a gradient as a tensor."""
    return grad.as_tensor() if isinstance(grad, IndexedSlices) else grad
