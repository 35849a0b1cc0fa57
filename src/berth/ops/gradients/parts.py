"""Gradients of cutting out and choosing: zeros everywhere else."""

from __future__ import annotations

from typing import Any

from berth.ops.arrays.array import reshape
from berth.ops.arrays.filling import zeros_like
from berth.ops.arrays.gathering import gather, where
from berth.ops.arrays.metadata import shape
from berth.ops.elementwise.arithmetic import maximum
from berth.ops.elementwise.compare import greater_equal
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.reductions.segments import UNSORTED_SEGMENT_SUM


@gradient(UNSORTED_SEGMENT_SUM)
def _unsorted_segment_sum(op: RecordedOp, grad: Any) -> Any:
    data, ids, _ = op.inputs
    numbers = reshape(ids, [-1])
    rows = gather(grad, maximum(numbers, 0))
    kept = where(greater_equal(numbers, 0), rows, zeros_like(rows))  # the others were dropped
    return reshape(kept, shape(data)), None, None
