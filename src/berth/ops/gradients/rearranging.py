"""Gradients of other orders: what was moved is moved back, what was repeated is summed."""

from __future__ import annotations

from berth.ops.gradient import not_differentiable
from berth.ops.reductions.binning import LOWER_BOUND, UPPER_BOUND

not_differentiable(LOWER_BOUND, UPPER_BOUND)
