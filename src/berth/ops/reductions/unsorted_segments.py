"""Unsorted segment reductions: unsorted_segment_sum, unsorted_segment_mean and so on.

Rows with negative ids are dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from berth.dtypes import NUMBERS, REAL, DType
from berth.ops.arrays import array, filling, gathering, metadata
from berth.ops.builder import apply
from berth.ops.compose import convert, scope
from berth.ops.declare import publish
from berth.ops.elementwise import compare
from berth.ops.elementwise.arithmetic import maximum, truediv
from berth.ops.elementwise.roots import sqrt
from berth.ops.gradient import RecordedOp
from berth.ops.opdef import Attrs, Bind, Call, Launch, OpDef, OutputType, Typed, all_devices
from berth.ops.reductions.segment_rows import (
    Start,
    extreme_gradient,
    highest,
    lowest,
    product_gradient,
    put_rows,
    row_counts,
)
from berth.ops.rules import INDEX, merge_dims
from berth.ops.shape import bracketed
from berth.ops.types import Tensor, TensorLike
from berth.public import public, public_v1


def _segments_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    data, ids, n_segments = inputs
    if data.dims is None or ids.dims is None:
        return ((data.dtype.base_dtype, None),)
    if len(ids.dims) > len(data.dims):
        raise ValueError(
            f"data.shape = {bracketed(data.dims)} does not start with segment_ids.shape = "
            f"{bracketed(ids.dims)}"
        )
    merge_dims(data.dims[: len(ids.dims)], ids.dims)
    n_rows = None if n_segments.value is None else int(n_segments.value)
    if n_rows is not None and n_rows < 0:
        raise ValueError(
            f"Dimension size, given by scalar input 2, must be non-negative but is {n_rows}"
        )
    return ((data.dtype.base_dtype, (n_rows, *data.dims[len(ids.dims) :])),)


def _bind_unsorted(function: str, start: Start) -> Bind:
    def bind(launch: Launch) -> Call:
        data, ids, _ = launch.inputs
        out = launch.outputs[0]
        rows = data.reshape((ids.size, *out.shape[1:]))
        put = getattr(launch.xp, function).at
        return put_rows, (put, rows, ids.reshape(-1), out, start(out.dtype))

    return bind


class UnsortedSegmentFunction(Protocol):
    """A reduction of the rows with the same id, for a given number of ids."""

    def __call__(
        self,
        data: TensorLike,
        segment_ids: TensorLike,
        num_segments: Any,
        name: str | None = None,
    ) -> Tensor: ...


def _unsorted(
    op_name: str,
    function: str,
    start: Start,
    dtypes: Sequence[DType],
    *,
    doc: str,
    example: tuple[str, str],
    gradient: Any,
    sample: str = "d(3, 2), i(1, -1, 0), at(4)",
    large_samples: Sequence[str] = (),
) -> tuple[OpDef, UnsortedSegmentFunction]:
    """Declare a reduction of rows with the same id, in any order."""
    op = OpDef(
        op_name,
        "data:T segment_ids:Tindices num_segments:Tnumsegments",
        _segments_type,
        types={"T": dtypes, "Tindices": INDEX, "Tnumsegments": INDEX},
        kernels=all_devices(_bind_unsorted(function, start), dtypes),
        host_inputs=(2,),
        gradient=gradient,
        samples=(sample,),
        large_samples=large_samples,
    )

    def call(
        data: TensorLike,
        segment_ids: TensorLike,
        num_segments: Any,
        name: str | None = None,
    ) -> Tensor:
        return apply(op, (data, segment_ids, num_segments), {}, name)

    name = op_name.replace("UnsortedSegment", "unsorted_segment_").lower()
    return op, publish(call, doc, example, (f"math.{name}",), (name,))


def _to_rows(op: RecordedOp, segments: Any) -> Any:
    """Gather the segment's value for each row, 0 for rows with negative ids."""
    data, ids = op.inputs[:2]
    numbers = array.reshape(ids, [-1])
    rows = gathering.gather(segments, maximum(numbers, 0))
    is_kept = compare.greater_equal(numbers, 0)
    kept = gathering.where(is_kept, rows, filling.zeros_like(rows))
    return array.reshape(kept, metadata.shape(data))


