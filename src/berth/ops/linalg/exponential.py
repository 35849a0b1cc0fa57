"""Matrix exponential, by scaling and squaring with a Padé approximant of degree 13.

Matrices of a large norm are divided by a power of two; the results are squared as often. It is
computed in double precision, whatever the type.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from berth.ops.arrays.filling import zeros_like
from berth.ops.arrays.joining import concat
from berth.ops.arrays.metadata import axis_size
from berth.ops.builder import apply
from berth.ops.compose import convert
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.linalg.matrices import square_type
from berth.ops.linalg.transposes import adjoint
from berth.ops.opdef import Call, Launch, OpDef, all_devices
from berth.ops.rules import INEXACT
from berth.ops.types import Tensor, TensorLike
from berth.public import public

_COEFFICIENTS = (
    64764752532480000.0,
    32382376266240000.0,
    7771770303897600.0,
    1187353796428800.0,
    129060195264000.0,
    10559470521600.0,
    670442572800.0,
    33522128640.0,
    1323241920.0,
    40840800.0,
    960960.0,
    16380.0,
    182.0,
    1.0,
)
_LARGEST_NORM = 5.371920351148152
"""Up to this norm the quotient is exact in double precision."""


def _bind_exponential(launch: Launch) -> Call:
    return _exponential, (launch.xp, launch.inputs[0], launch.outputs[0])


def _exponential(xp: Any, matrices: Any, out: Any) -> None:
    if not matrices.size:
        return
    wide = matrices.astype(np.complex128 if matrices.dtype.kind == "c" else np.float64)
    norms = xp.abs(wide).sum(-2).max(-1)
    usable = xp.where(xp.isfinite(norms), xp.maximum(norms, _LARGEST_NORM), _LARGEST_NORM)
    halvings = xp.ceil(xp.log2(usable / _LARGEST_NORM))[..., None, None]
    result = _quotient(xp, wide / 2.0**halvings)
    for step in range(int(halvings.max())):
        result = xp.where(step < halvings, xp.matmul(result, result), result)
    out[...] = result


def _quotient(xp: Any, a: Any) -> Any:
    c = _COEFFICIENTS
    one = xp.eye(a.shape[-1], dtype=a.dtype)
    a2 = xp.matmul(a, a)
    a4 = xp.matmul(a2, a2)
    a6 = xp.matmul(a4, a2)
    odd = xp.matmul(a6, c[13] * a6 + c[11] * a4 + c[9] * a2)
    odd = xp.matmul(a, odd + c[7] * a6 + c[5] * a4 + c[3] * a2 + c[1] * one)
    even = xp.matmul(a6, c[12] * a6 + c[10] * a4 + c[8] * a2)
    even = even + c[6] * a6 + c[4] * a4 + c[2] * a2 + c[0] * one
    return xp.linalg.solve(even - odd, even + odd)


MATRIX_EXPONENTIAL = OpDef(
    "MatrixExponential",
    "input:T",
    square_type,
    types={"T": INEXACT},
    kernels=all_devices(_bind_exponential, INEXACT),
    samples=("matrices",),
)


@public("linalg.expm")
def expm(input: TensorLike, name: str | None = None) -> Tensor:
    """Matrix exponential of square matrices.

    >>> expm([[0.0, 1.0], [0.0, 0.0]]).numpy().tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    matrices = convert(input, None, "input")
    dtype = matrices.dtype.base_dtype
    if dtype not in INEXACT:
        known = f"<dtype: '{dtype.name}'>"
        raise ValueError(f"tf.linalg.expm does not support matrices of type {known}")
    return apply(MATRIX_EXPONENTIAL, (matrices,), {}, name or "matrix_exponential")


@gradient(MATRIX_EXPONENTIAL)
def _exponential_gradient(op: RecordedOp, grad: Any) -> Any:
    """The gradient is a block of a larger exponential: that of [[aᴴ, grad], [0, aᴴ]]."""
    a = op.inputs[0]
    adjoint_a, size = adjoint(a), axis_size(a, -1)
    rows = concat([adjoint_a, grad], -1), concat([zeros_like(a), adjoint_a], -1)
    return expm(concat(rows, -2))[..., :size, size:]
