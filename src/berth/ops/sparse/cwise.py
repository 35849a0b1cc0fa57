"""Element-wise products and quotients of a sparse tensor and a dense one."""

from __future__ import annotations

from typing import Any

from berth.ops.arrays.broadcasting import broadcast_to
from berth.ops.arrays.scattering import gather_nd
from berth.ops.compose import convert


def _beside(sparse: Any, dense: Any) -> Any:
    """Return the elements of a dense tensor, broadcast, at the indices of a sparse one."""
    tensor: Any = convert(dense, sparse.dtype)
    return gather_nd(broadcast_to(tensor, sparse.dense_shape), sparse.indices)


def multiply(sparse: Any, dense: Any) -> Any:
    """Return the product: what is not there stays so."""
    return sparse.with_values(sparse.values * _beside(sparse, dense))


def divide(sparse: Any, dense: Any) -> Any:
    """Return the quotient: what is not there stays so."""
    return sparse.with_values(sparse.values / _beside(sparse, dense))
