"""Checks of indices: shapes of updates, and indices out of bounds.

An index selects a row of a tensor, a vector of K indices an element of its first K axes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from berth.errors import InvalidArgumentError
from berth.ops.rules import ShapeMismatch, merge_dims
from berth.ops.shape import Dims, Known, bracketed


def check_updates(dims: Dims, indices: Dims, updates: Dims) -> None:
    """Raise ShapeMismatch unless there is an update of the right shape for each index vector.

    Vectors that are too long for the shape are left to `check_depth`, in a run.
    """
    if not indices or updates is None or indices[-1] is None:
        return
    n_outer, n_axes = len(indices) - 1, indices[-1]
    outer = f"Dimensions [0,{n_outer}) of indices[shape={bracketed(indices)}]"
    outer_updates = f"dimensions [0,{n_outer}) of updates[shape={bracketed(updates)}]"
    _must_match(indices[:-1], updates[:n_outer], outer, outer_updates)
    if dims is not None and n_axes <= len(dims):
        inner = f"Dimensions [{n_axes},{len(dims)}) of input[shape={bracketed(dims)}]"
        ends = f"dimensions [{n_outer},{len(updates)}) of updates[shape={bracketed(updates)}]"
        _must_match(dims[n_axes:], updates[n_outer:], inner, ends)


def check_depth(shape: Known, indices: Known, updates: Known) -> None:
    """Raise InvalidArgumentError if index vectors are longer than the rank of the tensor."""
    n_outer, n_axes = len(indices) - 1, indices[-1]
    if n_axes > len(shape):
        raise InvalidArgumentError(
            None,
            None,
            f"Dimensions [{n_axes},{len(shape)}) of input[shape={bracketed(shape)}] must match "
            f"dimensions [{n_outer},{len(updates)}) of updates[shape={bracketed(updates)}]",
        )


def _must_match(a: Dims, b: Dims, what: str, other: str) -> None:
    try:
        merge_dims(a, b)
    except ShapeMismatch as error:
        raise ShapeMismatch(
            f"{what} = {bracketed(a)} must match {other} = {bracketed(b)}: {error}",
            f"{what} must match {other}",
        ) from None


def index_vector_error(indices: Any, shape: Known, what: str = "shape") -> InvalidArgumentError:
    """Return the error for the first index vector that is out of bounds."""
    sizes = shape[: indices.shape[-1]]
    vectors = np.asarray(indices.tolist()).reshape(-1, len(sizes))
    outside = ((vectors < 0) | (vectors >= np.array(sizes))).any(axis=1)
    first = int(np.argmax(outside))
    place = ",".join(str(n) for n in np.unravel_index(first, indices.shape[:-1] or (1,)))
    message = f"indices[{place}] = {vectors[first].tolist()} does not index into {what} "
    return InvalidArgumentError(None, None, message + bracketed(shape))


def index_error(indices: Any, n_rows: int, name: str = "indices") -> InvalidArgumentError:
    """Return the error for the first index that is out of bounds."""
    numbers = np.asarray(indices.tolist())
    first = tuple(np.argwhere((numbers < 0) | (numbers >= n_rows))[0])
    place = f"{name}[{','.join(str(n) for n in first)}]" if first else name
    return InvalidArgumentError(
        None, None, f"{place} = {numbers[first]} is not in [0, {n_rows})"
    )