def _sum_gradient(op: RecordedOp, grad: Any) -> Any:
    return _to_rows(op, grad), None, None


def _product_gradient(op: RecordedOp, grad: Any) -> Any:
    _, ids, n_segments = op.inputs
    product = product_gradient(
        op,
        grad,
        to_rows=lambda segments: _to_rows(op, segments),
        add_up=lambda rows: unsorted_segment_sum(rows, ids, n_segments),
        multiply=lambda rows: unsorted_segment_prod(rows, ids, n_segments),
    )
    return product, None, None


def _extreme_gradient(op: RecordedOp, grad: Any) -> Any:
    _, ids, n_segments = op.inputs
    extreme = extreme_gradient(
        op,
        grad,
        to_rows=lambda segments: _to_rows(op, segments),
        add_up=lambda rows: unsorted_segment_sum(rows, ids, n_segments),
    )
    return extreme, None, None


UNSORTED_SEGMENT_SUM, unsorted_segment_sum = _unsorted(
    "UnsortedSegmentSum",
    "add",
    lambda _: 0,
    NUMBERS,
    doc="Sum of the rows with the same id; rows with negative ids are dropped.",
    example=("[1, 2, 4], [2, 0, 2], 3", "[2, 0, 5]"),
    gradient=_sum_gradient,
    sample="d(2, 2, 3), np.array([[1, 0], [2, 2]]), at(4)",
    large_samples=("sample('d', (512, 512)), (np.arange(512) // 8).astype('i'), at(64)",),
)

UNSORTED_SEGMENT_PROD, unsorted_segment_prod = _unsorted(
    "UnsortedSegmentProd",
    "multiply",
    lambda _: 1,
    NUMBERS,
    doc="Product of the rows with the same id; 1 for ids without rows.",
    example=("[1, 2, 4], [2, 0, 2], 3", "[2, 1, 4]"),
    gradient=_product_gradient,
)

UNSORTED_SEGMENT_MAX, unsorted_segment_max = _unsorted(
    "UnsortedSegmentMax",
    "maximum",
    lowest,
    REAL,
    doc="Maximum of the rows with the same id; the lowest number for ids without rows.",
    example=("[1, 2, 4], [1, 0, 1], 2", "[2, 4]"),
    gradient=_extreme_gradient,
)

UNSORTED_SEGMENT_MIN, unsorted_segment_min = _unsorted(
    "UnsortedSegmentMin",
    "minimum",
    highest,
    REAL,
    doc="Minimum of the rows with the same id; the highest number for ids without rows.",
    example=("[1, 2, 4], [1, 0, 1], 2", "[2, 1]"),
    gradient=_extreme_gradient,
)


@public("math.unsorted_segment_mean")
@public_v1("unsorted_segment_mean")
def unsorted_segment_mean(
    data: TensorLike, segment_ids: TensorLike, num_segments: Any, name: str | None = None
) -> Tensor:
    """Mean of the rows with the same id; 0 for ids without rows.

    >>> unsorted_segment_mean([1.0, 2.0, 4.0], [2, 0, 2], 3).numpy().tolist()
    [2.0, 0.0, 2.5]
    """
    with scope("UnsortedSegmentMean", name):
        data, ids = convert(data), convert(segment_ids)

        def add_up(rows: Any) -> Any:
            return unsorted_segment_sum(rows, ids, num_segments)

        return truediv(add_up(data), row_counts(data, ids, add_up))


@public("math.unsorted_segment_sqrt_n")
@public_v1("unsorted_segment_sqrt_n")
def unsorted_segment_sqrt_n(
    data: TensorLike, segment_ids: TensorLike, num_segments: Any, name: str | None = None
) -> Tensor:
    """Sum of the rows with the same id, divided by the square root of their number.

    >>> unsorted_segment_sqrt_n([1.0] * 4, [0, 0, 0, 0], 2).numpy().tolist()
    [2.0, 0.0]
    """
    with scope("UnsortedSegmentSqrtN", name):
        data, ids = convert(data), convert(segment_ids)

        def add_up(rows: Any) -> Any:
            return unsorted_segment_sum(rows, ids, num_segments)

        return truediv(add_up(data), sqrt(row_counts(data, ids, add_up)))
