"""Elements chosen by index or by truth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from berth.dtypes import ALL, NUMBERS, bool_, int16, int64
from berth.errors import InvalidArgumentError
from berth.ops.builder import apply
from berth.ops.compare import SELECT, SELECT_V2
from berth.ops.opdef import Attrs, Call, Launch, OpDef, OutputType, Typed, everywhere
from berth.ops.rules import INDEX, Misfit, everywhere_but_strings

# --- by index -----------------------------------------------------------------------------


def _gathered(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    params, indices, axis = inputs
    dtype, dims = params.dtype.base_dtype, params.dims
    if dims == ():
        raise ValueError("Shape must be at least rank 1 but is rank 0")
    if dims is None or indices.dims is None:
        return ((dtype, None),)
    if axis.value is None:
        return ((dtype, (None,) * (len(dims) - 1 + len(indices.dims))),)
    position, rank = int(axis.value), len(dims)
    if not -rank <= position < rank:
        needed = position + 1 if position >= 0 else -position
        raise Misfit(
            f"Shape must be at least rank {needed} but is rank {rank}",
            f"Expected axis in the range [{-rank}, {rank}), but got {position}",
        )
    position %= rank
    return ((dtype, dims[:position] + indices.dims + dims[position + 1 :]),)


def _gather_scratch(
    inputs: Sequence[Typed], outputs: Sequence[OutputType]
) -> Sequence[OutputType]:
    """Ask for room to widen the indices in: arrays are taken from by 64-bit ones."""
    indices = inputs[1]
    return () if indices.dtype.base_dtype is int64 else ((int64, indices.dims),)


def _bind_gather(launch: Launch) -> Call:
    params, indices, axis = launch.inputs
    position = int(axis) % params.ndim
    wide = launch.scratch[0] if launch.scratch else indices
    # NumPy fills an output directly only if it need not check; the check is ours.
    mode = ("clip",) if launch.xp is np else ()
    take = params.take, (wide, position, launch.outputs[0], *mode)
    return _gather, (launch.xp.copyto, indices, wide, params.shape[position], *take)


def _gather(
    copyto: Any, indices: Any, wide: Any, limit: int, take: Any, arguments: tuple[Any, ...]
) -> None:
    if not wide.size:
        return
    if wide is not indices:
        copyto(wide, indices)
    if wide.min() < 0 or wide.max() >= limit:
        raise _out_of_range(np.asarray(wide.tolist()), limit)
    take(*arguments)


def _out_of_range(indices: np.ndarray[Any, Any], limit: int) -> InvalidArgumentError:
    first = np.argwhere((indices < 0) | (indices >= limit))[0]
    where_it_is = ",".join(str(position) for position in first)
    place = f"indices[{where_it_is}]" if indices.ndim else "indices"
    return InvalidArgumentError(
        None, None, f"{place} = {indices[tuple(first)]} is not in [0, {limit})"
    )


GATHER = OpDef(
    "GatherV2",
    "params:Tparams indices:Tindices axis:Taxis",
    _gathered,
    types={"Tparams": ALL, "Tindices": (int16, *INDEX), "Taxis": INDEX},
    kernels=everywhere_but_strings(_bind_gather, _gather_scratch),
    host_inputs=(2,),
)


def gather(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    name: str | None = None,
    axis: Any = None,
    batch_dims: int = 0,
) -> Any:
    """Take the elements, or rows, at indices along an axis, by default the first."""
    if batch_dims:
        raise NotImplementedError("tf.gather with batch_dims is not there yet.")
    axis = 0 if axis is None else axis
    return apply(GATHER, (params, indices, axis), {"batch_dims": 0}, name)


# --- by truth -----------------------------------------------------------------------------


def _positions_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    condition = inputs[0]
    rank = None if condition.dims is None else len(condition.dims)
    if condition.value is None:
        return ((int64, (None, rank)),)
    return ((int64, (int(np.count_nonzero(condition.value)), rank)),)


def _bind_where(launch: Launch) -> Call:
    return _where, (launch.xp, launch.inputs[0], launch.outputs[0])


def _where(xp: Any, condition: Any, out: Any) -> None:
    """Write down where the condition holds; how often is known, and `out` as large."""
    for axis, positions in enumerate(condition.nonzero() if condition.ndim else ()):
        xp.copyto(out[:, axis], positions)


_WITH_TRUTH = (*NUMBERS, bool_)
WHERE = OpDef(
    "Where",
    "condition:T",
    _positions_type,
    types={"T": _WITH_TRUTH},
    kernels=everywhere(_bind_where, _WITH_TRUTH),
    shape_inputs=(0,),
)


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """Choose elements of x where a condition holds, else of y; without them, say where."""
    if x is None and y is None:
        return apply(WHERE, (condition,), {}, name)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return apply(SELECT, (condition, x, y), {}, name)


def where_v2(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """Choose as `where`, of tensors that broadcast to one shape."""
    if x is None and y is None:
        return apply(WHERE, (condition,), {}, name)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return apply(SELECT_V2, (condition, x, y), {}, name)
