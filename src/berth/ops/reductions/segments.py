"""Rows that belong together, made one: `segment_ids` say where each row goes.

Sorted ids decide themselves how many results there are, and may have gaps. With unsorted
ones that number is given, and rows with negative ids are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from berth.dtypes import NUMBERS, REAL, DType
from berth.errors import InvalidArgumentError
from berth.ops.arrays.array import expand_dims
from berth.ops.arrays.filling import ones_like
from berth.ops.builder import apply
from berth.ops.compose import convert, scope
from berth.ops.elementwise.arithmetic import maximum, truediv
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.quotients import truncatediv
from berth.ops.elementwise.unary import sqrt
from berth.ops.opdef import Attrs, Bind, Call, Launch, OpDef, OutputType, Typed, all_devices
from berth.ops.rules import INDEX, check_rank, merge_dims
from berth.ops.shape import bracketed
from berth.ops.types import Tensor, TensorLike
from berth.public import public, public_v1

Start = Callable[[Any], Any]
"""What a result is before any row is added, by the type of its elements."""


def _lowest(dtype: Any) -> Any:
    return (np.finfo if dtype.kind == "f" else np.iinfo)(dtype).min


def _highest(dtype: Any) -> Any:
    return (np.finfo if dtype.kind == "f" else np.iinfo)(dtype).max


# --- unsorted -----------------------------------------------------------------------------


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
    return ((data.dtype.base_dtype, (n_rows, *data.dims[len(ids.dims) :])),)


def _bind_unsorted(function: str, start: Start) -> Bind:
    def bind(launch: Launch) -> Call:
        data, ids, _ = launch.inputs
        out = launch.outputs[0]
        rows = data.reshape((ids.size, *out.shape[1:]))
        put = getattr(launch.xp, function).at
        return _put_rows, (put, rows, ids.reshape(-1), out, start(out.dtype))

    return bind


def _put_rows(put: Callable[..., Any], rows: Any, ids: Any, out: Any, start: Any) -> None:
    out[...] = start
    if not ids.size:
        return
    if int(ids.max()) >= out.shape[0]:
        position = int((ids >= out.shape[0]).argmax())
        raise InvalidArgumentError(
            None,
            None,
            f"segment_ids[{position}] = {int(ids[position])} is out of range "
            f"[0, {out.shape[0]})",
        )
    if int(ids.min()) < 0:
        rows, ids = rows[ids >= 0], ids[ids >= 0]
    put(out, ids, rows)


def _unsorted(name: str, function: str, start: Start, dtypes: Sequence[DType]) -> OpDef:
    return OpDef(
        name,
        "data:T segment_ids:Tindices num_segments:Tnumsegments",
        _segments_type,
        types={"T": dtypes, "Tindices": INDEX, "Tnumsegments": INDEX},
        kernels=all_devices(_bind_unsorted(function, start), dtypes),
        host_inputs=(2,),
    )


UNSORTED_SEGMENT_SUM = _unsorted("UnsortedSegmentSum", "add", lambda _: 0, NUMBERS)
UNSORTED_SEGMENT_PROD = _unsorted("UnsortedSegmentProd", "multiply", lambda _: 1, NUMBERS)
UNSORTED_SEGMENT_MAX = _unsorted("UnsortedSegmentMax", "maximum", _lowest, REAL)
UNSORTED_SEGMENT_MIN = _unsorted("UnsortedSegmentMin", "minimum", _highest, REAL)


@public("math.unsorted_segment_sum")
@public_v1("unsorted_segment_sum")
def unsorted_segment_sum(
    data: TensorLike, segment_ids: TensorLike, num_segments: Any, name: str | None = None
) -> Tensor:
    """Add up the rows of `data` that have the same id; rows with negative ids are dropped.

    >>> unsorted_segment_sum([1, 2, 4], [2, 0, 2], 3).numpy().tolist()
    [2, 0, 5]
    """
    return apply(UNSORTED_SEGMENT_SUM, (data, segment_ids, num_segments), {}, name)


@public("math.unsorted_segment_prod")
@public_v1("unsorted_segment_prod")
def unsorted_segment_prod(
    data: TensorLike, segment_ids: TensorLike, num_segments: Any, name: str | None = None
) -> Tensor:
    """Multiply the rows of `data` that have the same id; where there are none is 1.

    >>> unsorted_segment_prod([1, 2, 4], [2, 0, 2], 3).numpy().tolist()
    [2, 1, 4]
    """
    return apply(UNSORTED_SEGMENT_PROD, (data, segment_ids, num_segments), {}, name)


@public("math.unsorted_segment_max")
@public_v1("unsorted_segment_max")
def unsorted_segment_max(
    data: TensorLike, segment_ids: TensorLike, num_segments: Any, name: str | None = None
) -> Tensor:
    """Return the largest of the rows that have the same id; of none, the lowest number.

    >>> unsorted_segment_max([1, 2, 4], [1, 0, 1], 2).numpy().tolist()
    [2, 4]
    """
    return apply(UNSORTED_SEGMENT_MAX, (data, segment_ids, num_segments), {}, name)


@public("math.unsorted_segment_min")
@public_v1("unsorted_segment_min")
def unsorted_segment_min(
    data: TensorLike, segment_ids: TensorLike, num_segments: Any, name: str | None = None
) -> Tensor:
    """Return the smallest of the rows that have the same id; of none, the highest number.

    >>> unsorted_segment_min([1, 2, 4], [1, 0, 1], 2).numpy().tolist()
    [2, 1]
    """
    return apply(UNSORTED_SEGMENT_MIN, (data, segment_ids, num_segments), {}, name)


@public("math.unsorted_segment_mean")
@public_v1("unsorted_segment_mean")
def unsorted_segment_mean(
    data: TensorLike, segment_ids: TensorLike, num_segments: Any, name: str | None = None
) -> Tensor:
    """Return the mean of the rows that have the same id; where there are none is 0.

    >>> unsorted_segment_mean([1.0, 2.0, 4.0], [2, 0, 2], 3).numpy().tolist()
    [2.0, 0.0, 2.5]
    """
    with scope("UnsortedSegmentMean", name):
        data, ids = convert(data), convert(segment_ids)

        def add_up(rows: Any) -> Any:
            return unsorted_segment_sum(rows, ids, num_segments)

        return truediv(add_up(data), _counts(data, ids, add_up))


@public("math.unsorted_segment_sqrt_n")
@public_v1("unsorted_segment_sqrt_n")
def unsorted_segment_sqrt_n(
    data: TensorLike, segment_ids: TensorLike, num_segments: Any, name: str | None = None
) -> Tensor:
    """Add up the rows that have the same id, divided by the root of how many they are.

    >>> unsorted_segment_sqrt_n([1.0] * 4, [0, 0, 0, 0], 2).numpy().tolist()
    [2.0, 0.0]
    """
    with scope("UnsortedSegmentSqrtN", name):
        data, ids = convert(data), convert(segment_ids)

        def add_up(rows: Any) -> Any:
            return unsorted_segment_sum(rows, ids, num_segments)

        return truediv(add_up(data), sqrt(_counts(data, ids, add_up)))


def _counts(data: Any, ids: Any, add_up: Callable[[Any], Any]) -> Any:
    """Count the rows of each id, at least 1, in a shape that broadcasts."""
    dtype = data.dtype.base_dtype
    real = dtype.real_dtype
    if data.dims is None or ids.dims is None:
        rows = ones_like(data, real)
    else:
        rows = ones_like(ids, real)
        for _ in range(len(data.dims) - len(ids.dims)):
            rows = expand_dims(rows, -1)
    return cast(maximum(add_up(rows), 1), dtype)


# --- sorted -------------------------------------------------------------------------------


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
    _put_rows(*rows)
    if of_none is not None:
        is_gap = xp.ones(out.shape[0], bool)
        is_gap[ids] = False
        out[is_gap] = of_none


def _sorted(
    name: str, function: str, start: Start, dtypes: Sequence[DType], of_none: Any = None
) -> OpDef:
    return OpDef(
        name,
        "data:T segment_ids:Tindices",
        _sorted_type,
        types={"T": dtypes, "Tindices": INDEX},
        kernels=all_devices(_bind_sorted(function, start, of_none), dtypes),
        shape_inputs=(1,),
    )


SEGMENT_SUM = _sorted("SegmentSum", "add", lambda _: 0, NUMBERS)
SEGMENT_PROD = _sorted("SegmentProd", "multiply", lambda _: 1, NUMBERS)
SEGMENT_MAX = _sorted("SegmentMax", "maximum", _lowest, REAL, of_none=0)
SEGMENT_MIN = _sorted("SegmentMin", "minimum", _highest, REAL, of_none=0)


@public("math.segment_sum")
@public_v1("segment_sum")
def segment_sum(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Add up the rows that have the same id; the ids are sorted.

    >>> segment_sum([1, 2, 4], [0, 0, 2]).numpy().tolist()
    [3, 0, 4]
    """
    return apply(SEGMENT_SUM, (data, segment_ids), {}, name)


