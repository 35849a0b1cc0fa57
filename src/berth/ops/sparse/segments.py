"""Segment reductions of some rows of a tensor: `tf.sparse.segment_sum` and others."""

from __future__ import annotations

from typing import Any

from berth.ops.arrays.array import reshape
from berth.ops.arrays.filling import ones, ones_like
from berth.ops.arrays.gathering import gather
from berth.ops.arrays.joining import concat
from berth.ops.arrays.metadata import rank, shape
from berth.ops.compose import convert
from berth.ops.elementwise.arithmetic import maximum
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.roots import sqrt
from berth.ops.reductions.reduction import reduce_max
from berth.ops.reductions.unsorted_segments import unsorted_segment_sum
from berth.public import public, public_v1


def _sums(data: Any, indices: Any, segment_ids: Any, num_segments: Any) -> tuple[Any, Any]:
    """Return the sum of the rows of each segment, and how many rows that were."""
    rows, ids = gather(convert(data), convert(indices)), convert(segment_ids)
    n_segments: Any = reduce_max(ids) + 1 if num_segments is None else num_segments
    counts: Any = unsorted_segment_sum(ones_like(ids), ids, n_segments)
    inner = ones([rank(rows) - 1], counts.dtype)
    sizes = concat([shape(counts, out_type=counts.dtype), inner], 0)
    counts = cast(reshape(counts, sizes), rows.dtype)
    return unsorted_segment_sum(rows, ids, n_segments), maximum(counts, convert(1, rows.dtype))


@public("sparse.segment_sum")
@public_v1("sparse_segment_sum")
def segment_sum(
    data: Any, indices: Any, segment_ids: Any, num_segments: Any = None, name: str | None = None
) -> Any:
    """Sum of the rows at indices, segment by segment.

    >>> segment_sum([1, 2, 3], [0, 2], [0, 0]).numpy().tolist()
    [4]
    """
    return _sums(data, indices, segment_ids, num_segments)[0]


@public("sparse.segment_mean")
@public_v1("sparse_segment_mean")
def segment_mean(
    data: Any, indices: Any, segment_ids: Any, num_segments: Any = None, name: str | None = None
) -> Any:
    """Mean of the rows at indices, segment by segment.

    >>> segment_mean([1.0, 2.0, 3.0], [0, 2], [0, 0]).numpy().tolist()
    [2.0]
    """
    sums, counts = _sums(data, indices, segment_ids, num_segments)
    return sums / counts


@public("sparse.segment_sqrt_n")
@public_v1("sparse_segment_sqrt_n")
def segment_sqrt_n(
    data: Any, indices: Any, segment_ids: Any, num_segments: Any = None, name: str | None = None
) -> Any:
    """Sum of the rows at indices over the root of their number, segment by segment.

    >>> segment_sqrt_n([1.0, 2.0, 3.0, 4.0], [0, 1, 2, 1], [0, 0, 0, 0]).numpy().tolist()
    [4.0]
    """
    sums, counts = _sums(data, indices, segment_ids, num_segments)
    return sums / sqrt(counts)
