"""Compute one operation on host arrays, at once: for constants, while a plan is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from berth.backends.kinds import HOST_TYPE
from berth.dtypes import DType
from berth.ops.convert import dtype_of
from berth.ops.opdef import Attrs, Launch, OpDef, in_order
from berth.ops.shape import Dims, Known

Array = np.ndarray[Any, Any]


class HostValue(NamedTuple):
    """A value that is there, as shape rules see it."""

    dtype: DType
    dims: Known
    value: Array


def evaluate(op: OpDef, inputs: Sequence[Array], attrs: Attrs) -> list[Array]:
    """Return the outputs of an operation; it must have a kernel for the CPU."""
    values = [HostValue(dtype_of(array), array.shape, array) for array in inputs]
    types = op.infer(values, attrs)
    if op.is_alias:
        return [inputs[0].reshape(types[0][1])]
    kernel = op.kernel(HOST_TYPE, None)
    assert kernel is not None, f"{op.name} has no kernel for the CPU"
    outputs = [_empty(dtype, dims) for dtype, dims in types]
    needed = kernel.scratch(values, types, attrs, 1) if kernel.scratch else ()
    scratch = [_empty(dtype, dims) for dtype, dims in needed]
    call = in_order(kernel.bind(Launch(np, inputs, outputs, attrs, scratch)))
    if call is not None:
        function, arguments = call
        with np.errstate(all="ignore"):
            function(*arguments)
    return outputs


def _empty(dtype: DType, dims: Dims) -> Array:
    if dims is None or None in dims:
        raise ValueError("The shape of the result depends on more than the inputs.")
    return np.empty([size or 0 for size in dims], dtype.np_dtype)