@public("math.segment_prod")
@public_v1("segment_prod")
def segment_prod(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Multiply the rows that have the same id; the ids are sorted.

    >>> segment_prod([3, 2, 4], [0, 0, 2]).numpy().tolist()
    [6, 1, 4]
    """
    return apply(SEGMENT_PROD, (data, segment_ids), {}, name)


@public("math.segment_max")
@public_v1("segment_max")
def segment_max(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Return the largest of the rows that have the same id; the ids are sorted.

    >>> segment_max([1, 2, 4], [0, 0, 2]).numpy().tolist()
    [2, 0, 4]
    """
    return apply(SEGMENT_MAX, (data, segment_ids), {}, name)


@public("math.segment_min")
@public_v1("segment_min")
def segment_min(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Return the smallest of the rows that have the same id; the ids are sorted.

    >>> segment_min([1, 2, 4], [0, 0, 2]).numpy().tolist()
    [1, 0, 4]
    """
    return apply(SEGMENT_MIN, (data, segment_ids), {}, name)


@public("math.segment_mean")
@public_v1("segment_mean")
def segment_mean(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Return the mean of the rows that have the same id; of integers, cut off.

    >>> segment_mean([1.0, 2.0, 4.0], [0, 0, 2]).numpy().tolist()
    [1.5, 0.0, 4.0]
    """
    with scope("SegmentMean", name):
        data, ids = convert(data), convert(segment_ids)

        def add_up(rows: Any) -> Any:
            return segment_sum(rows, ids)

        divide = truncatediv if data.dtype.base_dtype.is_integer else truediv
        return divide(add_up(data), _counts(data, ids, add_up))
