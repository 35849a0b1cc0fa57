"""Segment reductions over sorted ids: segment_sum, segment_mean, segment_max and so on.

The number of results is the last id plus 1; ids may be missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from berth.dtypes import NUMBERS, REAL, DType
from berth.errors import InvalidArgumentError
from berth.ops.arrays import gathering
from berth.ops.builder import apply
from berth.ops.compose import convert, scope
from berth.ops.declare import publish
from berth.ops.elementwise.arithmetic import truediv
from berth.ops.elementwise.division import truncatediv
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
from berth.ops.rules import INDEX, check_rank, merge_dims
from berth.ops.types import Tensor, TensorLike
from berth.public import public, public_v1


def _sorted_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    data, ids = inputs
    check_rank(ids.dims, 1)
    if data.dims == ():
        raise ValueError("Shape must be at least rank 1 but is rank 0")
    n_rows = None
    if ids.value is not None:
        n_rows = max(int(ids.value[-1]) + 1, 0) if ids.value.size else 0
    if data.dims is None:
        return ((data.dtype.base_dtype, None),)
    at_run = "segment_ids should be the same size as dimension 0 of input."
    merge_dims(data.dims[:1], ids.dims, at_run)
    return ((data.dtype.base_dtype, (n_rows, *data.dims[1:])),)


def _bind_sorted(function: str, start: Start, of_none: Any) -> Bind:
    def bind(launch: Launch) -> Call:
        data, ids = launch.inputs
        out = launch.outputs[0]
        put = getattr(launch.xp, function).at
        rows = put, data, ids, out, start(out.dtype)
        return _put_sorted, (launch.xp, rows, ids, out, of_none)

    return bind


def _put_sorted(xp: Any, rows: tuple[Any, ...], ids: Any, out: Any, of_none: Any) -> None:
    if bool((ids[1:] < ids[:-1]).any()):
        raise InvalidArgumentError(None, None, "segment ids are not increasing")
    if ids.size and int(ids[0]) < 0:
        raise InvalidArgumentError(
            None,
            None,
            f"Segment id {int(ids[0])} out of range [0, {out.shape[0]}), possibly because "
            "'segment_ids' input is not sorted.",
        )
    put_rows(*rows)
    if of_none is not None:
        is_gap = xp.ones(out.shape[0], bool)
        is_gap[ids] = False
        out[is_gap] = of_none


class SegmentFunction(Protocol):
    """A reduction of the rows with the same id."""

    def __call__(
        self, data: TensorLike, segment_ids: TensorLike, name: str | None = None
    ) -> Tensor: ...


def _sorted(
    op_name: str,
    function: str,
    start: Start,
    dtypes: Sequence[DType],
    of_none: Any = None,
    *,
    doc: str,
    example: tuple[str, str],
    gradient: Any,
    large_samples: Sequence[str] = (),
) -> tuple[OpDef, SegmentFunction]:
    """Declare a reduction of rows with the same id, where the ids are sorted."""
    op = OpDef(
        op_name,
        "data:T segment_ids:Tindices",
        _sorted_type,
        types={"T": dtypes, "Tindices": INDEX},
        kernels=all_devices(_bind_sorted(function, start, of_none), dtypes),
        shape_inputs=(1,),
        gradient=gradient,
        samples=("d(3, 2), i(0, 0, 2)",),
        large_samples=large_samples,
    )

    def call(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
        return apply(op, (data, segment_ids), {}, name)

    name = op_name.replace("Segment", "segment_").lower()
    return op, publish(call, doc, example, (f"math.{name}",), (name,))


def _to_rows(op: RecordedOp, segments: Any) -> Any:
    """Gather the segment's value for each row."""
    return gathering.gather(segments, op.inputs[1])


def _sum_gradient(op: RecordedOp, grad: Any) -> Any:
    return _to_rows(op, grad), None


def _product_gradient(op: RecordedOp, grad: Any) -> Any:
    product = product_gradient(
        op,
        grad,
        to_rows=lambda segments: _to_rows(op, segments),
        add_up=lambda rows: segment_sum(rows, op.inputs[1]),
        multiply=lambda rows: segment_prod(rows, op.inputs[1]),
    )
    return product, None


def _extreme_gradient(op: RecordedOp, grad: Any) -> Any:
    extreme = extreme_gradient(
        op,
        grad,
        to_rows=lambda segments: _to_rows(op, segments),
        add_up=lambda rows: segment_sum(rows, op.inputs[1]),
    )
    return extreme, None


SEGMENT_SUM, segment_sum = _sorted(
    "SegmentSum",
    "add",
    lambda _: 0,
    NUMBERS,
    doc="Sum of the rows with the same id; the ids are sorted.",
    example=("[1, 2, 4], [0, 0, 2]", "[3, 0, 4]"),
    gradient=_sum_gradient,
)

SEGMENT_PROD, segment_prod = _sorted(
    "SegmentProd",
    "multiply",
    lambda _: 1,
    NUMBERS,
    doc="Product of the rows with the same id; the ids are sorted.",
    example=("[3, 2, 4], [0, 0, 2]", "[6, 1, 4]"),
    gradient=_product_gradient,
)

SEGMENT_MAX, segment_max = _sorted(
    "SegmentMax",
    "maximum",
    lowest,
    REAL,
    of_none=0,
    doc="Maximum of the rows with the same id; the ids are sorted.",
    example=("[1, 2, 4], [0, 0, 2]", "[2, 0, 4]"),
    gradient=_extreme_gradient,
    large_samples=("sample('d', (512, 512)), (np.arange(512) // 8).astype('i')",),
)

SEGMENT_MIN, segment_min = _sorted(
    "SegmentMin",
    "minimum",
    highest,
    REAL,
    of_none=0,
    doc="Minimum of the rows with the same id; the ids are sorted.",
    example=("[1, 2, 4], [0, 0, 2]", "[1, 0, 4]"),
    gradient=_extreme_gradient,
)


@public("math.segment_mean")
@public_v1("segment_mean")
def segment_mean(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Mean of the rows with the same id; of integers, rounded towards zero.

    >>> segment_mean([1.0, 2.0, 4.0], [0, 0, 2]).numpy().tolist()
    [1.5, 0.0, 4.0]
    """
    with scope("SegmentMean", name):
        data, ids = convert(data), convert(segment_ids)

        def add_up(rows: Any) -> Any:
            return segment_sum(rows, ids)

        divide = truncatediv if data.dtype.base_dtype.is_integer else truediv
        return divide(add_up(data), row_counts(data, ids, add_up))
