"""Constant folding: compute one operation on host arrays while a plan is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from berth.backends.kinds import HOST_TYPE
from berth.dtypes import PACKAGED, DType
from berth.fp_errors import ignore_fp_errors
from berth.ops.convert import dtype_of
from berth.ops.dispatch import known_types, prepare
from berth.ops.opdef import Attrs, Call, OpDef, Parts, in_order
from berth.ops.shape import Known
from berth.ops.widening import kernel_for

Array = np.ndarray[Any, Any]


class HostValue(NamedTuple):
    """A host array, as shape rules see it."""

    dtype: DType
    dims: Known
    value: Array


class _HostTarget:
    """The host as a `berth.ops.dispatch.Target`: NumPy's own memory, one thread."""

    xp = np
    n_threads = 1

    def empty(self, dtype: DType, dims: Known) -> Array:
        return np.empty(dims, dtype.np_dtype)

    def join(self, parts: Parts) -> Call:
        return in_order(parts)


_HOST = _HostTarget()


def evaluate(op: OpDef, inputs: Sequence[Array], attrs: Attrs) -> list[Array]:
    """Return the outputs of an operation; it must have a kernel for the CPU."""
    values = [HostValue(dtype_of(array), array.shape, array) for array in inputs]
    types = known_types(op, values, attrs)
    packaged = next((value.dtype for value in values if value.dtype in PACKAGED), None)
    kernel = kernel_for(op, HOST_TYPE, packaged)
    assert kernel is not None, f"{op.name} has no kernel for the CPU"
    outputs, call = prepare(op, kernel, _HOST, inputs, attrs, types, values)
    if call is not None:
        function, arguments = call
        ignore_fp_errors(function, arguments)
    return outputs
