"""The operation behind `tf.sparse.to_dense`: values are put into a dense tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from berth.dtypes import ALL
from berth.errors import InvalidArgumentError
from berth.ops.arrays.scattering import gather_nd
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.opdef import Attrs, Call, Launch, OpDef, OutputType, Typed
from berth.ops.reductions.reduction import reduce_sum
from berth.ops.rules import INDEX, all_devices_but_strings, shape_of_value
from berth.ops.shape import bracketed


def _dense_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return ((inputs[2].dtype.base_dtype, shape_of_value(inputs[1])),)


def _bind(launch: Launch) -> Call:
    indices, _, values, default = launch.inputs
    return _fill, (launch.xp, indices, values, default, launch.outputs[0], launch.attrs)


def _fill(xp: Any, indices: Any, values: Any, default: Any, out: Any, attrs: Attrs) -> None:
    rows = np.asarray(indices if isinstance(indices, np.ndarray) else indices.get())
    _check(rows, out.shape, attrs["validate_indices"])
    out[...] = default
    if len(rows):
        out[tuple(indices[:, axis] for axis in range(rows.shape[1]))] = values


def _check(rows: Any, dims: tuple[int, ...], is_strict: bool) -> None:
    """Raise an error for an index that is outside, out of order, or there twice."""
    outside = ((rows < 0) | (rows >= np.array(dims, np.int64))).any(1)
    if outside.any():
        k = int(outside.argmax())
        raise _error(rows, k, f"is out of bounds: need 0 <= index < {bracketed(dims)}")
    if not is_strict or len(rows) < 2:
        return
    steps = np.diff(np.ravel_multi_index(tuple(rows.T), dims)) if dims else np.zeros(0)
    if (steps <= 0).any():
        k = int((steps <= 0).argmax())
        if steps[k] == 0:
            raise _error(rows, k + 1, "is repeated")
        raise _error(
            rows,
            k + 1,
            "is out of order. Many sparse ops require sorted indices.\n    Use "
            "`tf.sparse.reorder` to create a correctly ordered copy.\n\n",
        )


def _error(rows: Any, k: int, what: str) -> InvalidArgumentError:
    index = bracketed(tuple(rows[k].tolist()))
    return InvalidArgumentError(None, None, f"indices[{k}] = {index} {what}")


SPARSE_TO_DENSE = OpDef(
    "SparseToDense",
    "sparse_indices:Tindices output_shape:Tindices sparse_values:T default_value:T",
    _dense_type,
    types={"T": ALL, "Tindices": INDEX},
    kernels=all_devices_but_strings(_bind),
    host_inputs=(1,),
    samples=("ints([[0, 1], [1, 0]]), i(2, 3), f(2), f(), validate_indices=True",),
)


@gradient(SPARSE_TO_DENSE)
def _of_dense(op: RecordedOp, grad: Any) -> Any:
    values = gather_nd(grad, op.inputs[0])
    return None, None, values, lambda: reduce_sum(grad) - reduce_sum(values)
