"""Sums of the rows that belong together: `segment_ids` say where each row goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from berth.dtypes import NUMBERS
from berth.errors import InvalidArgumentError
from berth.ops.builder import apply
from berth.ops.opdef import Attrs, Call, Launch, OpDef, OutputType, Typed, everywhere
from berth.ops.rules import INDEX, merge_dims
from berth.ops.shape import bracketed


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


def _bind_sum(launch: Launch) -> Call:
    data, ids, _ = launch.inputs
    out = launch.outputs[0]
    rows = data.reshape((ids.size, *out.shape[1:]))
    return _sum, (launch.xp, rows, ids.reshape(-1), out)


def _sum(xp: Any, rows: Any, ids: Any, out: Any) -> None:
    out[...] = 0
    if not ids.size:
        return
    if int(ids.max()) >= out.shape[0]:
        raise InvalidArgumentError(
            None, None, f"segment_ids contains {int(ids.max())}: it must be < {out.shape[0]}"
        )
    if int(ids.min()) < 0:  # such rows are dropped
        rows, ids = rows[ids >= 0], ids[ids >= 0]
    xp.add.at(out, ids, rows)


UNSORTED_SEGMENT_SUM = OpDef(
    "UnsortedSegmentSum",
    "data:T segment_ids:Tindices num_segments:Tnumsegments",
    _segments_type,
    types={"T": NUMBERS, "Tindices": INDEX, "Tnumsegments": INDEX},
    kernels=everywhere(_bind_sum, NUMBERS),
    host_inputs=(2,),
)


def unsorted_segment_sum(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Any:
    """Add up the rows of `data` that have the same id; rows with negative ids are dropped."""
    return apply(UNSORTED_SEGMENT_SUM, (data, segment_ids, num_segments), {}, name)
