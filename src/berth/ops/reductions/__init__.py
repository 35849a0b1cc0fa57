"""Reductions, cumulative and segment operations, statistics, norms."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # for gradients: see berth.ops.arrays
    from berth.ops.reductions import reduction as reduction
    from berth.ops.reductions import unsorted_segments as unsorted_segments
